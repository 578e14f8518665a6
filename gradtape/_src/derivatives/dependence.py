"""The dependence of a result's elements on the arguments' elements: determined from a Program, without their values.

Dependence is propagated through the nodes of the Program, by rules for types of ops, or through the primitives of a node's kernel
(`dependence_rules`). It may be too large, never too small: without a rule, as for an op with an overridden gradient, every
element depends on all. For a custom gradient, the gradient's Program is followed.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from scipy import sparse

from gradtape._src.autodiff.custom import CLOSED, CUSTOM, Closed
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, Program
from gradtape._src.core.programs.structured import BRANCH, LOOP, HeldProgram, StructuredOp
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import Aval
from gradtape._src.derivatives.dependence_rules import RULES, Unknown, Value, blockwise, empty, everything, union
from gradtape._src.derivatives.rerouted import STRAIGHT_THROUGH
from gradtape._src.derivatives.spectral import DERIVATIVE, Derivative

CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call")  # primitives of JAX
MOST_TRIPS = 64  # trips up to which the body of a loop is followed trip by trip


def dependence(program: Program, results: int, width: int, first: dict[Any, int], values: Sequence[Any]) -> tuple[Any, bool]:
    """Return the pattern of the first `results` outputs of a Program, and whether it holds for all values.

    The pattern is a boolean CSR matrix, with a row for each element of the outputs and `width` columns; `first` is the first
    column of each parameter. `values` are the values of the other parameters, or None if unknown.
    """
    consulted: list[bool] = []

    def watched(value: Any) -> Callable[[], Any]:
        def get() -> Any:
            consulted.append(True)
            return value

        return get

    parameters = []
    for i, a in enumerate(program.parameters[: len(program.parameters) - len(program.constants)]):
        if i in first:
            ones, rows = np.ones(a.size, bool), np.arange(a.size)
            mine = sparse.csr_matrix((ones, (rows, rows + first[i])), (a.size, width))
            parameters.append(Value(a.shape, a.dtype, mine))
        else:
            parameters.append(Value(a.shape, a.dtype, None, None if values[i] is None else watched(values[i])))
    found = of_program(program, parameters)[:results]
    blocks = [x.dependence if x.dependence is not None else empty(math.prod(x.shape), width) for x in found]
    return sparse.vstack(blocks, "csr"), not consulted


def of_program(program: Program, parameters: Sequence[Value]) -> list[Value]:
    """Return the dependences of a Program's outputs."""
    leaves = [*parameters, *[Value(c.shape, c.dtype, None, c) for c in program.constants]]
    values: list[Any] = []
    for (op, attrs, *references), of in zip(program.keys, program.avals, strict=True):
        inputs = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
        if op is ELEMENT:
            values.append(inputs[0][attrs[0]])
            continue
        results = of_node(op, attrs, inputs, of if type(of) is tuple else (of,))
        values.append(results if type(of) is tuple else results[0])
    return [values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]


def of_node(op: Op, attrs: Any, inputs: list[Value], avals: Sequence[Aval]) -> list[Value]:
    """Return the dependences of one op's outputs. Integers have no derivative, so they depend on nothing."""
    if op.is_call:
        return of_program(attrs[0], inputs)
    parts = [x.dependence for x in inputs]
    if all(p is None for p in parts):
        found = None
    elif op is STRAIGHT_THROUGH:
        found = [parts[1]]
    elif op is CLOSED:
        found = _of_custom(Closed(*attrs), inputs)
    elif op is CUSTOM or op.impure:
        found = [everything(parts, a.size) for a in avals]
    elif op.gradient is None and not op.structured:  # ops without a gradient, such as StopGradient and Floor
        return [Value(a.shape, a.dtype) for a in avals]
    elif Trait.BLOCKWISE in op.traits:
        found = blockwise(inputs, [a.shape for a in avals], len(inputs) - (Trait.SHARES_LAST in op.traits))
    elif op is DERIVATIVE:
        found = blockwise(inputs, [a.shape for a in avals], 1 + Derivative(*attrs).directions)
    elif isinstance(op, StructuredOp) and op.kind in (BRANCH, LOOP):
        found = _of_structured(op, attrs, inputs) or [everything(parts, a.size) for a in avals]
        found += [everything(parts, a.size) for a in avals[len(found) :]]
    else:
        specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
        closed = xla.jaxpr(lambda *arrays: op.run(arrays, attrs), *specs)
        found = [v.dependence for v in of_jaxpr(closed.jaxpr, closed.consts, inputs)]
    known = _results(lambda: op.run([x.known() for x in inputs], attrs), len(avals)) if found is None else [None] * len(avals)
    return [Value(a.shape, a.dtype, found[i] if found and a.inexact else None, known[i]) for i, a in enumerate(avals)]


