"""What the package never calls: pickle, eval, a shell; and what its processes are started with."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(p for d in ("api", "compiler", "runtime", "opcodes", "templates")
               for p in (ROOT / d).rglob("*.py"))  # fmt: skip
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "joblib", "pty",
           "commands", "jsonpickle", "code", "codeop"}  # fmt: skip
NAMES = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
ATTRIBUTES = {"system", "popen", "mktemp", "execv", "execve", "execvp", "spawnv", "spawnl",
              "getoutput", "getstatusoutput", "literal_eval", "exec_module"}  # fmt: skip
# (file, attribute): the command line imports the file that its user names, and reads literals
ALLOWED = {("api/cli/loading.py", "exec_module"), ("api/cli/arguments.py", "literal_eval")}
# (file, name): texts made of constants and numbered names, as test_checks.py holds
ALLOWED_NAMES = {
    ("compiler/captures/checks.py", "eval"),
    ("compiler/loops/given.py", "eval"),
    ("runtime/host/loops.py", "eval"),
    # trees of the user's own function, without what names in it mean: test_once_wrong.py
    ("compiler/loops/entering.py", "compile"),
    ("compiler/captures/source.py", "compile"),
}
PROCESSES = {"run", "Popen", "call", "check_call", "check_output"}
STARTERS = {
    "runtime/binaries/hostcc.py",
    "runtime/binaries/disassembly.py",
    "api/cli/probes.py",
    "api/cli/installed.py",
}


def faults(text, file):
    """What a module may not do, as lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names]
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.split(".")[0] in MODULES:
                    yield f"{file}:{node.lineno} imports {name}"
        if not isinstance(node, ast.Call):
            continue
        yield from call_faults(node, file)


def call_faults(node, file):
    where = f"{file}:{node.lineno}"
    keywords = {k.arg: k.value for k in node.keywords}
    shell = keywords.get("shell")
    if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
        yield f"{where} starts a shell"
    if (
        isinstance(node.func, ast.Name)
        and node.func.id in NAMES
        and ((file, node.func.id) not in ALLOWED_NAMES)
    ):
        yield f"{where} calls {node.func.id}"
    if not isinstance(node.func, ast.Attribute):
        return
    name, owner = node.func.attr, ast.unparse(node.func.value)
    if name in ATTRIBUTES and (file, name) not in ALLOWED:
        yield f"{where} calls {owner}.{name}"
    if name in ("load", "loads") and owner not in ("json", "module", "tomllib"):
        plain = keywords.get("allow_pickle")
        if not (isinstance(plain, ast.Constant) and plain.value is False):
            yield f"{where} calls {owner}.{name} without allow_pickle=False"
    if owner == "subprocess" and name in PROCESSES:
        if file not in STARTERS:
            yield f"{where} starts a process"
        if not isinstance(node.args[0], ast.List | ast.Name):
            yield f"{where} starts a process by something else than a list"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_has_no_eval_no_pickle_and_no_shell(path):
    assert list(faults(path.read_text(), str(path.relative_to(ROOT)))) == []


BAD = ["import pickle", "from yaml import load", "eval('1')", "exec(x)", "os.system('ls')",
       "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)", "tempfile.mktemp()",
       "np.load(f)", "np.load(f, allow_pickle=True)", "subprocess.run('ls -l')", "os.popen(x)",
       "__import__(name)", "compile(x, y, z)", "ast.literal_eval(x)"]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_the_walk_sees_each_of_them(text):
    assert list(faults(text, "api/other.py"))


LOCKS = ("threading.Lock(", "threading.RLock(", "from functools import cached_property")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_lock_is_one_that_a_forked_child_finds_free(path):
    """``functools.cached_property`` of Python 3.11 has a lock; ours is in opcodes/cached.py."""
    if path.name != "locks.py":
        assert [lock for lock in LOCKS if lock in path.read_text()] == []


MODULES_OF_TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("path", MODULES_OF_TESTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_of_tests_has_at_most_500_lines(path):
    """A longer one judges more than one thing: part it, and let the names say what each judges."""
    assert len(path.read_text().splitlines()) <= 500


def test_no_stray_file_is_committed_beside_the_project():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout of git")
    found = {name for name in listed.stdout.splitlines() if "/" not in name}

    assert found == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "SECURITY.md",
        "pyproject.toml",
    }
