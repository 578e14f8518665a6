"""The advice for an op whose value or derivative is not finite."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import Node
from gradtape._src.core.programs.traits import Trait
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import Evidence, Span
from gradtape._src.explain.precision import again_with, instead, result_of
from gradtape._src.explain.probe import Probe, array, value
from gradtape._src.explain.smooth import Advice, in_its_words
from gradtape._src.explain.varied import dense, elsewhere, never_below_zero
from gradtape._src.ops.math.arithmetic import realdiv, sqrt
from gradtape._src.ops.math.elementary import exp, log
from gradtape._src.ops.math.reduction import _euclidean_norm

FINITE = "keep its input where the function and its derivative are finite"
SQRT, EXP, LOG, DIVIDE, NORM = [f.op.type for f in (sqrt, exp, log, realdiv, _euclidean_norm)]
SMALLER = "try smaller values: another initialization, a normalization, fewer steps, or a smaller rate"


class Bound(NamedTuple):
    """A bound for the argument at place `at` of an op, within which the op and its gradient are finite.

    `none` says that 0 can replace the result: this argument is data, or in a `gap`, where the other argument is also 0.
    `then` is what follows: the "log" of the result, or a "share" of it.
    """

    at: int
    words: str
    code: str
    none: bool
    gap: bool
    then: Literal["", "log", "share"]


UNDER_THE_ROOT = Bound(0, "above 0", "x + 1e-12", none=False, gap=False, then="")
Moved = Callable[[np.ndarray], np.ndarray]
BOUNDS: list[tuple[str, str, tuple[float, float], Moved]] = [  # with values beyond it, where the op is not finite
    ("above 0", "tf.maximum(x, 1e-12)", (0.0, -1.0), lambda v: np.maximum(v, 1e-12)),
    ("above 1", "tf.maximum(x, 1 + 1e-6)", (1.0, 0.0), lambda v: np.maximum(v, 1 + 1e-6)),
    ("inside of -1 and 1", "tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6)", (1.0, 2.0), lambda v: np.clip(v, -1 + 1e-6, 1 - 1e-6)),
    ("above -1", "tf.maximum(x, -1 + 1e-6)", (-1.0, -2.0), lambda v: np.maximum(v, -1 + 1e-6)),
    ("below 80", "tf.minimum(x, 80.0)", (100.0, 200.0), lambda v: np.minimum(v, 80.0)),
    ("away from 0", "tf.where(tf.abs(x) < 1e-12, 1e-12, x)", (0.0, 0.0), lambda v: np.where(np.abs(v) < 1e-12, 1e-12, v)),
    ("away from what has no inverse", "x + 1e-6 * tf.eye(tf.shape(x)[-1])", (0.0, 0.0), lambda v: _lifted(v)),
]
LESS_STEEP = {"tf.maximum(x, 1e-12)": "tf.maximum(x, 0.0) + 1e-7", BOUNDS[2][1]: "x * (1 - 1e-6)"}  # with a gradient at the bound
SMALL = 1e-3  # limit on the change of elements that are finite already


def _lifted(values: np.ndarray) -> np.ndarray:
    square = values.ndim > 1 and values.shape[-1] == values.shape[-2]
    return values + 1e-6 * np.eye(values.shape[-1]) if square else values


def bound_of(probe: Probe, entry: Entry) -> Bound | None:
    """Return the bound that makes an op and its gradient finite and changes the values least; None if no bound does."""
    forward = [maker for i in entry.inputs if (maker := probe.maker.get(i)) is not None]
    entry = next((maker for maker in forward if f"{maker.node.op.type}Grad" == entry.node.op.type), entry)
    best: tuple[float, Bound] | None = None
    then = follows(probe, entry)
    for at, node in enumerate(entry.inputs):
        if type(node.aval) is tuple or node.aval.dtype.kind != "f" or type(entry.node.aval) is tuple:
            continue
        before = value(node)
        for words, code, beyond, change in BOUNDS:
            after = change(before).astype(before.dtype)
            far = np.abs(after - before)
            if not far.any() or (best is not None and far.max() >= best[0]) or not _fits(entry, far, code):
                continue
            outside = [np.full_like(before, far) for far in beyond[: 1 if never_below_zero(probe, probe.maker.get(node)) else 2]]
            if _finite_with(probe, entry, node, after) and not any(_finite_with(probe, entry, node, v) for v in outside):
                gap = not any(_counts(other, far) for other in entry.inputs[:at])
                best = float(far.max()), Bound(at, words, code, gap or (node not in probe.active and then != "log"), gap, then)
    return None if best is None else best[1]


def follows(probe: Probe, entry: Entry) -> Literal["", "log", "share"]:
    """Return whether a logarithm of what an op gives follows, or a division in which both parts come of it."""
    after, share = {entry.node}, False
    for later in probe.entries:
        of_it = [i in after for i in later.inputs]
        if later.node.op.type == LOG and any(of_it):
            return "log"
        share = share or (later.node.op.type == DIVIDE and all(of_it))
        if any(of_it):
            after.add(later.node)
    return "share" if share else ""


def _counts(node: Node, moved: np.ndarray) -> bool:
    """Return whether an input is nonzero at an element where a bound moves the other input."""
    given = np.broadcast_arrays(value(node), moved)
    return bool((given[0][given[1] > 0] != 0).any())


def _fits(entry: Entry, far: np.ndarray, code: str) -> bool:
    """Return whether a bound suits an op: one of elements or of a matrix, that hardly changes finite elements."""
    result, of_a_matrix = value(entry.node), code.endswith("[-1])")
    if code.startswith("tf.where") and Trait.INVERTS not in entry.node.op.traits:
        return False
    if of_a_matrix or not _by_element(entry):
        return of_a_matrix and not _by_element(entry)
    return far.size > result.size or not (np.isfinite(result) & (far > SMALL)).any()


def _by_element(entry: Entry) -> bool:
    """Return whether an op is element-wise. An op of one input is, if it commutes with `flip`."""
    if entry.node.op.broadcasting or len(entry.inputs) > 1:
        return bool(entry.node.op.broadcasting)
    there, back = [result_of(entry, change) for change in (elsewhere, lambda i, v: np.flip(elsewhere(i, v)))]
    # the last digits may depend on the place
    return there is not None and back is not None and np.allclose(np.flip(there), back, equal_nan=True)


def _finite_with(probe: Probe, entry: Entry, node: Node, values: np.ndarray) -> bool:
    """Return whether an op and its gradient are finite if an input has other values."""
    try:
        again = again_with(entry, instead(node, lambda _: values))
        found = [probe.contribution(again, node, dense(again.node)) for node in again.inputs if node.aval.inexact]
        results = [value(again.node), *[array(given) for given in found if given is not None]]
    except Exception:  # the op does not accept such an input
        return False
    return all(bool(np.isfinite(result).all()) for result in results)


def beside_it(b: Evidence, bound: Bound | None, place: Span | None) -> tuple[str, ...]:
    """Return other codes for the expression that the advice replaces, to be tried where its own gives a gradient of no use."""
    away = "tf.where(tf.abs(x) < 1e-3, 1e-3, x)" if b.op == DIVIDE else LESS_STEEP.get("" if bound is None else bound.code)
    kept = None if bound is None or away is None else rewritten.bounded(b.line, b.op, bound.at, away)
    if kept is None or text.span(kept[0]) != place:
        return ()
    parts = ", ".join(map(ast.unparse, text.parts(b.line, b.op)))
    return (kept[1], f"tf.math.divide_no_nan({parts})") if b.op == DIVIDE else (kept[1],)


def at_the_edge(b: Evidence, otherwise: str, bound: Bound | None, op: str | None = None, masked: bool = False) -> Advice:
    """Return the advice for the op of a break, or for `op` in its line.

    A root inside of another function gets that one's advice.
    """
    op = op or b.op
    known = ops.get(op or "")
    own = "" if known is None else known.at_edge
    if masked and (safe := rewritten.where_it_counts(b.line, op)) is not None:
        both = "both sides of a where are computed: give the op a harmless value where the other side is taken"
        return f"{both}, `{safe[1]}`", text.span(safe[0])
    written = text.text(b.line) or "sqrt"
    if op == SQRT and "sqrt" not in written:
        if "std" in written:
            call, of = rewritten.argument_of("std", b.line) or (None, "x")
            advice = f"add a small number before the root: `tf.sqrt(tf.math.reduce_variance({of}) + 1e-12)`"
            return advice, None if call is None else text.span(call)
        return at_the_edge(b, otherwise, None, NORM, masked)
    if op == NORM and (given := text.keywords(b.line, op)):
        if len(text.operands(b.line, op)) > 1 or not given.keys() <= {"axis", "keepdims"}:
            return own, None
        over = ", ".join([f"{name}={value}" for name, value in given.items()])
        return in_its_words(own.replace("square(x)", f"square(x), {over}"), b, op)
    fixed = bound is not None and bound.none and not bound.gap  # no source changes the denominator: leave its zeros out
    if op == DIVIDE and not fixed and (made := rewritten.root_below(b.line)) is not None:
        return at_the_edge(replace(b, line=made, op=SQRT), otherwise, UNDER_THE_ROOT, masked=masked)
    if op == DIVIDE and bound is not None and bound.gap and (limit := rewritten.off_the_gap(b.line)) is not None:
        instead = in_its_words("`tf.math.divide_no_nan(x, y)`", b, op)[0]
        return f"if there is a limit, take the quotient beside the point: `{limit[1]}`, or {instead}", text.span(limit[0])
    if (stable := rewritten.stable(b.line)) is not None:
        formula, written = stable
        return f"use the function that computes it without values too large or too small: `{written}`", text.span(formula)
    advice, place = in_its_words(own or otherwise, b, op)
    if bound is None or op != b.op or (op == EXP and bound.then):
        return advice, place
    of_matrix = "tf.eye" in bound.code  # what follows from a matrix may be computed by an op on it that the line does not name
    kept_in = rewritten.bounded(b.line, None if of_matrix else op, bound.at, bound.code)
    kept = f"keep the argument {bound.words}: `{bound.code if kept_in is None else kept_in[1]}`"
    more = f"{advice}, or " if op == DIVIDE and bound.none else ""
    return f"{more}{kept}{f', or {advice}' if op == EXP else ''}", None if kept_in is None else text.span(kept_in[0])
