"""The codes of a gradient or target that is NaN or infinite, with the ways in which such a value arises."""

from __future__ import annotations

from typing import NamedTuple

from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.edges import FINITE, SMALLER, Bound, at_the_edge, beside_it
from gradtape._src.explain.evidence import Evidence, Said, cited
from gradtape._src.explain.smooth import wider
from gradtape._src.explain.words import Words
from gradtape._src.ops.math.elementary import _pow, log
from gradtape._src.ops.math.reduction import _mean

HARMLESS = "tf.where(tf.math.is_finite(x), x, 0.0)"


class Assigned(NamedTuple):
    """A variable was assigned the value."""

    name: str


class Written(NamedTuple):
    """The line creates the value: `missing` data, or a number beyond the dtype's range."""

    dtype: str
    missing: bool


class Given(NamedTuple):
    """The op's argument at position `at` was not finite before, `since` a line; it is `zeroed` where zeros multiply it later."""

    since: Line
    at: int
    zeroed: bool


class Computed(NamedTuple):
    """The op computes the value, `forward` or in its gradient: `dtype` is too small for it, or values of its spectrum `equal`.

    `zero` names a variable of zeros from which its argument comes; `data` says what its argument is not, which no source changes.
    """

    forward: bool
    dtype: str | None = None
    equal: str | None = None
    zero: str | None = None
    data: str | None = None


class NonFinite(Evidence):
    """`reaches`: the target is not finite. `masked`: only the gradient is not finite. A `bound` makes both finite."""

    page = "nan"
    how: Assigned | Written | Given | Computed | None = None
    reaches: bool = False
    masked: bool = False
    bound: Bound | None = None

    def said(self, w: Words) -> Said:
        if self.line[0] is None and self.op is None:
            what = "NaN" if self.code == "nan_origin" else "infinity"
            return Said(f"the gradient of {w.source} holds a {what}", "look at the values that go into the target")
        reached = w.target if self.reaches else f"the gradient of {w.source}"
        match self.how:
            case Assigned(name):
                cause = f"the variable {name} is not finite since {self.written}, and it reaches {reached}"
                rate = "its gradient was too large or not finite: try a smaller rate, or tf.clip_by_global_norm"
                return Said(cause, f"look at what it was given there; where a step did so, {rate}")
            case Written(dtype, missing):
                cause = f"a value in {self.written} is not finite in {dtype}, and it reaches {reached}"
                holds = f"write a number that {dtype} holds, between `tf.{dtype}.min` and `tf.{dtype}.max`"
                fill = "look for NaN in the data there: try to leave these rows out, or to fill them, `np.nan_to_num(x)`"
                return Said(cause, fill if missing else holds)
            case Given(since, at, zeroed):
                made = f" since {cited(since)}" if text.text(since) else ""
                cause = f"{self.op} in {self.written} takes a value that was not finite before{made}, and it reaches {reached}"
                harmless = rewritten.bounded(self.line, self.op, at, HARMLESS) if self.masked or zeroed else None
                if harmless is not None:
                    left = "a factor of 0 keeps it" if zeroed else f"{w.target} leaves it out, and the derivative does not"
                    return Said(cause, f"{left}: give the line a finite value there, `{harmless[1]}`", text.span(harmless[0]))
                return Said(cause, "look for NaN and infinity in the data and variables: `tf.debugging.check_numerics(x, 'x')`")
            case Computed(dtype=str(dtype)):
                gives = "takes a value too small" if self.op == log.op.type else "gives a value too large"
                cause = f"{self.op} in {self.written} {gives} for {dtype}, and it reaches {reached}"
                half = dtype in ("float16", "bfloat16")
                if not self.masked and (half or self.op == _pow.op.type):
                    return Said(cause, wider(dtype, "scale the values down") if half else SMALLER)
                advice, place = at_the_edge(self, SMALLER, self.bound, masked=self.masked)
                return Said(cause, advice, place, others=beside_it(self, self.bound, place), otherwise=SMALLER)
            case Computed(equal=str(equal)):
                cause = f"{equal} in {self.op} in {self.written}: their vectors are not unique and have no derivative"
                own = "tf.autodiff.eigenvalue_function, eigenvalue_sum, singular_value_function or singular_value_sum"
                mend = f"for a function of the matrix or a sum over the values write {own}, which have derivatives there"
                return Said(f"{cause}, which reaches {w.source}", f"{mend}; else add to the matrix what sets them apart")
            case Computed(forward=True):
                cause = f"{self.op} in {self.written} gives a value that is not finite, and it reaches {reached}"
            case _:
                cause = f"the derivative of {self.op} in {self.written} is not finite at this value, and it reaches {w.source}"
        if self.op == _mean.op.type and self.reaches:
            mend = "look whether there are elements at all: the mean of none is NaN; "
            return Said(cause, f"{mend}`tf.math.divide_no_nan(tf.reduce_sum(x), count)`")
        advice, place = at_the_edge(self, FINITE, self.bound, masked=self.masked)
        if isinstance(self.how, Computed) and self.how.data is not None:
            cause = f"{cause}, as an argument that no source changes is not {self.how.data} everywhere"
            advice = f"look at these values; or {advice}"
        otherwise = "start from other values, at which it is finite"
        if isinstance(self.how, Computed) and self.how.zero is not None:
            otherwise = f"start {self.how.zero} at other values than 0"
            cause, advice = f"{cause}, as {self.how.zero} is 0", f"{otherwise}, or {advice}"
        return Said(cause, advice, place, others=beside_it(self, self.bound, place), otherwise=otherwise)


class NanOrigin(NonFinite):
    code, when = "nan_origin", "the op at which NaN appears"


class InfOrigin(NonFinite):
    code, when = "inf_origin", "the op at which infinity appears"
