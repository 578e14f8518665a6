"""Limits of a step: three rules that learn from the ratio of the actual to the predicted reduction."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from gradtape._src.control.loop import while_loop
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.select import where
from gradtape._src.ops.math.arithmetic import maximum, minimum, sqrt
from gradtape._src.ops.math.compare import is_finite, logical_and, logical_not, logical_or
from gradtape._src.ops.math.reduction import reduce_sum

GOOD_ENOUGH = 1e-4  # the least ratio at which a step is accepted
TRIALS = 21  # dampings tried for a step of the radius, the first of them 0


def norm(x: Tensor) -> Tensor:
    """Return the Euclidean norm of a vector."""
    length: Tensor = sqrt(reduce_sum(x * x))
    return length


class Limit(NamedTuple):
    """The limit of the next step: its `radius` and `damping`, and the memory of a rule.

    `growth`: the next factor of a damping. `fresh`: whether no step has been accepted yet.
    """

    radius: Any
    damping: Any
    growth: Any
    fresh: Any


class Tried(NamedTuple):
    """A step that was tried: the `ratio` of the reductions, its `length`, the `slope` along it, and the costs."""

    ratio: Tensor
    length: Tensor
    slope: Tensor
    cost: Tensor
    after: Tensor


class Rule(Protocol):
    """A rule that limits steps: it proposes a scaled step of a model, and learns from the outcome."""

    first: float

    def begin(self, x: Tensor, first: Tensor) -> Limit: ...
    def propose(self, model: Any, limit: Limit) -> tuple[Tensor, Tensor]: ...
    def learn(self, limit: Limit, tried: Tried) -> tuple[Limit, Tensor]: ...


class TrustRegion:
    """A radius within which the model is trusted: Moré (1978), section 4, with its constants, as in MINPACK.

    The first radius is `first` times the length of the (scaled) starting values.
    """

    first = 1.0

    def begin(self, x: Tensor, first: Tensor) -> Limit:
        """Return the limit at the start, `x`, scaled."""
        length = norm(x)
        return Limit(first * where(length > 0.0, length, tensor(1.0, x.dtype)), first * 0.0, first * 0.0 + 2.0, True)

    def propose(self, model: Any, limit: Limit) -> tuple[Tensor, Tensor]:
        """Return the step within the radius, and its damping."""
        step, damping = model.within(limit.radius, limit.damping)
        return step, damping

    def learn(self, limit: Limit, tried: Tried) -> tuple[Limit, Tensor]:
        """Return the limit after a step, and whether the step is taken."""
        ratio, length, slope, cost, after = tried
        radius = where(limit.fresh, minimum(limit.radius, length), limit.radius)
        one = tensor(1.0, cost.dtype)
        slope = slope / where(cost > 0.0, cost, one)
        bend = slope + 0.5 * (1.0 - after / where(cost > 0.0, cost, one))
        known = logical_and(bend < 0.0, after < 100.0 * cost)
        shrink = where(known, 0.5 * slope / where(known, bend, -one), 0.1 * one)
        shrink = where(after < cost, 0.5 * one, minimum(maximum(shrink, 0.1), 0.5))
        bad, good = ratio <= 0.25, logical_or(limit.damping <= 0.0, ratio >= 0.75)
        longer = where(good, 2.0 * length, radius)
        less = where(good, 0.5 * limit.damping, limit.damping)
        radius = where(bad, shrink * minimum(radius, 10.0 * length), longer)
        taken = ratio >= GOOD_ENOUGH
        fresh = logical_and(limit.fresh, logical_not(taken))
        return Limit(radius, where(bad, limit.damping / shrink, less), limit.growth, fresh), taken


class Marquardt:
    """The rule that divides the damping by 10 after an accepted step, and multiplies it by 10 after a rejected one.

    Marquardt, "An algorithm for least-squares estimation of nonlinear parameters" (1963), p. 437.
    """

    first = 1e-3

    def begin(self, x: Tensor, first: Tensor) -> Limit:
        """Return the first limit; the starting point does not matter."""
        return Limit(first * 0.0, first, first * 0.0 + 2.0, True)

    def propose(self, model: Any, limit: Limit) -> tuple[Tensor, Tensor]:
        """Return the damped step, and the damping."""
        return model.step(limit.damping), limit.damping

    def learn(self, limit: Limit, tried: Tried) -> tuple[Limit, Tensor]:
        """Return the limit after a step, and whether the step is taken."""
        taken = tried.ratio > 0.0
        return limit._replace(damping=where(taken, limit.damping / 10.0, limit.damping * 10.0)), taken


class Nielsen(Marquardt):
    """The rule whose damping falls smoothly with the ratio, and grows faster with each consecutive rejected step.

    Nielsen, "Damping parameter in Marquardt's method", IMM-REP-1999-05 (1999), equation (2.5).
    """

    def learn(self, limit: Limit, tried: Tried) -> tuple[Limit, Tensor]:
        """Return the limit after a step, and whether the step is taken."""
        taken = tried.ratio > 0.0
        less = maximum(1.0 / 3.0, 1.0 - (2.0 * minimum(where(taken, tried.ratio, 1.0), 1.0) - 1.0) ** 3)
        damping = limit.damping * where(taken, less, limit.growth)
        return limit._replace(damping=damping, growth=where(taken, 2.0, 2.0 * limit.growth)), taken


RULES: dict[str, Rule] = {"trust_region": TrustRegion(), "nielsen": Nielsen(), "marquardt": Marquardt()}


def of_length(solved: Any, slope: Tensor, radius: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
    """Return the step whose length is the radius within a tenth, with its damping; undamped if that step is short enough.

    `solved(damping)` returns p, p·(JᵀJ + damping)⁻¹p, and whether the matrix is regular. `slope`: the gradient. The method is
    Newton's on 1/‖p‖ = 1/radius: Moré (1978), section 5, after Hebden.
    """

    def trial(i: Any, p: Any, used: Any, damping: Any, low: Any, high: Any, done: Any) -> Any:
        first = i <= 0
        used = where(first, 0.0 * damping, damping)
        p, product, regular = solved(used)
        length = norm(p)
        near = where(first, length <= 1.1 * radius, abs(length - radius) <= 0.1 * radius)
        done = logical_and(regular, logical_and(near, is_finite(length)))
        low = where(logical_and(logical_not(first), length > radius), maximum(low, used), low)
        high = where(logical_and(logical_not(first), length <= radius), minimum(high, used), high)
        following = where(first, damping, used + (length / radius) * (length - radius) * length / product)
        inside = logical_and(low < following, following < high)
        following = where(inside, following, maximum(1e-3 * high, sqrt(low * high)))
        return i + 1, p, used, following, low, high, done

    zero = 0.0 * damping
    state = (0, 0.0 * slope, zero, damping, zero, norm(slope) / radius, False)
    _, p, used, *_ = while_loop(lambda *now: logical_not(now[-1]), trial, state, maximum_iterations=TRIALS)
    return p, used
