"""`tf.io.parse_example` and its kin: parsing of `tf.train.Example` messages to tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import InvalidArgumentError, invalid, invalid_for, mark
from gradtape._src.core.base.extras import package
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import printed
from gradtape._src.files import features as specs
from gradtape._src.files.messages import message
from gradtape._src.files.ops import Known, entered, host_op, of_bytes, padded, same_shape, strings, without_values
from gradtape._src.ops.array.ragged import with_splits
from gradtape._src.ops.array.ragged_rows import splits_of
from gradtape._src.ops.sparse.tensor import SparseTensor

Values = tuple[Any, str]  # the values of a feature, and the name of their list


class Batch:
    """Messages that are parsed together, with their names for errors."""

    def __init__(self, maps: Sequence[Any], names: Sequence[bytes], single: bool) -> None:
        self.maps, self.names, self.single = maps, names, single

    def told(self, number: int) -> str:
        """Return the beginning of an error about a message."""
        if self.single:
            return ""
        return f"Name: {self.names[number].decode(errors='replace') if self.names else '<unknown>'}, "

    def values(self, number: int, key: str) -> Values | None:
        """Return the values of a message's feature, or None if it is missing."""
        features = self.maps[number]
        kind = features[key].WhichOneof("kind") if key in features else None
        return None if kind is None else (getattr(features[key], kind).value, kind)

    def typed(self, number: int, key: str, name: str) -> np.ndarray | None:
        """Return the values of a feature as a vector; InvalidArgumentError if they are of another dtype."""
        found = self.values(number, key)
        if found is None:
            return None
        values, kind = found
        if kind != specs.TYPES[name]:
            place = f"Key: {key}." if self.single else f"Key: {key}, Index: {number}."
            raise invalid(
                f"{self.told(number)}{place}  Data types don't match. Data type: {specs.LISTS[kind]} but expected type: "
                f"{specs.LISTS[specs.TYPES[name]]}"
            )
        return specs.array_of(values, name)

    def __len__(self) -> int:
        return len(self.maps)


def parsed(kind: str, data: bytes, told: str = "") -> Any:
    """Parse bytes as a message; InvalidArgumentError if they are invalid."""
    try:
        return message(kind).FromString(data)
    except Exception as error:
        raise invalid(f"{told}Could not parse example input, value: {data[:64]!r} ({error})") from error


def fixed(batch: Batch, key: str, feature: Any) -> np.ndarray:
    """Parse a FixedLenFeature of a batch to [batch, *shape]."""
    name, shape = specs.checked_dtype(feature, key), specs.checked_shape(feature, key)
    default = specs.default_of(feature, name, shape)
    result = specs.zeros_of(name, (len(batch), *shape))
    for number in range(len(batch)):
        found = batch.typed(number, key, name)
        if found is None:
            if default is None:
                raise invalid(
                    f"{batch.told(number)}Feature: {key} (data type: {specs.LISTS[specs.TYPES[name]]}) is required but could not "
                    "be found."
                )
            result[number] = default
            continue
        if found.size != math.prod(shape):
            raise invalid(
                f"{batch.told(number)}Key: {key}, Index: {number}.  Number of {specs.LISTS[specs.TYPES[name]]} values != "
                f"expected.  Values size: {found.size} but output shape: {printed(shape)}"
            )
        result[number, ...] = found.reshape(shape)
    return result


def sequence(batch: Batch, key: str, feature: Any) -> np.ndarray:
    """Parse a FixedLenSequenceFeature of a batch to [batch, longest, *shape]."""
    name, shape = specs.checked_dtype(feature, key), specs.checked_shape(feature, key)
    if not feature.allow_missing:
        raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    filler = specs.default_of(feature, name, ())
    rows = []
    for number in range(len(batch)):
        found = batch.typed(number, key, name)
        found = specs.zeros_of(name, (0,)) if found is None else found
        if found.size % max(math.prod(shape), 1):
            raise invalid(
                f"{batch.told(number)}Key: {key}, Index: {number}.  Number of {specs.LISTS[specs.TYPES[name]]} values is not a "
                f"multiple of stride length. Saw {found.size} values but output shape is: {printed(('?', *shape))}"
            )
        rows.append(found.reshape(-1, *shape) if math.prod(shape) else specs.zeros_of(name, (0, *shape)))
    return in_steps(rows, name, shape, filler)


def in_steps(rows: list[np.ndarray], name: str, shape: tuple[int, ...], filler: np.ndarray | None = None) -> np.ndarray:
    """Stack arrays of different lengths to [rows, longest, *shape], padded at their ends."""
    zero = specs.zeros_of(name, ())
    return padded(rows, [None, *shape], zero if filler is None else filler, zero.dtype)


def variable(batch: Batch, key: str, feature: Any) -> tuple[np.ndarray, ...]:
    """Parse a VarLenFeature of a batch to indices [count, 2], values [count], shape [batch, longest]."""
    name = specs.checked_dtype(feature, key)
    rows = [batch.typed(number, key, name) for number in range(len(batch))]
    found = [specs.zeros_of(name, (0,)) if row is None else row for row in rows]
    places = [(number, at) for number, row in enumerate(found) for at in range(len(row))]
    shape = [len(found), max(map(len, found), default=0)]
    return sparse_parts(places, found, name, shape)


