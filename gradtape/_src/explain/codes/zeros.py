"""The codes of a gradient of zeros, and their finders at an op that passes zeros on."""

from __future__ import annotations

import ast
from typing import Any, Literal

import numpy as np

from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.edges import FINITE, Bound, at_the_edge, bound_of, follows
from gradtape._src.explain.evidence import Evidence, OfZeros, Said, cited, of_zeros
from gradtape._src.explain.history import Name
from gradtape._src.explain.nonfinite import from_values, given
from gradtape._src.explain.precision import as_it_is, contribution_at, finite, flat, lost, underflow
from gradtape._src.explain.probe import array, line_of, value
from gradtape._src.explain.smooth import STRAIGHT, around_it, instead_of, wider
from gradtape._src.explain.varied import Tried, dense, elsewhere, empty, joined, never_below_zero
from gradtape._src.explain.words import Words
from gradtape._src.ops.array.creation import _sequence_mask
from gradtape._src.ops.math.arithmetic import maximum, sum_of_two
from gradtape._src.ops.math.complex import _complex, _imag, _real
from gradtape._src.ops.math.reduction import _max, _min
from gradtape._src.ops.math.special import sigmoid
from gradtape._src.ops.nn.activation import relu6
from gradtape._src.ops.nn.softmax import _log_softmax, _softmax

ADD, PARTS = sum_of_two.op.type, [part.op.type for part in (_complex, _real, _imag)]

SHARES = [f.op.type for f in (sigmoid, _softmax, _log_softmax)]  # ops that return probabilities, or their logarithms
LOGITS = ", or give the loss the logits (tf.nn.…_cross_entropy_with_logits)"
RANDOM = ("Random", "StatelessRandom", "SeedOf")
SOFT = {_max.op.type: "tf.reduce_logsumexp(x)", _min.op.type: "-tf.reduce_logsumexp(-x)"}
CONSTANT = "where a way is to be a constant, as a sample is to its own probability, stop it: tf.stop_gradient(x)"
MET = "nothing is left to learn from these values: try harder examples, or a margin that they do not meet; "
MET += "where they are not as they should be, look at its sign"


class Share(OfZeros):
    """A share of the elements has no gradient; `met` says that the target has reached 0."""

    fraction: float = 1.0
    met: bool = False

    @property
    def share(self) -> str:
        """The share in percent."""
        return f"{100 * self.fraction:.0f} %"

    def reached(self, w: Words) -> Said:
        """Return the sentences about a target that has reached 0."""
        return Said(f"all that {self.written} gives is 0, and so is {w.target}: every margin is met", MET)


class DeadRelu(Share):
    code, when = "dead_relu", "all units that count are inactive"

    def said(self, w: Words) -> Said:
        if self.met:
            return self.reached(w)
        cause = f"{self.share} of the units of {self.op} in {self.written} are inactive, and with them all that the target uses"
        start = "try tf.nn.leaky_relu, a smaller rate, or another initialization"
        given = text.parts(self.line, self.op)
        more = f", at which some of `{ast.unparse(given[0])}` is above 0" if len(given) == 1 else ""
        return Said(cause, start + more, whole=False)


class Clipped(Share):
    code, when = "clipped", "clipped to a bound"
    live: bool = False  # another computed value is the bound
    zero: bool = False  # the bound is 0
    joined: Line | None = None  # the line that combines the clipped value with the unclipped one

    def said(self, w: Words) -> Said:
        if self.met:
            return self.reached(w)
        if self.joined is not None:
            cause = (
                f"{self.written} clips {self.share} of the elements, and {cited(self.joined)}, which has both values, takes that"
            )
            again = "; where it is so from the first step, look whether both values come from the same samples"
            return Said(cause, f"take new samples, or fewer steps with the same ones{again}")
        if self.live:
            cause = f"{self.written} takes its other value in {self.share} of the elements, and in all that the target uses"
            return Said(cause, "give each of the two values a part in the loss, such as its own loss, or their mean")
        if self.zero and self.op == maximum.op.type:
            cause = (
                f"in {self.written} {self.share} of the elements are below 0, where it is flat: nothing says which way is better"
            )
            follow = "add a part to the loss that follows what is below 0, such as a distance"
            return Said(cause, f"{follow}, or try a soft one, tf.nn.softplus(x)")
        cause = f"{self.written} clips {self.share} of the elements to its bound, where it is flat"
        if (stable := rewritten.stable(self.line)) is not None:
            return Said(cause, f"use the function that needs no bound: `{stable[1]}`", text.span(stable[0]))
        whole, given = text.expression_at(self.line, self.op), text.operands(self.line, self.op)
        x, clipped = (given[0], ast.unparse(whole)) if whole and given else ("x", "tf.clip_by_value(x, low, high)")
        return Said(cause, f"widen the bounds, start {x} inside of them, or {STRAIGHT.format(x, clipped)}", whole=False)


