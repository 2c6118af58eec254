"""Row 13 of docs/trust.md: the flags that decide bits are pinned, and stand in the key."""

import dataclasses
import subprocess

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import hostcc, nvrtc
from opweave.runtime.binaries.build import HOST_INCLUDE, BinaryBuilder, build_kernel, key_parts
from opweave.runtime.binaries.cache import DiskCache, key_of
from opweave.templates import TEMPLATES

SOURCE = "int x;"
# Written out a second time: a flag that is changed by accident fails here.
PINNED_HOST = {
    "-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-fno-math-errno",
    "-fno-trapping-math", "-fwrapv", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti",
}  # fmt: skip
UNWANTED = ("-Ofast", "-ffast-math", "-funsafe-math-optimizations", "-fassociative-math",
            "-ffinite-math-only", "-freciprocal-math", "-fno-signed-zeros", "-fopenmp")  # fmt: skip
PINNED_NVRTC = {"std": "c++17", "minimal": True, "default_device": True, "fma": False,
                "ftz": False, "prec_div": True, "prec_sqrt": True}  # fmt: skip

pytestmark = pytest.mark.host


def test_the_flags_of_the_host_are_these():
    assert set(hostcc.flags("run", fast=False)) >= PINNED_HOST
    assert not set(hostcc.flags("run", fast=False)) & set(UNWANTED)
    assert (hostcc.NO_DISTRIBUTION[0] in hostcc.flags("run", fast=False)) == hostcc.is_gcc()
    verify = hostcc.flags("verify", fast=False)
    assert "-DOW_VERIFY" in verify
    assert [flag for flag in verify if flag.startswith("-O")][-1] == "-O0"  # the last counts
    assert "-ffp-contract=off" in verify


@pytest.mark.parametrize(
    ("features", "mode", "wide"),
    [("avx2 avx512_vbmi2", "run long", True), ("avx2 avx512f", "run long", False),
     ("asimd", "run long", False), ("avx2 avx512_vbmi2", "run", False),
     ("avx2 avx512_vbmi2", "verify", False)],
)  # fmt: skip
def test_vectors_are_wide_where_that_does_not_slow_the_processor(
    features, mode, wide, monkeypatch
):
    monkeypatch.setattr(hostcc, "cpu_features", lambda: features)

    assert ("-mprefer-vector-width=512" in hostcc.flags(mode, fast=False)) == wide


@pytest.mark.parametrize(
    ("lines", "level"), [(hostcc.LONG_LOOP, "-O3"), (hostcc.LONG_LOOP + 1, "-O2")]
)
def test_long_loops_are_not_optimised_for_seconds(lines, level, monkeypatch, tmp_path):
    made = []
    monkeypatch.setattr(
        hostcc, "compile_host", lambda _, flags, *args, **kw: made.extend(flags) or b""
    )
    BinaryBuilder(DiskCache(tmp_path, 1 << 20)).build_loop("\n" * lines)

    assert [f for f in made if f.startswith("-O")] == [level if hostcc.is_gcc() else "-O3"]
    assert {*made} >= PINNED_HOST - {"-O3"}
    assert not {*made} & {*UNWANTED}


@pytest.mark.host
@pytest.mark.parametrize(("function", "is_long"), [
    (np.exp, True), (lambda x: x % 3, True), (lambda x: np.tanh(x).sum(axis=0), True),
    (np.sqrt, False), (lambda x: x * 2 + 1, False), (lambda x: x.sum(axis=1), False),
])  # fmt: skip
def test_kernels_of_long_functions_are_built_for_wide_vectors_and_no_others(
    function, is_long, monkeypatch
):
    def asked(mode, fast):
        raise KeyError(mode)

    kernel = ow.fuse(function).lower(np.ones((70, 80), np.float32), target="host").kernels[0].data
    monkeypatch.setattr(hostcc, "flags", asked)
    with pytest.raises(KeyError, match="'run long'" if is_long else "'run'"):
        build_kernel(kernel, "int x;")
    assert hostcc.weaker("run long") == hostcc.weaker("run")


@pytest.mark.skipif(not hostcc.is_gcc(), reason="other linkers lay libraries out by themselves")
def test_a_kernel_takes_two_mappings():
    def mapped():
        with open("/proc/self/maps") as file:
            return sum("memfd:opweave" in line for line in file)

    ow.fuse(lambda x: x + 1)(np.ones(8))  # the executor's own library, too
    before = mapped()
    ow.fuse(lambda x: np.tanh(x) * 2 + 0.123456)(np.ones(8))

    assert mapped() - before == 2


