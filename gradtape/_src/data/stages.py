"""The stages of a stream: iterators over iterators. Most do not look at the elements.

As in TensorFlow, an element that fails does not end a stream: the next request continues with the next element. Python's own
`map`, `filter` and the like continue by themselves; a generator, which an error ends, is restarted by `Resumed`.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.values.aval import printed
from gradtape._src.core.values.dtypes import spoken_name
from gradtape._src.data.arguments import check_unique
from gradtape._src.data.composite import Composite, rows_of
from gradtape._src.data.place import Glance, by_index
from gradtape._src.data.structure import (
    LEAF,
    PAIR,
    Datasets,
    Element,
    Elements,
    Held,
    Nest,
    joined,
    merged,
    spec_of,
    structure_of,
)
from gradtape._src.ops.random import philox

Stream = Iterator[Any]
Start = Callable[[], Stream]  # restarts a stream
_END = object()


def glanced(start: Start, what: str) -> Any:
    """Return the first element of a stream, for its structure, without changing the random numbers of the next pass.

    ValueError if there is none; `what` is the method whose function needs values.
    """
    with Glance().open():
        for element in start():
            return element
    raise ValueError(
        f"The element_spec is not known: the function passed to {what} needs values, and there are no elements. Give it "
        "tf.* functions only, or elements."
    )


class Asked(Iterator[Any]):
    """A stream that computes several elements at once if it is told how many are needed together."""

    def needed(self, count: int) -> None:
        """Note that the next `count` elements are needed before any of them is used."""
        raise NotImplementedError


def together(source: Stream, count: int | None) -> Stream:
    """Return the next `count` elements (None: all), which are needed together."""
    if isinstance(source, Asked) and count is not None:
        source.needed(count)
    return itertools.islice(source, count)


class Resumed(Iterator[Any]):
    """An iterator over a generator's elements that continues after an error, which would end a generator.

    The generator function is called again with the same arguments. These hold all state: streams, which have advanced by then,
    and lists and sets. Elements taken from a stream and not yet given are lost.
    """

    def __init__(self, make: Callable[..., Stream], *arguments: Any) -> None:
        self._make, self._arguments = make, arguments
        self._stream = make(*arguments)

    def __next__(self) -> Any:
        try:
            return next(self._stream)
        except StopIteration:
            raise
        except BaseException:
            self._stream = self._make(*self._arguments)
            raise


def resumable(function: Callable[..., Stream]) -> Callable[..., Stream]:
    """Decorate a generator function whose arguments hold all of its state, so that its stream is `Resumed`."""
    return functools.wraps(function)(functools.partial(Resumed, function))


def outcomes(source: Stream) -> Stream:
    """Return the elements, with errors in place of failed ones."""
    return iter(functools.partial(_outcome, source), _END)


def _outcome(source: Stream) -> Any:
    try:
        return next(source)
    except StopIteration:
        return _END
    except Exception as error:
        return error


def repeated(start: Start, count: int) -> Stream:
    """Repeat passes: `count` of them, or if it is negative until a pass has no elements."""
    return Resumed(_repeated, start, itertools.count() if count < 0 else iter(range(count)), count < 0, [])


def _repeated(start: Start, passes: Iterator[int], endless: bool, running: list[Stream]) -> Stream:
    while True:
        empty = endless and not running  # a pass that continues after an error is not empty
        if not running:
            if next(passes, None) is None:
                return
            running.append(start())
        for item in running[0]:
            empty = False
            yield item
        running.clear()
        if empty:
            return


def chained(streams: Stream) -> Stream:
    """Chain streams, one after the other."""
    return Resumed(_chained, streams, [])


def _chained(streams: Stream, running: list[Stream]) -> Stream:
    while True:
        running.extend([] if running else itertools.islice(streams, 1))
        if not running:
            return
        yield from running[0]
        running.clear()


def first(source: Stream, count: int) -> Stream:
    """Return the first `count` elements; failed ones do not count."""
    left = count

    def taken() -> Any:
        nonlocal left
        item = next(source) if left > 0 else _END
        left -= 1
        return item

    return iter(taken, _END)


def without_first(source: Stream, count: int) -> Stream:
    """Skip the first `count` elements."""
    return Resumed(_without_first, source, [count])


def _without_first(source: Stream, left: list[int]) -> Stream:
    while left[0] > 0 and any(True for _ in itertools.islice(source, 1)):
        left[0] -= 1
    yield from source


def every(source: Stream, apart: int, place: int) -> Stream:
    """Keep of each `apart` elements the one at `place`."""
    placed = zip(itertools.cycle(range(apart)), source, strict=False)
    return map(itemgetter(1), filter(lambda pair: pair[0] == place, placed))


def shuffled(source: Stream, size: int | None, seed: str) -> Stream:
    """Draw random elements, each from the next `size` (None, or by an index: from all), in TensorFlow's order."""
    if by_index():
        key, own, *again, _ = seed.split()
        return exchanged(list(source), philox.words([0, int(own if again else key), int(key)]))
    return Resumed(_shuffled, source, size, philox.words(state_of_pass(seed)), [], [0])


