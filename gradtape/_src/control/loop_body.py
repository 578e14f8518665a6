"""The body of a loop as a Program: constants, what is carried (variables that it assigns among it), the element of a trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.programs import ordered, rewired, selected
from gradtape._src.control.scope import Body, Outside, Scope, trace
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.tensor import EagerTensor, Tensor
from gradtape._src.core.variable import Variable
from gradtape._src.ops.random import seeds


class ShapeChanged(ValueError):
    """A loop variable has another shape after a trip."""


NUMBER_OF_TRIP = aval((), np.dtype(np.int64))


class Loop:
    """A traced body: parameters are (carry…, variables in `carried`…, number of the trip, element…), results
    (carry…, y…, number of the next trip, the variables' new values…); besides what `body` lists."""

    def __init__(self, body: Body, carried: list[Variable], carry: int, elements: int) -> None:
        self.body, self.carried, self.carry, self.elements = body, carried, carry, elements

    def bind(self, condition: Body | None = None) -> tuple[list[Node], list[Program]]:
        """Return `(constants, Programs)`: the condition's (if any) and the body's, both of (constants…, carry…, element…).

        The carry is followed by the variables; the number of the trip is the last of the carry in a loop with a
        condition, else the last element.
        """
        bodies = [self.body] if condition is None else [condition, self.body]
        outside = Outside(bodies)
        consts = outside.inputs()
        count = len(self.body.program.parameters) - len(self.body.program.constants)
        own = count - len(self.body.variables) - len(self.body.captures)
        moving = list(self.body.program.parameters[:own])
        at = self.carry + len(self.carried)
        numbers = list(range(own))
        if condition is None:  # the number of the trip comes after the elements
            numbers = [*range(at), own - 1, *range(at, own - 1)]
            moving.append(moving.pop(at))
        parameters = [*[n.aval for n in consts], *moving]
        programs = []
        for body in bodies:
            places = [*[len(consts) + k for k in numbers], *outside.places(body)]
            body.placed(places)
            programs.append(rewired(body.program, places, parameters))
        programs[-1] = self._in_order(programs[-1], condition is not None)
        return consts, programs

    def _in_order(self, program: Program, counts: bool) -> Program:
        """Order the outputs for a loop: carry, variables, number of the trip (if it is carried), ys."""
        results = len(program.outputs) - len(self.carried)
        written = self.body.written
        following = results - 1
        order = list(range(self.carry))
        order += [results + next(k for k, w in enumerate(written) if w is v) for v in self.carried]
        order += [following] if counts else []
        order += range(self.carry, following)
        return selected(program, order) if not program.effects else ordered(program, order)


def trace_body(
    function: Callable[[list[Node], list[Node]], Sequence[Tensor]], carry: Sequence[Node], elements: Sequence[Aval] = ()
) -> Loop:
    """Trace `function(carry, element)` → carry and ys, flat; again with the variables that it assigns carried along."""
    carried: list[Variable] = []
    while True:
        parameters = [leaf(node.aval, None) for node in carry]
        held = [leaf(v.aval, None) for v in carried]
        number = leaf(NUMBER_OF_TRIP, None)
        element = [leaf(a, None) for a in elements]
        scope = Scope(nested=True, carried=list(zip(carried, held, strict=True)))

        def step(parameters: list[Node] = parameters, number: Node = number, element: list[Node] = element) -> list[Any]:
            with seeds.in_trip(number):
                results = function(parameters, element)
            return [*results, EagerTensor(number) + 1]

        body = trace(step, [*parameters, *held, number, *element], scope, draws=False)
        new = [v for v in body.written if all(v is not c for c in carried)]
        if not new:
            return Loop(body, carried, len(carry), len(elements))
        carried += new


def trace_condition(function: Callable[[list[Node]], Tensor], loop: Loop) -> Body:
    """Trace the condition of a loop, of the same parameters."""
    count = loop.carry + len(loop.carried) + 1
    parameters = [leaf(a, None) for a in loop.body.program.parameters[:count]]
    held = parameters[loop.carry : -1]
    scope = Scope(nested=True, carried=list(zip(loop.carried, held, strict=True)))
    return trace(lambda: function(parameters[: loop.carry]), parameters, scope, draws=False)


def check_same(before: Sequence[Node], after: Sequence[Tensor], names: Sequence[str] | None = None) -> None:
    """Raise unless each loop variable has the dtype and shape that it came with."""
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        a, b = old.aval, new.node.aval
        name = names[i] if names else f"number {i}"
        if a.dtype is not b.dtype:
            raise TypeError(
                f"'{name}' has dtype {a.type.name} before the loop, but dtype {b.type.name} after one iteration. A loop "
                f"variable keeps its dtype: use tf.cast in the loop, or start from tf.constant(…, tf.{b.type.name})."
            )
        if a is not b and not (a.large and a.open_shape.is_compatible_with(b.open_shape)):
            raise ShapeChanged(
                f"'{name}' has shape {a.open_shape} before the loop, but shape {b.open_shape} after one iteration. A loop "
                "variable that is compiled keeps its shape: use a tf.TensorArray for results that grow, or pad."
            )