def test_the_options_of_nvrtc_are_these():
    assert nvrtc.options(fast=False) == PINNED_NVRTC
    assert nvrtc.options(fast=True) == {"std": "c++17", "minimal": True, "default_device": True,
                                        "fma": True, "use_fast_math": True}  # fmt: skip


def host_key(**mode):
    return key_of(key_parts(SOURCE, "host", **mode))


@pytest.mark.parametrize("flag", sorted({*hostcc.COMMON, *hostcc.STRICT}))
def test_a_flag_of_the_host_that_is_dropped_changes_the_key(flag, monkeypatch):
    before = host_key()
    for table in ("COMMON", "STRICT"):
        left = tuple(f for f in getattr(hostcc, table) if f != flag)
        monkeypatch.setattr(hostcc, table, left)

    assert host_key() != before


@pytest.mark.parametrize("name", sorted(PINNED_NVRTC))
def test_an_option_of_nvrtc_that_is_flipped_changes_the_key(name, monkeypatch):
    def key():
        return key_of(key_parts(SOURCE, "sm_80"))

    before = key()
    for table in ("STRICT", "COMMON"):
        found = getattr(nvrtc, table)
        if name in found:
            other = not found[name] if isinstance(found[name], bool) else "c++20"
            monkeypatch.setattr(nvrtc, table, found | {name: other})
    assert key() != before


def test_the_command_of_the_host_compiler_is_what_the_key_has(tmp_path, monkeypatch):
    commands = []
    real = subprocess.Popen

    def watched(command, **given):
        commands.append(command)
        return real(command, **given)

    monkeypatch.setattr(hostcc.subprocess, "Popen", watched)
    BinaryBuilder(DiskCache(tmp_path)).build_plain("int x; // of this test alone\n")
    (command,) = commands
    parts = key_parts(SOURCE, "host")
    start = len(hostcc.host_compiler().command)
    paths = [f"-I{p}" for p in HOST_INCLUDE]
    given = command[start : start + len(parts["flags"])]

    rest = command[start + len(given) :]
    source = rest.index("-")

    assert given == list(parts["flags"])
    assert rest[: len(paths)] == paths
    assert rest[source - 2] == "-o"
    assert rest[source + 1 :] == list(parts["libraries"])


def failing(monkeypatch, tmp_path, log, until):
    """The compiler, which fails with this log unless it is given a flag; and what it was given."""
    seen, real = tmp_path / "seen", hostcc.host_compiler()
    script = tmp_path / "compiler"
    script.write_text(f"""#!/bin/sh
echo "$*" >> {seen}
case "$*" in *{until}*) exec {" ".join(real.command)} "$@" ;; esac
echo '{log}' >&2; exit 1
""")
    script.chmod(0o700)
    made = dataclasses.replace(real, command=(str(script),))
    monkeypatch.setattr(hostcc, "host_compiler", lambda: made)
    return lambda: seen.read_text().splitlines()


ICE = "simt.cuh:245:5: internal compiler error: in extract_insn, at recog.cc:2791"


@pytest.mark.parametrize(("log", "until"), [
    (ICE, "-fno-tree-ter"), ("error: unrecognizable insn:", "-O1"), (ICE, "-never"),
    ("error: x was not declared", "-O1"),
])  # fmt: skip
def test_a_compiler_that_fails_itself_is_asked_for_less(monkeypatch, tmp_path, log, until):
    weaker = [flag for flags in hostcc.host_compiler().weaker for flag in flags]
    if until == "-fno-tree-ter" and until not in weaker:
        pytest.skip("a flag of g++ alone")
    tries = 1 + (weaker.index(until) + 1 if until in weaker else len(weaker))
    if log not in (ICE, "error: unrecognizable insn:"):
        tries = 1
    seen = failing(monkeypatch, tmp_path, log, until)
    expected = key_parts(SOURCE, "host")
    built = BinaryBuilder(DiskCache(tmp_path / "cache"))
    if until == "-never" or tries == 1:
        with pytest.raises(ow.errors.CompileError) as found:
            built.build_plain(SOURCE)
        assert log in found.value.log
    else:
        assert built.build_plain(SOURCE).key == key_of(expected)
        assert BinaryBuilder(DiskCache(tmp_path / "cache")).build_plain(SOURCE).origin == "disk"

    assert len(seen()) == tries
    assert all("-ffp-contract=off" in line for line in seen())
    assert "-fno-tree-ter" not in seen()[0]