class WhereSide(Share):
    code, when = "where_side", "`where` takes the other side"
    wanted: bool = True  # the value of the condition that takes the source's side

    def said(self, w: Words) -> Said:
        cause = f"the condition of {self.written} takes the other side in {self.share} of the elements, and in all that counts"
        call, _ = rewritten.argument_of("where", self.line) or (None, "")
        make = (
            "check the condition" if call is None else f"make `{ast.unparse(call.args[0])}` {str(self.wanted).lower()} somewhere"
        )
        return Said(cause, f"{make}; what is not taken has the gradient 0", whole=False)


class Saturated(OfZeros):
    code, when = "saturated", "sigmoid, tanh, softmax or the like is flat where its input is"
    met: bool = False
    alone: bool = False  # the axis has only one element
    logged: bool = False  # a logarithm of the shares follows

    def said(self, w: Words) -> Said:
        if self.met:
            return Said(f"{w.target} is 0 already: {self.written} compares what is as it should be, by far", MET)
        if self.alone:
            cause = f"{self.op} in {self.written} is over an axis of one element, where it always gives 1"
            more = "try tf.sigmoid for one output, or give the softmax an output for each class"
            return Said(cause, f"{more}; where it weighs values, as attention does, it takes several")
        cause = f"{self.op} in {self.written} is saturated: it is flat where its input is"
        return Said(cause, "try to scale its input down" + (LOGITS if self.logged else ""))


class PiecewiseConstant(OfZeros):
    code, when = "piecewise_constant", "`sign`, or a detour around a rounding"
    second: bool = False  # the second derivative of a piecewise linear function
    detour: bool = False  # other paths around the op cancel its contribution

    def said(self, w: Words) -> Said:
        if self.second:
            cause = f"the activation in {self.written} is piecewise linear, so its second derivative is 0 wherever it exists"
            return Said(cause, "try a smooth one where it is differentiated twice: tf.tanh, tf.nn.softplus or tf.nn.silu")
        if self.detour and (around := around_it(self)) is not None:
            cause = f"what {self.written} gives is piecewise constant: the derivatives of its terms add up to 0"
            return Said(cause, *around)
        cause = f"{self.op} in {self.written} is piecewise constant: its derivative is 0 wherever it exists"
        return Said(cause, *instead_of(self, stepped=True))


class MaskedOut(Share):
    code, when = "masked_out", "a mask of zeros, or one that keeps no element"
    empty: bool = False

    def said(self, w: Words) -> Said:
        if self.empty:
            cause = f"{self.written} keeps no element at all, so nothing of {w.source} is left"
            return Said(cause, "check the condition: it holds nowhere")
        cause = f"the mask in {self.written} is 0 in {self.share} of its elements, and wherever {w.source} counts"
        return Said(cause, "check the mask: it leaves nothing of this source")


class ZeroFactor(OfZeros):
    """`at` is the factor's position among the inputs, and `made` the line that computed it.

    `origin` is the value that the factor copies; `traced` says that it was a Python value.
    """

    code, when = "zero_factor", "a factor of zero"
    at: int
    made: Line
    origin: Name | None
    traced: bool

    def said(self, w: Words) -> Said:
        factors = text.factors(self.line, self.op)
        variable = None if self.origin is None else w.held_by(self.origin)
        named = factors[self.at] if self.at < len(factors) == 2 else None
        behind = variable is not None and named is not None and variable.rpartition(".")[2] not in named
        called = named if behind or variable is None else variable
        cause = f"{self.written} multiplies by " + (f"{called}, which is 0" if called else "a factor that is 0")
        cause += f" as {variable} is" if behind else ""
        made = self.made if text.text(self.made) or named is None else rewritten.set_above(self.line, named)
        since = text.text(made) is not None and not text.same_line(made, self.line)
        if since:
            cause += f" since {cited(made)}"
        if variable is not None:
            return Said(cause, f"start {variable} at other values than 0, or look at the step that made it 0")
        if self.traced:
            stays = "check that factor: a Python value stays what it was when the function was traced"
            return Said(cause, f"{stays}; make what changes an argument, or a tf.Variable that is assigned to")
        if since and named is not None:
            return Said(cause, f"look at that line: give {named} other values than 0 there, or ask when it has others")
        if len(factors) > 2:
            return Said(cause, f"look which of {', '.join([f'`{factor}`' for factor in factors])} is 0, and give it other values")
        return Said(cause, "check that factor: a weight, a rate or an input of zeros")


