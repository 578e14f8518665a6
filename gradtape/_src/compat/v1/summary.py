"""`compat.v1.summary`: values of a graph as TensorBoard reads them, and the file that they are written to.

A summary is a message of the `Summary` protocol: messages that are joined are one message, which is how they are merged. The
format of the file is that of TensorFlow's records, each with masked CRC-32C sums of its length and of itself.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.graph.collections import GraphKeys, get_collection
from gradtape._src.control.graph.graph import in_graph
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.convert import constant, tensor
from gradtape._src.core.errors import invalid, public
from gradtape._src.core.op import Op, define
from gradtape._src.core.scopes import name_scope
from gradtape._src.core.tensor import EagerTensor, to_numpy
from gradtape._src.ops.printing import strings_of

Encode = Callable[..., bytes]


def _on_host(*inputs: Any, encode: Encode, tag: str) -> np.ndarray:
    return np.array(encode(tag, *[np.asarray(x) for x in inputs]), object)


def _not_compiled(*inputs: Any, encode: Encode, tag: str) -> Any:
    raise NotImplementedError("a summary is made outside of XLA")


def _avals(*inputs: Aval, encode: Encode, tag: str) -> Aval:
    return aval((), np.dtype(object))


SUMMARY = define(Op("Summary", _not_compiled, infer=_avals, host=_on_host, effect=True))
SUMMARY.reason = "it gives a text"


# ---------------------------------------------------------------------------------------------------------------------
# Messages


def _number(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    value &= (1 << 64) - 1
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _field(number: int, value: Any) -> bytes:
    """A field of a message: an int, a float (64 bits) or bytes."""
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    if isinstance(value, float):
        return _number(number << 3 | 1) + struct.pack("<d", value)
    return _number(number << 3 | 2) + _number(len(value)) + value


def _value(tag: str, content: bytes) -> bytes:
    """A Summary of one value."""
    return _field(1, _field(1, tag.encode()) + content)


def _scalar(tag: str, value: np.ndarray) -> bytes:
    if value.ndim:
        raise invalid(f"tags and values are not the same shape: [] != {list(value.shape)} (tag '{tag}'). Give a scalar.")
    return _value(tag, _number(2 << 3 | 5) + struct.pack("<f", float(value)))


def _histogram(tag: str, values: np.ndarray) -> bytes:
    flat = values.astype(np.float64).ravel()
    if not np.isfinite(flat).all():
        raise invalid(f"Nan in summary histogram for: {tag}")
    counts, edges = np.histogram(flat, 30)
    ends = (flat.min(), flat.max()) if flat.size else (0.0, 0.0)
    message = b"".join(_field(k, float(x)) for k, x in enumerate((*ends, flat.size, flat.sum(), np.square(flat).sum()), 1))
    message += _field(6, edges[1:].astype("<f8").tobytes()) + _field(7, counts.astype("<f8").tobytes())
    return _value(tag, _field(5, message))


def _images(tag: str, images: np.ndarray, *, most: int) -> bytes:
    """The first images of a batch as PNG: bytes as they are, floats so that the largest is 255 (0 is grey if some are less)."""
    shown = images[:most]
    names = [f"{tag}/image"] if most == 1 else [f"{tag}/image/{k}" for k in range(len(shown))]
    return b"".join(_image(name, image) for name, image in zip(names, shown, strict=True))


def _image(tag: str, image: np.ndarray) -> bytes:
    if image.dtype != np.uint8:
        low, high = float(image.min(initial=0)), float(image.max(initial=0))
        scaled = image * (127 / max(-low, high)) + 128 if low < 0 else image * (255 / high if high else 0)
        image = scaled.astype(np.uint8)
    height, width, depth = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], 1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[depth], 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    encoded = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return _value(tag, _field(4, _field(1, height) + _field(2, width) + _field(3, depth) + _field(4, encoded)))


class _Most:
    """`_images` of so many at the most; equal where that is the same, so that a program is found again."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, tag: str, images: np.ndarray) -> bytes:
        return _images(tag, images, most=self.most)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Most) and self.most == other.most

    def __hash__(self) -> int:
        return hash(self.most)


def _text(tag: str, texts: np.ndarray) -> bytes:
    flat = [item if isinstance(item, bytes) else str(item).encode() for item in texts.ravel()]
    shape = b"".join(_field(2, _field(1, int(extent))) for extent in texts.shape)
    message = _field(1, 7) + _field(2, shape) + b"".join(_field(8, item) for item in flat)
    return _value(tag, _field(9, _field(1, _field(1, b"text"))) + _field(8, message))


