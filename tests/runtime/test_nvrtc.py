"""Every way to call NVRTC gives the same bytes, and the same errors."""

import sys
import types

import pytest

import opweave as ow
from opweave.runtime.binaries import nvrtc
from opweave.templates import TEMPLATES

pytestmark = pytest.mark.nvrtc
SOURCE = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }\n'
BINDINGS, CUPY = nvrtc.WAYS


class NVRTCError(RuntimeError):
    """What the module of CuPy's raises."""


def cupys():
    """What CuPy has to call NVRTC by: of a cubin it leaves out the last byte (CuPy 14.2)."""
    from cuda.bindings import nvrtc as real

    def made(program, size_of, get):
        text = bytes(size_of(program)[1])
        get(program, text)
        return text[:-1]

    def compile_program(program, flags):
        (status,) = real.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        if status != real.nvrtcResult.NVRTC_SUCCESS:
            raise NVRTCError(str(status))

    def log(program):
        return made(program, real.nvrtcGetProgramLogSize, real.nvrtcGetProgramLog).decode()

    return types.SimpleNamespace(
        NVRTCError=NVRTCError,
        createProgram=lambda source, name, headers, includes: real.nvrtcCreateProgram(
            source.encode(), name.encode(), 0, None, None
        )[1],
        compileProgram=compile_program,
        getProgramLog=log,
        getCUBIN=lambda p: made(p, real.nvrtcGetCUBINSize, real.nvrtcGetCUBIN),
        getPTX=lambda p: made(p, real.nvrtcGetPTXSize, real.nvrtcGetPTX),
        destroyProgram=real.nvrtcDestroyProgram,
    )


@pytest.fixture(params=nvrtc.WAYS)
def way(request, monkeypatch):
    """NVRTC called in this way alone; CuPy's by its own module where it is installed."""
    pytest.importorskip("cuda.bindings")
    if request.param == CUPY:
        monkeypatch.setitem(sys.modules, CUPY, sys.modules.get(CUPY) or cupys())
    other = BINDINGS if request.param == CUPY else CUPY
    expected = compiled("cubin", "sm_90a"), compiled("ptx", "sm_90a")
    monkeypatch.setitem(sys.modules, other, None)
    nvrtc._way.cache_clear()
    yield expected
    nvrtc._way.cache_clear()


def compiled(kind, arch, source=SOURCE, **more):
    ask = {"cubin": nvrtc.compile_cuda, "ptx": nvrtc.ptx}[kind]
    return ask(source, arch, nvrtc.options(fast=False) | more, TEMPLATES)


def test_every_way_gives_the_same_bytes(way):
    assert (compiled("cubin", "sm_90a"), compiled("ptx", "sm_90a")) == way


def test_a_source_that_is_refused_is_so_with_nvrtcs_words(way):
    with pytest.raises(ow.errors.CompileError) as caught:
        compiled("cubin", "sm_90a", "int f() { return nothing; }\n")
    assert "default_program(1): error" in caught.value.log


def test_an_architecture_that_nvrtc_does_not_know_is_named(way):
    with pytest.raises(ow.errors.CompileError) as caught:
        compiled("cubin", "sm_999")
    assert "arch" in caught.value.log


def test_lines_of_the_source_are_kept_where_that_is_asked(way):
    assert ".loc" in compiled("ptx", "sm_90a", lineinfo=True)
    assert ".loc" not in compiled("ptx", "sm_90a")


def test_an_nvrtc_without_the_option_minimal_compiles_without_it(monkeypatch):
    asked = []

    def before_12_8(kind, source, flags):
        asked.append(flags)
        if "--minimal" in flags:
            raise nvrtc.RefusedError("nvrtc: error: unrecognized option --minimal found")
        return b"a cubin"

    monkeypatch.setattr(nvrtc, "_way", lambda: before_12_8)

    assert compiled("cubin", "sm_80") == b"a cubin"
    assert [f for f in asked[0] if f not in asked[1]] == ["--minimal"]


def test_what_calls_nvrtc_and_does_not_find_it_says_what_to_install(monkeypatch):
    def lost(kind, source, flags):
        raise RuntimeError("failure finding libnvrtc.so")

    monkeypatch.setattr(nvrtc, "_way", lambda: lost)
    with pytest.raises(ow.errors.NoCompilerError, match=r"libnvrtc\.so; run pip install 'opweave"):
        compiled("cubin", "sm_80")