class DroppedOut(Share):
    code, when = "dropped_out", "dropout dropped it"

    def said(self, w: Words) -> Said:
        cause = f"dropout in {self.written} dropped {self.share} of the elements, and all that {w.source} reaches"
        return Said(cause, "try a lower rate, or ask again: other elements are dropped the next time")


class Underflow(OfZeros):
    code, when = "underflow", "too small for the dtype; the answer has the size where it is known"
    dtype: str
    magnitude: float | None = None

    def said(self, w: Words) -> Said:
        size = self.magnitude
        about = f"a value of about {size:.1e}" if size else f"a value smaller than any of {self.dtype}"
        cause = f"in {self.written} {about} underflows to 0 in {self.dtype}"
        mend = wider(self.dtype, "scale the loss up and the gradient down")
        if not size or size < 1e-60:  # no wider dtype is known to hold it, or none to learn from it
            mend = f"look at the size, or the unit, of what goes in; or {mend.removesuffix(', or tf.float64')}"
        return Said(cause, mend)


class Overflow(OfZeros):
    code, when = "overflow", "too large for the dtype, or infinite, and what follows is flat there"
    dtype: str
    bound: Bound | None = None  # makes the op finite: no dtype holds its value

    def said(self, w: Words) -> Said:
        if self.bound is not None:
            cause = f"{self.op} in {self.written} gives a value that is not finite, and what follows is flat there"
            return Said(cause, *at_the_edge(self, FINITE, self.bound))
        cause = f"{self.op} in {self.written} gives a value too large for {self.dtype}: infinity, where what follows is flat"
        return Said(cause, wider(self.dtype, "scale the values down"))


class NotSelected(OfZeros):
    code, when = "not_selected", "the target takes other elements"

    def said(self, w: Words) -> Said:
        if self.op in PARTS:
            cause = f"what follows {self.written} depends on the other part of the complex number, and not on that of {w.source}"
            return Said(cause, "let the target depend on both parts, such as by tf.math.angle, or leave the source out")
        cause = f"{self.op} in {self.written} takes other elements than those of {w.source}"
        if self.op in SOFT:
            soft = f"{SOFT[self.op]} over the same axis, or a mean"
            return Said(cause, f"to let all elements count, write a soft one, {soft}; or leave the source out")
        return Said(cause, "use what the target takes, or leave the source out")


class Stationary(OfZeros):
    code, when = "stationary", "the derivative is 0 at this value; as of `x**2` at 0"
    met: bool = False

    def said(self, w: Words) -> Said:
        if self.op is not None and self.op.startswith(CUSTOM.type):
            cause = f"the gradient function of the tf.custom_gradient that {self.written} calls gives zeros here"
            return Said(cause, "look at what that function returns for what it is given")
        mend = "try to start from another value"
        if self.met:
            mend = f"{w.target} is 0 already: nothing is left to learn from these values; else try to start from another one"
        return Said(f"the derivative of {self.op} in {self.written} is 0 at this value", mend)


