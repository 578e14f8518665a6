"""A trace of a function for extents that are not known, which is an instance for each list of extents that takes the same way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.scope import Body
from gradtape._src.core.aval import aval
from gradtape._src.core.dim import Atom, Dim, Guide, Path, as_number, unknown
from gradtape._src.core.instance import instance_of_transcript, substituted
from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.spec import TensorSpec


class OpenTrace(NamedTuple):
    """A function, traced with symbols on one way."""

    way: Path
    traced: ConcreteFunction

    @property
    def symbols(self) -> list[Atom]:
        """The symbols of its parameters, in their order."""
        return [d.symbol for node in self.traced._arguments.nodes for d in node.aval.shape if type(d) is Dim]

    def extents(self, nodes: Sequence[Node]) -> dict[Atom, int] | None:
        """Return what the symbols are in `nodes`; None if the function would go another way for them."""
        found = {
            symbol.symbol: extent
            for parameter, node in zip(self.traced._arguments.nodes, nodes, strict=True)
            for symbol, extent in zip(parameter.aval.shape, node.aval.shape, strict=True)
            if type(symbol) is Dim
        }
        return found if self.way.fits(found) else None


class Opened:
    """The traces of a function for tensors of some shapes with open extents: one for each way that it goes."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes, self.explored = shapes, 0  # the ways that were looked for without a call
        self._traces: list[OpenTrace] = []

    def begin(self, nodes: Sequence[Node]) -> tuple[list[Node], Guide]:
        """Return leaves like `nodes` that have symbols for the open extents, and the Guide to what these are."""
        leaves, extents = [], {}
        for node, stated in zip(nodes, self._shapes, strict=True):
            shape = [unknown() if extent is None else extent for extent in stated.as_list()]
            extents |= {d.symbol: n for d, n in zip(shape, node.aval.shape, strict=False) if type(d) is Dim}
            leaves.append(leaf(aval(shape, node.aval.dtype), None))
        return leaves, Guide(extents)

    def begin_exploring(self, ways: int) -> None:
        """Note that ways are looked for without a call, so many at most; those that were found so are forgotten."""
        self.explored = ways
        self._traces = [trace for trace in self._traces if isinstance(trace.way, Guide)]

    def keep(self, way: Path, traced: ConcreteFunction) -> bool:
        """Keep a trace, if there is an instance of it for other extents; return whether there is."""
        kept = type(traced) is ConcreteFunction and not traced.elements and type(traced.program) is Program
        if kept:
            self._traces.append(OpenTrace(way, traced))
            traced.opened = self
        return kept

    def instance(self, arguments: Arguments) -> ConcreteFunction | None:
        """Return the function for the extents of these arguments; None if it was not traced on their way yet."""
        for trace in self._traces:
            if (extents := trace.extents(arguments.nodes)) is not None:
                made = ConcreteFunction(trace.traced._function, copy.copy(arguments), _instance(trace.traced._body, extents))
                made.opened, made.streams = self, trace.traced.streams
                return made
        return None

    @property
    def traces(self) -> list[OpenTrace]:
        """The traces, in the order in which they were made."""
        return list(self._traces)

    @property
    def traced(self) -> ConcreteFunction | None:
        """The first trace, whose extents are symbols; None if there is none."""
        return self._traces[0].traced if self._traces else None

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the results, as far as they are known."""
        return [a.open_shape for a in self._traces[0].traced.results]

    @property
    def specs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        nodes = self._traces[0].traced._arguments.nodes
        return [TensorSpec(shape, node.aval.type) for shape, node in zip(self._shapes, nodes, strict=True)]


def _instance(body: Body, extents: dict[Atom, int]) -> Body:
    made = body.with_passed(())
    made.program = substituted(body.program, extents)
    made.avals = [made.program.aval_of(r) for r in made.program.outputs]
    made.draws = [stream.shared(as_number(stream.blocks, extents)) for stream in body.draws]
    if body.transcript is not None:
        made.transcript = instance_of_transcript(body.transcript, extents)
    return made
