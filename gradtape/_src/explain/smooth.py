"""The advice for an op without a derivative: the code to write instead."""

from __future__ import annotations

import ast
import re

from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.traits import Trait
from gradtape._src.explain import source as text
from gradtape._src.explain.evidence import Evidence, Span
from gradtape._src.explain.syntax import within
from gradtape._src.ops.array.sort import _arg_max, _arg_min

Advice = tuple[str, Span | None]  # the advice, and the span of the expression that its code replaces

STRAIGHT = "pass the gradient straight through: `{0} + tf.stop_gradient({1} - {0})`"
SMOOTHER = "try a smooth function in its place, or give it a gradient with tf.custom_gradient"
SOFTLY = (
    "weigh the rows by a soft choice, tf.nn.softmax({}), or pass the gradient straight through: `z + tf.stop_gradient(q - z)`, "
)
SOFTLY += "where q is what was taken in the place of z"
COUNTS = {"count_nonzero": "`tf.reduce_sum(tf.tanh(tf.abs(x)))`", "zero_fraction": "`tf.reduce_mean(1 - tf.tanh(tf.abs(x)))`"}
BYTES = "go on with the tensor, and keep its bytes beside it"
LONGEST_OPERAND, LONGEST = 30, 60  # characters of an operand that occurs several times in an advice, and of one that occurs once
CHOSEN = {_arg_max.op.type: "x", _arg_min.op.type: "-x"}  # op type → the argument of the softmax that replaces it


def wider(dtype: str, scaled: str) -> str:
    """Return advice for values beyond the limits of a dtype."""
    if dtype in ("float16", "bfloat16"):
        return f"try to compute this in tf.float32, or {scaled} (loss scaling)"
    more = "" if dtype == "float64" else ", or tf.float64"
    return f"try to compute with logarithms, such as sums of tf.math.log(…) in the place of products{more}"


def has_own_advice(b: Evidence) -> bool:
    """Return whether the advice for an op holds whatever its result is used for."""
    known = ops.get(b.op or "")
    return known is not None and Trait.HOLDS_FOR_ALL in known.traits


def declared(op: str | None) -> str:
    """Return the advice in the declaration of an op of this type; empty if it has none."""
    known = ops.get(op or "")
    if known is None:
        return ""
    return known.instead or (BYTES if Trait.WRITES_BYTES in known.traits else "")


def instead_of(b: Evidence, stepped: bool, index: bool = False) -> Advice:
    """Return the advice, with the line's operands in place of `x` and `y` if they are short.

    For a `stepped` op, such as a rounding, the gradient can be passed straight through.
    """
    if index and b.op in CHOSEN:
        return in_its_words(SOFTLY.format(CHOSEN[b.op]), b)
    advice, operands = declared(b.op), text.operands(b.line, b.op)
    if re.search(r"\by\b", advice) and not operands and (inside := of_function(b)) is not None:  # the op compares two values
        return inside, None
    if advice or not stepped:
        return in_its_words(advice or SMOOTHER, b)
    found = text.expression_at(b.line, b.op)
    if found is None or not operands or len(operands[0]) > LONGEST_OPERAND or re.search(r"\w\(", operands[0]):
        called = re.search(rf"[\w.]*\b{(b.op or '').lower()}\(", text.text(b.line) or "")
        return STRAIGHT.format("x", f"{called[0]}x)" if called else "step(x)"), None
    return STRAIGHT.format(operands[0], ast.unparse(found)), text.span(found)


def of_function(b: Evidence) -> str | None:
    """Return the advice for the TensorFlow function whose call contains the op; None if the line calls none."""
    calls = within(text.statement(b.line), ast.Call)
    called = ast.unparse(calls[0].func) if calls else ""
    own = called.startswith(("tf.", "tensorflow.")) and ".keras." not in called
    soft = COUNTS.get(called.rpartition(".")[2])
    if soft is not None and calls[0].args and not within(calls[0].args[0], (ast.Call, ast.Compare)):
        return f"count softly: {soft.replace('x', ast.unparse(calls[0].args[0]))}"
    return SMOOTHER.replace("its place", f"the place of {called}") if own else None


def around_it(b: Evidence) -> Advice | None:
    """Return the advice to pass the gradient straight through a sum in which the op's result is a term; None without one."""
    found, operands = text.expression_at(b.line, b.op), text.operands(b.line, b.op)
    sums = within(text.statement(b.line), ast.BinOp)
    around = [n for n in sums if isinstance(n.op, (ast.Add, ast.Sub)) and found in (n.left, n.right)]
    if not around or not operands or len(operands[0]) > LONGEST_OPERAND:
        return None
    return STRAIGHT.format(operands[0], f"({ast.unparse(around[0])})"), text.span(around[0])


def in_its_words(advice: str, b: Evidence, op: str | None = None) -> Advice:
    """Return the advice with the line's operands in place of `x` and `y`, if the line calls the op itself.

    An operand that would occur several times must be short and must not be a call.
    """
    operands = text.operands(b.line, op or b.op)
    given = dict(zip("xy", operands, strict=False))
    for name, written in given.items():
        times = len(re.findall(rf"\b{name}\b", advice))
        again = times > 1 and (len(written) > LONGEST_OPERAND or re.search(r"\w\(", written))
        if len(written) > LONGEST or again:
            return advice, None
    written = re.sub(r"\b[xy]\b", lambda found: given.get(found[0], found[0]), advice)
    found = text.expression_at(b.line, op or b.op) if given and re.search(r"\bx\b", advice) else None
    shown = re.sub(r" - 0(?:\.0*)?\)", ")", re.sub(r"\(\(([^(),]*)\)([,)])", r"(\1\2", written))
    return shown, None if found is None else text.span(found)