class Cancelled(OfZeros):
    code = "cancelled"
    when = "what comes from several ways or elements adds up to 0; as of a bias before a normalization"
    how: Literal["outputs", "inputs", "elements", "ways", "through", "sides"] = "ways"  # the terms that cancel

    def said(self, w: Words) -> Said:
        match self.how:
            case "outputs":
                cause = f"the outputs of {self.op} in {self.written} add up to the same, and all of them get the same gradient"
                return Said(cause, "let the target depend on single outputs, as a cross entropy does, not on their sum or mean")
            case "inputs":
                cause = f"{self.written} takes the same value several times, and what comes back along them adds up to 0"
                return Said(cause, "keep one of them as a constant, where it is to be one: `tf.stop_gradient(x)`")
            case "elements":
                cause = f"what flows back through {self.op} in {self.written} adds up to 0: to shift {w.source} does nothing"
                away = f"before a normalization leave {w.source} out, or let it act behind what takes the shift away"
                return Said(f"{cause}, or the changes balance at this value", f"{away}; else try to start from another value")
        of = {"sides": "the sides of {0}", "through": "the ways through {0}"}.get(self.how, "{0} and from other ways")
        cause = f"what comes from {of.format(self.written)} to {w.source} adds up to 0"
        if (through := rewritten.stopped_through(self.line)) is not None:
            return Said(cause, f"stop the difference only: `{through[1]}`", text.span(through[0]))
        if self.how == "sides":
            common = "what the sides have in common, such as a bias, does not count in a difference"
            return Said(cause, f"{common}: leave {w.source} out, or let one side alone have it; or {CONSTANT}")
        checks = "check the signs of the parts of the loss, that what is normalized has more than one element, and that no "
        checks += f"normalization takes away what {w.source} does"
        return Said(cause, f"{checks}; or {CONSTANT}")


# -- finders


@of_zeros(0)
def _too_large(tried: Tried) -> Evidence | None:
    probe, factor = tried.probe, tried.factor
    makers = [probe.maker[factor]] if factor in probe.maker else []
    found = [from_values(probe, e) for e in (tried.entry, *makers)]
    large = next((e for e in found if e is not None and not given(probe, e)), None)
    if large is None or not (makers or tried.changed(finite)):
        return None
    node, bound = large.node, bound_of(probe, large)
    return Overflow(line_of(node), node.op.type, dtype=node.aval.type.name, bound=bound)


@of_zeros(10)
def _nothing_kept(tried: Tried) -> Evidence | None:
    return MaskedOut(*tried.at, empty=True) if empty(tried.entry.node) else None


@of_zeros(30)
def _of_a_hard_sigmoid(tried: Tried) -> Evidence | None:
    if tried.kind != relu6.op.type:
        return None
    maker = tried.probe.maker.get(tried.entry.inputs[0])
    added = [] if maker is None or maker.node.op.type != ADD else maker.inputs
    hard = any(i not in tried.probe.maker and np.all(value(i) == 3) for i in added)  # as in relu6(x + 3) / 6
    return Saturated(*tried.at) if hard or np.all(value(tried.entry.node) >= 6) else None


@of_zeros(40)
def _every_margin_met(tried: Tried) -> Evidence | None:
    if not tried.met or tried.leaves not in ("unit", "bound") or np.any(value(tried.entry.node)):
        return None
    least = never_below_zero(tried.probe, tried.entry) and np.all(array(tried.cotangent) >= 0)  # no other value is better
    return (DeadRelu if tried.leaves == "unit" else Clipped)(*tried.at, met=True) if least else None


@of_zeros(50)
def _too_small(tried: Tried) -> Evidence | None:
    magnitude = underflow(tried.probe, tried.node, tried.entry, tried.cotangent) if tried.all else None
    return None if magnitude is None else Underflow(*tried.at, magnitude=magnitude, dtype=tried.node.aval.type.name)


@of_zeros(60)
def _adds_up(tried: Tried) -> Evidence | None:
    """Find `x - x`, a softmax with a saturated output or with equal cotangents, and other sums whose terms cancel."""
    if tried.entry.inputs.count(tried.node) > 1:
        first = contribution_at(tried.probe, tried.node, tried.entry, tried.cotangent, as_it_is, apart=True)
        if first is not None and np.any(array(first)):
            return Cancelled(*tried.at, how="inputs")
    if tried.kind in SHARES[1:]:
        alone = value(tried.entry.node).shape[-1] == 1
        logged = tried.kind == _softmax.op.type and follows(tried.probe, tried.entry) == "log"
        return Saturated(*tried.at, alone=alone, logged=logged) if of_one_output(tried) else Cancelled(*tried.at, how="outputs")
    return Cancelled(*tried.at, how="elements") if not tried.leaves and tried.adds_up else None


def of_one_output(tried: Tried) -> bool:
    """Return whether an op is a softmax of which one output has all, or its logarithm."""
    outputs = value(tried.entry.node) if tried.kind in SHARES[1:] else np.array(0.5)
    shares = np.exp(outputs) if tried.kind == _log_softmax.op.type else outputs
    return bool(np.all((shares < 1e-6) | (shares > 1 - 1e-6)))