def test_what_is_tried_where_the_compiler_fails_stands_in_the_key(monkeypatch):
    before, made = host_key(), hostcc.host_compiler()
    less = dataclasses.replace(made, weaker=made.weaker[:-1])
    monkeypatch.setattr(hostcc, "host_compiler", lambda: less)

    assert host_key() != before
    assert hostcc.weaker("verify") == hostcc.weaker("sanitize") == ()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
@pytest.mark.parametrize("function", [
    lambda a, b: np.pad(np.maximum(a, b), 1), lambda a, b: np.tril(np.minimum(a, b)),
])  # fmt: skip
def test_a_maximum_of_few_bits_that_is_stored_in_part(function, dtype):
    a = (np.arange(4 * 33) % 100).astype(dtype).reshape(4, 33)

    np.testing.assert_array_equal(ow.fuse(function)(a, a[::-1]), function(a, a[::-1]))


# A kernel whose bits (or instructions) tell whether a flag is set: flag of the host, its opposite.
def muladd(x, y, z):
    return x * y + z


def three():
    rng = np.random.default_rng(5)
    return [rng.standard_normal(4096).astype(np.float32) for _ in range(3)]


def bits_with(monkeypatch, tmp_path, strict):
    """Bits of muladd, compiled with other flags, past every cache."""
    from opweave.runtime.binaries import build

    monkeypatch.setattr(hostcc, "STRICT", strict)
    monkeypatch.setattr(build, "builder", lambda: BinaryBuilder(DiskCache(tmp_path)))
    return ow.fuse(muladd)(*three())


def test_contraction_on_the_host_would_change_bits(monkeypatch, tmp_path):
    if "fma" not in hostcc.cpu_features().split() and "asimd" not in hostcc.cpu_features():
        pytest.skip("this processor has no fma")
    expected = muladd(*three())
    np.testing.assert_array_equal(expected, ow.fuse(muladd)(*three()))

    found = bits_with(monkeypatch, tmp_path, ("-ffp-contract=fast",))
    assert (found != expected).any()


def test_no_library_makes_the_process_flush_denormals():
    """A library that is linked with -ffast-math sets a bit of the processor as it is loaded."""
    tiny = np.full(64, 1e-40, np.float32)
    for fast in (False, True):
        ow.fuse(fast=fast)(lambda x: x * 1.5 + 0.25)(tiny)
        assert (tiny * np.float32(2) > 0).all()
        assert not set(hostcc.flags("run", fast=fast)) & set(UNWANTED)


def test_integers_wrap_only_with_the_flag_for_it(monkeypatch):
    from opweave.runtime.host.launcher import load_library

    def grows(flags):
        library = load_library(hostcc.compile_host(
            "extern \"C\" int ow_grows(int x) { return x + 1 > x; }\n", flags, HOST_INCLUDE))  # fmt: skip
        return library.ow_grows(2**31 - 1)

    flags = hostcc.flags("run", fast=False)
    assert grows(flags) == 0
    assert grows(tuple(f for f in flags if f != "-fwrapv")) == 1


# option, its other value, kernel, what the instructions then have and did not
SASS = [
    ("fma", True, lambda x: x * 1.5 + 0.25, "FFMA"),
    ("ftz", True, lambda x: x * 1.5, ".FTZ"),
    ("prec_div", False, lambda x: 1.5 / x, ""),
    ("prec_sqrt", False, lambda x: np.sqrt(x), ""),
]


@pytest.mark.nvrtc
@pytest.mark.parametrize(("option", "other", "function", "piece"), SASS)
def test_each_option_of_nvrtc_decides_instructions(option, other, function, piece):
    from opweave.runtime.binaries import disassembly as inspect

    source = ow.fuse(function).lower(three()[0], target="sm_80").kernels[0].source

    def sass(options):
        return inspect.sass(nvrtc.compile_cuda(source, "sm_80", dict(options), TEMPLATES))

    pinned = sass(nvrtc.options(fast=False))
    flipped = sass(nvrtc.options(fast=False) | {option: other})
    assert flipped != pinned
    assert piece == "" or (piece in flipped and piece not in pinned)


@pytest.mark.parametrize("mode", [{"fast": True}, {"mode": "verify"}])
def test_modes_have_keys_of_their_own(mode):
    assert host_key(**mode) != host_key()
