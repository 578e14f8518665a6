"""Writing of checkpoints in TensorFlow's format: an index, which is a table, and one file with the bytes of all tensors."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.files.messages import message, shape_message
from gradtape._src.files.records import masked_checksum
from gradtape._src.files.table import written
from gradtape._src.files.varint import packed
from gradtape._src.files.whole import replacing
from gradtape._src.train.bundle import GRAPH, SUFFIX, VALUE, VERSION, checksums
from gradtape._src.train.storage import ATTRIBUTES, ObjectNode

WRITER = "gradtape"  # in a header field that TensorFlow does not have, and ignores


def is_wanted() -> bool:
    """Return whether checkpoints are in TensorFlow's format: if gradtape replaces it, and the needed packages exist."""
    return hooks.door.is_open and all(importlib.util.find_spec(name) is not None for name in ("google_crc32c", "google.protobuf"))


def data_of(prefix: str) -> str:
    """Return the data file of the checkpoint `prefix`."""
    return f"{prefix}.data-00000-of-00001"


def save(prefix: str, nodes: Sequence[ObjectNode] | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint: the graph, and the array of each key in it. Without a graph the keys are names of variables."""
    if nodes is not None:
        graph = np.empty((), object)
        graph[()] = _graph(nodes)
        arrays = {_key(key): array for key, array in arrays.items()} | {GRAPH: graph}
    index = prefix + SUFFIX
    os.makedirs(os.path.dirname(os.path.abspath(index)), exist_ok=True)

    def write() -> None:
        with replacing(index) as part:
            with replacing(data_of(prefix)) as beside, open(beside, "wb") as data:
                table = written(_entries(arrays, data))
            with open(part, "wb") as file:
                file.write(table)

    hooks.clients.once(index, write)


def _key(key: str) -> str:
    return key if ATTRIBUTES in key else key + VALUE


def _entries(arrays: Mapping[str, np.ndarray], data: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the index entries in order, and write the bytes of the tensors."""
    header = message("BundleHeaderProto")(num_shards=1, writer=WRITER)
    header.version.producer = VERSION
    yield b"", header.SerializeToString()
    for key, array in sorted((key.encode(), array) for key, array in arrays.items()):
        strings = array.dtype.kind == "O"
        stored, checksum = _strings(array) if strings else _numbers(array)
        place = {"offset": data.tell(), "size": len(stored), "crc32c": checksum}
        dtype, shape = as_dtype(array.dtype).as_datatype_enum, shape_message(array.shape)
        entry = message("BundleEntryProto")(dtype=dtype, shape=shape, **place)
        data.write(stored)
        yield key, entry.SerializeToString()


def _numbers(array: np.ndarray) -> tuple[bytes, int]:
    stored = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return stored, masked_checksum(stored)


def _strings(array: np.ndarray) -> tuple[bytes, int]:
    """Encode strings, behind their lengths and a checksum of these; return the bytes and the checksum of all."""
    items = [bytes(item) for item in array.ravel()]
    lengths, text = [len(item) for item in items], b"".join(items)
    checksum, whole = checksums(lengths, text)
    return b"".join([*map(packed, lengths), checksum, text]), whole


def _graph(nodes: Sequence[ObjectNode]) -> bytes:
    graph = message("TrackableObjectGraph")()
    for node in nodes:
        made = graph.nodes.add()
        for name, number in node.children.items():
            made.children.add(node_id=number, local_name=name)
        if node.key is not None:
            key = _key(node.key)
            made.attributes.add(name=key.rpartition(ATTRIBUTES)[2], full_name=node.name or "", checkpoint_key=key)
    stored: bytes = graph.SerializeToString()
    return stored
