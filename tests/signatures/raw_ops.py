"""Compare the table of `tf.raw_ops` with TensorFlow's ops: `python tests/signatures/raw_ops.py`, with TensorFlow 2.21.

Each line of `gradtape/_src/compat/raw_ops.txt` whose parameters, defaults or results are not TensorFlow's is printed.
"""

import inspect
from pathlib import Path

TABLE = Path(__file__).parents[2] / "gradtape/_src/compat/raw_ops.txt"


def parameters(function):
    """The parameters of an op's function as the table writes them, without `name`."""
    for p in inspect.signature(function).parameters.values():
        if p.name != "name":
            default = "" if p.default is p.empty else "=" + repr(p.default).removeprefix("tf.").replace(" ", "")
            yield p.name + default


def stated(line):
    """The parameters of a line, and the names of its results."""
    head, _, results = line.partition(" -> ")
    pairs = (word.partition("=") for word in head.split(" ")[3:] if not word.startswith("+"))
    return [name.partition(":")[0] + equals + default for name, equals, default in pairs], results.split()


def main():
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    for line in TABLE.read_text("utf-8").splitlines():
        kind = line.partition(" ")[0]
        outputs = [output.name for output in op_def_registry.get(kind).output_arg]
        expected = list(parameters(getattr(tf.raw_ops, kind))), outputs if len(outputs) > 1 else []
        if stated(line) != expected:
            print(kind, *expected)


if __name__ == "__main__":
    main()
