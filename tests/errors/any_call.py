"""Bad calls of any public name: a generator of their text, and the process that runs them.

`any_call.py SECONDS MODULE < calls` prints for each line of `calls` one line: the call's number, its outcome, and the text
that goes with it. It ends at a call that takes longer than SECONDS; `run` starts it again behind that call.
"""

import contextlib
import faulthandler
import importlib
import inspect
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = (ROOT / "tests/architecture/public_names.txt").read_text("utf-8").split()[::2]  # each has its status behind it
LIBRARY = re.compile(re.escape(str(ROOT / "gradtape")) + "|site-packages")
MEMORY = 6 << 30  # bytes of address space that the process may take
STARTED, ACCEPTED, REFUSED = "started", "accepted", "refused"

# Expressions that stand for an argument. They use `tf`, `np` and nothing else, so that TensorFlow can be given the same calls.
VALUES = r"""
None True False 'a' b'' '\0' 0 1 -1 -7 2**31 -2**31 2**63 -2**63 2**70 1.5 float('nan') float('inf') -1e308 1j () [] {}
[None] [[]] [[1.0],[2.0,3.0]] [1,'a'] [10**6,10**6] [10**12] [2**62,4] [-1,-1] [float('nan')] [0,0] {'a':1.0} {1} range(3)
object() object len tf tf.float32 tf.string 'float31' ... slice(None) tf.TensorShape(None) tf.TensorShape([None,2]) np.nan
np.float32(2.5) np.int8(-3) np.zeros((0,3)) np.array('a') np.array(['a',None],object) np.array('2020-01-01',np.datetime64)
np.ones(3,np.float16) np.ones((2,3),np.uint64) np.zeros(2,[('a',np.int32)]) tf.constant(1.0) tf.constant(2) tf.ones([3])
tf.ones([2,3]) tf.ones([0,3]) tf.ones([1,4,4,3]) tf.ones([2,2,2,2,2,2]) tf.constant([1,-5]) tf.constant([2**40])
tf.constant([True,False]) tf.constant('a') tf.constant(['a','b']) tf.constant([1j]) tf.constant([float('nan')])
tf.cast([1.0],tf.bfloat16) tf.constant([[1.0,2.0],[3.0,4.0]]) tf.Variable([1.0,2.0]) tf.Variable('a')
tf.ragged.constant([[1.0],[2.0,3.0]]) tf.sparse.from_dense([[1.0,0.0]])
tf.IndexedSlices(tf.ones([1,2]),tf.constant([5]),tf.constant([3,2])) tf.data.Dataset.range(3) lambda*a:None lambda*a:a[0]
lambda*a:1/0 tf.function(lambda*a:a)
""".split()
FITTING = """
tf.ones([3]) tf.ones([2,3]) tf.ones([2,2]) tf.ones([1,4,4,3]) tf.constant([0,1]) tf.constant(1.0) 1 2 0 [0] [1,2] [2,3] 1.0
""".split()

# They wait for other processes, end this one, or write to where the test did not say.
LEFT_OUT = {
    "compat.v1.app.run", "test.main", "compat.v1.test.main", "sysconfig.write_keras_config", "profiler.experimental.server.start",
}  # fmt: skip
# They change how later calls work: each is called in a process of its own.
SETTINGS = (
    "config.", "set_", "enable_", "disable_", "load_", "register", "experimental.async", "start", "stop", "trace_", "reset_",
)  # fmt: skip


def found(tf, name):
    """Return the object of a public name."""
    value = tf
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def names(tf):
    """Return the public names that can be called, without modules and names that the test leaves out."""
    kept = [name for name in NAMES if name.partition(".")[2] not in LEFT_OUT]
    return [name for name in kept if callable(found(tf, name)) and not inspect.ismodule(found(tf, name))]


