"""Traces with symbols for unknown extents; each serves all extents that take the same path through the function."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradtape._src.control import implementations
from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import COMPILED, ConcreteFunction, OpByOp
from gradtape._src.control.open_ways import Ways
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import InvalidInFunctionError, NeedsValues
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
TRIALS = 6  # the minimum number of paths to try before giving up


class _NoWay(Exception):
    """The function fails for the extents of a path."""


class Opened:
    """The traces of a function for tensors with unknown extents: one for each path through it."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes, self._explored = shapes, 0  # `_explored`: the number of paths requested without a call
        self._ways = Ways[ConcreteFunction](lambda concrete: concrete._traced)
        self._by_values: OpByOp | None = None  # the strategy for all calls, if the function needs values

    @property
    def traces(self) -> list[ConcreteFunction]:
        """The traces with symbols as extents."""
        return self._ways.made

    @property
    def traced(self) -> ConcreteFunction | None:
        """The first trace; None if there is none."""
        return self.traces[0] if self.traces else None

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the results, with None for unknown extents."""
        return [a.open_shape for a in self.traces[0].results]

    @property
    def specs(self) -> list[TensorSpec]:
        """The specs of the arguments' tensors."""
        nodes = self.traces[0]._arguments.nodes
        return [TensorSpec(shape, node.aval.type) for shape, node in zip(self._shapes, nodes, strict=True)]

    def copied(self) -> Opened:
        """Return a copy with its own list of traces."""
        made = copy.copy(self)
        made._ways = copy.copy(self._ways)
        made._ways.made = list(self.traces)
        return made

    def of_call(self, function: Function, arguments: Arguments) -> Made:
        """Return the function for a call's extents, traced on a new path; None if it cannot be kept; the error if it fails."""
        state = engine.local.trace
        found = self._instance(arguments)
        if found is not None or state.parent is not None or state.overrides is not None:
            return found
        if self._by_values is not None:
            return self._op_by_op(function, arguments)
        with_symbols, extents = self._begun(arguments)
        guide = Guide(extents)
        try:
            with following(guide):
                traced = function.traced_for(with_symbols)
        except Exception as error:
            if of_user(error) or (isinstance(error, InvalidInFunctionError) and not guide.asked):
                raise
            return error if guide.asked else None  # the call's own extents raise it, too
        if type(traced.strategy) is OpByOp and type(traced.strategy.reason) is NeedsValues:
            self._by_values = traced.strategy
            return self._op_by_op(function, arguments)
        return self._instance(arguments) if self.keep(guide, traced) else None

    def _op_by_op(self, function: Function, arguments: Arguments) -> ConcreteFunction:
        strategy: Any = self._by_values
        return ConcreteFunction(function, arguments.standing(), strategy.reason, strategy)

    def explore(self, function: Function, arguments: Arguments, most: int) -> Exception | None:
        """Trace the function on up to `most` of its paths; return the reason why one failed, or None."""
        if self._explored >= most:
            return None

        def traced() -> ConcreteFunction:
            try:  # new symbols, as conditions on them hold on one path only
                return function.traced_for(self._begun(arguments)[0])
            except Exception as error:
                if of_user(error):
                    raise
                raise _NoWay(error) from None

        self._explored = most
        self._ways.made = [found for found in self.traces if isinstance(found._traced.way, Guide)]
        refused: list[Exception] = []
        for shows in (False, True):  # code that uses extents as numbers fails on None
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
        """Return the arguments with symbols for unknown extents, and the extents that these symbols stand for."""
        made, extents = copy.copy(arguments), {}
        made.nodes = []
        for node, stated in zip(arguments.nodes, self._shapes, strict=True):
            shape = [unknown() if extent is None else extent for extent in stated.as_list()]
            extents |= {d.symbol: n for d, n in zip(shape, node.aval.shape, strict=False) if type(d) is Dim}
            made.nodes.append(leaf(aval(shape, node.aval.dtype), None))
        return made, extents

    def keep(self, way: Path, traced: ConcreteFunction) -> bool:
        """Keep a trace if it can be instantiated for other extents; return whether it can."""
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


class OpenRank:
    """The trace of a function for tensors of unknown rank: a graph, which is recorded again for each call."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes = shapes
        self._traced: Any = UNTRIED  # None: a graph cannot represent the function

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the results, with None for unknown extents."""
        return list(self._traced.shapes)

    @property
    def specs(self) -> list[TensorSpec]:
        """The specs of the arguments' tensors."""
        return list(self._traced.specs)

    def copied(self) -> OpenRank:
        return copy.copy(self)

    def of_call(self, function: Function, arguments: Arguments) -> Made:
        """Return the function for these arguments; None if a graph cannot represent it; the error if it fails."""
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


def opened(shapes: Sequence[TensorShape]) -> Opened | OpenRank:
    """Return the collection of traces for tensors of these shapes."""
    return OpenRank(shapes) if any(shape.rank is None for shape in shapes) else Opened(shapes)
