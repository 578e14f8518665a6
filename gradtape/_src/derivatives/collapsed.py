"""The sum of a Program over directions, where what is linear is computed once, of a sum: collapsed Taylor mode.

The second derivative along a direction is a sum of products of first derivatives, which linear ops carry on to the result. These
ops take the sum of such products over all directions. See Dangel et al., "Collapsing Taylor mode automatic differentiation"
(2025).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.core import engine, execution, tracing
from gradtape._src.core.program import ELEMENT, Node, Program, leaf
from gradtape._src.core.structured import arity, is_call
from gradtape._src.core.tensor import EagerTensor, Tensor
from gradtape._src.core.traits import Trait
from gradtape._src.ops.math.reduction import reduce_sum


def summed_over(program: Program, inputs: Sequence[Node], place: int) -> Tensor:
    """Record the sum of the one result of a Program over the rows of the input at `place`."""
    key = ("collapsed", place)
    if key not in program.derived:
        program.derived[key] = _split(_flat(program), -1 - place)
    terms, rest = program.derived[key]
    rows = call_vectorized(terms, inputs, [i == place for i in range(len(inputs))])
    sums = [reduce_sum(EagerTensor(n), 0).node for n in rows]
    others = [n for i, n in enumerate(inputs) if i != place]
    (node,) = tracing.call(rest, (*others, *sums))
    return EagerTensor(node)


def _split(program: Program, direction: int) -> tuple[Program, Program]:
    """Return the Program of the terms to be summed, and that from the other parameters and the sums to the result."""
    moving, linear = {direction}, set()
    terms: dict[int, None] = {}  # in the order in which they are met
    for index, (_, _, *references) in enumerate(program.keys):
        if not moving.isdisjoint(references):
            moving.add(index)
    waiting = list(program.outputs)
    while waiting:
        reference = waiting.pop()
        if reference in terms or reference in linear:
            continue
        if reference >= 0 and reference in moving and _is_linear(program, reference, moving):
            linear.add(reference)
            waiting.extend([r for r in program.keys[reference][2:] if r in moving])
        else:
            terms[reference] = None
    return _part(program, list(terms), (), None), _part(program, program.outputs, list(terms), direction)


def _is_linear(program: Program, index: int, moving: set[int]) -> bool:
    """Return whether a node is linear in what moves among its inputs."""
    op, _, *references = program.keys[index]
    places = [i for i, r in enumerate(references) if r in moving]
    if Trait.LINEAR in op.traits:
        return len(places) == len(references)
    return len(places) == 1 and (Trait.PRODUCT in op.traits or (Trait.LINEAR_IN_FIRST in op.traits and places[0] == 0))


def _flat(program: Program) -> Program:
    """Return a Program with the ops of those that it calls in their place."""
    with tracing.inner() as trace:
        trace.overrides = None
        leaves = [leaf(a, None) for a in program.parameters[: arity(program)]]
        return execution.intern(tracing.close(trace, _replayed(program, leaves, {}), leaves))


def _part(program: Program, outputs: Sequence[int], given: Sequence[int], without: int | None) -> Program:
    """Return the part of a Program that leads to `outputs`, with the values in `given` as more parameters; `without` one."""
    with tracing.inner() as trace:
        trace.overrides = None
        leaves = [leaf(a, None) for a in program.parameters[: arity(program)]]
        more = [leaf(program.aval_of(r), None) for r in given]
        known: dict[int, Any] = {}
        _replayed(program, leaves, dict(zip(given, more, strict=True)), known)
        kept = [x for i, x in enumerate(leaves) if -1 - i != without]
        return execution.intern(tracing.close(trace, [known[r] for r in outputs], [*kept, *more]))


def _replayed(
    program: Program, inputs: Sequence[Node], given: Mapping[int, Node], known: dict[int, Any] | None = None
) -> list[Any]:
    """Record the ops of a Program and of those that it calls, but of values that are `given`; return its results."""
    known = {} if known is None else known
    for i, value in enumerate((*inputs, *[engine.constant(c) for c in program.constants])):
        known[-1 - i] = given.get(-1 - i, value)
    for index, (op, attrs, *references) in enumerate(program.keys):
        values = [known[r] for r in references]
        if index in given:
            known[index] = given[index]
        elif is_call(op):
            known[index] = _replayed(attrs[0], values, {})
        elif op is ELEMENT and isinstance(values[0], list):
            known[index] = values[0][attrs[0]]
        else:
            known[index] = engine.record(op, tuple(values), attrs)
    return [known[r] for r in program.outputs]