@of_zeros(90)
def _left(tried: Tried) -> Evidence | None:
    """Find an op that drops the elements, with the share of all elements that it drops."""
    node, entry = tried.node, tried.entry
    if tried.leaves == "unit":
        dropped = array(tried.probe.contribution(entry, node, tried.dense)) == 0
        if np.any(value(entry.node)[dropped]):
            return Clipped(*tried.at, fraction=float(np.mean(dropped)))
        return DeadRelu(*tried.at, fraction=float(np.mean(value(entry.node) <= 0)))
    if tried.leaves == "bound":
        taken = value(entry.node) != np.broadcast_to(value(node), entry.node.aval.shape)
        others = [i for i in entry.inputs if i is not node]
        live = any(i in tried.probe.maker or np.unique(value(i)).size > 1 for i in others)
        zero = not any(np.any(value(i)) for i in others)
        both = None if live else joined(tried.probe, [{entry.node}, {node}])
        line = None if both is None else line_of(both.node)
        return Clipped(*tried.at, fraction=float(np.mean(taken)), live=live, zero=zero, joined=line)
    if not tried.leaves:
        return None
    decides = next(i for i in entry.inputs if i.aval.dtype.kind == "b")
    condition = value(decides)
    if tried.comes_from(decides, _random):
        return DroppedOut(*tried.at, fraction=float(np.mean(~condition)))
    taken = condition if (wanted := node is entry.inputs[1]) else ~condition
    return WhereSide(*tried.at, fraction=float(1 - np.mean(taken)), wanted=wanted)


def _random(entry: Any) -> bool:
    return bool(entry.node.op.type.startswith(RANDOM))


@of_zeros(110)
def _by_a_factor(tried: Tried) -> Evidence | None:
    if tried.factor is None:
        return None
    low = lost(tried.probe, tried.factor)
    if low is not None:
        return Underflow(*tried.at, magnitude=low, dtype=tried.factor.aval.type.name)
    entry, copied = tried.zeros_came_in(tried.factor)
    values = value(copied)
    fraction = float(np.mean(values == 0))
    if tried.comes_from(tried.factor, _random) and not np.all(values):
        return DroppedOut(*tried.at, fraction=fraction)
    if (values.size > 1 and np.any(values) and np.all((values == 0) | (values == 1))) or tried.comes_from(copied, _masks):
        return MaskedOut(line_of(entry.node), entry.node.op.type, fraction=fraction)
    maker = tried.probe.maker.get(copied)
    inputs = [] if maker is None else [i for i in maker.inputs if type(i.aval) is not tuple and i.aval.inexact]
    dropped = [b for i in inputs if maker and (b := _left(Tried(tried.probe, i, maker, dense(maker.node)))) is not None]
    if dropped:
        return dropped[0]  # a ReLU or a bound made the zeros
    given = maker is None
    return ZeroFactor(
        *tried.at,
        at=tried.entry.inputs.index(tried.factor),
        made=line_of(copied),
        origin=journal.origin_of(copied) if given else None,
        traced=copied in tried.probe.traced,
    )


def _masks(entry: Any) -> bool:
    kinds = [i.aval.dtype.kind for i in entry.inputs if type(i.aval) is not tuple]
    return "b" in kinds or entry.node.op.type == _sequence_mask.op.type


@of_zeros(120)
def _at_these_values(tried: Tried) -> Evidence | None:
    """Find ops that select other elements, ops that are constant everywhere, and ops that are flat at this value."""
    if tried.chooses or tried.given(tried.dense):
        return NotSelected(*tried.at)
    if tried.entry.node.op is not CUSTOM and not tried.changed(elsewhere):
        return PiecewiseConstant(*tried.at, second=tried.kind.endswith("Grad"))
    if tried.entry.node.op is CUSTOM and (multiplied := tried.of_a_factor_inside()) is not None:
        inside, by, at = multiplied
        return ZeroFactor(line_of(inside), inside.op.type, at=at, made=line_of(by), origin=None, traced=False)
    code = flat(tried.probe, tried.node, tried.entry, tried.cotangent)
    if code == "underflow":
        return Underflow(*tried.at, dtype=tried.node.aval.type.name)
    met = tried.met and (code == "stationary" or "Entropy" in tried.kind)
    if code == "stationary":
        return Stationary(*tried.at, met=met)
    return Saturated(*tried.at, met=met, logged=tried.kind in SHARES and follows(tried.probe, tried.entry) == "log")
