"""Datasets whose batches lie split over a strategy's devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core import nest
from gradtape._src.core.errors import public


class DistributedIterator:
    """The iterator of a distributed dataset: its batches, split along their first axis over the devices.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2)))
    >>> isinstance(iterator, tf.distribute.DistributedIterator), iterator.get_next().numpy().tolist()
    (True, [0, 1])
    """

    def __init__(self, iterator: Any, batch: Callable[[Any], Any]) -> None:
        self._iterator, self._batch = iterator, batch

    def __iter__(self) -> DistributedIterator:
        return self

    @public
    def __next__(self) -> Any:
        return self._placed(next(self._iterator))

    @public
    def get_next(self) -> Any:
        """Return the next batch; OutOfRangeError at the end, where `next` raises StopIteration."""
        return self._placed(self._iterator.get_next())

    @public
    def get_next_as_optional(self) -> Any:
        """Return the next batch as a `tf.experimental.Optional`, which has no value at the end."""
        found = self._iterator.get_next_as_optional()
        return type(found).from_value(self._placed(found.get_value())) if found.has_value() else found

    def _placed(self, element: Any) -> Any:
        return nest.map_structure(self._batch, element)

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of a batch."""
        return self._iterator.element_spec


class DistributedDataset:
    """The result of `Strategy.experimental_distribute_dataset`: the batches of a dataset, split over the devices.

    It can be gone through, in functions too. Rows are split along the first axis; a batch that cannot be divided evenly is
    copied to all devices.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> isinstance(dataset, tf.distribute.DistributedDataset), [x.numpy().tolist() for x in dataset]
    (True, [[0, 1], [2, 3]])
    """

    def __init__(self, dataset: Any, batch: Callable[[Any], Any]) -> None:
        self._dataset, self._batch = dataset, batch

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(iter(self._dataset), self._batch)

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of a batch."""
        return self._dataset.element_spec

    @property
    def cardinality(self) -> Any:
        """The number of batches, a scalar int64 tensor; negative where it is infinite or unknown."""
        return self._dataset.cardinality()