def _of_custom(closed: Closed, inputs: Sequence[Value]) -> list[Any]:
    """Return the dependences of a function with a custom gradient: the union of those of its ops and of its gradient.

    Forward mode may differentiate the function's ops. The gradient's Program determines the pattern of the transpose.
    """
    results = inputs[: closed.results]
    found = [x.dependence for x in results]
    if closed.transparent:
        return found
    arguments = inputs[closed.results : len(closed.where)]
    width = sum(math.prod(x.shape) for x in results)
    starts = dict(enumerate(itertools.accumulate([0, *[math.prod(x.shape) for x in results[:-1]]])))
    program, where, _, taken = closed.traced(inputs)
    pulled, _ = dependence(program, len(program.outputs), width, starts, [None] * (closed.results + len(taken)))
    first, total = 0, None
    at = {place: sum(program.aval_of(r).size for r in program.outputs[:place]) for place in range(len(where))}
    for x, place in zip(arguments, where[closed.results :], strict=True):
        if place is not None and x.dependence is not None:
            block = pulled[at[place] : at[place] + math.prod(x.shape)]
            total = union([total, (block.T @ x.dependence).tocsr()])
    for i, x in enumerate(results):
        size = math.prod(x.shape)
        found[i] = union([found[i], None if total is None else total[first : first + size]])
        first += size
    return found


def _dependences(program: Program, inputs: Sequence[Value]) -> list[Any]:
    return [v.dependence for v in of_program(program, inputs)]


def _of_structured(op: StructuredOp, attrs: Any, inputs: Sequence[Value]) -> list[Any] | None:
    """Return the dependences of a branch's or loop's results; None if they may depend on all inputs."""
    bodies = op.bodies(attrs)
    if op.kind is BRANCH:
        ways = [_dependences(body.program, [inputs[i] for i in body.takes]) for body in bodies]
        return [union(way) for way in zip(*ways, strict=True)]
    if op.counted_by(attrs) is not None:
        return _settled(bodies[-1], op.form(*attrs).limit, inputs)
    if op.decided_by(attrs) is not None or any(times > MOST_TRIPS for _, times in op.runs(attrs)):
        return None
    return [v.dependence for v in op.interpret(_Patterns(), attrs, inputs)]


class _Patterns:
    """The Interpreter that propagates dependences."""

    residuals = True

    def call(self, program: Program, inputs: Sequence[Value]) -> list[Value]:
        """Return the dependences of a body's outputs."""
        return of_program(program, inputs)

    def holds(self, program: Program, inputs: Sequence[Value]) -> bool:
        """Return the value of a condition; Unknown if it depends on an argument."""
        return bool(self.number(self.call(program, inputs)[0]))

    def number(self, value: Value) -> Any:
        """Return the value of a scalar; Unknown if it depends on an argument."""
        return np.asarray(value.known()).item()

    def extent(self, value: Value) -> int:
        """Return how many rows a value has."""
        return int(value.shape[0])

    def row(self, value: Value, at: int) -> Value:
        """Return the dependence of one row."""
        return value.row(at)

    def stacked(self, rows: Sequence[Value], of: Aval, count: int) -> Value:
        """Return the dependence of the stacked rows."""
        width = next((v.dependence.shape[1] for v in rows if v.dependence is not None), None)
        if width is None:
            return Value((count, *of.shape), of.dtype)
        parts = [v.dependence if v.dependence is not None else empty(math.prod(v.shape), width) for v in rows]
        return Value((count, *of.shape), of.dtype, sparse.vstack(parts, "csr"))

    def constant(self, number: int) -> Value:
        """Return a known scalar, which depends on nothing."""
        return Value((), np.dtype(np.int64), None, np.array(number, np.int64))


