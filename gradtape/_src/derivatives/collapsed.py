"""The sum of a Program over directions, with its linear part applied once, to a sum: collapsed Taylor mode.

The second derivative along a direction is a sum of products of first derivatives, propagated to the result by linear ops. These
ops are applied to the sum of such products over all directions. See Dangel et al., "Collapsing Taylor mode automatic
differentiation" (2025).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.core.base.reaching import reached
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.engine.stages import written_out
from gradtape._src.core.programs.program import Node, Program, leaf, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.ops.array.creation import ones_like
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.math.reduction import reduce_sum


def summed_over(program: Program, inputs: Sequence[Node], place: int) -> Tensor:
    """Record the sum of the one result of a Program over the rows of the input at `place`."""
    terms, rest = _split(program, place)
    rows = call_vectorized(terms, inputs, [i == place for i in range(len(inputs))])
    shapes = [a.shape for a in rest.parameters[arity(rest) - len(rows) : arity(rest)]]
    sums = [reshape(reduce_sum(EagerTensor(n), 0), shape).node for n, shape in zip(rows, shapes, strict=True)]
    others = [n for i, n in enumerate(inputs) if i != place]
    (node,) = tracing.call(rest, (*others, *sums))
    return EagerTensor(node)


@memoized
def _split(program: Program, place: int) -> tuple[Program, Program]:
    """Return two Programs: of the terms to sum, and of the result, from the other parameters and the sums."""
    program, direction = written_out(program), -1 - place
    moving = {direction}
    for index, (_, _, *references) in enumerate(program.keys):
        if not moving.isdisjoint(references):
            moving.add(index)

    def passed_on(reference: int) -> list[int]:
        """Return the moving inputs of a linear op; none for a term."""
        linear = reference >= 0 and reference in moving and _is_linear(program, reference, moving)
        return [r for r in program.keys[reference][2:] if r in moving] if linear else []

    terms = [r for r in reached(program.outputs, passed_on) if not passed_on(r)]
    return _summed(program, terms, moving, direction)


def _summed(program: Program, terms: list[int], moving: set[int], direction: int) -> tuple[Program, Program]:
    """Return two Programs: of the summands for these terms, as vectors, and of the result, from the others and the sums.

    A term may be a product of two moving values and fixed factors. Its summand is the product of the two moving values.
    """
    products = {t: found for t in terms if (found := _product(program, t, moving)) is not None}
    wanted = list(dict.fromkeys([products[t][0] if t in products else (t,) for t in terms]))
    parameters, place = program.parameters[: arity(program)], -1 - direction

    def of_rows(*leaves: Node) -> list[Node]:
        known: dict[int, Node] = {}
        replayed(program, leaves, {}, known)
        # As vectors: XLA on a CPU would copy matrices of one row, and repeat sums of these for each column of a product.
        factors = [[reshape(EagerTensor(known[r]), [-1]) for r in places] for places in wanted]
        return [functools.reduce(operator.mul, parts).node for parts in factors]

    def of_sums(*inputs: Node) -> list[Node]:
        others, sums = inputs[: len(parameters) - 1], dict(zip(wanted, inputs[len(parameters) - 1 :], strict=True))
        leaves = [*others[:place], leaf(parameters[place], None), *others[place:]]
        known: dict[int, Node] = {}
        replayed(program, leaves, {}, known)
        given = {places[0]: total for places, total in sums.items() if len(places) == 1}
        for term, (places, chain) in products.items():
            first, second = places
            along = {first: sums[places], second: ones_like(EagerTensor(known[second])).node}
            for index in chain:
                op, attrs, *references = program.keys[index]
                along[index] = engine.record(op, tuple([along.get(r, known[r]) for r in references]), attrs)
            given[term] = along[term]
        return replayed(program, leaves, given, {})

    summed = [program.aval_of(places[0]) for places in wanted]
    of_others = [*parameters[:place], *parameters[place + 1 :], *summed]
    return tracing.program_of(of_rows, parameters), tracing.program_of(of_sums, of_others)


def _product(program: Program, term: int, moving: set[int]) -> tuple[tuple[int, int], list[int]] | None:
    """Return the two moving factors of an elementwise product, and the ops from them to it, in order; None for other terms."""
    if term < 0 or len(program.keys[term]) != 4 or Trait.PRODUCT | Trait.ARITHMETIC not in program.keys[term][0].traits:
        return None
    chain, bases = [term], []
    for reference in program.keys[term][2:]:
        between = list(reached([reference], lambda at: _scaled(program, at, moving, program.aval_of(term))))
        scaled = [at for at in between if _scaled(program, at, moving, program.aval_of(term))]
        chain += scaled
        bases += [at for at in between if at not in scaled]
    alike = all(b in moving and program.aval_of(b) is program.aval_of(term) for b in bases)
    return ((bases[0], bases[1]), sorted(set(chain))) if alike and len(set(bases)) == len(bases) == 2 else None


def _scaled(program: Program, at: int, moving: set[int], of: Any) -> list[int]:
    """Return the moving inputs of an elementwise op that is linear in them, all of one shape and dtype; else none."""
    moved = [r for r in program.keys[at][2:] if r in moving] if at >= 0 else []
    alike = all(program.aval_of(r) is of for r in (at, *moved))
    linear = alike and moved and Trait.ARITHMETIC in program.keys[at][0].traits and _is_linear(program, at, moving)
    return moved if linear else []


def _is_linear(program: Program, index: int, moving: set[int]) -> bool:
    """Return whether a node is linear in its moving inputs."""
    op, _, *references = program.keys[index]
    places = [i for i, r in enumerate(references) if r in moving]
    if Trait.LINEAR in op.traits:
        return len(places) == len(references)
    return len(places) == 1 and (Trait.PRODUCT in op.traits or (Trait.LINEAR_IN_FIRST in op.traits and places[0] == 0))


def replayed(
    program: Program, inputs: Sequence[Node], given: Mapping[int, Node], known: dict[int, Node] | None = None
) -> list[Node]:
    """Record the ops of a Program without calls, except for values that are `given`; return its results."""
    known = {} if known is None else known
    for i, value in enumerate((*inputs, *[engine.constant(c) for c in program.constants])):
        known[-1 - i] = given.get(-1 - i, value)
    for index, (op, attrs, *references) in enumerate(program.keys):
        known[index] = given[index] if index in given else engine.record(op, tuple([known[r] for r in references]), attrs)
    return [known[r] for r in program.outputs]
