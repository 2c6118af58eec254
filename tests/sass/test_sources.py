"""Sources that someone wrote: how kernels are found by name, and how they are compiled."""

import numpy as np
import pytest

import opweave as ow
from opweave._profiler import handwritten
from opweave.runtime.sass.compiled import compiled

pytestmark = pytest.mark.nvrtc
X = np.zeros(256, np.float32)
BODY = "(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i] * x[i] + 1; }"
NAMED = {
    "as C has it": f'extern "C" __global__ void square{BODY}',
    "as C++ has it": f"__global__ void square{BODY}",
    "in a namespace": f"namespace a {{ namespace b {{ __global__ void square{BODY} }} }}",
    "an instance of a template": f"template <int N, class T> __global__ void square{BODY}"
    "template __global__ void square<3, float>(const float*, float*);",
}


@pytest.mark.parametrize("how", NAMED)
def test_a_kernel_is_found_by_the_name_in_its_source(how):
    (kernel,) = ow.profile_source(NAMED[how], "square", 1, 256, [X, X.copy()]).kernels

    assert kernel.facts.moved_bytes == 2048


def test_instances_of_one_template_are_told_apart():
    source = f"template <int N> __global__ void square{BODY}" + "".join(
        f"template __global__ void square<{n}>(const float*, float*);" for n in (1, 2)
    )
    with pytest.raises(ow.errors.ArgumentError, match=r"several kernels .*: name one of _Z6sq"):
        ow.profile_source(source, "square", 1, 256, [X, X.copy()])
    (kernel,) = ow.profile_source(source, "_Z6squareILi2EEvPKfPf", 1, 256, [X, X.copy()]).kernels
    assert kernel.facts.moved_bytes == 2048


def test_a_product_and_a_sum_are_one_instruction_as_nvcc_has_it(monkeypatch):
    seen = []
    monkeypatch.setattr(
        handwritten, "compiled", lambda *a, **k: seen.append(compiled(*a, **k)) or seen[-1]
    )
    ow.profile_source(NAMED["as C has it"], "square", 1, 256, [X, X.copy()])
    roots = {one.opcode.split(".")[0] for one in seen[0].listing.instructions}

    assert "FFMA" in roots
    assert not roots & {"FMUL", "FADD"}