def calls(tf, name, number, seed=0):
    """Return the text of `number` bad calls of a public name."""
    draw = random.Random(f"{seed} {name}")
    try:
        parameters = list(inspect.signature(found(tf, name)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    return ["tf" + name.removeprefix("gradtape") + f"({arguments(draw, parameters)})" for _ in range(number)]


def arguments(draw, parameters):
    """Return the text of arguments: each of them any value, or all but one of them values that often fit."""
    any_value = draw.random() < 0.3
    positional = any(p.kind is p.VAR_POSITIONAL for p in parameters)  # what precedes *args has to be positional too
    texts = []
    for p in parameters:
        required = p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        if p.kind is p.VAR_KEYWORD or not (required or draw.random() < 0.35):
            positional = positional and p.kind is p.VAR_KEYWORD
            continue
        bad = any_value or draw.random() < 1.5 / len(parameters)
        text = draw.choice(VALUES if bad else FITTING)
        bare = p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) or (positional and p.kind is p.POSITIONAL_OR_KEYWORD)
        texts.append(text if bare else f"{p.name}={text}")
    if any("=" in text.split("(")[0] for text in texts) and parameters and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        texts.sort(key=lambda text: "=" in text.split("(")[0])
    return ", ".join(texts)


def outcome(call):
    """Run a call, read the tensors of its result, and return the outcome and a text: of an error its class and message."""
    try:
        read(call())
    except BaseException as error:
        kind = type(error)
        told = f"{kind.__module__}.{kind.__qualname__}: {error}"
        for frame, line in traceback.walk_tb(error.__traceback__):
            if LIBRARY.search(frame.f_code.co_filename):
                return "frames", f"{frame.f_code.co_filename.rpartition('/')[2]}:{line} {told}"
        if kind.__module__.split(".")[0] not in ("builtins", "gradtape", "tensorflow", "keras"):
            return "bare", told
        if not str(error).strip():
            return "empty", told
        if kind in (AssertionError, NameError, UnboundLocalError, RecursionError, SystemError, MemoryError):
            return "internal", told
        return REFUSED, told
    return ACCEPTED, ""


def read(result):
    """Wait for the values of a result's tensors."""
    for value in result if isinstance(result, (list, tuple)) else [result]:
        if hasattr(type(value), "numpy"):  # of an object with any attribute, such as RunMetadata, it is no method
            value.numpy()


def main():
    seconds, module = float(sys.argv[1]), sys.argv[2]
    lines = sys.stdin.read().splitlines()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # `tf.print` and others write to it
    warnings.simplefilter("ignore")
    tf = importlib.import_module(module)
    import numpy as np

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, line in enumerate(lines):
        print(number, STARTED, file=out)
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            call = eval(f"lambda: {line}", {"tf": tf, "np": np})
            kind, told = outcome(call)
        finally:
            faulthandler.cancel_dump_traceback_later()
        print(number, kind, told.replace("\n", " ")[:300].encode("ascii", "replace").decode(), file=out)
    os._exit(0)  # what the calls left open, threads among it, is not waited for


def run(lines, seconds=60, python=sys.executable, module="gradtape"):
    """Run calls in processes; return for each its text, outcome and the text that goes with the outcome."""
    results, rest = [], list(lines)
    while rest:
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                [python, Path(__file__), str(seconds), module], input="\n".join(rest), capture_output=True, text=True, cwd=folder,
                env=dict(os.environ, PYTHONPATH=str(ROOT), HOME=folder, TMPDIR=folder), check=False,
            )  # fmt: skip
        done = {}
        for line in ran.stdout.splitlines():
            number, kind, *told = line.split(" ", 2)
            done[int(number)] = kind, *(told or [""])
        if not done:
            raise RuntimeError(f"the process did not start: {ran.stderr[-2000:]}")
        last = max(done)
        if done[last][0] == STARTED:
            hung = "Timeout (" in ran.stderr
            done[last] = ("hung" if hung else "ended"), f"{ran.returncode} {ran.stderr[-1500:]}"
        results += [(rest[i], *done[i]) for i in range(last + 1)]
        rest = rest[last + 1 :]
    return results


def batches(tf, chosen, number, size=100, seed=0):
    """Return lists of calls, `number` of each name: those of names that change settings by themselves."""
    together, alone = [], []
    for name in chosen:
        texts = calls(tf, name, number, seed)
        if any(part.startswith(SETTINGS) for part in (name.partition(".")[2], name.rpartition(".")[2])):
            alone.append(texts)
        else:
            together += texts
    return [together[i : i + size] for i in range(0, len(together), size)] + alone


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
