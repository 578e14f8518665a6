"""The advice for an op whose value or derivative is not finite."""

from __future__ import annotations

import re

from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import Evidence
from gradtape._src.explain.smooth import Advice, in_its_words

FINITE = "keep its input where the function and its derivative are finite"
SMALLER = "try smaller values: another initialization, a normalization, fewer steps, or a smaller rate"
INSIDE = "keep the argument inside of -1 and 1: `tf.{}(tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6))`"
AT_THE_EDGE = {
    "Sqrt": "keep the argument above 0: `tf.sqrt(tf.maximum(x, 1e-12))`",
    "EuclideanNorm": "add a small number before the root: `tf.sqrt(tf.reduce_sum(tf.square(x)) + 1e-12)`",
    "Rsqrt": "keep the argument above 0: `tf.math.rsqrt(tf.maximum(x, 1e-12))`",
    "Log": "keep the argument away from 0: `tf.math.log(tf.maximum(x, 1e-12))`",
    "RealDiv": "keep the denominator away from 0, or use `tf.math.divide_no_nan(x, y)`",
    "Pow": "keep the base above 0: `tf.maximum(x, 1e-12) ** y`",
    "Acos": INSIDE.format("acos"), "Asin": INSIDE.format("asin"), "Atanh": INSIDE.format("atanh"),
    "Acosh": "keep the argument above 1: `tf.acosh(tf.maximum(x, 1 + 1e-6))`",
    "Atan2": "keep the two arguments from being 0 at once: add a small number to one",
    "Softmax": "leave each row an element that counts: mask with a large negative number, as -1e9, in the place of -inf",
    "LogSoftmax": "leave each row an element that counts: mask with a large negative number, as -1e9, in the place of -inf",
    "Cholesky": "add a small number to the diagonal: `tf.linalg.cholesky(x + 1e-6 * tf.eye(tf.shape(x)[-1]))`",
    "MatrixInverse": "add a small number to the diagonal: `tf.linalg.inv(x + 1e-6 * tf.eye(tf.shape(x)[-1]))`",
    "LogMatrixDeterminant": "start from a matrix that can be inverted, such as tf.eye(n)",
    "MatrixDeterminant": "start from a matrix that can be inverted, such as tf.eye(n)",
    "Svd": "keep the singular values apart: add a small random matrix",
    "SelfAdjointEigV2": "keep the eigenvalues apart: add a small random matrix",
    "Exp": "bound the exponent, `tf.exp(tf.minimum(x, 80.0))`, or use tf.reduce_logsumexp or tf.nn.log_softmax",
}  # fmt: skip


def at_the_edge(b: Evidence, otherwise: str, op: str | None = None, masked: bool = False) -> Advice:
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
        return at_the_edge(b, otherwise, "EuclideanNorm", masked)
    if op == "EuclideanNorm" and (given := text.keywords(b.line, op)):
        if len(text.operands(b.line, op)) > 1 or not given.keys() <= {"axis", "keepdims"}:
            return AT_THE_EDGE[op], None
        over = ", ".join([f"{name}={value}" for name, value in given.items()])
        return in_its_words(AT_THE_EDGE[op].replace("square(x)", f"square(x), {over}"), b, op)
    if op == "RealDiv" and re.search(r"std\(|norm\(", written):  # whose own derivative is not finite at 0
        return at_the_edge(b, otherwise, "Sqrt", masked)
    if (stable := rewritten.stable(b.line)) is not None:
        formula, written = stable
        return f"use the function that computes it without values too large or too small: `{written}`", text.span(formula)
    if op == "Log" and "det(" in written:
        return AT_THE_EDGE["MatrixDeterminant"], None
    if op == "Log" and "exp(" in written:
        return "use tf.reduce_logsumexp, which takes the logarithm of a sum of exponentials without computing them", None
    return in_its_words(AT_THE_EDGE.get(op or "", otherwise), b, op)
