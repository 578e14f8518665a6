"""`tf.print`: values formatted as in TensorFlow, in eager code at once."""

import builtins
import pprint
import sys

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.function_names import CONST
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import to_numpy

SLOT = "\0"  # marks the position of a tensor's text


class _Slot:
    """A stand-in for a tensor while the structure around it is formatted."""

    def __repr__(self):
        return SLOT


def element_text(value):
    """Format one element as in TensorFlow: a float with 6 digits if these are enough, else 9 (float64: 15 or 17)."""
    if isinstance(value, bytes):
        return f'"{value.decode(errors="replace")}"'
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (int, np.integer)):
        return str(value)
    if isinstance(value, (complex, np.complexfloating)):
        return f"({element_text(value.real)},{element_text(value.imag)})"
    kind, short, long = (np.float64, 15, 17) if value.dtype.itemsize == 8 else (np.float32, 6, 9)
    number = kind(value)
    text = f"{float(number):.{short}g}"
    return text if kind(text) == number or number != number else f"{float(number):.{long}g}"


def array_text(array, summarize=3):
    """Format an array in brackets, with the first and last `summarize` entries of each axis (all if -1)."""
    edge = sys.maxsize if summarize is None or summarize < 0 else summarize

    def write(part, depth):
        if not isinstance(part, np.ndarray):
            return element_text(part)
        count = len(part)
        pieces = [write(part[i], depth + 1) for i in range(builtins.min(edge, count))]
        pieces += ["..."] if count > 2 * edge else []
        pieces += [write(part[i], depth + 1) for i in range(builtins.max(edge, count - edge), count)]
        gap = "\n" * (part.ndim - 1) + " " * (depth + 1) if part.ndim > 1 else " "
        return f"[{gap.join(pieces)}]"

    return write(array if array.ndim else array[()], 0)


def strings_of(value):
    """Return the array of a string tensor with a known value, which becomes part of the text; None for anything else."""
    if not is_tensor(value) or value.dtype.name != "string":
        return None
    node = tensor(value).node
    return node.value if node.value is not None else node.attrs[0].array if node.op and node.op.type == CONST else None


def _template(values, sep):
    """Split the printed text into `(pieces of text, tensors)`, with one tensor between two pieces."""
    tensors, texts = [], []
    for value in values:
        if isinstance(value, str):
            texts.append(value.replace(SLOT, "\\0"))
            continue
        leaves, spec = nest.flatten_with_spec(value)
        tensors += [tensor(leaf) for leaf in leaves if is_tensor(leaf)]
        slots = [_Slot() if is_tensor(leaf) else leaf for leaf in leaves]
        texts.append(pprint.pformat(nest.unflatten(spec, slots)))
    return tuple(sep.join(texts).split(SLOT)), tensors


def _fill(pieces, arrays, summarize, alone):
    text = [pieces[0]]
    for array, piece in zip(arrays, pieces[1:], strict=True):
        of_text = alone and array.dtype.hasobject and not array.ndim
        text += [array[()].decode(errors="replace") if of_text else array_text(array, summarize), piece]
    return "".join(text)


def _writer(stream):
    """Return a function that writes a text to the argument `output_stream`."""
    if stream is None:
        stream = sys.stderr
    if isinstance(stream, str) and stream.startswith("file://"):

        def write(text):
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(text)

        return write
    if hasattr(stream, "write"):
        return lambda text: (stream.write(text), stream.flush())
    if callable(stream):  # a logger's method
        return lambda text: stream(text.removesuffix("\n"))
    raise ValueError(
        f"Unsupported output stream, logging level, or file: {stream!r}. Give sys.stdout, sys.stderr or another "
        "stream, a function of a logger such as logging.info, or 'file://<path>'."
    )


def _show(*inputs, pieces, summarize, stream, alone):
    _writer(stream)(_fill(pieces, [np.asarray(a) for a in inputs], summarize, alone))
    return ()


def _nothing(*inputs, pieces, summarize, stream, alone):
    return ()


PRINT = define(Op("PrintV2", _nothing, infer=_nothing, host=_show, effect=True, reason="it gives nothing"))


@public
def print(*inputs, **kwargs):
    """Print Python values, tensors, and structures that contain tensors.

    `output_stream` (sys.stderr) is a stream, a logger's method such as `tf.compat.v1.logging.info`, or "file://<path>";
    `summarize` (3) is the number of entries shown at each end of an axis, -1 for all; `sep` (" ") and `end` (newline) are as
    for Python's print. In eager code the values are computed and written at once.

    >>> tf.print("loss", tf.constant([1.0, 2.5]), output_stream="file://log.txt")
    >>> open("log.txt").read().strip()
    'loss [1 2.5]'
    """
    stream, end = kwargs.pop("output_stream", None), kwargs.pop("end", "\n")
    sep, summarize = kwargs.pop("sep", " "), kwargs.pop("summarize", 3)
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    write = _writer(stream)
    pieces, tensors = _template(inputs, sep)
    pieces = (*pieces[:-1], pieces[-1] + end)
    nodes = tuple([t.node for t in tensors])
    alone = len(inputs) == 1 and is_tensor(inputs[0])  # a single string is printed without quotation marks
    if engine.local.trace.parent is None:
        arrays = [to_numpy(node) for node in nodes]
        write(_fill(pieces, arrays, summarize, alone))
    else:
        node = engine.record(PRINT, nodes, (pieces, summarize, stream, alone))
        graph = engine.current_graph()
        return None if graph is None else graph.operation_of(node)
    return None
