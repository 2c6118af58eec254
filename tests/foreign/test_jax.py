"""JAX's arrays as arguments: read where they lie, never written to."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.foreign.tables import IN_PLACE, ROW, SCALED, SEVERAL, address, scaled

jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.host
WHOLE = {
    "float32": jnp.asarray(ROW),
    "2-d": jnp.ones((2, 3)),
    "0-d": jnp.float32(2),
    "empty": jnp.ones((0, 3)),
    **{d: jnp.ones(3, d) for d in ("bfloat16", "float16", "int32", "uint8", "complex64")},
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_result_is_numpys_as_a_jax_array(name):
    given = WHOLE[name]
    for _ in range(2):
        found = SCALED(given)
        assert isinstance(found, jax.Array)
        assert found.shape == given.shape
        assert (np.asarray(found) == np.asarray(SCALED(np.asarray(given)))).all()


def test_results_in_containers_are_jax_arrays():
    given = jnp.asarray(ROW)
    found = SEVERAL(given)
    assert found["x"] is given
    assert all(isinstance(v, jax.Array) for v in (found["sum"], *found["all"][1]))


def test_arguments_and_aligned_results_of_16_mi_elements_are_not_copied():
    from opweave._interchange.jax_arrays import ALIGNED, give, view

    given = jnp.ones(1 << 24)
    assert address(view(given)) == given.unsafe_buffer_pointer()
    memory = np.empty((1 << 26) + ALIGNED, np.uint8)
    made = np.ndarray(1 << 24, np.float32, memory, -address(memory) % ALIGNED)
    SCALED(view(given), out=made)
    own = SCALED(view(given))
    for array, is_own in ((made, False), (own, address(own) % ALIGNED == 0)):
        found = give(array, given)
        assert (found.unsafe_buffer_pointer() == address(array)) is is_own
        assert found[-1] == 3


def test_sixty_four_bits_follow_jaxs_own_setting():
    wide = ow.fuse(lambda x: x.astype(np.float64) * 2)
    assert wide(jnp.ones(3)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert wide(jnp.ones(3)).dtype == jnp.float64


@pytest.mark.parametrize("known", [False, True])
def test_a_function_that_writes_to_one_is_refused(known):
    given = jnp.asarray(ROW)
    fused = ow.fuse(IN_PLACE.given)
    if known:
        fused(ROW.copy())
    for _ in range(2):
        with pytest.raises(e.ReadOnlyError, match=r"y = x.copy\(\)"):
            fused(given)
    assert (np.asarray(given) == ROW).all()
    with pytest.raises(e.OpweaveError, match="read-only"):
        SCALED(given, out=jnp.ones(6))


def test_inside_of_jit_there_are_no_elements_yet():
    with pytest.raises(e.ArgumentError, match="from outside of jax.jit"):
        jax.jit(SCALED)(jnp.ones(3))


def deleted():
    found = jnp.ones(3)
    found.delete()
    return found


@pytest.mark.parametrize(("make", "do"), [
    (deleted, "one that is still there"),
    (lambda: jax.random.key(0), "jax.random.key_data(x)"),
], ids=["deleted", "a key"])  # fmt: skip
def test_what_has_no_elements_is_refused(make, do):
    with pytest.raises(e.InterchangeError) as caught:
        SCALED(make())
    assert f"; pass {do}" in str(caught.value)


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("result", [np.array(["a"]), np.ones(2, np.longdouble)], ids=str)
def test_what_jax_cannot_have_as_a_result_is_refused(result):
    with pytest.raises(e.InterchangeError, match=r"the result: .*np.asarray\(x\)"):
        ow.fuse(lambda x: result.copy())(jnp.asarray(ROW))


def test_methods_take_jax_arrays():
    given = jnp.asarray(ROW)
    assert SCALED.check(given).ok
    assert isinstance(SCALED.reference(given), jax.Array)
    assert (np.asarray(SCALED.lower(given)(given)) == scaled(ROW)).all()