def sparse_parts(places: list[Any], rows: list[np.ndarray], name: str, shape: list[int]) -> tuple[np.ndarray, ...]:
    """Return the components of a SparseTensor."""
    values = np.concatenate([specs.zeros_of(name, (0,)), *rows])
    return np.array(places, np.int64).reshape(-1, len(shape)), values, np.array(shape, np.int64)


def placed(batch: Batch, key: str, feature: Any) -> tuple[np.ndarray, ...]:
    """Parse a SparseFeature of a batch: values with indices from other features, in row-major order."""
    name = specs.checked_dtype(feature, key)
    several = isinstance(feature.index_key, (list, tuple))
    keys = list(feature.index_key) if several else [feature.index_key]
    sizes = list(feature.size) if several else [feature.size]
    if len(keys) != len(sizes):
        raise ValueError(f"Lists of index keys and sizes of feature {key} must have the same length: {keys} and {sizes}.")
    places, rows = [], []
    for number in range(len(batch)):
        values = batch.typed(number, feature.value_key, name)
        values = specs.zeros_of(name, (0,)) if values is None else values
        found = [batch.typed(number, index, "int64") for index in keys]
        columns = [np.zeros(0, np.int64) if column is None else column for column in found]
        if any(len(column) != len(values) for column in columns):
            raise invalid(
                f"{batch.told(number)}Key: {key}, Index: {number}.  {len(values)} values and {[len(c) for c in columns]} indices "
                "do not fit each other."
            )
        where = [*range(len(values))]
        if not feature.already_sorted:
            where.sort(key=lambda i: [c[i] for c in columns])
        places += [(number, *[int(c[i]) for c in columns]) for i in where]
        rows.append(values[where])
    return sparse_parts(places, rows, name, [len(batch), *sizes])


class ParsedRows(NamedTuple):
    """The rows of a RaggedTensor, one for each message, and the dtype of their bounds."""

    values: list[np.ndarray]
    row_splits_dtype: Any


def rows(batch: Batch, key: str, feature: Any) -> ParsedRows | np.ndarray:
    """Parse a RaggedFeature: the values of a single message, or a row for each message of a batch."""
    if feature.partitions:
        lengths = "with partitions: parse the lengths as a feature of their own, and take tf.RaggedTensor.from_row_lengths"
        raise specs.not_parsed(key, lengths)
    name = specs.checked_dtype(feature, key)
    read = [batch.typed(number, feature.value_key or key, name) for number in range(len(batch))]
    found = [specs.zeros_of(name, (0,)) if row is None else row for row in read]
    return found[0][None] if batch.single else ParsedRows(found, feature.row_splits_dtype)


READERS: dict[type, Callable[[Batch, str, Any], Any]] = {
    specs.FixedLenFeature: fixed,
    specs.FixedLenSequenceFeature: sequence,
    specs.VarLenFeature: variable,
    specs.SparseFeature: placed,
    specs.RaggedFeature: rows,
}


def read(batch: Batch, key: str, feature: Any) -> Any:
    """Parse a feature of a batch to an array, the three arrays of a SparseTensor, or Rows."""
    reader = READERS.get(type(feature))
    if reader is None:
        raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
    return reader(batch, key, feature)


def ordered(features: dict[str, Any]) -> list[str]:
    """Return the keys in the order of TensorFlow's results: sparse features first, each group by name."""
    sparse = (specs.VarLenFeature, specs.SparseFeature)
    return sorted(features, key=lambda key: (not isinstance(features[key], sparse), key))


def given_out(value: Any) -> Any:
    """Convert an array to a tensor, three arrays to a SparseTensor, and rows to a RaggedTensor."""
    if isinstance(value, ParsedRows):
        splits = splits_of([len(row) for row in value.values], dtypes.as_dtype(value.row_splits_dtype).numpy)
        return with_splits(given_out(np.concatenate(value.values)), [splits])
    if isinstance(value, tuple):
        return SparseTensor(*map(given_out, value))
    return entered(value)


def _known(feature: Any, key: str, batch: tuple[int, ...]) -> list[Known] | None:
    """Return the shape and dtype of the tensors of a feature; None for a ragged feature."""
    if isinstance(feature, specs.RaggedFeature):
        return None
    dtype = specs.checked_dtype(feature, key)
    if isinstance(feature, specs.FixedLenFeature | specs.FixedLenSequenceFeature):
        steps = (None,) if isinstance(feature, specs.FixedLenSequenceFeature) else ()
        return [((*batch, *steps, *specs.checked_shape(feature, key)), dtype)]
    places = (
        feature.index_key if isinstance(feature, specs.SparseFeature) and isinstance(feature.index_key, list | tuple) else [0]
    )
    rank = len(batch) + len(places)
    return [((None, rank), dtypes.int64), ((None,), dtype), ((rank,), dtypes.int64)]


