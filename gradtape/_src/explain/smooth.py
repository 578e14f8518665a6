"""The advice for an op without a derivative: what to write in its place."""

from __future__ import annotations

import re

from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import Break

SAMPLED = (
    "try the log-probability of what was drawn, times its reward (as tf.nn.sparse_softmax_cross_entropy_with_logits gives it), "
    "or a soft sample: tf.nn.softmax of the logits plus Gumbel noise"
)
BYTES = "go on with the tensor, and keep its bytes beside it"
LONGEST_OPERAND = 30
SMOOTH = {
    "Floor": "pass the gradient straight through: `x + tf.stop_gradient(tf.floor(x) - x)`",
    "Ceil": "pass the gradient straight through: `x + tf.stop_gradient(tf.math.ceil(x) - x)`",
    "Round": "pass the gradient straight through: `x + tf.stop_gradient(tf.round(x) - x)`",
    "Rint": "pass the gradient straight through: `x + tf.stop_gradient(tf.math.rint(x) - x)`",
    "ArgMax": "try the values, tf.reduce_max(x), or a soft choice, tf.nn.softmax(x)",
    "ArgMin": "try the values, tf.reduce_min(x), or a soft choice, tf.nn.softmax(-x)",
    "Greater": "try a soft step, tf.sigmoid(x - y)", "GreaterEqual": "try a soft step, tf.sigmoid(x - y)",
    "Less": "try a soft step, tf.sigmoid(y - x)", "LessEqual": "try a soft step, tf.sigmoid(y - x)",
    "Equal": "try a soft comparison, tf.exp(-(x - y) ** 2)", "NotEqual": "try a soft comparison, 1 - tf.exp(-(x - y) ** 2)",
    "FloorDiv": "divide with `/`", "TruncateDiv": "divide with `/`",
    "OneHot": "try a soft choice, tf.nn.softmax", "HistogramFixedWidth": "try a soft one, of tf.exp(-(x - center) ** 2)",
    "Multinomial": SAMPLED, "StatelessMultinomial": SAMPLED, "RandomBinomial": SAMPLED, "RandomPoissonV2": SAMPLED,
    "SerializeTensor": BYTES, "EncodeJpeg": BYTES, "EncodePng": BYTES, "EncodeBmp": BYTES, "EncodeWav": BYTES,
    "AsString": "go on with the number, and write the string beside it",
    "ResourceScatterUpdate": "build the tensor with tf.tensor_scatter_nd_update",
}  # fmt: skip


def instead_of(b: Break) -> str:
    """Return the advice, with what the line computes with in the place of `x` and `y`, where that is short."""
    advice = SMOOTH.get(b.op or "", "try a smooth function in its place, or give it a gradient with tf.custom_gradient")
    operands = text.operands(b.line)
    if not operands or max(map(len, operands[:2])) > LONGEST_OPERAND:
        return advice
    if "stop_gradient" in advice and re.search(r"\w\(", operands[0]):
        return advice  # a call is not to be made three times
    return re.sub(r"\b[xy]\b", lambda found: dict(zip("xy", operands, strict=False)).get(found[0], found[0]), advice)