def _shuffled(source: Stream, size: int | None, words: Iterator[int], buffer: list[Any], first: list[int]) -> Stream:
    """Shuffle by a ring `buffer`, whose oldest element is at the index `first`."""
    buffer.extend(together(source, None if size is None else size - len(buffer)))
    for item in source:
        oldest, count = first[0], len(buffer)
        chosen = (oldest + next(words) % count) % count
        given, buffer[chosen] = buffer[chosen], buffer[oldest]
        buffer[oldest], first[0] = item, (oldest + 1) % count
        yield given
    yield from exchanged([*buffer[first[0] :], *buffer[: first[0]]], words)


def state_of_pass(seed: str) -> list[int]:
    """Return the random state of a pass. Its seed is the op's two seeds, "again" if these change with passes, and its number."""
    key, own, *again, number = seed.split()
    state = [0, int(own), int(key)]
    if not again:
        return state
    first = 2 * int(number)
    key, own = itertools.islice(philox.words(state), first, first + 2)
    return [0, own, key]


def exchanged(items: list[Any], words: Iterator[int]) -> Stream:
    """Yield the items in random order: each is swapped with a later one, or itself, and then yielded."""
    for i in range(len(items)):
        chosen = i + next(words) % (len(items) - i)
        items[i], items[chosen] = items[chosen], items[i]
        yield items[i]


class Cache:
    """The elements of the first complete pass; it is complete after `count` elements, if that is known."""

    def __init__(self, start: Start, count: int) -> None:
        self.start, self.count = start, count
        self.elements: list[Any] | None = None

    def __call__(self) -> Stream:
        return iter(self.elements) if self.elements is not None else Resumed(self._filled, self.start(), [])

    def _filled(self, source: Stream, seen: list[Any]) -> Stream:
        for item in source:
            seen.append(item)
            if len(seen) == self.count and self.elements is None:
                self.elements = seen
            yield item
        if self.elements is None:
            self.elements = seen


@resumable
def batched(source: Stream, size: int, drop_remainder: bool, stack: Callable[[Sequence[Any]], Element]) -> Stream:
    """Yield batches of `size` elements, stacked; the last one may be smaller, or is dropped."""
    while items := list(together(source, size)):
        if len(items) == size or not drop_remainder:
            yield stack(items)


def stacked(items: Sequence[Element]) -> Element:
    """Stack elements along a new first axis. InvalidArgumentError if their shapes differ."""
    how = items[0][1]
    for _, other in items:
        if other is not how and other != how:
            raise invalid(
                f"Cannot batch elements of different structures: the first is {how}, another {other}. The function given to "
                "map() must return the same nest each time."
            )
    return tuple([stack(column, component) for component, column in enumerate(zip(*[i[0] for i in items], strict=True))]), how


