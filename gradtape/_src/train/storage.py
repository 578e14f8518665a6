"""The file of a checkpoint: arrays in the safetensors format, with a JSON index and checksums in its metadata."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.sharding import Sharding

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import DataLossError, NotFoundError, UnimplementedError
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.files.ops import of_bytes
from gradtape._src.files.whole import replacing

SUFFIX = ".safetensors"
FORMAT = "gradtape checkpoint 1"
ATTRIBUTES = "/.ATTRIBUTES/"  # in keys of objects that are no variables, before the kind of state
# Dtypes that safetensors does not have are stored as these, with one more axis if an element needs several.
STORED_AS = {"complex128": "float64", "float8_e5m2": "uint8", "float8_e4m3fn": "uint8"}


@dataclass(frozen=True)
class ArrayEntry:
    """The index entry of an array."""

    dtype: Any  # NumPy's, or a DType without tensors
    shape: tuple[int, ...]
    crc32: int
    strings: tuple[bytes, ...] | None = None


@dataclass
class ObjectNode:
    """One object of the saved graph: its children as node numbers by name, and the key of its array, if it has one.

    An object that is no variable may have several arrays, whose keys are `key` plus each of the `endings`.

    `name` is the variable's own name. `slots` are those of an optimizer saved by TensorFlow: the name of each, the node of its
    variable, and its own node.
    """

    children: dict[str, int]
    key: str | None = None
    name: str | None = None
    slots: tuple[tuple[str, int, int], ...] | None = None
    endings: tuple[str, ...] | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its arrays by their suffixes."""
        return {} if self.key is None else {ending: self.key + ending for ending in self.endings or ("",)}


def file_of(prefix: str) -> str:
    """Return the file of the checkpoint `prefix`."""
    return prefix if prefix.endswith(SUFFIX) else prefix + SUFFIX


