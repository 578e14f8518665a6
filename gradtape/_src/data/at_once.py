"""Vectorized `map`: a plain function that was called often enough is traced, and its trace is run for many elements at once."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.control import as_python
from gradtape._src.control.scope import Scope, Traced, trace
from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.platform import arrays
from gradtape._src.core.programs.program import Program, leaf, leaves
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, to_numpy
from gradtape._src.core.values.aval import aval, bytes_of, stacked
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.data.calls import ElementCall, apart, arguments
from gradtape._src.data.plain import NotPlain, content
from gradtape._src.data.stages import Asked, Stream, outcomes
from gradtape._src.data.structure import Element, Nest, flatten
from gradtape._src.ops.random import seeds

ALONE = 32  # number of calls for elements of one kind from which a trace pays
ROWS = 64  # number of elements that are computed at once
LEAST = 8  # number of elements below which they are computed one by one
BYTES = 1 << 20  # limit of the bytes of a batch's values before and after
KINDS = 8  # maximum number of kinds of elements per function
Wish = tuple[Any, ...]  # a draw of random numbers: drawing op, seed, number of blocks


class Kind(NamedTuple):
    """The nest of an element, and the shapes and dtypes of its arrays."""

    nest: Nest
    avals: tuple[Any, ...]


def kind_of(element: Element) -> Kind | None:
    """Return the kind of an element, or None unless all of it is arrays of numbers."""
    found, how = element
    if any(type(array) is not np.ndarray or array.dtype.hasobject for array in found):
        return None
    return Kind(how, tuple([aval(array.shape, array.dtype) for array in found]))


class Batch:
    """A function traced for one kind of elements, as a Program for `count` of them. `wishes` are its draws of random numbers."""

    def __init__(self, body: Traced, before: Kind, after: Kind, count: int, wishes: list[Wish]) -> None:
        self.count, self.after, self._wishes = count, after, wishes
        self._captures = [engine.argument(node) for node in body.captures]
        each = [*before.avals, *[seeds.STATE] * len(wishes)]
        mapped = [*[True] * len(each), *[False] * len(self._captures)]
        with tracing.inner() as inner:
            rows = [leaf(stacked(of, count), None) for of in each]
            inputs = [*rows, *[leaf(node.aval, None) for node in body.captures]]
            nodes = call_vectorized(body.program, inputs, mapped)
            self._program: Program = execution.intern(tracing.close(inner, nodes, inputs, effects=True))
        self._avals = [node.aval for node in nodes]

    def __call__(self, given: list[Element], source: Any) -> list[Element]:
        """Return the function's results for up to `count` elements; missing ones are filled up with others.

        Random numbers are drawn from `source`, as in calls for one element after the other.
        """
        columns = [np.stack(column) for column in zip(*[found for found, _ in given], strict=True)]
        with apart(), seeds.drawn_ahead(source, self._wishes, len(given)) as states:
            whole = [np.concatenate([x, np.repeat(x[-1:], self.count - len(given), 0)]) for x in (*columns, *states)]
            values = execution.execute(self._program, [*whole, *self._captures])
            found = [to_numpy(node) for node in leaves(self._avals, values)]
        rows = [[arrays.frozen(array[at, ...].copy()) for at in range(len(given))] for array in found]
        return [(row, self.after.nest) for row in zip(*rows, strict=True)]


class Batches:
    """The Batches of a function by kind of elements, and the number of single calls for kinds without one."""

    def __init__(self, call: ElementCall) -> None:
        self._call = call
        self._known: dict[Kind, Batch | int | None] = {}
        self._content: Any = None
        self.plain: bool | None = None  # None: not checked yet

    def begin(self) -> None:
        """Check the function again at the beginning of a pass, as the values that it uses may have changed."""
        if self.plain is not None:
            self._look()

    def of(self, element: Element, last: Element | None) -> Batch | None:
        """Return the Batch for an element, or None; `last` is a result of the function called for a single element."""
        if self.plain is False or last is None or (kind := kind_of(element)) is None:
            return None
        found = self._known.get(kind, 0)
        if not isinstance(found, int):
            return found
        if found < ALONE:
            if found or len(self._known) < KINDS:
                self._known[kind] = found + 1
            return None
        if self.plain is None:
            self._look()
        made = self._known[kind] = self._made(kind, last) if self.plain else None
        return made

    @property
    def pure(self) -> bool:
        """Whether the function was found to have no effects."""
        return any(isinstance(found, Batch) for found in self._known.values())

    def refuse(self, element: Element) -> None:
        """Note that a Batch failed for an element, so that its kind is computed one by one."""
        if (kind := kind_of(element)) is not None:
            self._known[kind] = None

    def _look(self) -> None:
        try:
            found = content(self._call.function)
        except NotPlain:
            self.plain, self._known = False, {}
            return
        if self.plain is not None and found != self._content:
            self._known = {}
        self.plain, self._content = True, found

    def _made(self, before: Kind, last: Element) -> Batch | None:
        after = kind_of(last)
        if after is None or hooks.clients.together is not None:
            return None
        count = min(ROWS, BYTES // max(1, *[sum(map(bytes_of, kind.avals)) for kind in (before, after)]))
        if count < LEAST:
            return None
        try:
            with apart():
                body, how, wishes = self._traced(before)
                same = how == after.nest and tuple(body.avals) == after.avals
                return Batch(body, before, after, count, wishes) if same and _is_pure(body) else None
        except Exception:  # a function that cannot be traced is called for single elements
            return None

    def _traced(self, kind: Kind) -> tuple[Traced, Nest, list[Wish]]:
        parameters = [leaf(of, None) for of in kind.avals]
        scope: Any = Scope(creates=False)
        returned: list[Nest] = []
        wishes: list[Wish] = []

        def state(*wish: Any) -> EagerTensor:
            if engine.local.trace.scope is not scope or is_unknown(wish[-1]):
                raise NotPlain  # a draw in a branch, which may differ between calls
            wishes.append(wish)
            parameters.append(leaf(seeds.STATE, None))
            return EagerTensor(parameters[-1])

        def function() -> list[Any]:
            result = self._call.function(*arguments(nest.unflatten(kind.nest, [*map(EagerTensor, parameters)])))
            found, how = flatten(tuple(result) if type(result) is list else result)
            returned.append(how)
            return [tensor(item) for item in found]

        with seeds.asking(state):
            return trace(function, parameters, scope), returned[-1], wishes


def _is_pure(body: Traced) -> bool:
    """Return whether a trace has no effects, and depends on its arguments and constants only."""
    program = body.program
    return not (program.hosted or program.effects or program.demands or body.variables or body.draws or body.created)


class Mapped(Asked):
    """The function's results for the elements of a stream.

    Several elements are computed at once if they are needed together, or while `ahead` says that this is not observable. If
    one fails, it is computed alone. So its error is that of a single call, and the elements before it come first.
    """

    def __init__(self, call: ElementCall, batches: Batches, source: Stream, ahead: Callable[[], bool]) -> None:
        self._call, self._batches, self._source, self._ahead = call, batches, source, ahead
        self._numbered = enumerate(outcomes(source))
        self._waiting: deque[tuple[int, Any]] = deque()  # elements, or errors in their place, with their numbers
        self._given: deque[Element] = deque()
        self._last: Element | None = None  # the last result of a single call
        self._doubted = 0  # number of elements whose Batch failed, and that have not failed alone yet
        self._needed = 0
        batches.begin()

    def needed(self, count: int) -> None:
        """Note the number of elements that are needed together."""
        self._needed = count
        if isinstance(self._source, Asked):
            self._source.needed(max(count - len(self._waiting) - len(self._given), 0))

    def __next__(self) -> Element:
        if not self._given:
            self._make()
        self._needed -= 1
        return self._given.popleft()

    def _make(self) -> None:
        """Compute the next element, and others with it if possible."""
        if not self._waiting:
            self._waiting.append(next(self._numbered))
        item = self._waiting[0][1]
        if not isinstance(item, Exception) and not self._doubted and (batch := self._batches.of(item, self._last)) is not None:
            self._run(batch)
        if not self._given:
            self._given.append(self._by_itself())

    def _run(self, batch: Batch) -> None:
        """Compute as many elements at once as possible."""
        count = batch.count if self._ahead() else min(self._needed, batch.count)
        if count < LEAST or execution.eager or as_python.everywhere or debugged:
            return
        more = max(count - len(self._waiting), 0)
        self._waiting.extend(itertools.islice(self._numbered, more))
        kind = kind_of(self._waiting[0][1])
        alike = itertools.takewhile(lambda x: not isinstance(x[1], Exception) and kind_of(x[1]) == kind, self._waiting)
        given = [item for _, item in itertools.islice(alike, batch.count)]
        if len(given) < LEAST:
            return
        try:
            self._given.extend(batch(given, self._call.source))
        except Exception:
            self._doubted = len(given)
            return
        for _ in given:
            self._waiting.popleft()

    def _by_itself(self) -> Element:
        index, item = self._waiting.popleft()
        if isinstance(item, Exception):
            raise item
        doubted, self._doubted = self._doubted, 0
        self._last = self._call(index, item)
        if doubted == 1:
            self._batches.refuse(item)
        self._doubted = max(doubted - 1, 0)
        return self._last


debugged = False  # whether functions of datasets run as Python, for each element


def debug() -> None:
    """Run the functions of datasets as Python, for each element, from now on."""
    global debugged
    debugged = True
