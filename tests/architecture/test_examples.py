"""The examples in docstrings run and print what they say, and every public callable has one."""

import functools
import inspect
import subprocess
import sys

import gradtape as tf
from gradtape._src.compat import raw_ops
from tests.architecture.public_names import SNAPSHOT
from tests.architecture.rules import sources

ELSEWHERE = ("derivatives", "distribute", "figures")  # their own tests run them
MODULES = [
    source.path.removesuffix(".py").replace("/", ".")
    for source in sources("gradtape")
    if ">>> " in source.text and source.path.split("/")[2] not in ELSEWHERE
]
# An example is a user's program: autograph leaves gradtape's own code alone. And it changes what it likes, the logger's level or
# the meaning of `import tensorflow`, so that all run in a process of their own.
PROGRAM = """
import doctest, importlib, sys
import numpy as np
import gradtape as tf

names = {"tf": tf, "np": np, "__name__": "__main__"}
results = [doctest.testmod(importlib.import_module(name), extraglobs=names) for name in sys.argv[1:]]
print(*map(sum, zip(*results)))
"""


def test_examples(count, tmp_path):
    run = subprocess.run([sys.executable, "-c", PROGRAM, *MODULES], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    failed, ran = map(int, run.stdout.split()[-2:])
    assert not failed, run.stdout
    count("examples of docstrings run", ran)


def described():
    """Return the public functions and classes of the snapshot, each under one name, but those of `tf.compat` and NumPy's own.

    A function of `tf.raw_ops` that the table makes names the function whose example holds.
    """
    found = {}
    for name in SNAPSHOT.read_text().split()[::2]:
        value = functools.reduce(lambda owner, part: getattr(owner, part, None), name.split(".")[1:], tf)
        if name.startswith("gradtape.raw_ops.") and name.rpartition(".")[2] in raw_ops.table():
            continue
        if callable(value) and not name.startswith("gradtape.compat.") and getattr(value, "__module__", "") != "numpy":
            found.setdefault(id(value), (name, value))
    return found.values()


def test_every_public_callable_shows_an_example():
    bare = [name for name, value in described() if ">>> " not in (inspect.getdoc(value) or "")]
    assert not bare, f"A public callable needs an example in its docstring; these have none: {bare}"
