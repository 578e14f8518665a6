"""Which elements of a result depend on which elements of the arguments: read off a Program, without their values.

Dependence is propagated through the nodes of the Program, and through the primitives that a node's kernel is made of
(`dependence_rules`). It is never too small: where nothing better is known, everything depends on everything. An op whose
gradient is not that of its kernel (a custom or overridden one) is such a case.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from scipy import sparse

from gradtape._src.core.aval import Aval
from gradtape._src.core.op import Op
from gradtape._src.core.program import CALLS, ELEMENT, Program
from gradtape._src.derivatives.dependence_rules import RULES, Unknown, Value, empty, everything, union
from gradtape._src.derivatives.rerouted import STRAIGHT_THROUGH

OWN_GRADIENTS = frozenset(["CustomGradient", "CustomGradientProgram"])
MOST_TRIPS = 64  # the body of a longer loop is not followed trip by trip


def dependence(program: Program, results: int, width: int, first: dict[Any, int], values: Sequence[Any]) -> tuple[Any, bool]:
    """The pattern of the first outputs of a Program, `results` of them, and whether it holds for any other values.

    The pattern is a boolean CSR matrix, with a row for each element of the outputs and `width` columns; `first` says at which
    column those of a parameter begin. `values` are those of the other parameters, None where they are not known.
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
    """The outputs of a Program."""
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
    """The outputs of one op. Nothing differentiable passes through integers, so they depend on nothing."""
    if op in CALLS:
        return of_program(attrs[0], inputs)
    parts = [x.dependence for x in inputs]
    if all(p is None for p in parts):
        found = None
    elif op is STRAIGHT_THROUGH:
        found = [parts[1]]
    elif op.type in OWN_GRADIENTS or op.impure or (op.type == "Scan" and (attrs[5] or attrs[3] > MOST_TRIPS)):
        found = [everything(parts, a.size) for a in avals]
    elif op.type in ("If", "Case"):
        branches = attrs if op.type == "If" else attrs[0]
        found = [union(pair) for pair in zip(*[_dependences(p, inputs[1:]) for p in branches], strict=True)]
    elif op.type == "Scan":
        found = _of_scan(attrs, inputs)
    elif op.type == "While":
        found = _of_while(attrs, inputs) or [everything(parts, a.size) for a in avals]
        found += [everything(parts, a.size) for a in avals[len(found) :]]
    else:
        specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
        closed = jax.make_jaxpr(lambda *arrays: op.run(arrays, attrs))(*specs)
        found = [v.dependence for v in of_jaxpr(closed.jaxpr, closed.consts, inputs)]
    known = _results(lambda: op.run([x.known() for x in inputs], attrs), len(avals)) if found is None else [None] * len(avals)
    return [Value(a.shape, a.dtype, found[i] if found and a.inexact else None, known[i]) for i, a in enumerate(avals)]


def _dependences(program: Program, inputs: Sequence[Value]) -> list[Any]:
    return [v.dependence for v in of_program(program, inputs)]


def _of_scan(attrs: Any, inputs: Sequence[Value]) -> list[Any]:
    """A loop of few trips, trip by trip."""
    body, consts, carry, length, reverse, *_ = attrs
    fixed, carried, xs = inputs[1 : 1 + consts], list(inputs[1 + consts : 1 + consts + carry]), inputs[1 + consts + carry :]
    rows: list[list[Value]] = [[] for _ in body.outputs[carry:]]
    for trip in reversed(range(length)) if reverse else range(length):
        results = of_program(body, [*fixed, *carried, *[x.row(trip) for x in xs]])
        carried = results[:carry]
        for column, value in zip(rows, results[carry:], strict=True):
            column.append(value)
    stacked = []
    for column in rows:
        in_order = column[::-1] if reverse else column
        width = next((v.dependence.shape[1] for v in in_order if v.dependence is not None), None)
        if width is None:
            stacked.append(None)
        else:
            parts = [v.dependence if v.dependence is not None else empty(math.prod(v.shape), width) for v in in_order]
            stacked.append(sparse.vstack(parts, "csr"))
    return [*[v.dependence for v in carried], *stacked]


def _of_while(attrs: Any, inputs: Sequence[Value]) -> list[Any]:
    """The carry of a loop after any number of trips, as far as it may go; empty if it has not settled by then."""
    _, body, consts, _, _, limit = attrs
    fixed, carried = inputs[:consts], [Value(x.shape, x.dtype, x.dependence) for x in inputs[consts:]]
    for _ in range(MOST_TRIPS if limit is None else min(limit, MOST_TRIPS)):
        after = [union([x.dependence, d]) for x, d in zip(carried, _dependences(body, [*fixed, *carried]), strict=True)]
        settled = all(
            d is None or (x.dependence is not None and d.nnz == x.dependence.nnz) for x, d in zip(carried, after, strict=True)
        )
        carried = [Value(x.shape, x.dtype, d) for x, d in zip(carried, after, strict=True)]
        if settled:
            break
    else:
        if limit is None or limit > MOST_TRIPS:
            return []
    return [x.dependence for x in carried]


def of_jaxpr(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
    """The results of a kernel, from those of its primitives."""
    values: dict[Any, Value] = dict(zip(jaxpr.invars, inputs, strict=True))
    values |= {var: Value(np.shape(c), var.aval.dtype, None, c) for var, c in zip(jaxpr.constvars, consts, strict=True)}

    def read(atom: Any) -> Value:
        return Value(np.shape(atom.val), atom.aval.dtype, None, atom.val) if hasattr(atom, "val") else values[atom]

    for equation in jaxpr.eqns:
        arguments = [read(a) for a in equation.invars]
        values.update(zip(equation.outvars, _of_equation(equation, arguments), strict=True))
    return [read(a) for a in jaxpr.outvars]


def _of_equation(equation: Any, inputs: list[Value]) -> list[Value]:
    primitive, params, outputs = equation.primitive, equation.params, [v.aval for v in equation.outvars]
    inner = params.get("jaxpr", params.get("call_jaxpr"))
    if all(x.dependence is None for x in inputs):
        known = _results(lambda: primitive.bind(*[x.known() for x in inputs], **params), len(outputs))
        return [Value(a.shape, a.dtype, None, k) for a, k in zip(outputs, known, strict=True)]
    if primitive.name in ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call") and inner is not None:
        return of_jaxpr(inner.jaxpr, inner.consts, inputs)
    parts = [x.dependence for x in inputs]
    rule = RULES.get(primitive.name)
    try:
        found = [everything(parts, a.size) for a in outputs] if rule is None else rule(equation, inputs)
    except Unknown:
        found = [everything(parts, a.size) for a in outputs]
    return [Value(a.shape, a.dtype, f) for a, f in zip(outputs, found, strict=True)]


def _results(compute: Callable[[], Any], count: int) -> list[Callable[[], Any]]:
    """How to get each of the results of something that depends on nothing; it is computed when one of them is asked for."""
    made: list[Any] = []

    def get(i: int) -> Any:
        if not made:
            results = compute()
            made.append(results if isinstance(results, (tuple, list)) else [results])
        return made[0][i]

    return [functools.partial(get, i) for i in range(count)]
