"""The advice for an op without a derivative: what to write in its place."""

from __future__ import annotations

import ast
import re

from gradtape._src.explain import source as text
from gradtape._src.explain.evidence import Evidence, Span

Advice = tuple[str, Span | None]  # and where the expression stands that its code replaces

SAMPLED = (
    "try the log-probability of what was drawn, times its reward (as tf.nn.sparse_softmax_cross_entropy_with_logits gives it), "
    "or a soft sample: tf.nn.softmax of the logits plus Gumbel noise"
)
STRAIGHT = "pass the gradient straight through: `{0} + tf.stop_gradient({1} - {0})`"
SMOOTHER = "try a smooth function in its place, or give it a gradient with tf.custom_gradient"
TAKEN = "take the scores of the boxes that are kept, `tf.gather(scores, selected)`: through these a gradient flows"
DECODED = "train on tf.nn.ctc_loss, which takes the logits"
SOFTLY = (
    "weigh the rows by a soft choice, tf.nn.softmax({}), or pass the gradient straight through: `z + tf.stop_gradient(q - z)`, "
)
SOFTLY += "where q is what was taken in the place of z"
PLACED = "interpolate between the places on both sides: `y0 + (u - x0) / (x1 - x0) * (y1 - y0)`"
BYTES = "go on with the tensor, and keep its bytes beside it"
LONGEST_OPERAND, LONGEST = 30, 60  # of what stands in an advice several times, or once
SMOOTH = {
    "ArgMax": "try the values, tf.reduce_max(x), or a soft choice, tf.nn.softmax(x)",
    "ArgMin": "try the values, tf.reduce_min(x), or a soft choice, tf.nn.softmax(-x)",
    "Greater": "try a soft step, tf.sigmoid(x - y)", "GreaterEqual": "try a soft step, tf.sigmoid(x - y)",
    "Less": "try a soft step, tf.sigmoid(y - x)", "LessEqual": "try a soft step, tf.sigmoid(y - x)",
    "Equal": "try a soft comparison, tf.exp(-(x - y) ** 2)", "NotEqual": "try a soft comparison, 1 - tf.exp(-(x - y) ** 2)",
    "FloorDiv": "divide with `/`", "TruncateDiv": "divide with `/`",
    "OneHot": "try a soft choice, tf.nn.softmax", "HistogramFixedWidth": "try a soft one, of tf.exp(-(x - center) ** 2)",
    "UpperBound": PLACED, "LowerBound": PLACED, "Bucketize": PLACED,
    "NonMaxSuppressionV3": TAKEN, "NonMaxSuppressionV4": TAKEN, "NonMaxSuppressionV5": TAKEN, "CombinedNonMaxSuppression": TAKEN,
    "CTCGreedyDecoder": DECODED, "CTCBeamSearchDecoder": DECODED, "EditDistance": DECODED,
    "Multinomial": SAMPLED, "StatelessMultinomial": SAMPLED, "RandomBinomial": SAMPLED, "RandomPoissonV2": SAMPLED,
    "AdjustJpegQuality": STRAIGHT.format("x", "tf.image.adjust_jpeg_quality(x, y)"),
    "SerializeTensor": BYTES, "EncodeJpeg": BYTES, "EncodePng": BYTES, "EncodeBmp": BYTES, "EncodeWav": BYTES,
    "AsString": "go on with the number, and write the string beside it",
    "ResourceScatterUpdate": "build the tensor with tf.tensor_scatter_nd_update",
}  # fmt: skip


def wider(dtype: str, scaled: str) -> str:
    """Return advice for values beyond the limits of a dtype."""
    if dtype in ("float16", "bfloat16"):
        return f"try to compute this in tf.float32, or {scaled} (loss scaling)"
    more = "" if dtype == "float64" else ", or tf.float64"
    return f"try to compute with logarithms, such as sums of tf.math.log(…) in the place of products{more}"


def has_own_advice(b: Evidence) -> bool:
    """Return whether the advice for an op holds, whatever its result is used for."""
    return SMOOTH.get(b.op or "") in (TAKEN, DECODED)


def instead_of(b: Evidence, stepped: bool, index: bool = False) -> Advice:
    """Return the advice, with what the line computes with in the place of `x` and `y`, where that is short.

    Through an op that is `stepped`, as a rounding, a gradient can pass as it is.
    """
    if index and b.op in ("ArgMax", "ArgMin"):
        return in_its_words(SOFTLY.format("x" if b.op == "ArgMax" else "-x"), b)
    if b.op in SMOOTH or not stepped:
        return in_its_words(SMOOTH.get(b.op or "", SMOOTHER), b)
    found, operands = text.expression_at(b.line, b.op), text.operands(b.line, b.op)
    if found is None or not operands or len(operands[0]) > LONGEST_OPERAND or re.search(r"\w\(", operands[0]):
        called = re.search(rf"[\w.]*\b{(b.op or '').lower()}\(", text.text(b.line) or "")
        return STRAIGHT.format("x", f"{called[0]}x)" if called else "step(x)"), None
    return STRAIGHT.format(operands[0], ast.unparse(found)), text.span(found)


def in_its_words(advice: str, b: Evidence, op: str | None = None) -> Advice:
    """Return the advice with what the line computes with in the place of `x` and `y`, if the line calls the op itself.

    An operand that stands in it several times has to be short, and no call.
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
