"""The advice for an op whose value or derivative is not finite."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Entry
from gradtape._src.core.program import Node
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import Evidence
from gradtape._src.explain.precision import again_with, instead
from gradtape._src.explain.probe import Probe, array, value
from gradtape._src.explain.smooth import Advice, in_its_words
from gradtape._src.explain.varied import dense, elsewhere

FINITE = "keep its input where the function and its derivative are finite"
SMALLER = "try smaller values: another initialization, a normalization, fewer steps, or a smaller rate"
NO_KEY = "leave each row an element that counts: mask with a large negative number, as -1e9, in the place of -inf"
INVERTIBLE = "start from a matrix that can be inverted, such as tf.eye(n)"
AT_THE_EDGE = {  # what no bound of an argument mends
    "EuclideanNorm": "add a small number before the root: `tf.sqrt(tf.reduce_sum(tf.square(x)) + 1e-12)`",
    "RealDiv": "keep the denominator away from 0, or use `tf.math.divide_no_nan(x, y)`",
    "Softmax": NO_KEY, "LogSoftmax": NO_KEY, "LogMatrixDeterminant": INVERTIBLE, "MatrixDeterminant": INVERTIBLE,
    "Svd": "keep the singular values apart: add a small random matrix",
    "SelfAdjointEigV2": "keep the eigenvalues apart: add a small random matrix",
    "Exp": "use tf.reduce_logsumexp or tf.nn.log_softmax",
}  # fmt: skip


class Bound(NamedTuple):
    """A bound of the argument at place `at` of an op: with it the op and its gradient are finite."""

    at: int
    words: str
    code: str


Moved = Callable[[np.ndarray], np.ndarray]
BOUNDS: list[tuple[str, str, float, Moved]] = [  # and a value beyond, where an op that needs it is not finite
    ("above 0", "tf.maximum(x, 1e-12)", 0.0, lambda v: np.maximum(v, 1e-12)),
    ("above 1", "tf.maximum(x, 1 + 1e-6)", 1.0, lambda v: np.maximum(v, 1 + 1e-6)),
    ("above -1", "tf.maximum(x, -1 + 1e-6)", -1.0, lambda v: np.maximum(v, -1 + 1e-6)),
    ("inside of -1 and 1", "tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6)", 1.0, lambda v: np.clip(v, -1 + 1e-6, 1 - 1e-6)),
    ("below 80", "tf.minimum(x, 80.0)", 100.0, lambda v: np.minimum(v, 80.0)),
    ("away from what has no inverse", "x + 1e-6 * tf.eye(tf.shape(x)[-1])", 0.0, lambda v: _lifted(v)),
]
SMALL = 1e-3  # so far a bound may move what needs none


def _lifted(values: np.ndarray) -> np.ndarray:
    square = values.ndim > 1 and values.shape[-1] == values.shape[-2]
    return values + 1e-6 * np.eye(values.shape[-1]) if square else values


def bound_of(probe: Probe, entry: Entry) -> Bound | None:
    """Return the bound that moves the least, of those with which an op and its gradient are finite; None if there is none."""
    best: tuple[float, Bound] | None = None
    for at, node in enumerate(entry.inputs):
        if type(node.aval) is tuple or node.aval.dtype.kind != "f" or type(entry.node.aval) is tuple:
            continue
        before = value(node)
        for words, code, beyond, change in BOUNDS:
            after = change(before).astype(before.dtype)
            far = np.abs(after - before)
            if not far.any() or (best is not None and far.max() >= best[0]) or not _fits(entry, far, code):
                continue
            outside = np.full_like(before, beyond)
            if _finite_with(probe, entry, node, after) and not _finite_with(probe, entry, node, outside):
                best = float(far.max()), Bound(at, words, code)
    return None if best is None else best[1]


def _fits(entry: Entry, far: np.ndarray, code: str) -> bool:
    """Return whether a bound is one for an op, of elements or of a matrix, and changes little of what is finite as it is."""
    result, of_a_matrix = value(entry.node), code.endswith("[-1])")
    if of_a_matrix or not _by_element(entry):
        return of_a_matrix and not _by_element(entry)
    return far.size > result.size or not (np.isfinite(result) & (far > SMALL)).any()


def _by_element(entry: Entry) -> bool:
    """Return whether an op computes each element of that of its inputs: of one input, turned around, the result turned around."""
    if entry.node.op.broadcasting or len(entry.inputs) > 1:
        return bool(entry.node.op.broadcasting)
    try:
        there, back = [value(again_with(entry, change).node) for change in (elsewhere, lambda i, v: np.flip(elsewhere(i, v)))]
    except Exception:  # the op takes no such input
        return False
    return np.array_equal(np.flip(there), back, equal_nan=True)


def _finite_with(probe: Probe, entry: Entry, node: Node, values: np.ndarray) -> bool:
    """Return whether an op and its gradient are finite with other values of an input."""
    try:
        again = again_with(entry, instead(node, lambda _: values))
        found = [probe.contribution(again, node, dense(again.node)) for node in again.inputs if node.aval.inexact]
        results = [value(again.node), *[array(given) for given in found if given is not None]]
    except Exception:  # the op takes no such input
        return False
    return all(bool(np.isfinite(result).all()) for result in results)


def at_the_edge(b: Evidence, otherwise: str, bound: Bound | None, op: str | None = None, masked: bool = False) -> Advice:
    """Return the advice for the op of a break, or for another one in its line; of a square root in a function for that."""
    op = op or b.op
    if masked and (safe := rewritten.where_it_counts(b.line, op)) is not None:
        both = "both sides of a where are computed: give the op a harmless value where the other side is taken"
        return f"{both}, `{safe[1]}`", text.span(safe[0])
    written = text.text(b.line) or "sqrt"
    if op == "Sqrt" and "sqrt" not in written:
        if "std" in written:
            call, of = rewritten.argument_of("std", b.line) or (None, "x")
            advice = f"add a small number before the root: `tf.sqrt(tf.math.reduce_variance({of}) + 1e-12)`"
            return advice, None if call is None else text.span(call)
        return at_the_edge(b, otherwise, None, "EuclideanNorm", masked)
    if op == "EuclideanNorm" and (given := text.keywords(b.line, op)):
        if len(text.operands(b.line, op)) > 1 or not given.keys() <= {"axis", "keepdims"}:
            return AT_THE_EDGE[op], None
        over = ", ".join([f"{name}={value}" for name, value in given.items()])
        return in_its_words(AT_THE_EDGE[op].replace("square(x)", f"square(x), {over}"), b, op)
    if op == "RealDiv" and re.search(r"std\(|norm\(", written):  # whose own derivative is not finite at 0
        return at_the_edge(b, otherwise, None, "Sqrt", masked)
    if (stable := rewritten.stable(b.line)) is not None:
        formula, written = stable
        return f"use the function that computes it without values too large or too small: `{written}`", text.span(formula)
    if op == "Log" and "det(" in written:
        return AT_THE_EDGE["MatrixDeterminant"], None
    if op == "Log" and "exp(" in written:
        return "use tf.reduce_logsumexp, which takes the logarithm of a sum of exponentials without computing them", None
    advice, place = in_its_words(AT_THE_EDGE.get(op or "", otherwise), b, op)
    if bound is None or op != b.op:
        return advice, place
    kept_in = rewritten.bounded(b.line, op, bound.at, bound.code)
    kept = f"keep the argument {bound.words}: `{bound.code if kept_in is None else kept_in[1]}`"
    more = f"{advice}, or " if op == "RealDiv" else ""
    return f"{more}{kept}{f', or {advice}' if op == 'Exp' else ''}", None if kept_in is None else text.span(kept_in[0])