def stack(column: Sequence[Any], component: int) -> Any:
    """Stack the parts of elements that are component number `component`."""
    first = column[0]
    if first is None:
        return None
    if isinstance(first, Elements):
        return Datasets.of(column)
    if isinstance(first, Composite):
        return first.stacked(column)
    if isinstance(first, Held):
        raise TypeError(f"Elements with the spec {spec_of(first)} cannot be batched.")
    for position, array in enumerate(column):
        if array.size != first.size:
            raise invalid(
                "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: "
                f"{printed(array.shape)}, [batch]: {printed(first.shape)}. Use padded_batch(), or bring the elements to one "
                "shape with map()."
            )
        if array.shape != first.shape:
            raise invalid(
                f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                f"{printed(first.shape)} and element {position} had shape {printed(array.shape)}."
            )
        if array.dtype != first.dtype:
            raise invalid(
                f"Cannot batch tensors of different dtypes in component {component}: the first element is "
                f"{spoken_name(first.dtype)}, element {position} {spoken_name(array.dtype)}."
            )
    return np.stack(column)


def concatenated(first: Stream, start: Start) -> Stream:
    """Chain two streams. TypeError if the elements of the second have another structure."""
    return Resumed(_concatenated, first, start, [])


def _concatenated(first: Stream, start: Start, second: list[Stream]) -> Stream:
    last = None
    if not second:
        for last in first:
            yield last
        second.append(start())
    for item in second[0]:
        if last is not None:
            merged(structure_of(last), structure_of(item))
            last = None
        yield item


def unbatched(source: Stream) -> Stream:
    """Return the rows of each element, one after the other."""
    return chained(map(_rows, source))


def _rows(element: Element) -> Stream:
    arrays, how = element
    if any(isinstance(array, Composite) for array in arrays):
        return zip(rows_of(arrays), itertools.repeat(how))
    if any(isinstance(array, Held) or array.ndim == 0 for array in arrays if array is not None):
        raise ValueError("Cannot unbatch an input with scalar components. Each component needs a first axis.")
    lengths = {len(array) for array in arrays if array is not None}
    if len(lengths) != 1:
        raise invalid(f"Input element must have the same batch size in each component. Component sizes: {sorted(lengths)}.")
    return ((tuple([None if array is None else array[row, ...] for array in arrays]), how) for row in range(lengths.pop()))


def zipped(streams: Sequence[Stream], outer: Nest) -> Stream:
    """Zip the elements of streams, nested as `outer`, up to the end of the shortest."""
    return iter(functools.partial(_abreast, streams, outer), _END)


def _abreast(streams: Sequence[Stream], outer: Nest) -> Any:
    """Return the next elements of all streams as one; _END at the end of one. If one fails, the others' elements are lost."""
    found = list(map(_outcome, streams))
    for outcome in found:
        if isinstance(outcome, Exception):
            raise outcome
    if any(outcome is _END for outcome in found):
        return _END
    arrays = tuple(itertools.chain.from_iterable([element[0] for element in found]))
    return arrays, joined(outer, tuple([element[1] for element in found]))


def enumerated(source: Stream, start: int) -> Stream:
    """Pair each element with its number, int64."""
    return map(_numbered, itertools.count(start), source)


def _numbered(number: int, element: Element) -> Element:
    arrays, how = element
    return (np.array(number, np.int64), *arrays), joined(PAIR, (LEAF, how))


