"""Iterators over a dataset, as tensors or NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.control.iterators import ElementIterator, ElementIteratorSpec
from gradtape._src.core.base import locks
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import State, Stateful
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.data.optional import Optional
from gradtape._src.data.place import Place, first
from gradtape._src.data.structure import as_numpy, from_specs, handed

if TYPE_CHECKING:
    from gradtape._src.data.pipeline import Pipeline


class Iterator(Stateful):
    """One pass over a dataset. Several threads may share it: each element goes to one of them.

    After an error it continues with the next element. A checkpoint that tracks it saves its place. Restoring computes the
    elements before that place again, and skips them.

    >>> iterator = iter(tf.data.Dataset.range(2))
    >>> isinstance(iterator, tf.data.Iterator)
    True
    >>> print(iterator.get_next().numpy(), next(iterator).numpy())
    0 1
    """

    _convert = staticmethod(handed)

    @public
    def __init__(self, dataset: Pipeline) -> None:
        self._dataset, self._lock = dataset, locks.Lock()
        if not tracing.is_asked_for_shapes():  # no random numbers are drawn then
            self._begin(first())

    def _begin(self, place: Place) -> None:
        self._place = place
        with place.open():
            self._stream = self._dataset.elements()

    def __iter__(self) -> Iterator:
        return self

    @public
    def __next__(self) -> Any:
        if engine.local.trace.scope is not None:
            raise engine.NeedsValues("a function that takes NumPy arrays from an iterator runs as eager code")
        return self._pull()

    def _pull(self) -> Any:
        with self._lock, self._place.open():
            element = self._pulled()
        return self._convert(element)

    def _pulled(self) -> Any:
        try:
            element = next(self._stream)
        except StopIteration:
            raise
        except BaseException:
            self._place.given += 1  # a failed element is skipped, too
            raise
        self._place.given += 1
        return element

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of an element."""
        return self._dataset.element_spec

    def _given_back(self) -> int:
        """Return the number of elements that will be given again."""
        return 0

    def saved_state(self) -> State:
        """Return the number of elements given so far, and the states of shuffles."""
        with self._lock:
            return {"": self._place.state(self._given_back())}

    def restored(self, state: State) -> Callable[[], None]:
        """Return a function that continues from a saved place."""
        given, place = Place.restored(state.get("", np.array(b"")))
        return lambda: self._go_on(given, place)

    def _go_on(self, given: int, place: Place) -> None:
        with self._lock:
            self._begin(place)
            with place.open():
                while place.given < given:
                    try:
                        self._pulled()
                    except StopIteration:
                        break
                    except Exception:
                        continue


class OwnedIterator(ElementIterator, Iterator):
    """The iterator of `iter(dataset)`, over elements as tensors. In a traced function the body of a loop over it runs once."""

    saved_as = "ITERATOR_STATE"
    element_spec, _pull = Iterator.element_spec, Iterator._pull

    def __init__(self, dataset: Pipeline) -> None:
        super().__init__(dataset)
        self.made_anew = engine.local.trace.scope is not None

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self.element_spec)

    def _optional(self, value: tuple[Any, ...], holds: Any = None, element_spec: Any = None) -> Optional:
        return Optional(self.element_spec if element_spec is None else element_spec, value, holds)

    def _go_on(self, given: int, place: Place) -> None:
        self._returned = ()
        super()._go_on(given, place)

    next = ElementIterator.get_next


class IteratorSpec(ElementIteratorSpec):
    """The spec of iterators whose elements have the specs `element_spec`, for the `input_signature` of a function.

    >>> @tf.function(input_signature=[tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))])
    ... def total(iterator):
    ...     return next(iterator) + next(iterator)
    >>> int(total(iter(tf.data.Dataset.range(4))))
    1
    """

    __slots__ = ()

    @staticmethod
    def from_value(value: OwnedIterator) -> IteratorSpec:
        """Return the spec of an iterator."""
        return IteratorSpec(value.element_spec)

    @property
    def value_type(self) -> type[OwnedIterator]:
        """The class of the iterators."""
        return OwnedIterator

    def _described(self, iterator: Any) -> None:
        iterator._dataset = from_specs(self._element_spec)


@public
def get_next_as_optional(iterator: OwnedIterator) -> Optional:
    """Return the next element of an iterator as a `tf.experimental.Optional`, which has no value at the end.

    >>> iterator = iter(tf.data.Dataset.range(1))
    >>> first, end = (tf.data.experimental.get_next_as_optional(iterator) for _ in range(2))
    >>> print(first.get_value().numpy(), end.has_value().numpy())
    0 False
    """
    return iterator.get_next_as_optional()


class NumpyIterator(Iterator):
    """The iterator of `dataset.as_numpy_iterator()`: its elements as NumPy arrays, and NumPy scalars for rank 0.

    >>> iterator = tf.data.Dataset.range(4).batch(2).as_numpy_iterator()
    >>> isinstance(iterator, tf.data.NumpyIterator)
    True
    >>> print(iterator.next(), next(iterator))
    [0 1] [2 3]
    """

    saved_as = "_STATE"
    _convert = staticmethod(as_numpy)

    def next(self) -> Any:
        """Return the next element."""
        return next(self)

    @public
    def save(self) -> Tensor:
        """Return the place of the iterator, a scalar string, for `restore`."""
        return constant(self.saved_state()[""])

    @public
    def restore(self, state: Any) -> None:
        """Go on from the place `state` that an iterator over the same dataset saved."""
        self.restored({"": to_numpy(tensor(state).node)})()