def _without_values(x: Tensor, features: dict[str, Any], parse: Callable[[Any, Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the features of messages without values: `parse` is called in a session, or where a function runs.

    In a dataset's function they are tensors without values. NeedsValues if a feature is sparse, or values are needed.
    """
    keys = ordered(features)
    known = {key: _known(features[key], key, x.node.aval.shape) for key in keys}
    if engine.graph_around() is None or None in known.values():
        dense = [tensors[0] for tensors in known.values() if tensors is not None and len(tensors) == 1]
        return dict(zip(keys, without_values("ParseExampleV2", *dense if len(dense) == len(keys) else ()), strict=True))

    def parts(serialized: Tensor) -> list[Tensor]:
        found = parse(serialized, features)
        return [part for key in keys for part in nest.flatten(found[key], expand_composites=True)]

    made = iter(hooks.graphs.stated(parts, [x], [spec for tensors in known.values() for spec in tensors or ()]))
    sparse = {key for key, tensors in known.items() if len(tensors or ()) > 1}
    return {key: SparseTensor(next(made), next(made), next(made)) if key in sparse else next(made) for key in keys}


def serialized_of(serialized: Any, type: str) -> np.ndarray:
    """Return serialized messages as an array of strings."""
    x = strings(serialized)
    if engine.local.trace.scope is not None:
        without_values(type)
    return to_numpy(x.node)


@public
def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """Parse a batch of serialized `tf.train.Example`s to a dict of tensors and SparseTensors.

    `serialized` is a vector of strings, or a scalar as for `parse_single_example`. `features` is a dict of `FixedLenFeature`,
    `FixedLenSequenceFeature`, `VarLenFeature` and `SparseFeature`. InvalidArgumentError for invalid bytes, a missing feature,
    or values of another number or dtype.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[5]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"age": feature}))
    >>> tf.io.parse_example([example.SerializeToString()], {"age": tf.io.FixedLenFeature([], tf.int64)})["age"].numpy()
    array([5])
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    given = strings(serialized)
    if engine.local.trace.scope is not None:
        return _without_values(given, features, parse_example)
    data = to_numpy(given.node)
    if data.ndim > 1:
        raise invalid_for("ParseExampleV2", f"Expected serialized to be a scalar or vector, got shape: {printed(data.shape)}")
    if not data.ndim:
        return _single(data, features)
    names = [] if example_names is None else list(to_numpy(strings(example_names).node))
    return _read_all(Batch(_maps(data), names, single=False), features)


def _maps(data: np.ndarray) -> list[Any]:
    return [parsed("Example", bytes(item), "Name: <unknown>, ").features.feature for item in data.flat]


def _read_all(batch: Batch, features: dict[str, Any], first: bool = False) -> dict[str, Any]:
    try:
        found = {key: read(batch, key, feature) for key, feature in features.items()}
    except InvalidArgumentError as error:
        mark(error, "ParseExampleV2")
        raise
    return {key: given_out(without_batch(found[key]) if first else found[key]) for key in ordered(features)}


def without_batch(value: Any) -> Any:
    """Return the only entry of a batch."""
    if isinstance(value, ParsedRows):
        return value.values[0]
    if not isinstance(value, tuple):
        return value[0] if value.ndim > 1 else np.asarray(value[0], value.dtype)
    places, values, shape = value
    return places[:, 1:], values, shape[1:]


def _single(data: np.ndarray, features: dict[str, Any]) -> dict[str, Any]:
    return _read_all(Batch(_maps(data), [], single=True), features, first=True)


@public
def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """Parse one serialized `tf.train.Example`, a scalar string, to a dict; see `parse_example`.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[5]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"age": feature}))
    >>> tf.io.parse_single_example(example.SerializeToString(), {"age": tf.io.FixedLenFeature([], tf.int64)})["age"].numpy()
    np.int64(5)
    """
    if not features:
        raise ValueError("Missing features.")
    given = strings(serialized)
    if given.ndim:
        raise ValueError("Input serialized must be a scalar")
    if engine.local.trace.scope is not None:
        return _without_values(given, features, parse_single_example)
    data = to_numpy(given.node)
    return _single(data, features)


@host_op("DecodeJSONExample", gives=same_shape)
def _decode_json_example(json_examples: np.ndarray) -> np.ndarray:
    parse = package("google.protobuf.json_format", "Messages").Parse
    found = []
    for item in json_examples.flat:
        try:
            found.append(parse(bytes(item).decode(), message("Example")()).SerializeToString(deterministic=True))
        except Exception as error:
            raise invalid(f"Error while parsing JSON: {error}") from error
    return of_bytes(found, json_examples.shape)


@public
def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Serialize `tf.train.Example`s given in JSON, to strings of the same shape. InvalidArgumentError for invalid texts.

    >>> example = tf.io.decode_json_example('{"features": {"feature": {"age": {"int64List": {"value": ["5"]}}}}}')
    >>> tf.io.parse_single_example(example, {"age": tf.io.FixedLenFeature([], tf.int64)})["age"].numpy()
    np.int64(5)
    """
    return _decode_json_example(strings(json_examples))
