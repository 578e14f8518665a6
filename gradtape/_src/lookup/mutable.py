"""Mutable tables: `MutableHashTable`, `DenseHashTable`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.control.host import effect
from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import State, Stateful
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.lookup.static import _find, looked_up, vector
from gradtape._src.ops.strings.hashing import murmur

Shape = tuple[int, ...]


class MutableHashTable(Stateful):
    """A mutable table, empty at first. `default_value` is the value for missing keys, and states the shape of all values.

    Keys are strings or integers. In a function calls run in program order. A checkpoint that refers to it saves its pairs,
    whatever `checkpoint` is, as in TensorFlow.

    >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=0)
    >>> for word in ["a", "b", "a"]:
    ...     table.insert(word, table.lookup(word) + 1)
    >>> table.lookup(["a", "b", "c"]).numpy(), int(table.size())
    (array([2, 1, 0]), 2)
    """

    saved_as = "table"

    @public
    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.key_dtype, self.value_dtype, self._name = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype), name
        self._default = tensor(default_value, self.value_dtype)
        self._shape: Shape = tuple(extents_of(self._default))
        self._pairs: dict[Any, Any] = {}
        self._refused_keys: dict[Any, str] = {}

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """Return the value of each key: shape [*shape of `keys`, *shape of a value].

        `dynamic_default_values`, with the shape of the result or of one value, replace `default_value` in this call.
        """

        def find(dense: Tensor) -> Tensor:
            shape = (*extents_of(dense), *self._shape)
            default = self._default if dynamic_default_values is None else tensor(dynamic_default_values, self.value_dtype)
            return effect(self._find, [dense, default], [(self.value_dtype, shape)])[0]

        return looked_up(keys, self.key_dtype, find)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _find(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        keys, default = arrays
        self._check(keys, _find.op.type)
        found = np.empty((*keys.shape, *self._shape), self.value_dtype.numpy)
        found[...] = default
        rows = found.reshape(-1, *self._shape)
        for row, key in enumerate(keys.ravel().tolist()):
            if key in self._pairs:
                rows[row] = self._pairs[key]
        return [found]

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the value of each key."""
        effect(self._insert, [tensor(keys, self.key_dtype), tensor(values, self.value_dtype)], [])

    def _insert(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        keys, values = arrays
        expected = (*keys.shape, *self._shape)
        if values.shape != expected:
            raise invalid_for("LookupTableInsertV2", f"Expected shape {list(expected)} for value, got {list(values.shape)}")
        self._check(keys, "LookupTableInsertV2")
        rows = values.reshape(-1, *self._shape)
        self._pairs.update(zip(keys.ravel().tolist(), [np.array(row) if self._shape else row for row in rows], strict=True))
        return []

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Remove the keys that exist."""
        effect(self._remove, [tensor(keys, self.key_dtype)], [])

    def _remove(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        (keys,) = arrays
        self._check(keys, "LookupTableRemoveV2")
        for key in keys.ravel().tolist():
            self._pairs.pop(key, None)
        return []

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of pairs, int64."""
        return effect(lambda _: [np.array(len(self._pairs))], [], [(dtypes.int64, ())])[0]

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys and their values, in the same order."""
        keys, values = effect(self._export, [], [(self.key_dtype, None), (self.value_dtype, None)])
        return keys, values

    def _export(self, _: list[np.ndarray]) -> list[np.ndarray]:
        pairs = self._pairs.copy()  # another thread may insert meanwhile
        keys = vector(list(pairs), self.key_dtype)
        values = np.empty((len(pairs), *self._shape), self.value_dtype.numpy)
        for row, value in enumerate(pairs.values()):
            values[row] = value
        return [keys, values]

    def saved_state(self) -> State:
        """Return the keys and the values."""
        keys, values = self._export([])
        return {"-keys": keys, "-values": values}

    def restored(self, state: State) -> Callable[[], None]:
        """Return the function that replaces all pairs by saved ones."""
        keys, values = state.get("-keys"), state.get("-values")
        count = 0 if keys is None else keys.size
        wanted = (self.key_dtype.numpy, self.value_dtype.numpy, (count, *self._shape))
        if keys is None or values is None or (keys.dtype, values.dtype, values.shape) != wanted:
            got = [None if array is None else f"{array.dtype.name}{list(array.shape)}" for array in (keys, values)]
            raise invalid(
                f"The table {self._name!r} cannot be restored: it has keys of {self.key_dtype.name} and values of "
                f"{self.value_dtype.name}{list(self._shape)}, the checkpoint has keys {got[0]} and values {got[1]}. "
                "Make the table as it was saved. Nothing was changed."
            )
        pairs = dict(zip(keys.ravel().tolist(), [np.array(row) if self._shape else row for row in values], strict=True))
        pairs = {key: value for key, value in pairs.items() if key not in self._refused_keys}
        return lambda: setattr(self, "_pairs", pairs)

    def _check(self, keys: np.ndarray, op: str) -> None:
        for key, name in self._refused_keys.items() if keys.size else ():
            if key in keys.ravel().tolist():
                raise invalid_for(op, f"Using the {name} as a table key is not allowed")


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` with two reserved keys, `empty_key` and `deleted_key`, by which TensorFlow's table marks free slots.

    A checkpoint has the memory layout of TensorFlow's table: slots by hash, including free ones.

    >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=0, empty_key=-1, deleted_key=-2)
    >>> table.insert(tf.constant([5], tf.int64), tf.constant([7], tf.int64))
    >>> table.lookup(tf.constant([5, 6], tf.int64)).numpy()
    array([7, 0])
    """

    @public
    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        empty, deleted = (to_numpy(tensor(key, self.key_dtype).node).item() for key in (empty_key, deleted_key))
        if empty == deleted:
            raise invalid_for("MutableDenseHashTableV2", "Empty and deleted keys cannot be equal")
        self._empty, self._refused_keys = empty, {empty: "empty_key", deleted: "deleted_key"}

    def saved_state(self) -> State:
        """Return the slots: a power of two of them, at most half of them used."""
        pairs = self._pairs.copy()
        count = 1 << max(2 * len(pairs) - 1, 3).bit_length()
        keys, values = vector([self._empty] * count, self.key_dtype), np.zeros((count, *self._shape), self.value_dtype.numpy)
        if self.value_dtype == dtypes.string:
            values[...] = b""
        for key, value in pairs.items():
            place, tries = (murmur(key) if isinstance(key, bytes) else int(key)) % count, 0
            while keys[place] != self._empty:
                tries += 1
                place = (place + tries) % count
            keys[place], values[place] = key, value
        return {"-keys": keys[:, None], "-values": values if self._shape else values[:, None]}

    def restored(self, state: State) -> Callable[[], None]:
        """Return the function that replaces all pairs by saved ones."""
        values = state.get("-values")
        if values is not None and not self._shape:
            state = {**state, "-values": values.reshape(values.shape[0])}
        return super().restored(state)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Set the value of each key."""
        self.insert(keys, values)

    def erase(self, keys: Any, name: str | None = None) -> None:
        """Remove the keys that exist."""
        self.remove(keys)
