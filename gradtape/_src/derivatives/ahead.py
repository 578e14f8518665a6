"""A vectorised call under trace, in two: values that depend on known inputs alone are computed once, the rest in each call.

Products with a Jacobian have known vectors. Where the function is linear they are known, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.engine.stages import written_out
from gradtape._src.core.programs.program import Node, Program, leaf
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.derivatives.collapsed import replayed

MOST = 4  # numbers kept for each number of the known rows


def call_ahead(program: Program, inputs: Sequence[Node], mapped: Sequence[bool], chunk: int | None = None) -> list[Node]:
    """Return the results of `call_vectorized`. Under trace, values that depend on known rows alone are computed now, if few."""
    known = [not engine.symbolic(x) for x in inputs]
    border: list[int] = []
    if not all(known):
        places = [-1 - i for i, k in enumerate(known) if k]
        rows = [-1 - i for i, m in enumerate(mapped) if m]
        program = written_out(program)
        program = _grouped(program, _early(program, places, rows))
        border = _border(program, _early(program, places, rows))
        sizes = [program.aval_of(r).size for r in rows]
        if sum([program.aval_of(r).size for r in border]) > MOST * sum(sizes):
            border = []
    if not border:
        return call_vectorized(execution.intern(program), inputs, mapped, chunk)
    first, rest = _split(program, known, border)
    given = [(x, m) for x, m, k in zip(inputs, mapped, known, strict=True) if k]
    values = [x if x.trace is None or x.trace.parent is None else engine.constant(engine.value(x)) for x, _ in given]
    with tracing.outside():
        done = call_vectorized(first, values, [m for _, m in given], chunk)
    return call_vectorized(rest, [*inputs, *done], [*mapped, *[True] * len(done)], chunk)


def _early(program: Program, known: Sequence[int], rows: Sequence[int]) -> set[int]:
    """Return the values that depend on some of these rows, and on no parameter that is not known."""
    fixed = {*known, *[-1 - i for i in range(arity(program), len(program.parameters))]}
    moving = set(rows)
    for index, (_, _, *references) in enumerate(program.keys):
        if fixed.issuperset(references):
            fixed.add(index)
        if not moving.isdisjoint(references):
            moving.add(index)
    return fixed & moving


def _grouped(program: Program, early: set[int]) -> Program:
    """Return a Program that first adds up the early terms of each sum."""

    def record(*given: Node) -> list[Node]:
        values = {-1 - i: x for i, x in enumerate((*given, *map(engine.constant, program.constants)))}
        for index, (op, attrs, *references) in enumerate(program.keys):
            terms = [values[r] for r in references]
            first = [values[r] for r in references if r in early] if Trait.ADDS in op.traits else []
            if 1 < len(first) < len(terms):
                terms = [engine.record(op, tuple(first), attrs), *[values[r] for r in references if r not in early]]
            values[index] = engine.record(op, tuple(terms), attrs)
        return [values[r] for r in program.outputs]

    return tracing.program_of(record, program.parameters[: arity(program)])


def _border(program: Program, early: set[int]) -> list[int]:
    """Return the early values that others take, without parameters."""
    taken = [*program.outputs, *[r for i, key in enumerate(program.keys) if i not in early for r in key[2:]]]
    return [r for r in dict.fromkeys(taken) if r >= 0 and r in early]


def _split(program: Program, known: Sequence[bool], border: Sequence[int]) -> tuple[Program, Program]:
    """Return two Programs: from the known inputs to the values at the border, and from all inputs and these to the results."""
    parameters = program.parameters[: arity(program)]

    def first(*given: Node) -> list[Node]:
        some, nodes = iter(given), dict[int, Node]()
        replayed(program, [next(some) if k else leaf(a, None) for a, k in zip(parameters, known, strict=True)], {}, nodes)
        return [nodes[r] for r in border]

    def rest(*given: Node) -> list[Node]:
        return replayed(program, given[: len(parameters)], dict(zip(border, given[len(parameters) :], strict=True)))

    kept = [a for a, k in zip(parameters, known, strict=True) if k]
    return tracing.program_of(first, kept), tracing.program_of(rest, [*parameters, *map(program.aval_of, border)])
