"""A trace of a function for extents that are not known, which is an instance for each list of extents that takes the same way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.scope import Body
from gradtape._src.core.aval import aval
from gradtape._src.core.dim import Atom, Dim, Guide, as_number, unknown
from gradtape._src.core.instance import instance_of_transcript, substituted
from gradtape._src.core.program import Node, leaf
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.spec import TensorSpec


class OpenTrace(NamedTuple):
    """A function, traced with symbols on the way that `guide` shows."""

    guide: Guide
    traced: ConcreteFunction

    def extents(self, nodes: Sequence[Node]) -> dict[Atom, int] | None:
        """Return what the symbols are in `nodes`; None if the function would go another way for them."""
        found = {
            symbol.symbol: extent
            for parameter, node in zip(self.traced._arguments.nodes, nodes, strict=True)
            for symbol, extent in zip(parameter.aval.shape, node.aval.shape, strict=True)
            if type(symbol) is Dim
        }
        return found if self.guide.fits(found) else None


class Opened:
    """The traces of a function for tensors of some shapes with open extents: one for each way that it goes."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes = shapes
        self._traces: list[OpenTrace] = []

    def begin(self, nodes: Sequence[Node]) -> tuple[list[Node], Guide]:
        """Return leaves like `nodes` that have symbols for the open extents, and the Guide to what these are."""
        leaves, extents = [], {}
        for node, stated in zip(nodes, self._shapes, strict=True):
            shape = [unknown() if extent is None else extent for extent in stated.as_list()]
            extents |= {d.symbol: extent for d, extent in zip(shape, node.aval.shape, strict=True) if type(d) is Dim}
            leaves.append(leaf(aval(shape, node.aval.dtype), None))
        return leaves, Guide(extents)

    def keep(self, guide: Guide, traced: ConcreteFunction) -> None:
        """Keep a trace."""
        self._traces.append(OpenTrace(guide, traced))

    def instance(self, arguments: Arguments) -> ConcreteFunction | None:
        """Return the function for the extents of these arguments; None if it was not traced on their way yet."""
        for trace in self._traces:
            if (extents := trace.extents(arguments.nodes)) is not None:
                made = ConcreteFunction(trace.traced._function, copy.copy(arguments), _instance(trace.traced._body, extents))
                made.opened, made.streams = self, trace.traced.streams
                return made
        return None

    @property
    def body(self) -> Body | None:
        """The Body of the first trace, whose extents are symbols; None if there is none."""
        return self._traces[0].traced._body if self._traces else None

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
