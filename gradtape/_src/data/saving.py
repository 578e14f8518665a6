"""`Dataset.save`, `load` and `cache`: elements in a directory, in TensorFlow's format.

`dataset_spec.pb` has the structure of elements, `snapshot.metadata` the name of their directory. In it each shard has files of
records, with the tensors of one element after the other, each a TensorProto. The structure is there, too. So a save replaces
another one by writing the single file `snapshot.metadata`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import time
from collections import namedtuple
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import DataLossError, NotFoundError, invalid
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data.calls import ElementCall
from gradtape._src.data.stages import Resumed, Start, Stream
from gradtape._src.data.structure import Element, ElementStructure, from_specs
from gradtape._src.files import gfile
from gradtape._src.files.messages import message, shape_message
from gradtape._src.files.records import TFRecordWriter, tf_records
from gradtape._src.files.systems import LOCAL, located, open_bytes, told, write_whole
from gradtape._src.files.tensors import decoded, encoded
from gradtape._src.files.whole import replacing

SPEC, METADATA = "dataset_spec.pb", "snapshot.metadata"
VERSION = 2
DEEPEST = 64  # maximum depth of nested specs


def compression_of(value: str | None) -> str:
    """Return the compression of files of elements; InvalidArgumentError for an unknown one."""
    if value not in (None, "", "NONE", "GZIP"):
        raise invalid(f"compression must be None or 'GZIP', received {value!r}.")
    return "GZIP" if value == "GZIP" else ""


def save(path: str, elements: Stream, structure: ElementStructure, compression: str, shard: ElementCall | None) -> None:
    """Write elements to a directory."""
    for _ in _saved(path, elements, structure, compression, shard):
        pass


def kept(path: str, start: Start, structure: Callable[[], ElementStructure], known: ElementStructure | None) -> Stream:
    """Return the elements of a cache directory, or write them there in the first complete pass.

    `known` is their structure, unless a user's function has to be called to infer it.
    """
    if not gfile.exists(gfile.join(path, METADATA)):
        return _saved(path, start(), structure(), "", None)
    snapshot = Snapshot(path, "", None if known is None else known.element_spec)
    return snapshot.elements([file for shard in snapshot.shards for file in shard])


def _saved(path: str, elements: Stream, structure: ElementStructure, compression: str, shard: ElementCall | None) -> Stream:
    """Yield elements while writing them to a directory. The two small files that make the save valid are written last."""
    for spec in structure.specs:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"save() takes datasets of tensors; an element has a {spec}. Use flat_map() or batch() first.")
    run, spec = str(secrets.randbits(63)), message_of_specs(structure.element_spec).SerializeToString(deterministic=True)
    with _replacing(gfile.join(path, run)) as folder:
        count = yield from _written(folder, elements, compression, shard)
        write_whole(gfile.join(folder, SPEC), spec)
    metadata = message("SnapshotMetadataRecord")(
        run_id=run, creation_timestamp=time.time_ns() // 1000, version=VERSION, num_elements=count, finalized=True
    )
    metadata.dtype.extend([spec.dtype.enum for spec in structure.specs])
    write_whole(gfile.join(path, METADATA), metadata.SerializeToString())
    write_whole(gfile.join(path, SPEC), spec)


def _replacing(folder: str) -> contextlib.AbstractContextManager[str]:
    """Yield a folder to write to, which replaces `folder` at the end; `folder` itself on file systems without renaming."""
    with located(folder) as (system, inside):
        if system is not LOCAL:
            return contextlib.nullcontext(folder)
        system.makedirs(os.path.dirname(inside))
    return replacing(inside)


def _written(folder: str, elements: Stream, compression: str, shard: ElementCall | None) -> Generator[Element, None, int]:
    """Yield elements while writing them to files of records; return their number."""
    writers: dict[int, TFRecordWriter] = {}
    count = 0
    gfile.makedirs(folder)
    try:
        for item in elements:
            number = 0 if shard is None else _shard_number(shard(count, item))
            if number not in writers:
                writers[number] = _writer(folder, number, compression)
            for array in item[0]:
                writers[number].write(encoded(array, packed=True))
            count += 1
            yield item
    finally:
        for writer in writers.values():
            writer.close()
    return count


def _writer(folder: str, number: int, compression: str) -> TFRecordWriter:
    folder = gfile.join(folder, f"{number:08d}.shard")
    gfile.makedirs(folder)
    return TFRecordWriter(gfile.join(folder, "00000000.snapshot"), compression)


def _shard_number(answer: Element) -> int:
    arrays, _ = answer
    if len(arrays) != 1 or arrays[0].ndim or arrays[0].dtype.kind not in "iu" or arrays[0] < 0:
        raise ValueError(f"`shard_func` must return a scalar integer that is not negative, got {arrays}.")
    return int(arrays[0])


class Snapshot:
    """A snapshot in a directory: its structure, the number of elements, and the files of each shard."""

    def __init__(self, path: str, compression: str, element_spec: Any) -> None:
        self.compression = compression
        if element_spec is None and not gfile.exists(gfile.join(path, SPEC)) and not gfile.exists(gfile.join(path, METADATA)):
            raise NotFoundError.saying(f"tf.data snapshot element_spec file not found: {gfile.join(path, SPEC)}.")
        metadata = _read(gfile.join(path, METADATA), "SnapshotMetadataRecord")
        if not metadata.run_id.isdecimal() or metadata.version != VERSION or not metadata.finalized:
            raise DataLossError.saying(
                f"What is saved in {path} is not complete, or of another version than {VERSION}: run {metadata.run_id!r}, "
                f"version {metadata.version}."
            )
        if element_spec is None:
            own = gfile.join(path, metadata.run_id, SPEC)  # a save that was killed may have left the other file from another save
            found = own if gfile.exists(own) else gfile.join(path, SPEC)
            element_spec = specs_of_message(_read(found, "StructuredValue"))
        self.structure = from_specs(element_spec)
        kinds = [spec.dtype.enum for spec in self.structure.specs]
        if len(kinds) != len(metadata.dtype):
            raise invalid(f"{path} has elements of {len(metadata.dtype)} tensors, element_spec has {len(kinds)}.")
        self.count = metadata.num_elements
        run = gfile.join(path, metadata.run_id)
        folders = sorted(name for name in gfile.listdir(run) if name.endswith(".shard"))
        self.shards = [sorted(gfile.glob(gfile.join(run, folder, "*.snapshot"))) for folder in folders]

    def elements(self, files: Sequence[str]) -> Stream:
        """Return the elements in some of the files."""
        return Resumed(self._read, iter(files))

    def _read(self, files: Iterator[str]) -> Iterator[Element]:
        specs = self.structure.specs
        for file in files:
            arrays: list[Any] = []
            for record in tf_records(file, self.compression):
                arrays.append(_array(record, specs[len(arrays)], len(arrays), file))
                if len(arrays) == len(specs):
                    yield tuple(arrays), self.structure.nest
                    arrays = []
            if arrays:
                raise DataLossError.saying(f"{file} ends in the middle of an element.")


def _array(record: bytes, spec: TensorSpec, component: int, file: str) -> np.ndarray:
    try:
        array = decoded(message("TensorProto").FromString(record))
    except Exception as error:
        raise DataLossError.saying(f"{file} has a record that is no tensor: {error}.") from error
    if array.dtype != spec.dtype.numpy:
        found = dtypes.as_dtype(array.dtype).name
        raise invalid(f"{file}; Data type mismatch at component {component}: expected {spec.dtype.name} but got {found}.")
    if not spec.shape.is_compatible_with(array.shape):
        raise invalid(f"{file}; Incompatible shapes at component {component}: expected {spec.shape} but got {list(array.shape)}.")
    return array


def _read(path: str, kind: str) -> Any:
    with open_bytes(path) as file, told(path):
        data = file.read()
    try:
        return message(kind).FromString(data)
    except Exception as error:
        raise DataLossError.saying(f"{path} is damaged: it is no {kind} ({error}).") from error


# ---------------------------------------------------------------------------------------------------------------------
# Specs as messages


def message_of_specs(spec: Any) -> Any:
    """Convert a structure of specs to a message, StructuredValue. TypeError for anything but TensorSpecs, tuples and dicts."""
    made = message("StructuredValue")()
    match spec:
        case TensorSpec():
            made.tensor_spec_value.dtype = spec.dtype.enum
            made.tensor_spec_value.shape.CopyFrom(shape_message(None if spec.shape.rank is None else spec.shape.as_list()))
        case tuple() if hasattr(spec, "_fields"):
            made.named_tuple_value.name = type(spec).__name__
            for key, value in zip(spec._fields, spec, strict=True):
                made.named_tuple_value.values.add(key=key, value=message_of_specs(value))
        case tuple():
            made.tuple_value.SetInParent()
            made.tuple_value.values.extend(map(message_of_specs, spec))
        case dict():
            made.dict_value.SetInParent()
            for key, value in spec.items():
                made.dict_value.fields[str(key)].CopyFrom(message_of_specs(value))
        case _:
            raise TypeError(f"save() cannot write an element that has a {type(spec).__name__}: {spec}.")
    return made


def specs_of_message(made: Any, depth: int = 0) -> Any:
    """Convert a message of `message_of_specs` back to specs; DataLossError if it is invalid."""
    kind = made.WhichOneof("kind")
    if depth > DEEPEST:
        raise DataLossError.saying(f"{SPEC} is damaged: it is nested too deep.")
    inner = functools.partial(specs_of_message, depth=depth + 1)
    match kind:
        case "tensor_spec_value":
            shape = made.tensor_spec_value.shape
            extents = None if shape.unknown_rank else [None if dim.size < 0 else dim.size for dim in shape.dim]
            try:
                return TensorSpec(TensorShape(extents), dtypes.as_dtype(dtypes.as_dtype(int(made.tensor_spec_value.dtype)).numpy))
            except TypeError as error:
                raise DataLossError.saying(f"{SPEC} has a tensor of a dtype that gradtape does not have: {error}") from None
        case "tuple_value":
            return tuple(map(inner, made.tuple_value.values))
        case "dict_value":
            return {key: inner(value) for key, value in sorted(made.dict_value.fields.items())}
        case "named_tuple_value":
            pairs = made.named_tuple_value.values
            return namedtuple(made.named_tuple_value.name, [p.key for p in pairs])(*[inner(p.value) for p in pairs])
    raise DataLossError.saying(f"{SPEC} has what gradtape's datasets do not have: {str(made)[:200] or 'nothing'}.")