def _settled(body: HeldProgram, limit: int | None, inputs: Sequence[Value]) -> list[Any] | None:
    """Return the dependence of a loop's carry after up to `limit` trips; None if it still grows after MOST_TRIPS."""
    values = [Value(x.shape, x.dtype, x.dependence) if p in body.carried else x for p, x in enumerate(inputs)]
    for _ in range(MOST_TRIPS if limit is None else min(limit, MOST_TRIPS)):
        given = _dependences(body.program, values)
        after = {p: union([values[p].dependence, given[k]]) for p, k in body.carried.items()}
        settled = all(
            d is None or (values[p].dependence is not None and d.nnz == values[p].dependence.nnz) for p, d in after.items()
        )
        for p, d in after.items():
            values[p] = Value(values[p].shape, values[p].dtype, d)
        if settled:
            break
    else:
        if limit is None or limit > MOST_TRIPS:
            return None
    return [values[p].dependence for p in body.carried]


def of_jaxpr(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
    """Return the dependences of a kernel's results, through its primitives."""
    values: dict[Any, Value] = dict(zip(jaxpr.invars, inputs, strict=True))
    values |= {var: Value(np.shape(c), var.aval.dtype, None, c) for var, c in zip(jaxpr.constvars, consts, strict=True)}

    def read(atom: Any) -> Value:
        return Value(np.shape(atom.val), atom.aval.dtype, None, atom.val) if hasattr(atom, "val") else values[atom]

    platforms = {var for equation in jaxpr.eqns if equation.primitive.name == "platform_index" for var in equation.outvars}
    for equation in jaxpr.eqns:
        arguments = [read(a) for a in equation.invars]
        if equation.primitive.name == "cond" and not hasattr(equation.invars[0], "val") and equation.invars[0] in platforms:
            found = _for_any_platform(equation, arguments[1:])
        else:
            found = _of_equation(equation, arguments)
        values.update(zip(equation.outvars, found, strict=True))
    return [read(a) for a in jaxpr.outvars]


def _for_any_platform(equation: Any, inputs: Sequence[Value]) -> list[Value]:
    """Return the results of a computation with one branch for each platform, by the branch with the fewest dependences."""
    ways = [of_jaxpr(branch.jaxpr, branch.consts, inputs) for branch in equation.params["branches"]]
    return min(ways, key=lambda way: sum(v.dependence.nnz for v in way if v.dependence is not None))


def _of_equation(equation: Any, inputs: list[Value]) -> list[Value]:
    primitive, params, outputs = equation.primitive, equation.params, [v.aval for v in equation.outvars]
    inner = next((params[name] for name in ("jaxpr", "call_jaxpr", "call") if name in params), None)
    if all(x.dependence is None for x in inputs):
        known = _results(lambda: primitive.bind(*[x.known() for x in inputs], **params), len(outputs))
        return [Value(a.shape, a.dtype, None, k) for a, k in zip(outputs, known, strict=True)]
    if primitive.name in CALLS and inner is not None:
        return of_jaxpr(inner.jaxpr, inner.consts, inputs)
    parts = [x.dependence for x in inputs]
    rule = RULES.get(primitive.name)
    try:
        found = [everything(parts, a.size) for a in outputs] if rule is None else rule(equation, inputs)
    except Unknown:
        found = [everything(parts, a.size) for a in outputs]
    return [Value(a.shape, a.dtype, f) for a, f in zip(outputs, found, strict=True)]


def _results(compute: Callable[[], Any], count: int) -> list[Callable[[], Any]]:
    """Return a function for each result of a computation without dependence; the first call computes them."""
    made: list[Any] = []

    def get(i: int) -> Any:
        if not made:
            results = compute()
            made.append(results if isinstance(results, (tuple, list)) else [results])
        return made[0][i]

    return [functools.partial(get, i) for i in range(count)]
