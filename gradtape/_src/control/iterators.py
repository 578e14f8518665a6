"""Iterators in functions: an element taken while a function is traced becomes a parameter, which each call draws.

So Python runs once, as for TensorFlow's `IteratorGetNext`. A call draws all its elements before it begins, and then runs one
compiled program; an outer tape sees the elements as inputs. In a loop whose body takes elements, each trip is such a call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from gradtape._src.control.given import Given, GivenSpec, of_calls
from gradtape._src.control.open_ways import extents_in
from gradtape._src.control.scope import Scope
from gradtape._src.core.base.errors import OpError, OutOfRangeError
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec, TypeSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.faults import detected_at
from gradtape._src.core.programs.program import Line, Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import handle
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dim import exploring, follow, unknown
from gradtape._src.core.values.ways import Guide, Path

HOLDS = aval((), np.dtype(np.bool_))
_NONE = object()
END = "End of sequence: the iterator has no more elements."


class TakesElement(engine.NeedsValues):
    """An element is taken where a call cannot draw it: in a branch or loop body that is one op."""

    def __init__(self, why: str = "its elements depend on values") -> None:
        super().__init__(f"a function that takes elements from an iterator runs as eager code: {why}")


class TakesAgain(TakesElement):
    """A gradient repeats a function that takes an element."""

    def __init__(self) -> None:
        engine.NeedsValues.__init__(
            self,
            "the gradient of tf.recompute_grad calls the function again, which would take another element of the iterator. Call "
            "next() outside of that function, and pass the element as an argument.",
        )


class Take(NamedTuple):
    """An element that a traced function takes: its iterator, whether it is an Optional, its Avals, and the user's line."""

    source: ElementIterator
    optional: bool
    avals: tuple[Aval, ...]
    line: Line


class Again(NamedTuple):
    """The input of a trace for elements of other shapes: the earlier takes with their new Avals, and the random streams.

    With a `guide`, unknown extents are symbols again, and the guide has their numbers.
    """

    takes: Sequence[Take]
    streams: list[Any]
    guide: Guide | None = None


@dataclass
class Elements:
    """The elements taken while a function is traced, which become `parameters`.

    With `again` they have the Avals of that trace, else those of the specs. Elements are drawn before a call begins. An element
    taken after (`behind`) a loop over the same iterator is drawn by an op, which `in_order` records.
    """

    parameters: list[Node]
    again: Again | None = None
    in_order: Callable[..., list[Node]] | None = None
    takes: list[Take] = field(default_factory=list)
    behind: list[Any] = field(default_factory=list)

    def symbols(self, source: ElementIterator, optional: bool) -> list[Node]:
        """Return symbols for the next element of `source`; with `optional`, the first one says whether there is an element."""
        if any(other is source for other in self.behind):
            avals = _avals(source)
            if self.in_order is None or any(a.open for a in avals):
                raise TakesElement(
                    "behind a loop that takes some, an element must have a shape that is known: batch with drop_remainder=True"
                )
            return self.in_order(source, optional, (HOLDS, *avals) if optional else avals)
        if self.again is None:
            avals = (HOLDS, *_avals(source)) if optional else _avals(source)
        else:
            avals = self._known(source, optional)
        nodes = [leaf(a, None) for a in avals]
        self.takes.append(Take(source, optional, avals, journal.user_line()))
        self.parameters += nodes
        return nodes

    def _known(self, source: ElementIterator, optional: bool) -> tuple[Aval, ...]:
        assert self.again is not None, "its elements are known"
        place, takes = len(self.takes), self.again.takes
        known = takes[place] if place < len(takes) else None
        if known is None or (known.source, known.optional) != (source, optional):
            raise TakesElement("which it takes depends on their shapes")
        if self.again.guide is None:
            return known.avals
        symbols = (*known.avals[:optional], *_avals(source))
        guide = self.again.guide
        guide.at = {**guide.at, **(extents_in(symbols, known.avals) or {})}
        return symbols


def dense(element_spec: Any) -> bool:
    """Return whether elements consist of dense tensors. Components of ragged or sparse ones differ in extents."""
    composite = any(isinstance(s, TypeSpec) and not isinstance(s, TensorSpec) for s in nest.flatten(element_spec))
    return not composite and all(isinstance(s, TensorSpec) for s in nest.flatten(element_spec, expand_composites=True))


def _avals(source: ElementIterator) -> tuple[Aval, ...]:
    """Return the Avals of an element by its spec, with symbols for unknown extents."""
    specs = nest.flatten(source.element_spec, expand_composites=True)
    if not dense(source.element_spec) or any(s.shape.rank is None for s in specs):
        raise TakesElement("not all of them are dense tensors of a known rank")
    return of_specs(specs)


def of_specs(specs: Sequence[Any]) -> tuple[Aval, ...]:
    """Return the Avals of specs of known rank, with symbols for unknown extents. The first symbol starts a path."""
    if not exploring() and any(not s.shape.is_fully_defined() for s in specs):
        path = Path(())
        path.guides = True
        follow(path)
    return tuple([aval(tuple([unknown() if d is None else d for d in s.shape.as_list()]), s.dtype.numpy) for s in specs])


