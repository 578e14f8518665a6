"""Vectorised calls of a Program: one call node for many sets of arguments. The gradient is a vectorised call, too."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from gradtape._src.autodiff.backward import Operation, vjp_program
from gradtape._src.autodiff.products import Product, products_of, summed_products
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import tracing
from gradtape._src.core.platform.arrays import lax
from gradtape._src.core.programs import guards
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import ROWS, HeldProgram, Interpreter, StructuredOp, arity, whole
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.values.aval import Aval, stacked
from gradtape._src.ops.math.reduction import reduce_sum


def _kernel(*arguments: Any, program: Program, mapped: tuple[bool, ...], chunk: int | None) -> tuple[Any, ...]:
    flag = guards.begin(program)
    if chunk is None:
        axes = (None, *[0 if m else None for m in mapped])
        results, flags = jax.vmap(functools.partial(guards.run, program), in_axes=axes)(flag, *arguments)
    else:

        def one(rows: tuple[Any, ...]) -> tuple[Any, ...]:
            remaining = iter(rows)
            return guards.run(program, flag, *[next(remaining) if m else a for a, m in zip(arguments, mapped, strict=True)])

        rows = tuple([a for a, m in zip(arguments, mapped, strict=True) if m])
        results, flags = lax.map(one, rows, batch_size=chunk)
    guards.note(flags)
    return tuple(results)


def _avals(*avals: Aval, program: Program, mapped: tuple[bool, ...], chunk: int | None) -> tuple[Aval, ...]:
    count = next(a.shape[0] for a, m in zip(avals, mapped, strict=True) if m)
    return tuple([stacked(r, count) for r in program.results])


class Vectorized(NamedTuple):
    """The attributes of a vectorised call: inputs in `mapped`, and all results, have an additional leading axis."""

    program: Program
    mapped: tuple[bool, ...]
    chunk: int | None

    def bodies(self) -> tuple[HeldProgram, ...]:
        """Return the body, which takes one row of each mapped input."""
        one = whole(self.program)
        return (one._replace(rows=[i for i, m in enumerate(self.mapped) if m]),)


def _row_by_row(interpreter: Interpreter, attrs: Vectorized, inputs: Sequence[Any]) -> list[Any]:
    program, mapped, _ = attrs
    count = next(interpreter.extent(x) for x, m in zip(inputs, mapped, strict=True) if m)

    def given(at: int) -> list[Any]:
        return [interpreter.row(x, at) if m else x for x, m in zip(inputs, mapped, strict=True)]

    rows = [interpreter.call(program, given(at)) for at in range(count)]
    columns = zip(*rows, strict=True) if rows else [()] * len(program.outputs)
    return [interpreter.stacked(column, of, count) for column, of in zip(columns, program.results, strict=True)]


VECTORIZED_CALL = define(
    StructuredOp(
        "VectorizedCall", _kernel, Vectorized, kind=ROWS, bodies=Vectorized.bodies, run=_row_by_row, infer=_avals, traits="own",
    )
)  # fmt: skip


def check_chunk(chunk_size: int | None) -> None:
    """Raise ValueError unless `chunk_size` is None or a positive int."""
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"chunk_size must be a positive int, or None for all at once; received {chunk_size!r}.")


def call_vectorized(program: Program, inputs: Sequence[Node], mapped: Sequence[bool], chunk: int | None = None) -> list[Node]:
    """Call `program` on nodes; those in `mapped`, and all results, have an additional leading axis.

    `chunk`: the number of rows computed at once, chunk after chunk (None: all).
    """
    count = next(node.aval.shape[0] for node, m in zip(inputs, mapped, strict=True) if m)
    if chunk is not None and chunk >= count:
        chunk = None
    return tracing.call_at_once(VECTORIZED_CALL, tuple(inputs), Vectorized(program, tuple(mapped), chunk))


def called_on_rows(program: Program, rows: Tensor, shared: Sequence[Node], chunk: int | None = None) -> Tensor:
    """Call a Program with one result on each row of its first input; its other inputs are `shared` by all rows."""
    (found,) = call_vectorized(program, [rows.node, *shared], [True, *[False] * len(shared)], chunk)
    return EagerTensor(found)


@gradient(VECTORIZED_CALL)
def _gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    program, mapped, chunk = Vectorized(*op.entry.node.attrs)
    given = tuple(range(len(grads)))
    needed = tuple([i for i, need in enumerate(op.needed) if need])
    derived, where = vjp_program(program, given, needed)
    results: list[Tensor | None] = [None] * len(mapped)
    if derived.outputs:
        inputs = [*op.entry.inputs, *[d.node for d in grads]]
        all_mapped = (*mapped, *[True] * len(grads))
        shared = tuple([p for i, p in zip(needed, where, strict=True) if p is not None and not mapped[i]])
        whole, products, factors = _with_factors(derived, shared, all_mapped)
        nodes = call_vectorized(whole, inputs, all_mapped, chunk)
        stacked = dict(zip(factors, nodes[len(derived.outputs) :], strict=True))
        for i, place in zip(needed, where, strict=True):
            if place is not None:
                if mapped[i]:
                    results[i] = EagerTensor(nodes[place])
                elif products[place]:
                    results[i] = summed_products(products[place], stacked)
                else:
                    results[i] = reduce_sum(EagerTensor(nodes[place]), axis=0)
    return results


@memoized
def _with_factors(
    derived: Program, shared: tuple[int, ...], mapped: tuple[bool, ...]
) -> tuple[Program, dict[int, list[Product]], list[Node]]:
    """Add outputs to a gradient Program: the factors of products whose sum over the rows is wanted (outputs `shared`)."""
    products: dict[int, list[Product]] = {}
    factors: list[Node] = []

    def record(*given: Node) -> list[Node]:
        nodes = tracing.inline(derived, given)
        fixed = [n for n, m in zip(given, mapped, strict=True) if not m]
        products.update({place: products_of(nodes[place], fixed) for place in shared})
        factors.extend({f: None for terms in products.values() for a, b, _ in terms for f in (a, b)})
        return [*nodes, *factors]

    whole = tracing.program_of(record, derived.parameters[: arity(derived)])
    return whole if factors else derived, products, factors