class Interleaved(Iterator[Any]):
    """Interleave streams in TensorFlow's order: `block` elements of each of `cycle` open streams in turn.

    The next stream replaces one that has ended, when its turn comes again.
    """

    def __init__(self, streams: Stream, cycle: int, block: int) -> None:
        self.streams, self.block = streams, block
        self.slots: list[Stream | None] = [None] * cycle
        self.position, self.more, self.given = 0, True, 0

    def __next__(self) -> Any:
        while self.more or any(slot is not None for slot in self.slots):
            slot = self.slots[self.position]
            if slot is None and self.more:
                try:
                    self.slots[self.position] = next(self.streams)
                except StopIteration:
                    self.more = False
                continue
            if slot is not None:
                try:
                    item = next(slot)
                except StopIteration:
                    self.slots[self.position] = None
                else:
                    self.given += 1
                    if self.given == self.block:
                        self._turn()
                    return item
            self._turn()
        raise StopIteration

    def _turn(self) -> None:
        self.position, self.given = (self.position + 1) % len(self.slots), 0


def windows(source: Stream, size: int, shift: int, stride: int, drop_remainder: bool) -> Iterator[list[Any]]:
    """Yield lists of `size` elements, `stride` apart; lists begin `shift` elements apart.

    A failed element is an error of the windows that contain it.
    """
    return Resumed(_windows, source, size, shift, stride, drop_remainder, [])


def _windows(source: Stream, size: int, shift: int, stride: int, drop_remainder: bool, buffer: list[Any]) -> Stream:
    span = (size - 1) * stride + 1
    while True:
        buffer.extend(itertools.islice(outcomes(source), span - len(buffer)))
        if not buffer or (drop_remainder and len(buffer) < span):
            return
        window = buffer[:span:stride]
        beyond = shift - len(buffer)
        del buffer[:shift]
        if beyond > 0:
            deque(itertools.islice(outcomes(source), beyond), maxlen=0)
        for item in window:
            if isinstance(item, Exception):
                raise item
        yield window


def chosen(streams: Sequence[Stream], choices: Iterator[int], stop_on_empty: bool) -> Stream:
    """Take each element from the stream with the next number in `choices`. An exhausted stream is skipped, or ends all."""
    return Resumed(_chosen, streams, choices, stop_on_empty, set(range(len(streams))))


def _chosen(streams: Sequence[Stream], choices: Iterator[int], stop_on_empty: bool, remaining: set[int]) -> Stream:
    for choice in choices:
        if not 0 <= choice < len(streams):
            raise invalid(f"Selector index out of range: {choice} >= {len(streams)}. Give numbers from 0 to {len(streams) - 1}.")
        if choice not in remaining:
            continue
        try:
            yield next(streams[choice])
        except StopIteration:
            remaining.discard(choice)
            if stop_on_empty or not remaining:
                return


def draws(weights: Iterator[np.ndarray], seed: str) -> Iterator[int]:
    """Draw numbers with probabilities proportional to the next of `weights`; end if all are 0."""
    for each, chance in zip(weights, _chances(state_of_pass(seed)), strict=False):
        bounds = list(itertools.accumulate(each.tolist()))
        if not bounds[-1] > 0:
            return
        point = chance * bounds[-1]
        yield next(number for number, bound in enumerate(bounds) if point < bound)


def _chances(state: list[int]) -> Iterator[float]:
    """Draw numbers in [0, 1): the first of each stateless seed that consists of two of the state's words."""
    begin, count = 0, 64
    while True:
        first, second = philox.words_on_host(state, begin, count).reshape(-1, 2).T
        zero = np.zeros_like(first)
        w0, w1, w2, w3 = philox.philox(np.array(philox.SEEDING, np.uint32)[:, None], (first, zero, second, zero))
        w0, w1, _, _ = philox.philox((w0, w1), (zero, zero, w2, w3))
        yield from (((w0 & np.uint32(2**20 - 1)) * 2.0**32 + w1) / 2.0**52).tolist()
        begin, count = begin + count, min(4 * count, 16384)


def unique(source: Stream) -> Stream:
    """Keep the first of equal elements, which are single tensors of int32, int64 or string."""
    seen: set[Any] = set()

    def is_new(element: Element) -> bool:
        check_unique(structure_of(element).specs)
        ((array,), _), before = element, len(seen)
        seen.add((array.shape, tuple(array.ravel().tolist())))
        return len(seen) > before

    return filter(is_new, source)
