"""`gradtape run script.py` does what `python script.py` does, with `tensorflow` resolved to gradtape."""

import subprocess
import sys

import pytest

import gradtape
import gradtape_cli
from gradtape._src.cli import commands as cli
from tests import forked

PYTHON = (sys.executable,)
GRADTAPE = (sys.executable, "-m", "gradtape")
GRADTAPE_RUN = (*GRADTAPE, "run")


def run(command, folder, *arguments):
    """Run `command` on script.py in `folder`, seen from the folder above it."""
    command = [*command, f"{folder.name}/script.py", *arguments]
    return subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=120)


def run_forked(command, folder, *arguments):
    """Run it so, too, in a process that begins where gradtape is imported."""
    return forked.run([*command, f"{folder.name}/script.py", *arguments], cwd=folder.parent)


@pytest.fixture
def folder(tmp_path, monkeypatch, pytestconfig):
    """An empty folder for a script; gradtape is importable from anywhere."""
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    folder = tmp_path / "scripts"
    folder.mkdir()
    return folder


SURROUNDINGS = """
import sys, neighbour
print(sys.argv, sys.path[0], __file__, __name__, __doc__, __package__, __spec__, type(__loader__), sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals(), neighbour.__file__)
"""

CHAINED = """
def divide(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        raise ValueError("x was 0")
print("before", flush=True)
divide(0)
"""

OWN_HOOK = """
import sys, traceback
def hook(kind, error, trace):
    print("hook", kind.__name__, [frame.name for frame in traceback.extract_tb(trace)], error.__traceback__ is trace)
sys.excepthook = hook
raise LookupError("mine")
"""

AS_PYTHON = {
    "surroundings": (SURROUNDINGS, ("--help", "-x", "--", "two words")),
    "exit code": ("import sys; sys.exit(7)", ()),
    "exit message": ("raise SystemExit('bye')", ()),
    "traceback": (CHAINED, ()),
    "syntax error": ("print('never')\nx = (\n", ()),
    "interrupt": ("import atexit\natexit.register(print, 'at exit')\nraise KeyboardInterrupt", ()),
    "own except hook": (OWN_HOOK, ()),
    "encoding": ("# coding: latin-1\nprint(ascii('\u00e9'))".encode("latin-1"), ()),
}


@pytest.mark.parametrize(("script", "arguments"), AS_PYTHON.values(), ids=AS_PYTHON.keys())
def test_a_script_runs_as_under_python(folder, script, arguments):
    (folder / "neighbour.py").touch()
    (folder / "script.py").write_bytes(script if isinstance(script, bytes) else script.encode())
    expected, received = run(PYTHON, folder, *arguments), run_forked(GRADTAPE_RUN, folder, *arguments)
    assert (received.returncode, received.stdout, received.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )
    assert expected.returncode or expected.stdout


def test_an_unknown_name_is_an_attribute_error_at_the_line_of_the_script(folder):
    (folder / "script.py").write_text("import tensorflow as tf\ntf.sinn(1.0)\n")
    result = run(GRADTAPE_RUN, folder)
    assert result.returncode == 1
    assert "AttributeError: gradtape has no tf.sinn" in result.stderr
    assert [line.split(", ", 1)[1] for line in result.stderr.splitlines() if line.startswith("  File ")] == [
        "line 2, in <module>"
    ]


@pytest.mark.parametrize("package", ["sklearn", "PIL"])
def test_the_demo_says_what_to_install(package, monkeypatch, capsys):
    for name in list(sys.modules):
        if name.startswith("gradtape._src.demo."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(cli, "tune_allocator", lambda: None)
    with pytest.raises(SystemExit, match=rf"gradtape demo: .*{package}.*: pip install 'pillow>=11' 'scikit-learn>=1.6'$"):
        gradtape_cli.main(["demo"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.py"], "gradtape run: cannot open 'absent.py': No such file or directory"),
        (["why", "absent.py"], "gradtape why: cannot open 'absent.py': No such file or directory"),
        (["run", "."], "gradtape run: cannot open '.': Is a directory"),
        (["run", "-m", "absent.module"], "gradtape run: No module named 'absent'"),
        (["run"], "the following arguments are required: program\n"),
        ([], "the following arguments are required: COMMAND\n"),
        (["demo", "--epochs", "0"], "argument --epochs: received '0', expected an integer of at least 1"),
        (["demo", "--seed", "-1"], "argument --seed: received '-1', expected an integer of at least 0"),
        (["demo", "--epochs", "many"], "argument --epochs: received 'many', expected an integer of at least 1"),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "open_door", lambda: None)  # it stays open for the rest of a process
    with pytest.raises(SystemExit, match="2"):
        gradtape_cli.main(arguments)
    assert message in capsys.readouterr().err


def test_a_module_runs_as_under_python(folder):
    package = folder.parent / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys\nprint(sys.argv, sys.path[0], __file__, __name__, __package__, __spec__.name, type(__loader__))\n1 / 0"
    )

    def run(*command):
        command = [*command, "-m", "package", "-m", "two words"]
        return subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=120)

    expected, received = run(sys.executable), run(*GRADTAPE_RUN)
    assert (received.returncode, received.stdout) == (1, expected.stdout)
    assert received.stderr.splitlines()[1:] == [line for line in expected.stderr.splitlines() if "runpy" not in line][1:]


def test_the_version_is_gradtapes(capsys):
    with pytest.raises(SystemExit, match="0"):
        gradtape_cli.main(["--version"])
    assert capsys.readouterr().out == f"gradtape {gradtape.__version__}\n"


LIGHT = """
import sys
import gradtape_cli
try:
    gradtape_cli.main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended
print([name for name in ("gradtape", "jax", "numpy", "keras") if name in sys.modules])
"""


@pytest.mark.parametrize("arguments", [["--help"], ["why", "--help"], ["--version"], ["completion", "bash"]], ids=" ".join)
def test_what_is_only_words_imports_nothing(arguments, pytestconfig):
    done = subprocess.run([*PYTHON, "-c", LIGHT, *arguments], cwd=pytestconfig.rootpath, capture_output=True, text=True)
    assert (done.stderr, done.stdout.splitlines()[-1]) == ("", "[]")