def _merged(tag: str, *summaries: np.ndarray) -> bytes:
    return b"".join(summary.item() for summary in summaries)


# ---------------------------------------------------------------------------------------------------------------------
# Summaries


def _summary(name: str, family: str | None, encode: Encode, values: Sequence[Any], collections: Any) -> Any:
    """The op that encodes `values` under a name of the scope's, entered into collections."""
    base = "/".join([_clean(part) for part in (family, name) if part])
    with name_scope(base) as scope:
        own = scope.removesuffix("/")
    tag = f"{_clean(family)}/{own}" if family else own
    nodes = tuple([tensor(value).node for value in values])
    graph = in_graph()
    if graph is None:
        return constant(_on_host(*[to_numpy(node) for node in nodes], encode=encode, tag=tag))
    made = EagerTensor(graph._recorded(SUMMARY, nodes, (encode, tag), own))
    for collection in [GraphKeys.SUMMARIES] if collections is None else collections:
        graph.add_to_collection(collection, made)
    return made


def _clean(name: str) -> str:
    return re.sub(r"[^-/\w.]", "_", name).lstrip("/")


@public
def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Any:
    """A summary of one number, as a tensor of a string; entered into `collections` (those of `merge_all`)."""
    return _summary(name, family, _scalar, [tensor], collections)


@public
def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Any:
    """A summary of how values are distributed, in 30 buckets; InvalidArgumentError for NaN and infinities."""
    return _summary(name, family, _histogram, [values], collections)


@public
def image(name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None) -> Any:
    """A summary of the first images of a batch [n, height, width, 1, 3 or 4], uint8 or float."""
    return _summary(name, family, _Most(max_outputs), [tensor], collections)


@public
def text(name: str, tensor: Any, collections: Any = None) -> Any:
    """A summary of a constant tensor of strings."""
    known = strings_of(constant(tensor) if isinstance(tensor, (str, bytes, list)) else tensor)
    if known is None:
        raise ValueError(f"Expected tensor {tensor!r} to be a constant of strings: there are no others.")
    return _summary(name, None, _Written(known), [], collections)


class _Written:
    """`_text` of what is known."""

    def __init__(self, texts: np.ndarray) -> None:
        self.texts = texts

    def __call__(self, tag: str) -> bytes:
        return _text(tag, self.texts)


@public
def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Any:
    """One summary of all of `inputs`."""
    return _summary(name or "Merge/MergeSummary", None, _merged, list(inputs), collections or ())


@public
def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """One summary of all that were entered into the collection `key`; None if there are none."""
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


# ---------------------------------------------------------------------------------------------------------------------
# The file


def _table() -> list[int]:
    """The remainders of CRC-32C of each byte."""
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        found.append(byte)
    return found


REMAINDERS = _table()


def _checked(data: bytes) -> bytes:
    """The masked CRC-32C sum of `data`."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder = REMAINDERS[(remainder ^ byte) & 255] ^ remainder >> 8
    crc = remainder ^ 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


class FileWriter:
    """Writes summaries to a file in the folder `logdir`, which TensorBoard shows; a context that closes it.

    Graphs and the metadata of runs are accepted and not written.
    """

    @public
    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = os.fspath(logdir)
        os.makedirs(self._logdir, exist_ok=True)
        own = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}{filename_suffix or ''}"
        self._path = os.path.join(self._logdir, own)
        self._file = open(self._path, "ab")  # noqa: SIM115
        self._write(_field(1, time.time()) + _field(3, b"brain.Event:2"))

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checked(length) + event + _checked(event))

    @public
    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary: the bytes that a run gave."""
        if not isinstance(summary, bytes):
            summary = np.asarray(summary).item()
        step = b"" if global_step is None else _field(2, int(global_step))
        self._write(_field(1, time.time()) + step + _field(5, summary))

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def _accepted(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: it is not written."""

    add_graph = add_meta_graph = add_run_metadata = add_session_log = add_event = _accepted

    def flush(self) -> None:
        """Write what is held back."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def reopen(self) -> None:
        """Go on after `close`."""
        if self._file.closed:
            self._file = open(self._path, "ab")  # noqa: SIM115

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *reason: Any) -> None:
        self.close()


class FileWriterCache:
    """One FileWriter for each folder."""

    _writers: dict[str, FileWriter] = {}

    @classmethod
    def get(cls, logdir: str) -> FileWriter:
        """The writer for a folder."""
        if logdir not in cls._writers:
            cls._writers[logdir] = FileWriter(logdir)
        return cls._writers[logdir]

    @classmethod
    def clear(cls) -> None:
        """Close them all."""
        for writer in cls._writers.values():
            writer.close()
        cls._writers.clear()
