"""Specs of the features in a `tf.train.Example`, which determine the tensors of their values."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.files.ops import of_bytes

TYPES = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}
LISTS = {"float_list": "float", "int64_list": "int64", "bytes_list": "string"}


class VarLenFeature(NamedTuple("VarLenFeature", [("dtype", Any)])):
    """A feature with any number of values: a `SparseTensor`.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 5]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    >>> print(tf.sparse.to_dense(tf.io.parse_single_example(example, {"x": tf.io.VarLenFeature(tf.int64)})["x"]).numpy())
    [3 5]
    """


class FixedLenFeature(namedtuple("FixedLenFeature", "shape dtype default_value", defaults=(None,))):
    """A feature with a fixed `shape`: a tensor. Without a `default_value` it is required.

    >>> feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    >>> print(tf.io.parse_single_example(example, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"].numpy())
    [1. 2.]
    """


class FixedLenSequenceFeature(
    namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value", defaults=(False, None))
):
    """A feature with any number of rows of `shape`: a tensor, padded in a batch to the longest with `default_value`.

    In `parse_example` it needs `allow_missing=True`; ValueError otherwise.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2, 3, 4]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    >>> rows = tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)
    >>> print(tf.io.parse_single_example(example, {"x": rows})["x"].numpy().tolist())
    [[1, 2], [3, 4]]
    """


class SparseFeature(namedtuple("SparseFeature", "index_key value_key dtype size already_sorted", defaults=(False,))):
    """Values in one feature and their indices in another (or in several): a `SparseTensor` of the extent `size`.

    >>> place = tf.train.Feature(int64_list=tf.train.Int64List(value=[4, 1]))
    >>> value = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 2.0]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"at": place, "of": value})).SerializeToString()
    >>> spec = tf.io.SparseFeature("at", "of", tf.float32, size=6)
    >>> print(tf.sparse.to_dense(tf.io.parse_single_example(example, {"x": spec})["x"]).numpy())
    [0.  2.  0.  0.  0.5 0. ]
    """


class RaggedFeature(
    namedtuple("RaggedFeature", "dtype value_key partitions row_splits_dtype validate", defaults=(None, (), dtypes.int32, False))
):
    """A feature with any number of values: a tensor for a single example, a RaggedTensor for a batch.

    UnimplementedError with `partitions`.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 5]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()
    >>> print(tf.io.parse_single_example(example, {"x": tf.io.RaggedFeature(tf.int64)})["x"].numpy())
    [3 5]
    """


def checked_dtype(feature: Any, key: str) -> str:
    """Return the name of a feature's dtype; InvalidArgumentError unless messages can contain it."""
    if feature.dtype is None:
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
    name = dtypes.as_dtype(feature.dtype).name
    if name not in TYPES:
        raise invalid(
            f"Feature {key}: a value of dtype {name} is not in the list of allowed values: float32, int64, string. Use tf.cast "
            "on what is parsed."
        )
    return name


def checked_shape(feature: Any, key: str) -> tuple[int, ...]:
    """Return a feature's shape; ValueError unless it is known."""
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = TensorShape(feature.shape)
    if shape.rank and shape.as_list()[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. Received "
            f"feature={feature}."
        )
    if not shape.is_fully_defined():
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {shape}.")
    return tuple(shape)


def default_of(feature: Any, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the default of a missing feature, or None if it is required."""
    if feature.default_value is None:
        return None
    dtype = dtypes.as_dtype(name)
    array = to_numpy(tensor(feature.default_value, dtype).node)
    if array.size != math.prod(shape):
        raise invalid(
            f"Input to reshape is a tensor with {array.size} values, but the requested shape has {math.prod(shape)}: "
            f"default_value must have the shape {list(shape)} of the feature."
        )
    return array.reshape(shape)


def array_of(values: Any, name: str) -> np.ndarray:
    """Return the values of one feature as a vector."""
    return of_bytes(list(values), (len(values),)) if name == "string" else np.array(values, name)


def zeros_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of zeros or of empty strings."""
    return np.full(shape, b"", object) if name == "string" else np.zeros(shape, name)


def not_parsed(key: str, where: str) -> UnimplementedError:
    """Return the error for a RaggedFeature, which is not parsed `where`; this text also says what to use instead."""
    return UnimplementedError.saying(f"Feature {key}: a RaggedFeature is not parsed {where}.")