def taken(source: ElementIterator, optional: bool = False) -> list[Node]:
    """Return symbols for the next element of `source` in the function under trace; TakesElement if it cannot be a parameter."""
    scope = engine.local.trace.scope
    if isinstance(scope, Scope) and scope.elements is not None and engine.local.trace is not scope.trace:
        raise TakesAgain
    if not isinstance(scope, Scope) or scope.elements is None:
        raise TakesElement("they are taken in a part of it that is one op")
    once = tracing.is_asked_for_shapes() and all(take.source is not source for take in scope.elements.takes)
    if source.made_anew and not once:  # A Python `for` over it would never end
        raise TakesElement("it makes the iterator, another one in each call; make it outside, or loop over the Dataset")
    nodes: list[Node] = scope.elements.symbols(source, optional)
    return nodes


class Drawn:
    """The elements drawn for a call: their tensors, and their takes with Avals. The end or an error at the first one is raised.

    `error` is the end or an error at a later one. Then all are given back, and eager code runs up to that point.
    """

    def __init__(self, takes: Sequence[Take]) -> None:
        self.nodes: list[Node] = []
        self.takes: list[Take] = []
        self.error: Exception | None = None
        self._items: list[tuple[ElementIterator, Any]] = []
        for take in takes:
            self.error = self._draw(take, take.source.here())
            if self.error is not None and len(self._items) == 1:
                raise self.error
            if self.error is not None:
                break

    @property
    def avals(self) -> tuple[Aval, ...]:
        """The Avals of all drawn tensors."""
        return tuple([n.aval for n in self.nodes])

    def give_back(self) -> None:
        """Give the elements, and the error, back to their iterators."""
        for source, item in reversed(self._items):
            source.give_back(item)

    def _draw(self, take: Take, source: ElementIterator) -> Exception | None:
        """Draw one element; return the error, with the line that takes the element."""
        try:
            item = source.drawn()
        except StopIteration as end:
            self._items.append((source, end))
            if not take.optional:
                return OutOfRangeError.saying(END + detected_at(take.line))
            nodes = [leaf(a, np.zeros(a.shape, a.dtype)) for a in take.avals]
        except Exception as error:
            self._items.append((source, error))
            if isinstance(error, OpError):
                error.message += detected_at(take.line)
            return error
        else:
            self._items.append((source, item))
            nodes = [tensor(x).node for x in nest.flatten(item, expand_composites=True)]
            nodes[:0] = [leaf(HOLDS, np.array(True))] if take.optional else []
        self.nodes += nodes
        self.takes.append(take._replace(avals=tuple([n.aval for n in nodes])))
        return None


@hides("drawn give_back here made_anew restored saved_as saved_state usual_batch")
class ElementIterator(Given):
    """Base of iterators over tensors. A function that gets one as an argument is traced with a stand-in."""

    made_anew = False  # whether a function creates it, so that each call needs a new one
    _returned: deque[Any] | tuple[()] = ()

    @property
    def element_spec(self) -> Any:
        """A nest of specs of an element."""
        raise NotImplementedError

    @property
    def _type_spec(self) -> ElementIteratorSpec:
        raise NotImplementedError

    def _pull(self) -> Any:
        """Return the next element; StopIteration at the end."""
        raise NotImplementedError

    def _optional(self, value: tuple[Any, ...], holds: Any = None) -> Any:
        """Return an Optional of an element; `holds` is a tensor that says whether there is one."""
        raise NotImplementedError

    def here(self) -> ElementIterator:
        """Return the iterator of eager code: the argument for which it stands, or itself."""
        found, calls = self, of_calls()
        while isinstance(other := calls.get(id(found)), ElementIterator):
            found = other
        return found

    def drawn(self) -> Any:
        """Return the next element in eager code; StopIteration at the end."""
        try:
            item = self._returned.popleft() if self._returned else _NONE
        except IndexError:  # another thread has taken it
            item = _NONE
        if isinstance(item, BaseException):
            raise item
        return self._pull() if item is _NONE else item

    def _given_back(self) -> int:
        return sum(not isinstance(item, StopIteration) for item in self._returned)

    def give_back(self, item: Any) -> None:
        """Give back `item`, an element or an exception; it comes next."""
        if not self._returned:
            self._returned = deque()
        self._returned.appendleft(item)

    def __iter__(self) -> Self:
        return self

    @public
    def __next__(self) -> Any:
        if engine.local.trace.scope is None:
            return self.here().drawn()
        return self._packed(taken(self))

    def _packed(self, nodes: Sequence[Node]) -> Any:
        _, structure = nest.flatten_with_spec(self.element_spec, nest.EXPANDED)
        return nest.unflatten(structure, map(handle, nodes))

    @public
    def get_next(self) -> Any:
        """Return the next element; OutOfRangeError at the end, where `next` raises StopIteration."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError.saying(END) from None

    @public
    def get_next_as_optional(self) -> Any:
        """Return the next element as a `tf.experimental.Optional`, which has no value at the end."""
        if engine.local.trace.scope is not None:
            holds, *nodes = taken(self, optional=True)
            return self._optional((self._packed(nodes),), handle(holds))
        try:
            return self._optional((next(self),))
        except StopIteration:
            return self._optional(())


class ElementIteratorSpec(GivenSpec):
    """Base of the specs of iterators, with the spec of their elements."""

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    def _key(self) -> tuple[Any, ...]:
        specs, structure = nest.flatten_with_spec(self._element_spec, nest.EXPANDED)
        return type(self), structure, tuple(specs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ElementIteratorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def stand_in(self) -> ElementIterator:
        """Return an iterator that stands in a trace for all of this spec."""
        made: ElementIterator = object.__new__(self.value_type)
        self._described(made)
        return made

    def _described(self, iterator: Any) -> None:
        """Set the attributes that all iterators of this spec share."""
        raise NotImplementedError
