"""``opweave doctor``: what it finds, what it tries, and the command for what is missing."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

import opweave as ow
from opweave.cli import installed, probes
from opweave.cli.main import main
from opweave.cli.probes import Probed


def ran(capsys, *arguments):
    status = main(["doctor", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture(autouse=True)
def _small_cache(monkeypatch, tmp_path_factory):
    """The doctor counts what the cache has: that of all tests has tens of thousands of kernels."""
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "doctors-cache"))


@pytest.fixture
def works(monkeypatch):
    """Probes that do not run: a dictionary of what each one finds."""
    found = {
        name: Probed(name, True, 0.5, "compiled a kernel", {}) for name in ("host", "nvrtc", "gpu")
    }
    monkeypatch.setattr("opweave.cli.doctor.probe", lambda name: found[name])
    return found


def without(monkeypatch, *names):
    """As if some distributions were not installed."""
    real = installed.installed
    monkeypatch.setattr(installed, "installed", lambda n: "" if n.startswith(names) else real(n))


@pytest.mark.host
def test_a_host_kernel_is_really_compiled_and_run():
    found = probes.probe("host")

    assert found.ok, found.detail
    assert found.seconds > 0


@pytest.mark.nvrtc
def test_an_nvrtc_kernel_is_really_compiled():
    found = probes.probe("nvrtc")

    assert found.ok, found.detail
    assert "sm_90a" in found.detail


def test_a_probe_that_fails_says_why(monkeypatch, capsys):
    def broken():
        raise ow.errors.NoCompilerError("no C++ compiler\nfound")

    monkeypatch.setitem(probes.PROBES, "host", broken)
    probes.main("host")
    found = json.loads(capsys.readouterr().out)

    assert found["ok"] is False
    assert found["detail"] == "NoCompilerError: no C++ compiler found"


@pytest.mark.parametrize(
    ("out", "err", "status", "piece"),
    [
        ("", "", -11, "status -11: it said nothing"),
        ("", "noise\nlast words\n", 1, "status 1: last words"),
        ("[]\n", "", 0, "status 0"),
        ('{"ok": true}\n', "", 0, "status 0"),
        ("not json\n", "", 1, "status 1"),
    ],
)
def test_a_probe_that_crashes_is_a_failure(out, err, status, piece):
    found = probes.read("gpu", subprocess.CompletedProcess([], status, out, err))

    assert not found.ok
    assert piece in found.detail


def test_a_probe_that_hangs_is_a_failure(monkeypatch):
    monkeypatch.setattr(probes, "MOST_SECONDS", 0.01)
    found = probes.probe("host")

    assert not found.ok
    assert found.detail == "no answer within 0.01 s"


@pytest.mark.parametrize(
    ("host", "gpu", "status"),
    [(True, True, 0), (True, False, 0), (False, True, 0), (False, False, 1)],
)
def test_the_status_says_whether_kernels_run_anywhere(
    works, monkeypatch, capsys, host, gpu, status
):
    real = installed.installed
    monkeypatch.setattr(installed, "installed", lambda n: "14.0" if n == "cupy" else real(n))
    works["host"] = Probed("host", host, 0.1, "detail")
    works["gpu"] = Probed("gpu", gpu, 0.1, "detail")
    found, out, _ = ran(capsys)
    again, made, _ = ran(capsys, "--json")

    assert found == again == status
    assert json.loads(made)["ok"] is (status == 0)
    assert out.rstrip().endswith("kernels run here" if status == 0 else "kernels do NOT run here")


@pytest.mark.parametrize(
    ("names", "part", "command"),
    [
        (("cupy",), "cupy", "pip install 'opweave[cuda13]' or 'opweave[cuda12]'"),
        (("cuda-bindings",), "cuda-bindings", "pip install 'opweave[nvrtc]'"),
        (("nvidia-cuda-nvrtc",), "nvrtc", "pip install 'opweave[nvrtc]'"),
        (("rich",), "rich", "pip install 'opweave[cli]'"),
        (("pygments",), "pygments", "pip install 'opweave[cli]'"),
        (("pillow",), "pillow", "pip install 'opweave[demo]'"),
        (("matplotlib",), "matplotlib", "pip install 'opweave[demo]'"),
    ],
)
def test_what_is_missing_comes_with_its_command(works, monkeypatch, capsys, names, part, command):
    without(monkeypatch, *names)
    _, out, _ = ran(capsys)
    found = json.loads(ran(capsys, "--json")[1])

    assert found["missing"][part] == command
    assert found["versions"][part] is None
    assert command in next(line for line in out.splitlines() if line.startswith(part))


def test_tools_that_are_missing_come_with_their_command(monkeypatch):
    def missing(name):
        raise ow.errors.NoCompilerError(name)

    monkeypatch.setattr(installed, "tool", missing)
    found = {p.name: p for p in installed.parts()}

    assert found["nvdisasm"].add == found["cuobjdump"].add == "pip install 'opweave[nvrtc]'"


def test_no_compiler_names_the_extra(works, monkeypatch, capsys):
    from opweave.runtime.binaries import hostcc

    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    hostcc.host_compiler.cache_clear()
    _, out, _ = ran(capsys)
    hostcc.host_compiler.cache_clear()

    assert "used for host kernels: none; pip install 'opweave[host]'" in out


def test_what_is_not_installed_is_not_tried(works, monkeypatch, capsys):
    without(monkeypatch, "cupy", "cuda-bindings")
    tried = {t["name"]: t for t in json.loads(ran(capsys, "--json")[1])["tried"]}

    assert tried["gpu"]["detail"] == "not tried: CuPy is not installed"
    assert tried["nvrtc"]["detail"] == "not tried: neither cuda-bindings nor CuPy is installed"


def test_gpus_are_listed(works, monkeypatch, capsys):
    monkeypatch.setattr(installed, "installed", lambda name: "1.0")
    gpu = {"name": "H200", "compute_capability": "9.0", "bytes": 141 << 30, "sms": 132}
    works["gpu"] = Probed("gpu", True, 0.2, "ran", {"gpus": [gpu], "driver": 13000})
    _, out, _ = ran(capsys)

    assert "H200: compute capability 9.0, 141.0 GiB, 132 SMs" in out
    assert json.loads(ran(capsys, "--json")[1])["gpus"] == [gpu]


def test_the_gpu_probe_describes_what_cupy_reports(monkeypatch):
    class Cupy:
        class cuda:
            class runtime:
                @staticmethod
                def getDeviceProperties(index):
                    return {"name": b"H200", "major": 9, "minor": 0, "totalGlobalMem": 10,
                            "multiProcessorCount": 132}  # fmt: skip

    assert probes._described(Cupy, 0) == {
        "name": "H200", "compute_capability": "9.0", "bytes": 10, "sms": 132,
    }  # fmt: skip


def test_the_environment_is_shown_and_its_mistakes_named(works, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("OPWEAVE_DEVICE", "tpu")
    monkeypatch.setenv("OPWEAVE_CASH_DIR", "x")
    monkeypatch.setenv("OPWEAVE_CACHE_SIZE", "lots")
    found = json.loads(ran(capsys, "--json")[1])

    assert found["environment"]["OPWEAVE_DEVICE"] == "tpu"
    assert "OPWEAVE_CACHE_SIZE='lots'" in found["cache"]["problem"]
    assert any("OPWEAVE_CASH_DIR is not read" in text for text in found["problems"])
    assert any("OPWEAVE_DEVICE='tpu'" in text for text in found["problems"])


def test_the_cache_folder_is_described_and_not_made(works, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "none"))
    _, out, _ = ran(capsys)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "file"))
    broken = json.loads(ran(capsys, "--json")[1])["cache"]

    assert f"{tmp_path / 'none'}: made at the first compilation" in out
    assert not (tmp_path / "none").exists()
    assert (broken["usable"], "is not a folder" in broken["problem"]) == (False, True)


def test_doctor_works_where_jinja2_is_missing(tmp_path):
    code = (
        "import sys\nsys.modules['jinja2'] = None\n"
        "from opweave.cli import doctor\nfrom opweave.cli.probes import Probed\n"
        "doctor.probe = lambda name: Probed(name, False, 0.0, 'ModuleNotFoundError: jinja2')\n"
        "from opweave.cli.main import main\nsys.exit(main(['doctor']))\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert made.returncode == 1
    assert "ModuleNotFoundError: jinja2" in made.stdout
    assert made.stderr == ""


@pytest.mark.parametrize(("points", "item"), [
    (("opweave",), ("torch.compile", "backend", "")),
    ((), ("torch.compile", "", "install opweave again")),
])  # fmt: skip
def test_whether_torch_knows_the_backend_is_said(monkeypatch, points, item):
    found = EntryPoints(EntryPoint(name, "m:f", "torch_dynamo_backends") for name in points)
    monkeypatch.setattr(installed, "entry_points", lambda group: found)

    assert installed.backend() == installed.Item(*item)
