"""Write down what TensorFlow does with the calls of `expected.txt`: `python -m tests.graph.sweep.record`, where it is installed.

The rows of the op table import gradtape. Here that name is TensorFlow, and what TensorFlow does not have is a stand-in: a call
that needs one is `invalid`. Calls whose eager code refuses float64 are asked with float32.
"""

import importlib.abc
import importlib.machinery
import sys
from unittest.mock import MagicMock

STAND_INS = ("gradtape", "jax", "scipy")


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of any content, below those names."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in STAND_INS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return MagicMock(name=spec.name)

    def exec_module(self, module):
        module.__path__ = []


def main():
    import tensorflow as tf

    sys.modules["gradtape"] = tf
    sys.meta_path.insert(0, StandIns())
    from tests.graph.sweep.calls import CALLS
    from tests.graph.sweep.expected import read, write
    from tests.graph.sweep.run import INVALID, outcome

    table = read()
    for line, (here, _) in table.items():
        known = line.partition(" ")[2] in CALLS  # rows of functions of gradtape's own are not there
        there, why = outcome(tf, line) if known else (INVALID, "")
        if known and there == INVALID:
            there, why = outcome(tf, line, "float32")
        table[line] = here, there
        print(there, line, why[:200].replace("\n", " "), flush=True)
    write(table)


if __name__ == "__main__":
    main()
