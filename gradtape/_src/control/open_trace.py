"""A trace of a function for extents that are not known, which is an instance for each list of extents that takes the same way."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradtape._src.control import implementations
from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import COMPILED, ConcreteFunction
from gradtape._src.control.open_ways import Ways
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import InvalidInFunctionError
from gradtape._src.core.base.tracebacks import of_user
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import Atom, Dim, unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Guide, Path, explored, following

if TYPE_CHECKING:
    from gradtape._src.control.function import Function

UNTRIED = object()
Made = ConcreteFunction | Exception | None
TRIALS = 6  # ways that are tried for one that the function can go, at least


class _NoWay(Exception):
    """The function cannot go on for the extents that a way takes."""


class Opened:
    """The traces of a function for tensors of some shapes with open extents: one for each way that it goes."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes, self._explored = shapes, 0  # so many ways were looked for without a call
        self._ways = Ways[ConcreteFunction](lambda concrete: concrete._traced)

    @property
    def traces(self) -> list[ConcreteFunction]:
        """The traces, whose extents are symbols."""
        return self._ways.made

    @property
    def traced(self) -> ConcreteFunction | None:
        """The first trace; None if there is none."""
        return self.traces[0] if self.traces else None

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the results, as far as they are known."""
        return [a.open_shape for a in self.traces[0].results]

    @property
    def specs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        nodes = self.traces[0]._arguments.nodes
        return [TensorSpec(shape, node.aval.type) for shape, node in zip(self._shapes, nodes, strict=True)]

    def copied(self) -> Opened:
        """Return an object of its own with these traces."""
        made = copy.copy(self)
        made._ways = copy.copy(self._ways)
        made._ways.made = list(self.traces)
        return made

    def of_call(self, function: Function, arguments: Arguments) -> Made:
        """Return the function for the extents of a call, traced if it goes a new way; None if it cannot be kept; or the error."""
        state = engine.local.trace
        found = self._instance(arguments)
        if found is not None or state.parent is not None or state.overrides is not None:
            return found
        with_symbols, extents = self._begun(arguments)
        guide = Guide(extents)
        try:
            with following(guide):
                traced = function.traced_for(with_symbols)
        except Exception as error:
            if of_user(error) or (isinstance(error, InvalidInFunctionError) and not guide.asked):
                raise
            return error if guide.asked else None  # the true extents have it, too
        return self._instance(arguments) if self.keep(guide, traced) else None

    def explore(self, function: Function, arguments: Arguments, most: int) -> Exception | None:
        """Trace the function on the ways that it can go, `most` of them; return why it cannot go one."""
        if self._explored >= most:
            return None

        def traced() -> ConcreteFunction:
            try:  # with new symbols, as what is kept by them holds on one way only
                return function.traced_for(self._begun(arguments)[0])
            except Exception as error:
                if of_user(error):
                    raise
                raise _NoWay(error) from None

        self._explored = most
        self._ways.made = [found for found in self.traces if isinstance(found._traced.way, Guide)]
        refused: list[Exception] = []
        for shows in (False, True):  # code that takes extents for numbers cannot go on with None
            ways, errors = explored(
                traced, (_NoWay,), most=2 * most + TRIALS, enough=most, guides=True, shows=shows, supposes=False
            )
            refused += [error.args[0] for error in errors]
            refused += [found.strategy.reason for found, _ in ways if found.strategy.reason is not None]
            for found, way in ways:
                self.keep(way, found)
            if self.traces:
                break
        return refused[0] if refused else None

    def _begun(self, arguments: Arguments) -> tuple[Arguments, dict[Atom, int]]:
        """Return these arguments with symbols for the open extents, and what these are."""
        made, extents = copy.copy(arguments), {}
        made.nodes = []
        for node, stated in zip(arguments.nodes, self._shapes, strict=True):
            shape = [unknown() if extent is None else extent for extent in stated.as_list()]
            extents |= {d.symbol: n for d, n in zip(shape, node.aval.shape, strict=False) if type(d) is Dim}
            made.nodes.append(leaf(aval(shape, node.aval.dtype), None))
        return made, extents

    def keep(self, way: Path, traced: ConcreteFunction) -> bool:
        """Keep a trace, if there is an instance of it for other extents; return whether there is."""
        if traced.strategy is not COMPILED or traced._traced.takes:
            return False
        traced._traced, traced.opened = replace(traced._traced, way=way), self
        return self._ways.keep(traced)

    def _instance(self, arguments: Arguments) -> ConcreteFunction | None:
        found = self._ways.at([node.aval for node in arguments.nodes])
        if found is None:
            return None
        made = ConcreteFunction(found[0]._function, copy.copy(arguments), found[1])
        made.opened = self
        return made


class Unranked:
    """The trace of a function for tensors some of which have an unknown rank: a graph, which is recorded again for a call."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes = shapes
        self._traced: Any = UNTRIED  # None: a graph cannot keep what the function does

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the results, as far as they are known."""
        return list(self._traced.shapes)

    @property
    def specs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        return list(self._traced.specs)

    def copied(self) -> Unranked:
        """Return an object of its own with this trace."""
        return copy.copy(self)

    def of_call(self, function: Function, arguments: Arguments) -> Made:
        """Return the function for these arguments; None if a graph cannot keep it, or shapes depend on values; or the error."""
        state = engine.local.trace
        parameters = function.named(arguments)
        if self._traced is UNTRIED:
            if state.parent is not None or state.overrides is not None:
                return None
            stated = [(n.attrs[0][n.attrs[1]], n.aval.dtype, s) for n, s in zip(parameters, self._shapes, strict=True)]
            call = functools.partial(arguments.call, function.transformed())
            with implementations.in_function():
                self._traced = function.made_once(lambda: hooks.graphs.traced(call, function.result, stated))
        if self._traced is None:
            return None
        try:
            body = trace(lambda: self._traced.again(parameters), parameters, Scope(), convert=function.result)
        except Exception as error:
            return error
        if body.shaped_by_runs:
            return None
        function.was_traced()
        made = ConcreteFunction(function, arguments, body)
        made.opened = self
        return made


def opened(shapes: Sequence[TensorShape]) -> Opened | Unranked:
    """Return an object for the traces of a function for tensors of these shapes."""
    return Unranked(shapes) if any(shape.rank is None for shape in shapes) else Opened(shapes)
