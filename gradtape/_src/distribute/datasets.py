"""Datasets whose batches are divided among the replicas of a strategy, and split over its devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.control.iterators import ElementIterator, ElementIteratorSpec
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import Tracked
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.distribute.values import PerReplica
from gradtape._src.ops.array.joining import concat


class Division:
    """The division of a dataset's elements among `count` replicas, laid out on the devices by `place`.

    An element is divided into `parts` of rows, one for each replica; or `parts` is 1, and replicas get elements in turn. With
    `whole` nothing is divided, and the values of all replicas form one batch.
    """

    def __init__(self, place: Callable[[Any], Any], count: int, parts: int, whole: bool = False) -> None:
        self.place, self.count, self.parts, self._whole = place, count, parts, whole
        self.together = count // parts  # elements

    def next(self, first: Any, source: Iterator[Any]) -> Any:
        """Return the values of all replicas; `first` is the next element of `source`."""
        if self.together == 1:
            return nest.map_structure(self.place if self.count == 1 or self._whole else self._rows, first)
        elements = [first]
        while len(elements) < self.count:
            elements.append(next(source, None))
        if self._whole:
            given = [element for element in elements if element is not None]
            return nest.map_structure(lambda *values: self.place(concat(values, 0)), *given)
        taken = [nest.map_structure(_none_of, first) if element is None else element for element in elements]
        return nest.map_structure(lambda *values: PerReplica(map(self.place, values)), *taken)

    def _rows(self, batch: Any) -> PerReplica:
        if not isinstance(batch, Tensor):
            raise TypeError(f"Batches of tensors can be divided among {self.count} replicas, received {type(batch).__name__}.")
        if batch.ndim == 0:
            raise ValueError(
                f"A dataset of batches can be divided among {self.count} replicas, received scalar elements: call "
                "`dataset.batch(global_batch_size)` before the strategy gets it."
            )
        each = -(-extents_of(batch)[0] // self.count)
        return PerReplica([self.place(batch[number * each : (number + 1) * each]) for number in range(self.count)])

    def spec(self, specs: Any) -> Any:
        """Return the specs of the values of all replicas; `specs` are those of an element."""
        if self.count == 1 or (self._whole and self.together == 1):
            return specs
        if self._whole:
            return nest.map_structure(lambda spec: TensorSpec([None, *spec.shape[1:]], spec.dtype), specs)
        return nest.map_structure(lambda spec: PerReplica([self._part(spec)] * self.count), specs)

    def _part(self, spec: Any) -> Any:
        if self.parts == 1 or not spec.shape.rank or not isinstance(spec, TensorSpec):
            return spec
        extent, *others = spec.shape.as_list()
        even = extent is not None and extent % self.count == 0
        return TensorSpec(TensorShape([extent // self.count if even else None, *others]), spec.dtype)


def _none_of(value: Any) -> Any:
    """Return an empty batch, for a replica without rows."""
    return tensor(value)[:0]


class DistributedIterator(ElementIterator, Tracked):
    """The iterator of a distributed dataset, over the replicas' parts of batches; these are PerReplica for several replicas.

    A checkpoint that tracks it saves its position.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2)))
    >>> isinstance(iterator, tf.distribute.DistributedIterator), iterator.get_next().numpy().tolist()
    (True, [0, 1])
    """

    @public
    def __init__(self, iterator: Any, given: Callable[[Any, Iterator[Any]], Any], specs: Any) -> None:
        self._iterator, self._given, self._specs = iterator, given, specs  # `given(element, following elements)`
        self.made_anew = iterator.made_anew

    def _tracked_children(self) -> dict[str, Any]:
        """Return the saved part: the iterator over the undivided elements."""
        return {"iterator": self._iterator}

    def _pull(self) -> Any:
        return self._given(next(self._iterator), self._iterator)

    def _optional(self, value: tuple[Any, ...], holds: Any = None) -> Any:
        return self._iterator._optional(value, holds, self._specs)

    @property
    def _type_spec(self) -> DistributedIteratorSpec:
        return DistributedIteratorSpec(self._specs, self._iterator._type_spec)

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of a batch, PerReplica for several replicas."""
        return self._specs


class DistributedIteratorSpec(ElementIteratorSpec):
    """The spec of a DistributedIterator; `whole` is that of the iterator over undivided elements."""

    __slots__ = ("_whole",)

    def __init__(self, element_spec: Any, whole: ElementIteratorSpec) -> None:
        super().__init__(element_spec)
        self._whole = whole

    @property
    def value_type(self) -> type[DistributedIterator]:
        """The class of the iterators."""
        return DistributedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._whole

    def _described(self, iterator: Any) -> None:
        iterator._specs, iterator._iterator = self._element_spec, self._whole.stand_in()


class DistributedDataset:
    """The result of `Strategy.experimental_distribute_dataset`: batches divided among replicas and devices.

    It can be iterated, also in functions. As in TensorFlow, each replica gets part of a batch's rows: equally many, or the
    last replicas get fewer, down to none. The rows are split over the devices; rows that do not divide evenly are replicated.

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    >>> isinstance(dataset, tf.distribute.DistributedDataset), [x.numpy().tolist() for x in dataset]
    (True, [[0, 1], [2, 3]])
    """

    def __init__(self, dataset: Any, division: Division) -> None:
        self._dataset, self._division = dataset, division

    def __iter__(self) -> DistributedIterator:
        iterator, division = iter(self._dataset), self._division
        return DistributedIterator(iterator, division.next, self.element_spec)

    def whole(self) -> DistributedDataset:
        """Return the dataset with undivided batches, for one replica."""
        division = self._division
        return DistributedDataset(self._dataset, Division(division.place, division.count, division.parts, whole=True))

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of a batch, PerReplica for several replicas."""
        return self._division.spec(self._dataset.element_spec)

    @property
    def cardinality(self) -> Any:
        """The number of batches, a scalar int64 tensor; negative if it is infinite or unknown."""
        count = self._dataset.cardinality()
        return count if self._division.together == 1 or count < 0 else -(-count // self._division.together)
