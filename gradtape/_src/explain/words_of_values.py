"""The sentences about a gradient that is zero, NaN or infinite."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.places import place
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import Break
from gradtape._src.explain.edges import FINITE, SMALLER, at_the_edge
from gradtape._src.explain.smooth import STRAIGHT, instead_of


def _share(b: Break) -> str:
    return f"{100 * b.detail.get('fraction', 1.0):.0f} %"


MET = "nothing is left to learn from these values: try harder examples, or a larger margin"


def dead_relu(w: Any, b: Break) -> tuple[str, str]:
    if b.detail.get("met"):
        return f"all that {b.written} gives is 0, and so is {w.target}: every margin is met", MET
    return (
        f"{_share(b)} of the units of {b.op} in {b.written} are inactive, and with them all that the target uses",
        "try tf.nn.leaky_relu, a smaller rate, or another initialization",
    )


def saturated(w: Any, b: Break) -> tuple[str, str]:
    if b.detail.get("met"):
        return f"{w.target} is 0 already: {b.written} compares what is as it should be, by far", MET
    if b.detail.get("alone"):
        return (
            f"{b.op} in {b.written} is over an axis of one element, where it always gives 1",
            "try tf.sigmoid for one output, or give the softmax an output for each class",
        )
    return (
        f"{b.op} in {b.written} is saturated: it is flat where its input is",
        "try to scale its input down, or give the loss the logits (tf.nn.…_cross_entropy_with_logits)",
    )


def where_side(w: Any, b: Break) -> tuple[str, str]:
    return (
        f"the condition of {b.written} takes the other side in {_share(b)} of the elements, and in all that the target uses",
        "check the condition; what is not taken has the gradient 0",
    )


def clipped(w: Any, b: Break) -> tuple[str, str]:
    if b.detail.get("met"):
        return f"all that {b.written} gives is 0, and so is {w.target}: every margin is met", MET
    return (
        f"{b.written} clips {_share(b)} of the elements to its bound, where it is flat",
        "widen the bounds, or pass the gradient straight through: `x + tf.stop_gradient(tf.clip_by_value(x, low, high) - x)`",
    )


def piecewise_constant(w: Any, b: Break) -> tuple[str, str]:
    if b.detail.get("second"):
        return (
            f"the activation in {b.written} is piecewise linear, so its second derivative is 0 wherever it exists",
            "try a smooth one where a derivative is differentiated again: tf.tanh, tf.nn.softplus or tf.nn.silu",
        )
    return (
        f"{b.op} in {b.written} is piecewise constant: its derivative is 0 wherever it exists",
        instead_of(b, STRAIGHT),
    )


def masked_out(w: Any, b: Break) -> tuple[str, str]:
    if b.detail.get("empty"):
        return f"{b.written} keeps no element at all, so nothing of {w.source} is left", "check the condition: it holds nowhere"
    return (
        f"the mask in {b.written} is 0 in {_share(b)} of its elements, and wherever {w.source} counts",
        "check the mask: it leaves nothing of this source",
    )


def zero_factor(w: Any, b: Break) -> tuple[str, str]:
    factors, at, made = text.factors(b.line), b.detail.get("at"), b.detail.get("made", text.NO_LINE)
    variable = b.detail.get("name")
    called = variable or (factors[at] if at is not None and at < len(factors) == 2 else None)
    cause = f"{b.written} multiplies by " + (f"{called}, which is 0" if called else "a factor that is 0")
    if made[0] is not None and not text.same_line(made, b.line) and (line := text.text(made)):
        cause += f" since `{line}` ({place(text.file(made), text.number(made))})"
    if variable is not None:
        return cause, f"start {variable} at other values than 0, or look at the step that made it 0"
    if b.detail.get("traced"):
        return cause, (
            "check that factor: a Python value stays what it was when the function was traced; what changes is to be an argument "
            "of the function, or a tf.Variable that is assigned to"
        )
    return cause, "check that factor: a weight, a rate or an input of zeros"


def dropped_out(w: Any, b: Break) -> tuple[str, str]:
    return (
        f"dropout in {b.written} dropped {_share(b)} of the elements, and all that {w.source} reaches",
        "try a lower rate, or ask again: other elements are dropped the next time",
    )


def underflow(w: Any, b: Break) -> tuple[str, str]:
    dtype, size = b.detail["dtype"], b.detail.get("magnitude")
    about = f"a value of about {size:.1e}" if size else f"a value smaller than any of {dtype}"
    return f"in {b.written} {about} underflows to 0 in {dtype}", _wider(dtype, "scale the loss up and the gradient down")


def overflow(w: Any, b: Break) -> tuple[str, str]:
    dtype = b.detail["dtype"]
    return (
        f"{b.op} in {b.written} gives a value too large for {dtype}: it becomes infinite, where what follows is flat",
        _wider(dtype, "scale the values down"),
    )


def _wider(dtype: str, scaled: str) -> str:
    """Return advice for values beyond the limits of a dtype."""
    if dtype in ("float16", "bfloat16"):
        return f"try to compute this in tf.float32, or {scaled} (loss scaling)"
    wider = "" if dtype == "float64" else ", or tf.float64"
    return f"try to compute with logarithms, such as sums of tf.math.log(…) in the place of products{wider}"


def not_selected(w: Any, b: Break) -> tuple[str, str]:
    if b.op in ("Complex", "Real", "Imag"):
        return (
            f"what follows {b.written} depends on the other part of the complex number, and not on that of {w.source}",
            "let the target depend on both parts, such as by tf.math.angle, or leave the source out",
        )
    return (
        f"{b.op} in {b.written} takes other elements than those of {w.source}",
        "use what the target takes, or leave the source out",
    )


def stationary(w: Any, b: Break) -> tuple[str, str]:
    if b.op is not None and b.op.startswith("CustomGradient"):
        return (
            f"the gradient function of the tf.custom_gradient that {b.written} calls gives zeros here",
            "look at what that function returns for what it is given",
        )
    mend = "try to start from another value"
    if b.detail.get("met"):
        mend = f"{w.target} is 0 already: nothing is left to learn from these values; else try to start from another one"
    return f"the derivative of {b.op} in {b.written} is 0 at this value", mend


def cancelled(w: Any, b: Break) -> tuple[str, str]:
    if "alone" in b.detail:
        return (
            f"the outputs of {b.op} in {b.written} add up to the same, whatever goes in, and all of them get the same gradient",
            "let the target depend on single outputs, as a cross entropy does, not on their sum or mean",
        )
    if "opposed" in b.detail:
        return (
            f"{b.written} takes the same value several times, and what comes back along them adds up to 0",
            "keep one of them as a constant, where it is to be one: `tf.stop_gradient(x)`",
        )
    if "through" in b.detail:
        return (
            f"what flows back through {b.op} in {b.written} adds up to 0: to shift all of {w.source} changes nothing there, as "
            "before a normalization, or the changes balance at this value",
            f"before a normalization leave {w.source} out, or let it act behind what takes the shift away; else try to start "
            "from another value",
        )
    return (
        f"what comes from {b.written} and from other ways to {w.source} adds up to 0",
        "check the signs of the parts of the loss, and that what is normalized has more than one element",
    )


# -- NaN and infinity


def nonfinite(w: Any, b: Break) -> tuple[str, str]:
    what = "NaN" if b.code == "nan_origin" else "infinity"
    reached = w.target if b.detail.get("reaches") else f"the gradient of {w.source}"
    if b.line[0] is None and b.op is None:
        return f"the gradient of {w.source} holds a {what}", "look at the values that go into the target"
    mend = at_the_edge(b, FINITE)
    if b.op == "Mean" and b.detail.get("reaches"):
        mend = "look whether there are elements at all: the mean of none is NaN; `tf.math.divide_no_nan(tf.reduce_sum(x), count)`"
    dtype = b.detail.get("dtype")
    if b.detail.get("where") == "assigned":
        return (
            f"the variable {b.detail['name']} is not finite since {b.written}, and it reaches {reached}",
            "look at what it was given there; where a step did so, its gradient was too large or not finite: try a smaller "
            "rate, or tf.clip_by_global_norm",
        )
    if b.detail.get("where") == "made":
        cause = f"a value in {b.written} is not finite in {dtype}, and it reaches {reached}"
        if b.detail["missing"]:
            return cause, "look for NaN in the data there: try to leave these rows out, or to fill them, `np.nan_to_num(x)`"
        return cause, f"write a number that {dtype} holds, between `tf.{dtype}.min` and `tf.{dtype}.max`"
    if b.detail.get("where") == "given":
        since = b.detail["since"]
        made = f" since `{text.text(since)}` ({place(text.file(since), text.number(since))})" if text.text(since) else ""
        return (
            f"{b.op} in {b.written} takes a value that was not finite before{made}, and it reaches {reached}",
            "look for NaN and infinity in the data and the variables: `tf.debugging.check_numerics(x, 'x')`",
        )
    if dtype is not None:
        gives = f"takes a value too small for {dtype}" if b.op == "Log" else f"gives a value too large for {dtype}"
        return (
            f"{b.op} in {b.written} {gives}, and it reaches {reached}",
            _wider(dtype, "scale the values down")
            if dtype in ("float16", "bfloat16") and not b.detail.get("masked")
            else SMALLER
            if b.op == "Pow" and not b.detail.get("masked")
            else at_the_edge(b, SMALLER),
        )
    if b.detail.get("equal") is not None:
        return (
            f"{b.detail['equal']} in {b.op} in {b.written}: their vectors are not unique and have no derivative, "
            f"which reaches {w.source}",
            "for a function of the matrix or a sum over the values write tf.autodiff.eigenvalue_function, eigenvalue_sum, "
            "singular_value_function or singular_value_sum, which have derivatives there; else add something to the matrix that "
            "sets them apart",
        )
    if b.detail.get("where") == "forward":
        return f"{b.op} in {b.written} gives a value that is not finite, and it reaches {reached}", mend
    return f"the derivative of {b.op} in {b.written} is not finite at this value, and it reaches {w.source}", mend
