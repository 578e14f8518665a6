"""Immutable tables: `StaticHashTable`, `StaticVocabularyTable`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import FailedPreconditionError
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.declarations.module import Trackable
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, emit, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.lookup.initializers import Pairs
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.sparse.tensor import SparseTensor
from gradtape._src.ops.strings.elements import each
from gradtape._src.ops.strings.hashing import fingerprint


class Entries:
    """The pairs of a table, and the rule for missing keys. Compared by identity."""

    __slots__ = ("missing", "pairs", "value_dtype")

    def __init__(self, value_dtype: dtypes.DType, missing: Callable[[Any], Any]) -> None:
        self.value_dtype, self.missing = value_dtype, missing
        self.pairs: Pairs | None = None  # set by an initializer


def _found_aval(keys: Aval, entries: Entries) -> Aval:
    return aval(keys.shape, entries.value_dtype.numpy)


@op("LookupTableFindV2", infer=_found_aval, on_host=True)
def _find(keys: Any, *, entries: Entries) -> Any:
    pairs, missing = _pairs_of(entries), entries.missing
    return each(lambda key: pairs[key] if key in pairs else missing(key), keys).astype(entries.value_dtype.numpy)


def _pairs_of(entries: Entries) -> Pairs:
    if entries.pairs is None:
        raise FailedPreconditionError.saying("Table not initialized. [Op:LookupTableFindV2]")
    return entries.pairs


not_differentiable(_find, because="a table finds constants; for a value that is trained take tf.gather from a Variable")


def vector(values: list[Any], dtype: dtypes.DType) -> np.ndarray:
    """Return the values as a 1-D array, also strings."""
    array = np.empty(len(values), dtype.numpy)
    array[:] = values
    return array


def looked_up(keys: Any, dtype: dtypes.DType, find: Callable[[Tensor], Any]) -> Any:
    """Return `find(keys)`, applied to the values of ragged and sparse keys; TypeError for keys of another dtype."""
    if isinstance(keys, RaggedTensor):
        return keys.with_flat_values(looked_up(keys.flat_values, dtype, find))
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, looked_up(keys.values, dtype, find), keys.dense_shape)
    keys = tensor(keys) if is_tensor(keys) or isinstance(keys, np.ndarray) else tensor(keys, dtype)
    if keys.dtype != dtype:
        raise TypeError(f"Dtype of argument `keys` must be {dtype}, received: {keys.dtype}")
    return find(keys)


class _Table(Trackable):
    """The common part of both tables."""

    _entries: Entries
    _name: str | None
    key_dtype: dtypes.DType
    value_dtype: dtypes.DType

    @property
    def name(self) -> str | None:
        """The given name, or None."""
        return self._name

    def fill(self, pairs: Pairs) -> None:
        """Set the pairs; for initializers."""
        self._entries.pairs = pairs

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key in the shape of `keys`, which may be a ragged or sparse tensor."""
        return looked_up(keys, self.key_dtype, lambda dense: emit(_find.op, (dense.node,), (self._entries,)))

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)


@hides("fill")
class StaticHashTable(_Table):
    """A table with pairs from an initializer; `default_value`, a scalar, is the value for missing keys.

    Keys are strings or integers, values of any dtype. It can be used in eager code, functions and datasets.

    >>> pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> table = tf.lookup.StaticHashTable(pairs, default_value=-1)
    >>> table.lookup(tf.constant(["a", "z"])).numpy(), int(table.size())
    (array([ 1, -1], dtype=int32), 2)
    """

    @public
    def __init__(
        self, initializer: Any, default_value: Any, name: str | None = None, experimental_is_anonymous: bool = False
    ) -> None:
        self.key_dtype, self.value_dtype = dtypes.as_dtype(initializer.key_dtype), dtypes.as_dtype(initializer.value_dtype)
        self._name = name
        self.default_value = tensor(default_value, self.value_dtype)
        if self.default_value.ndim != 0:
            raise ValueError(f"Shapes {self.default_value.shape} and () are not compatible: default_value is a scalar.")
        default = to_numpy(self.default_value.node).item()
        self._entries = Entries(self.value_dtype, lambda key: default)
        initializer.initialize(self)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of pairs, int64."""
        return tensor(len(self._entries.pairs or {}), dtypes.int64)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys and their values, in the same order."""
        pairs = self._entries.pairs or {}
        return tensor(vector(list(pairs), self.key_dtype)), tensor(vector(list(pairs.values()), self.value_dtype))


class StaticVocabularyTable(_Table):
    """A table from words to int64 ids. A missing word gets one of `num_oov_buckets` further ids, by its hash.

    `initializer` is None for a table without words. `lookup_key_dtype` defaults to that of the initializer.

    >>> words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    >>> table = tf.lookup.StaticVocabularyTable(words, num_oov_buckets=2)
    >>> table.lookup(tf.constant(["b", "x", "y"])).numpy()
    array([1, 2, 3])
    """

    @public
    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        own = dtypes.string if initializer is None else dtypes.as_dtype(initializer.key_dtype)
        if initializer is not None and initializer.value_dtype != dtypes.int64:
            raise TypeError(f"Invalid `value_dtype`, expected {dtypes.int64} but got {initializer.value_dtype}.")
        self.key_dtype = own if lookup_key_dtype is None else dtypes.as_dtype(lookup_key_dtype)
        if self.key_dtype.is_integer != own.is_integer and initializer is not None:
            raise TypeError(f"Invalid `key_dtype`, expected {own} but got {self.key_dtype}.")
        self.value_dtype, self._name, self._buckets = dtypes.int64, name, int(num_oov_buckets)

        def bucket(key: Any) -> int:
            text = key if isinstance(key, bytes) else str(key).encode()
            return len(_pairs_of(self._entries)) + fingerprint(text) % self._buckets

        self._entries = Entries(dtypes.int64, bucket)
        if initializer is None:
            self.fill({})
        else:
            initializer.initialize(self)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of words and buckets, int64."""
        return tensor(len(_pairs_of(self._entries)) + self._buckets, dtypes.int64)
