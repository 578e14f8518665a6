"""Queues of elements: `tf.queue`. In a function or graph each call is an effect, in order with the other effects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.host import effect
from gradtape._src.core.base.errors import CancelledError, OutOfRangeError, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.values import dtypes as known_dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.files.ops import padded
from gradtape._src.ops.random import philox, seeds

Row = tuple[np.ndarray, ...]


class Rows:
    """The elements of a queue, and the threads that wait for room or for elements.

    `chosen` returns the number of the element that leaves next; `least` elements stay until the queue is closed.
    """

    def __init__(self, kind: str, capacity: int, chosen: Callable[[list[Row]], int] = lambda rows: 0, least: int = 0) -> None:
        self.kind, self.capacity, self.least = kind, capacity, least
        self.closed = self.cancelled = False
        self.rows: list[Row] = []
        self._chosen, self._changed = chosen, threading.Condition()

    def _has_room(self) -> bool:
        return self.cancelled or self.capacity < 0 or len(self.rows) < self.capacity

    def put(self, rows: Sequence[Row]) -> None:
        """Append rows, each as soon as there is room; CancelledError if the queue is closed."""
        with self._changed:
            for place, row in enumerate(rows):
                if (self.closed and not place) or (self._changed.wait_for(self._has_room) and self.cancelled):
                    raise CancelledError.saying(f"{self.kind} is closed.")
                self.rows.append(row)
                self._changed.notify_all()

    def take(self, count: int, fewer: bool) -> list[Row]:
        """Remove `count` rows, each as soon as it is there.

        OutOfRangeError, and no change, if a closed queue has too few; with `fewer` only if it has none.
        """
        taken: list[Row] = []
        with self._changed:
            try:
                while len(taken) < count:
                    self._changed.wait_for(lambda: self.closed or len(self.rows) > self.least)
                    if self.rows:
                        taken.append(self.rows.pop(self._chosen(self.rows)))
                        self._changed.notify_all()
                    elif fewer and taken:
                        break
                    else:
                        why = f"has insufficient elements (requested {count}, current size {len(taken)})"
                        raise OutOfRangeError.saying(f"{self.kind} is closed and {why}")
            except BaseException:  # an interrupt too loses no element
                self.rows[:0] = taken
                raise
        return taken

    def close(self, cancel: bool) -> None:
        """Refuse rows from now on; with `cancel` also those that wait for room."""
        with self._changed:
            self.closed, self.cancelled = True, self.cancelled or cancel
            self._changed.notify_all()


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shapes(shapes: Any, types: Sequence[Any], padded: bool = False) -> list[TensorShape]:
    """Return the shape of each component; ValueError for open extents, unless elements are padded."""
    if shapes is None:
        return [TensorShape(None)] * len(types)
    if isinstance(shapes, TensorShape) or not any(isinstance(s, (list, tuple, TensorShape)) for s in _listed(shapes)):
        shapes = [shapes]
    if len(shapes) != len(types):
        raise ValueError(
            f"Shapes must be provided for all components, but received {len(types)} dtypes and {len(shapes)} shapes."
        )
    found = list(map(TensorShape, shapes))
    if not padded and not all(shape.is_fully_defined() for shape in found):
        raise ValueError(f"All shapes must be fully defined: {found}. A PaddingFIFOQueue takes others.")
    return found


class QueueBase:
    """A queue: its elements are tuples of tensors, of `dtypes` and `shapes`. `queue_ref` holds them; `names` makes dicts of them.

    Calls wait, as in TensorFlow: `enqueue` for room, `dequeue` for an element. Other threads, or `close`, end the wait.

    >>> queues = [tf.queue.FIFOQueue(3, tf.int32) for _ in range(2)]
    >>> tf.queue.QueueBase.from_list(1, queues).enqueue(4)
    >>> [int(queue.size()) for queue in queues]
    [0, 1]
    """

    @public
    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Rows) -> None:
        self._types = list(map(known_dtypes.as_dtype, dtypes))
        self._shapes, self._rows = shapes, queue_ref
        self._names = None if names is None else _listed(names)
        if self._names is not None and len(self._names) != len(self._types):
            raise ValueError(
                "List of names must have the same length as the list of dtypes, received "
                f"len(names)={len(self._names)},len(dtypes)={len(self._types)}"
            )

    queue_ref = property(lambda self: self._rows, doc="The elements.")
    name = property(lambda self: self._rows.kind, doc="The queue's kind.")
    dtypes = property(lambda self: self._types, doc="The dtype of each component.")
    shapes = property(lambda self: self._shapes, doc="The TensorShape of each component.")
    names = property(lambda self: self._names, doc="The name of each component, or None.")

    @staticmethod
    def from_list(index: Any, queues: Any) -> QueueBase:
        """Return one of several queues of the same dtypes."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        if any(q.dtypes != queues[0].dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != queues[0].names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        chosen: QueueBase = queues[static(index, "index")]
        return chosen

    def _given(self, vals: Any, op: str) -> list[Tensor]:
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        elif self._names is not None:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        vals = list(vals) if isinstance(vals, (list, tuple)) and (len(self._types) > 1 or len(vals) == 1) else [vals]
        if len(vals) != len(self._types):
            raise invalid_for(op, f"An element has {len(self._types)} components, received {len(vals)}: give a value for each.")
        return [tensor(value, dtype) for value, dtype in zip(vals, self._types, strict=True)]

    def _effect(self, run: Callable[[list[np.ndarray]], None], inputs: Sequence[Tensor]) -> Any:
        """Call a function that returns nothing; in a graph return the Operation."""

        def called(arrays: list[np.ndarray]) -> list[np.ndarray]:
            run(arrays)
            return []

        effect(called, inputs, [])
        graph = engine.current_graph()
        return None if graph is None else graph.operation_of(graph.trace.nodes[-1])

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Append one element: a tensor, a list of components, or a dict of them. Returns an Operation in a graph, else None."""
        values = self._given(vals, "QueueEnqueueV2")
        for value, shape in zip(values, self._shapes, strict=True):
            value.shape.assert_is_compatible_with(shape)
        return self._effect(lambda arrays: self._rows.put([tuple(arrays)]), values)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Append the rows of tensors, each as an element. They have equally many rows."""
        values = self._given(vals, "QueueEnqueueManyV2")
        for value, shape in zip(values, self._shapes, strict=True):
            stated = value.shape.with_rank_at_least(1)
            stated[:1].assert_is_compatible_with(values[0].shape[:1])
            stated[1:].assert_is_compatible_with(shape)
        return self._effect(lambda arrays: self._rows.put(list(zip(*map(_rows_of, arrays), strict=True))), values)

    def _taken(self, run: Callable[..., list[np.ndarray]], inputs: list[Tensor], leading: list[Any]) -> Any:
        """Return the components of what `run` removes from the queue, in the structure of an element."""
        shapes = [leading + shape.as_list() if shape.rank is not None else [None] for shape in self._shapes]
        known = [None if None in shape else tuple(shape) for shape in shapes]
        values = effect(run, inputs, list(zip(self._types, known, strict=True)))
        if self._names is not None:
            return dict(zip(self._names, values, strict=True))
        return values if len(values) > 1 else values[0]

    def dequeue(self, name: str | None = None) -> Any:
        """Remove one element and return it: a tensor, a list of components, or a dict. OutOfRangeError if closed and empty."""
        return self._taken(lambda _: list(self._rows.take(1, False)[0]), [], [])

    def _many(self, n: Any, fewer: bool, op: str) -> Any:
        if any(shape.rank is None for shape in self._shapes):
            raise invalid_for(
                op,
                "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes. "
                "Give the queue its shapes when it is made.",
            )
        known = isinstance(n, (int, np.integer)) or executing_eagerly()
        count, fixed = tensor(n, np.int32), static(n, "n") if known else None
        if fixed is not None and fixed < 0:
            raise invalid_for(op, f"requested {fixed} < 0 elements")

        def run(arrays: list[np.ndarray]) -> list[np.ndarray]:
            rows = self._rows.take(int(arrays[0]), fewer)
            columns: Sequence[Sequence[np.ndarray]] = list(zip(*rows, strict=True)) if rows else [()] * len(self._types)
            fills = [b"" if dtype == known_dtypes.string else 0 for dtype in self._types]
            each = zip(columns, self._shapes, fills, self._types, strict=True)
            return [padded(column, shape.as_list(), fill, dtype.numpy) for column, shape, fill, dtype in each]

        return self._taken(run, [count], [None if fewer else fixed])

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Remove `n` elements and return them stacked. OutOfRangeError, and no change, if a closed queue has fewer."""
        return self._many(n, False, "QueueDequeueManyV2")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Remove `n` elements, or from a closed queue those that are left, and return them stacked."""
        return self._many(n, True, "QueueDequeueUpToV2")

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Refuse elements from now on, with `cancel_pending_enqueues` also those that wait for room."""
        return self._effect(lambda _: self._rows.close(cancel_pending_enqueues), [])

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed."""
        return effect(lambda _: [np.array(self._rows.closed)], [], [(known_dtypes.bool, ())])[0]

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, int32."""
        return effect(lambda _: [np.array(len(self._rows.rows), np.int32)], [], [(known_dtypes.int32, ())])[0]


def _rows_of(array: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(row, array.dtype) for row in array]


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they came. It holds `capacity` elements, any number if below 0.

    >>> queue = tf.queue.FIFOQueue(10, tf.int32, shapes=())
    >>> queue.enqueue_many([[1, 2, 3]])
    >>> queue.dequeue().numpy(), queue.dequeue_many(2).numpy().tolist()
    (np.int32(1), [2, 3])
    """

    @public
    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: Any = None, name: str = "fifo_queue"
    ) -> None:
        types = _listed(dtypes)
        super().__init__(types, _shapes(shapes, types), names, Rows("FIFOQueue", capacity))


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` whose shapes may leave extents open: `dequeue_many` pads with zeros to the largest.

    >>> queue = tf.queue.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    >>> for row in ([1], [2, 3]):
    ...     queue.enqueue([row])
    >>> queue.dequeue_many(2).numpy().tolist()
    [[1, 0], [2, 3]]
    """

    @public
    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: Any = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _listed(dtypes)
        super().__init__(types, _shapes(shapes, types, padded=True), names, Rows("PaddingFIFOQueue", capacity))


def _most_urgent(rows: list[Row]) -> int:
    return min(range(len(rows)), key=lambda i: int(rows[i][0]))


class PriorityQueue(QueueBase):
    """A queue whose elements leave by their first component, an int64 that stands before `types`: the smallest first.

    >>> queue = tf.queue.PriorityQueue(10, [tf.string], [()])
    >>> for element in ((2, "later"), (1, "now")):
    ...     queue.enqueue(element)
    >>> queue.dequeue()[1].numpy()
    b'now'
    """

    @public
    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: Any = None,
        name: str = "priority_queue",
    ) -> None:
        given = _listed(types)
        full = [TensorShape(()), *_shapes(shapes, given)]
        super().__init__([known_dtypes.int64, *given], full, names, Rows("PriorityQueue", capacity, _most_urgent))


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order, TensorFlow's for a `seed`. `min_after_dequeue` elements stay until `close`.

    >>> queue = tf.queue.RandomShuffleQueue(10, 0, tf.int32, shapes=(), seed=1)
    >>> queue.enqueue_many([[1, 2, 3, 4]])
    >>> sorted(queue.dequeue_many(4).numpy().tolist())
    [1, 2, 3, 4]
    """

    @public
    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: Any = None,
        shared_name: Any = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _listed(dtypes)
        with tracing.outside():
            words: Iterator[int] = philox.words(to_numpy(seeds.draw("RandomShuffleQueueV2", seed, 0).node))

        def drawn(rows: list[Row]) -> int:
            chosen = next(words) % len(rows)
            rows[chosen], rows[-1] = rows[-1], rows[chosen]
            return -1

        rows = Rows("RandomShuffleQueue", capacity, drawn, min_after_dequeue)
        super().__init__(types, _shapes(shapes, types), names, rows)