def save(prefix: str, nodes: list[ObjectNode] | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint: the graph, and the array of each key in it. Without a graph the keys are names of variables."""
    import safetensors.numpy

    entries: dict[str, Any] = {}
    tensors = {}
    for key, array in arrays.items():
        entry: dict[str, Any] = {"dtype": as_dtype(array.dtype).name, "shape": array.shape}
        if array.dtype.kind == "O":
            entry["strings"] = [base64.b64encode(item).decode() for item in array.ravel()]
        else:
            tensors[key] = stored = _stored(array)
            entry["crc32"] = _checksum(stored)
        entries[key] = entry
    index = json.dumps({"format": FORMAT, "nodes": nodes and graph_data(nodes), "arrays": entries})
    metadata = {"gradtape": index, "crc32": str(zlib.crc32(index.encode()))}
    file = file_of(prefix)
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)

    def write() -> None:
        with replacing(file) as part:
            safetensors.numpy.save_file(tensors, part, metadata)

    hooks.clients.once(file, write)


def _stored(array: np.ndarray) -> np.ndarray:
    """Convert an array to one for safetensors: contiguous, with a supported dtype."""
    kind = STORED_AS.get(as_dtype(array.dtype).name)
    array = array if array.flags.c_contiguous else array.copy(order="C")
    if kind is None:
        return array
    return np.frombuffer(array.tobytes(), kind).reshape(*array.shape, -1) if array.size else np.zeros((*array.shape, 1), kind)


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


class CheckpointSource:
    """A checkpoint opened for reading; arrays are read on demand.

    DataLossError if it is damaged or no checkpoint.
    """

    foreign = False  # whether TensorFlow wrote it
    entries: Mapping[str, ArrayEntry]
    nodes: list[ObjectNode]
    by_name: bool  # a Saver's checkpoint: keys are names of variables, and there are no nodes

    def __init__(self, path: str) -> None:
        self.path = path

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Convert any error of a damaged file's reader to one error that names the file."""
        try:
            yield
        except (MemoryError, ImportError, DataLossError, UnimplementedError):
            raise
        except Exception as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise DataLossError(
                None, None, f"The checkpoint {self.path} is damaged, or is none: {said}. Nothing was restored."
            ) from error

    def _take(self, index: Any, format: str, stored: set[str] | None) -> None:
        """Take entries and nodes from an index of gradtape's own formats.

        `stored` are the keys of the arrays that are there; None if orbax, which wrote them, knows that, and their checksums.
        """
        if index["format"] != format:
            raise ValueError(f"its format is {index['format']!r}, this version of gradtape reads {format!r}")
        self.entries = {key: entry_of(key, given, stored) for key, given in index["arrays"].items()}
        self.by_name = index["nodes"] is None
        given = index["nodes"] or []
        self.nodes = [node_of(node, len(given), self.entries) for node in given]

    def arrays(self, keys: list[str], layouts: Mapping[str, Sharding] = {}) -> dict[str, Any]:
        """Return the arrays of `keys`, checked against the index, and sharded by `layouts` in a checkpoint in parts."""
        raise NotImplementedError

    def graph(self) -> bytes:
        """Return the graph of the objects as it is stored."""
        raise NotImplementedError


class Reader(CheckpointSource):
    """A checkpoint that gradtape wrote. NotFoundError if there is no file."""

    def __init__(self, prefix: str) -> None:
        super().__init__(file_of(prefix))
        if not os.path.isfile(self.path):
            raise NotFoundError.saying(
                f"Error when restoring from checkpoint at {prefix}: there is no file {self.path}. Please double-check that the "
                "path is correct. You may be missing the checkpoint suffix (e.g. the '-1' in 'path/to/ckpt-1'); "
                "tf.train.latest_checkpoint(folder) gives the whole of it."
            )
        with self._opened() as file:
            metadata, keys = file.metadata(), set(file.keys())
        with self._damage():
            if not metadata or "gradtape" not in metadata:
                raise ValueError("it is a safetensors file, but not one that tf.train.Checkpoint wrote")
            text = metadata["gradtape"]
            if metadata.get("crc32") != str(zlib.crc32(text.encode())):
                raise ValueError("the checksum of its index is wrong")
            index = json.loads(text)
            self._take(index, FORMAT, keys)
            if not self.nodes and not self.by_name:
                raise ValueError("it has no objects")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        import safetensors

        with self._damage(), safetensors.safe_open(self.path, framework="np") as file:
            yield file

    def arrays(self, keys: list[str], layouts: Mapping[str, Sharding] = {}) -> dict[str, Any]:
        with self._opened() as file, self._damage():
            return {key: self._array(file, key) for key in keys}

    def graph(self) -> bytes:
        return graph_of(self.nodes)

    def _array(self, file: Any, key: str) -> np.ndarray:
        entry = self.entries[key]
        if entry.strings is not None:
            return strings_of(entry)
        stored = file.get_tensor(key)
        name = as_dtype(entry.dtype).name
        shape = stored.shape[:-1] if name in STORED_AS else stored.shape
        if shape != entry.shape or stored.dtype != np.dtype(STORED_AS.get(name, entry.dtype)):
            raise ValueError(f"{key} is {stored.dtype}{list(stored.shape)} in it, {name}{list(entry.shape)} in its index")
        if _checksum(stored) != entry.crc32:
            raise ValueError(f"the checksum of {key} is wrong")
        return stored if name not in STORED_AS else np.frombuffer(stored.tobytes(), entry.dtype).reshape(entry.shape)


def strings_of(entry: ArrayEntry) -> np.ndarray:
    """Return the array of strings in an index entry."""
    assert entry.strings is not None
    return of_bytes(entry.strings, entry.shape)


def graph_data(nodes: Sequence[ObjectNode]) -> list[dict[str, Any]]:
    """Convert the graph of the objects to data for the file."""
    return [{name: value for name, value in vars(node).items() if value is not None} for node in nodes]


def graph_of(nodes: Sequence[ObjectNode]) -> bytes:
    """Convert the graph of the objects to JSON."""
    return json.dumps([{name: vars(node)[name] for name in ("children", "key", "name")} for node in nodes]).encode()


def entry_of(key: str, given: Any, stored: set[str] | None) -> ArrayEntry:
    dtype = as_dtype(given["dtype"]).numpy
    shape = tuple(given["shape"])
    if not all(type(extent) is int and 0 <= extent < 1 << 62 for extent in shape):
        raise ValueError(f"{key} has the shape {list(shape)}")
    if dtype.kind != "O":
        if stored is not None and key not in stored:
            raise ValueError(f"it has no array {key}")
        return ArrayEntry(dtype, shape, 0 if stored is None else int(given["crc32"]))
    strings = tuple([base64.b64decode(item, validate=True) for item in given["strings"]])
    if len(strings) != int(np.prod(shape, dtype=object)):
        raise ValueError(f"{key} has {len(strings)} strings for the shape {list(shape)}")
    return ArrayEntry(dtype, shape, 0, strings)


def node_of(given: Any, count: int, entries: Mapping[str, ArrayEntry]) -> ObjectNode:
    children, key, own_name, endings = given["children"], given.get("key"), given.get("name"), given.get("endings")
    for name, number in children.items():
        if type(number) is not int or not 0 <= number < count:
            raise ValueError(f"object {name!r} has the number {number!r} among {count}")
    if endings is not None and not (type(endings) is list and all(type(ending) is str for ending in endings)):
        raise ValueError(f"an object has the endings {endings!r}")
    node = ObjectNode(dict(children), key, own_name, endings=tuple(endings) if endings else None)
    if missing := node.keys.values() - entries.keys():
        raise ValueError(f"it has no array {sorted(missing)[0]!r}")
    if own_name is not None and not isinstance(own_name, str):
        raise ValueError(f"a variable has the name {own_name!r}")
    return node
