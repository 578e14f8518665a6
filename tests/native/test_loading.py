"""Which extension is taken, and what happens where it cannot be: ops are recorded in Python then, and one line says why."""

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import naming, tracebacks
from gradtape._src.core.base.importing import importing
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.native import twins
from gradtape._src.core.programs import journal, program
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, LEAF_KEY, Node, Trace
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.tensors.variable import ResourceVariable, UnreadVariable
from gradtape._src.core.values.aval import Aval
from tests.architecture.rules import ROOT

native = pytest.mark.skipif(twins.which() != "C", reason=f"there is no extension: {twins.reason}")
compiler = pytest.mark.skipif(
    shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None, reason="there is no compiler of C"
)


def run(code, **environment):
    """What a Python process prints that runs `code`."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_it_is_told_which_one_records():
    assert tf.config.cache_info()["in_c"] == int(twins.which() == "C")


def test_switched_off():
    told = "import gradtape as tf; print(tf.config.cache_info()['in_c'], (tf.constant([1.0]) * 2.0).numpy())"
    assert run(told, GRADTAPE_PURE="1") == "0 [2.]"


def test_not_built(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "gradtape._src.core.native.recording", None)
    monkeypatch.delenv("GRADTAPE_PURE", raising=False)
    assert twins._load() == (None, "it was not built")
    assert not caplog.records


@native
def test_of_another_source(tmp_path, monkeypatch, caplog):
    (tmp_path / "recording.c").write_text("int another;")
    monkeypatch.setattr(twins, "SOURCE", tmp_path / "recording.c")
    monkeypatch.delenv("GRADTAPE_PURE", raising=False)
    assert twins._load() == (None, "it was built of another version of recording.c; build it again: pip install -e .")
    assert [record.message.count("\n") for record in caplog.records] == [0]
    assert "records in Python" in caplog.text


def handed_over(**changed):
    engine_parts = {
        "Node": Node, "Trace": Trace, "Op": Op, "Aval": Aval, "EagerTensor": EagerTensor, "ResourceVariable": ResourceVariable,
        "UnreadVariable": UnreadVariable, "Structure": program.TraceStructure, "guesses": program.guesses, "Array": np.ndarray,
        "local": engine.local,
        "internal": tracebacks.internal, "wanted": engine.wanted, "cut": tracebacks.cut,
        "numbers": engine._numbers, "element": ELEMENT, "execution": vars(execution), "engine": vars(engine),
        "naming": vars(naming), "others": journal.others, "journal": vars(journal), "exits": journal.exits,
        "serial": journal.serial, "Left": journal.Left, "left": journal.left, "as_array": np.asarray,
        "leaf_key": LEAF_KEY, "main": journal._main,
        "longest": engine.LIMIT,
    }  # fmt: skip
    return engine_parts | changed


class Longer:
    __slots__ = (*Node.__slots__, "more")


class Shorter:
    __slots__ = tuple([name for name in Node.__slots__ if name != "origin"])


class Computed:
    __slots__ = tuple([name for name in Node.__slots__ if name != "origin"])
    origin = property(lambda self: None)


@native
@pytest.mark.parametrize("changed", [Longer, Shorter, Computed])
def test_of_other_classes(changed):
    with pytest.raises((ImportError, AttributeError), match=r"slot|origin"):
        twins._extension.bind(**handed_over(Node=changed))
    assert (tf.constant([1.0]) * 2.0).numpy() == [2.0]  # what was bound before goes on working


@native
def test_bound_again():
    twins._extension.bind(**handed_over())
    assert (tf.constant([1.0]) * 2.0).numpy() == [2.0]


@native
def test_sub_interpreters_are_refused():
    code = f"""
        try:
            import _interpreters as interpreters
        except ModuleNotFoundError:
            import _xxsubinterpreters as interpreters
        lines = [
            "from importlib.machinery import ExtensionFileLoader",
            "from importlib.util import module_from_spec, spec_from_loader",
            "loader = ExtensionFileLoader('recording', {twins._extension.__file__!r})",
            "try: loader.exec_module(module_from_spec(spec_from_loader('recording', loader))); print('made')",
            "except ImportError as error: print(error)",
        ]
        text = "; ".join(lines[:3]) + "\\n" + "\\n".join(lines[3:])
        interpreters.run_string(interpreters.create(), text)
    """
    assert "interpreter" in run(code)  # in Python's words, or ours


@native
def test_allocations_that_fail():
    """Every allocation of a call fails once: a MemoryError, or the call goes the long way; the trace is whole."""
    code = """
        import _testcapi, gradtape as tf
        from gradtape._src.core.engine import engine
        x, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])
        calls = [lambda: tf.sin(x), lambda: x * v, lambda: x * 2.0, lambda: 2.0 * x, lambda: v.assign_add(x)]
        failed = 0
        for call in calls:
            for _ in range(5):
                call()
            engine.flush()
            for start in range(40):
                error = None
                _testcapi.set_nomemory(start, start + 1)
                try:
                    call()
                except MemoryError as caught:
                    error = caught
                finally:
                    _testcapi.remove_mem_hooks()
                failed += error is not None
                trace = engine.local.trace
                assert all(node.index == i and node.trace is trace for i, node in enumerate(trace.nodes))
        result = x * v
        engine.flush()
        print(failed > 8, failed, result.numpy().shape, (x * 2.0).numpy())
    """
    pytest.importorskip("_testcapi", reason="this Python was built without its own tests")
    assert run(code).startswith("True")


@native
def test_interrupts_at_random_moments():
    """A thousand times Ctrl-C, at whichever instruction: each trace is whole afterwards, and gives the right numbers."""
    code = """
        import random, signal
        import numpy as np
        import gradtape as tf
        from gradtape._src.core.engine import engine

        random.seed(0)
        x, c, v = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), tf.Variable([1.0, 2.0])

        def interrupt(number, frame):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        interrupted, results = 0, []
        while interrupted < 1000:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2e-4))
                for _ in range(300):  # an interrupt in a finalizer is lost, which Python says itself
                    results = [*results[-40:], tf.sin(x) * c + 2.0 * x]
                    v.assign_add(x)
                    v.assign_sub(x)
            except KeyboardInterrupt:
                interrupted += 1
            trace = engine.local.trace
            assert all(node.index == i and node.trace is trace for i, node in enumerate(trace.nodes))
            if interrupted % 50 == 0:
                for result in results:
                    np.testing.assert_allclose(result.numpy(), np.sin([1.0, 2.0]) * [3.0, 4.0] + [2.0, 4.0], rtol=1e-5)
        print(interrupted)
    """
    assert run(code) == "1000"


@compiler
def test_it_is_built_where_a_compiler_is(tmp_path):
    pytest.importorskip("setuptools", reason="pip brings setuptools where it builds; this environment has none")
    folder = tmp_path / "gradtape/_src/core/native"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    shutil.copy(twins.SOURCE, folder)
    script = [sys.executable, str(tmp_path / "hatch_build.py")]
    clean = {name: value for name, value in os.environ.items() if name != "GRADTAPE_PURE"}

    done = subprocess.run(script, capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob(f"recording*{sysconfig.get_config_var('EXT_SUFFIX')}"))) == 1

    for environment in ({"CC": "no-such-compiler"}, {"GRADTAPE_PURE": "1"}):
        done = subprocess.run(script, capture_output=True, text=True, env=clean | environment)
        assert done.returncode == 1
        assert sorted(path.name for path in folder.iterdir()) == ["recording.c"]


def test_a_python_without_its_lock_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(ImportError, match=r"not tested without Python's global interpreter lock.*PYTHON_GIL=1"), importing():
        pass
