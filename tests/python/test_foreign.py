"""Values of other libraries: each is refused with what to write instead of it."""

import array
import ctypes
import decimal
import fractions
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from PIL import Image

import opweave as ow
from opweave.compiler.traced.foreign import remedy
from opweave.opcodes import errors as e

X = np.ones((2, 3), np.float32)


def stand_in(module, name, *members, base=object):
    """An object of a class that says that it is another library's; it has these members."""
    kind = type(name, (base,), {m: lambda self, *a: X for m in members} | {"__module__": module})
    return kind()


class Frame(type(stand_in("pandas.core.frame", "DataFrame", "to_numpy", "__array__"))):
    """A user's class that is derived from a library's."""


JAX = "np.asarray(v), or on a GPU cupy.from_dlpack(v)"
TORCH = "v.detach().cpu().numpy(), or on a GPU cupy.from_dlpack(v.detach())"
# What is passed, how the message calls it, and what it says to pass in the place of v.
VALUES = [
    (stand_in("pandas.core.frame", "DataFrame", "to_numpy", "__array__"),
     "pandas.DataFrame", "v.to_numpy()"),
    (stand_in("pandas.core.series", "Series", "to_numpy", "__array__"),
     "pandas.Series", "v.to_numpy()"),
    (Frame(), "tests.Frame", "v.to_numpy()"),
    (stand_in("polars.series.series", "Series", "to_numpy", "__array__"),
     "polars.Series", "v.to_numpy()"),
    (stand_in("xarray.core.dataarray", "DataArray", "values", "__array__"),
     "xarray.DataArray", "v.values"),
    (stand_in("xarray.core.dataset", "Dataset", "values", "__array__"),
     "xarray.Dataset", "v[name].values for each of its variables"),
    (stand_in("jaxlib._jax", "ArrayImpl", "__array__"), "jaxlib.ArrayImpl", JAX),
    (stand_in("jaxlib.xla_extension", "ArrayImpl", "__array__"), "jaxlib.ArrayImpl", JAX),
    (stand_in("jax._src.interpreters.partial_eval", "DynamicJaxprTracer", "__array__",
              base=type(stand_in("jax._src.core", "Tracer"))),
     "jax.DynamicJaxprTracer", "values from outside of jax.jit"),
    (stand_in("torch", "Tensor", "detach", "__array__"), "torch.Tensor", TORCH),
    (stand_in("torch.nn.parameter", "Parameter", "detach", "__array__"),
     "torch.Parameter", TORCH),
    (stand_in("tensorflow.python.framework.ops", "EagerTensor", "numpy", "__array__"),
     "tensorflow.EagerTensor", "v.numpy()"),
    (stand_in("dask.array.core", "Array", "compute", "__array__"), "dask.Array", "v.compute()"),
    (stand_in("numba.cuda.cudadrv.devicearray", "DeviceNDArray", "__cuda_array_interface__"),
     "numba.DeviceNDArray", "cupy.asarray(v)"),
    (stand_in("h5py._hl.dataset", "Dataset", "__array__"), "h5py.Dataset", "v[...]"),
    (scipy.sparse.csr_matrix(X), "scipy.csr_matrix", "v.toarray()"),
    (scipy.sparse.coo_array(X), "scipy.coo_array", "v.toarray()"),
    (Image.new("L", (3, 2)), "PIL.Image", "np.asarray(v)"),
    (array.array("f", [1, 2]), "array.array", "np.asarray(v)"),
    ((ctypes.c_float * 3)(), "c_float_Array_3", "np.ctypeslib.as_array(v)"),
    (ctypes.c_float(2), "ctypes.c_float", "v.value"),
    (memoryview(b"ab"), "memoryview", "np.asarray(v)"),
    (bytearray(b"ab"), "bytearray", "np.frombuffer(v, np.uint8)"),
    (range(3), "range", "np.arange(v.start, v.stop, v.step)"),
    (decimal.Decimal(2), "decimal.Decimal", "float(v)"),
    (fractions.Fraction(1, 2), "fractions.Fraction", "float(v)"),
    # of libraries that nobody knows, by their protocols
    (stand_in("newest.tensors", "Tensor", "__array__"), "newest.Tensor", "np.asarray(v)"),
    (stand_in("newest.tensors", "Raw", "__dlpack__"), "newest.Raw", "np.from_dlpack(v)"),
    (stand_in("newest.tensors", "Device", "__cuda_array_interface__", "__array__"),
     "newest.Device", "cupy.asarray(v)"),
]  # fmt: skip
# Whose memory a call takes: tests/foreign/test_protocols.py has these as arguments.
TAKEN = ("numba.DeviceNDArray", "newest.Raw", "newest.Device")
REFUSED = [row for row in VALUES if row[1] not in TAKEN]


@pytest.mark.parametrize(("value", "name", "written"), REFUSED, ids=[n for _, n, _ in REFUSED])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_an_argument_of_another_library_is_refused_with_what_to_pass(
    value, name, written, fullgraph
):
    fused = ow.fuse(lambda x, v: x * 2, fullgraph=fullgraph)
    with pytest.raises(e.ArgumentError) as caught:
        fused(X, value)
    assert "argument v: expected a NumPy or CuPy array" in str(caught.value)
    assert f"found {name}; pass {written}" in str(caught.value).replace("tests.c_", "c_")
    assert "static_argnames" not in str(caught.value)


def test_the_remedy_names_the_place_in_a_container():
    with pytest.raises(e.ArgumentError, match=r"pass p\['w'\]\[1\].to_numpy\(\)"):
        ow.fuse(lambda x, p: x)(X, {"w": [X, VALUES[0][0]]})


@pytest.mark.parametrize("value", [
    stand_in("torch", "dtype"), stand_in("torch", "device"), stand_in("pandas", "Grouper"), {1},
    stand_in("pandaslike.core", "Series", "to_numpy"),
], ids=["torch.dtype", "torch.device", "pandas.Grouper", "set", "pandaslike"])  # fmt: skip
def test_what_is_no_array_gets_no_remedy_of_arrays(value):
    assert not any(word in remedy(value) for word in ("numpy", "asarray", "detach"))


# Values that offer CUDA's protocol are taken for CuPy's inside of a function.
# Of a range NumPy makes an array.
WITHIN = [row for row in VALUES if "cupy.asarray" not in row[2] and row[1] != "range"]


@pytest.mark.parametrize("value", [v for v, _, _ in WITHIN], ids=[n for _, n, _ in WITHIN])
def test_a_value_that_the_function_finds_has_its_remedy(value):
    with pytest.raises(e.TraceError) as caught:
        ow.fuse(lambda x: x * value, fullgraph=True)(X)

    assert f"; pass {remedy(value)}" in str(caught.value)
    assert "test_foreign.py" in str(caught.value)


def test_objects_of_libraries_are_not_taken_apart():
    sparse = scipy.sparse.csr_matrix(X)
    assert (ow.fuse(lambda x: x * sparse.shape[0])(X) == X * 2).all()
    assert (ow.fuse(lambda x: (sparse @ x.T) * 2)(X) == X @ X.T * 2).all()


def test_nothing_is_imported_to_know_a_library():
    code = (
        "import sys, fractions, opweave.compiler.traced.foreign as f; f.remedy(fractions.Fraction(1));"
        "print(sorted({'pandas', 'xarray', 'jax', 'torch', 'PIL', 'scipy'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
