"""TensorFlow 1's optimizers: gradient descent, momentum, Adagrad, Adadelta, RMSProp, Adam, FTRL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.math.arithmetic import abs as absolute, rsqrt, sign, sqrt, square
from gradtape._src.ops.math.elementary import pow as power
from gradtape._src.v1.optimizers.first import Optimizer, setting

Kept = Callable[[Any, Any], Tensor]


class GradientDescentOptimizer(Optimizer):
    """variable −= learning_rate · gradient."""

    @public
    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _apply(self, gradient: Any, variable: Variable) -> Any:
        if isinstance(gradient, IndexedSlices):
            rate = setting(self._learning_rate, variable.dtype)
            return variable.scatter_sub(IndexedSlices(gradient.values * rate, gradient.indices))
        return super()._apply(gradient, variable)

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        return variable.assign_sub(gradient * setting(self._learning_rate, variable.dtype))


class MomentumOptimizer(Optimizer):
    """accumulation = momentum · accumulation + gradient; variable −= learning_rate · accumulation.

    With `use_nesterov` the step is learning_rate · (gradient + momentum · accumulation): Sutskever et al., "On the importance of
    initialization and momentum in deep learning" (2013).
    """

    _initial_slots = {"momentum": 0.0}

    @public
    def __init__(
        self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        rate, momentum = setting(self._learning_rate, variable.dtype), setting(self._momentum, variable.dtype)
        slot = self._slot(variable, "momentum")
        accumulated = slot * momentum + gradient
        step = (gradient + accumulated * momentum) * rate if self._use_nesterov else accumulated * rate
        return [slot.assign(kept(accumulated, slot)), variable.assign_sub(kept(step, 0.0))]


class AdagradOptimizer(Optimizer):
    """accumulator += gradient²; variable −= learning_rate · gradient / √accumulator (Duchi et al., 2011)."""

    @public
    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "Adagrad"
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_slots = {"accumulator": float(initial_accumulator_value)}

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        slot = self._slot(variable, "accumulator")
        accumulated = slot + square(gradient)
        step = gradient * setting(self._learning_rate, variable.dtype) * rsqrt(accumulated)
        return [slot.assign(accumulated), variable.assign_sub(kept(step, 0.0))]


class AdadeltaOptimizer(Optimizer):
    """Steps scaled by the ratio of the running means of squared steps and squared gradients (Zeiler, 2012)."""

    _initial_slots = {"accum": 0.0, "accum_update": 0.0}

    @public
    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        rate, rho, epsilon = [setting(s, variable.dtype) for s in (self._learning_rate, self._rho, self._epsilon)]
        squares, steps = self._slot(variable, "accum"), self._slot(variable, "accum_update")
        new_squares = squares * rho + square(gradient) * (1 - rho)
        step = sqrt(steps + epsilon) * rsqrt(new_squares + epsilon) * gradient
        new_steps = steps * rho + square(step) * (1 - rho)
        updates = [squares.assign(kept(new_squares, squares)), steps.assign(kept(new_steps, steps))]
        return [*updates, variable.assign_sub(kept(step * rate, 0.0))]


class RMSPropOptimizer(Optimizer):
    """Gradients divided by the square root of their running mean square (Tieleman and Hinton, 2012), with momentum.

    rms = decay · rms + (1 − decay) · gradient²; mom = momentum · mom + learning_rate · gradient / √(rms + epsilon);
    variable −= mom. `centered` subtracts the square of the running mean of gradients from rms.
    """

    @public
    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered
        self._initial_slots = {"rms": 1.0} | ({"mg": 0.0} if centered else {}) | {"momentum": 0.0}

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        dtype = variable.dtype
        rate, decay, momentum, epsilon = [
            setting(s, dtype) for s in (self._learning_rate, self._decay, self._momentum, self._epsilon)
        ]
        squares, moment = self._slot(variable, "rms"), self._slot(variable, "momentum")
        new_squares = squares * decay + square(gradient) * (1 - decay)
        updates = [squares.assign(kept(new_squares, squares))]
        spread = new_squares
        if self._centered:
            mean = self._slot(variable, "mg")
            new_mean = mean * decay + gradient * (1 - decay)
            updates.append(mean.assign(kept(new_mean, mean)))
            spread = new_squares - square(new_mean)
        step = moment * momentum + gradient * rate * rsqrt(spread + epsilon)
        return [*updates, moment.assign(kept(step, moment)), variable.assign_sub(kept(step, 0.0))]


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015), in the formulation before section 2.1.

    m = β₁m + (1 − β₁)g; v = β₂v + (1 − β₂)g²; variable −= learning_rate · √(1 − β₂ᵗ)/(1 − β₁ᵗ) · m / (√v + epsilon). Rows that a
    sparse gradient lacks are moved by their momentum, too.
    """

    _initial_slots = {"m": 0.0, "v": 0.0}

    @public
    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        first = min(variables, key=lambda v: v.name)
        self._powers = (
            self._number("beta1_power", _plain(self._beta1), first),
            self._number("beta2_power", _plain(self._beta2), first),
        )
        super()._create_slots(variables)

    def _get_beta_accumulators(self) -> tuple[Variable, Variable]:
        return self._powers

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        dtype = variable.dtype
        rate, beta1, beta2, epsilon = [setting(s, dtype) for s in (self._learning_rate, self._beta1, self._beta2, self._epsilon)]
        power1, power2 = [setting(p, dtype) for p in self._powers]
        rate = rate * sqrt(1 - power2) / (1 - power1)
        mean, squares = self._slot(variable, "m"), self._slot(variable, "v")
        new_mean = mean + (gradient - mean) * (1 - beta1)
        new_squares = squares + (square(gradient) - squares) * (1 - beta2)
        updates = [mean.assign(new_mean), squares.assign(new_squares)]
        return [*updates, variable.assign_sub(new_mean * rate / (sqrt(new_squares) + epsilon))]

    def _finish(self, updates: list[Any], name_scope: str) -> Any:
        power1, power2 = self._powers
        beta1, beta2 = setting(self._beta1, power1.dtype), setting(self._beta2, power2.dtype)
        return [*updates, power1.assign(power1 * beta1), power2.assign(power2 * beta2)]


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader, with l1 and l2 penalties (McMahan et al., "Ad Click Prediction", 2013)."""

    @public
    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
    ) -> None:
        if initial_accumulator_value < 0.0 or learning_rate_power > 0.0:
            raise ValueError("FtrlOptimizer needs initial_accumulator_value >= 0 and learning_rate_power <= 0.")
        if min(l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength) < 0.0:
            raise ValueError(
                "FtrlOptimizer needs strengths that are greater than or equal to 0: l1_regularization_strength "
                f"{l1_regularization_strength}, l2_regularization_strength {l2_regularization_strength}, "
                f"l2_shrinkage_regularization_strength {l2_shrinkage_regularization_strength}."
            )
        super().__init__(use_locking, name)
        self._learning_rate, self._power = learning_rate, learning_rate_power
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._shrinkage, self._beta = l2_shrinkage_regularization_strength, beta
        self._initial_slots = {"accum": float(initial_accumulator_value), "linear": 0.0}

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        rate = setting(self._learning_rate, variable.dtype)
        accumulator, linear = self._slot(variable, "accum"), self._slot(variable, "linear")
        l2 = self._l2 + self._beta / (2 * rate) if self._beta else self._l2
        shrunk = gradient + variable * (2 * self._shrinkage) if self._shrinkage else gradient
        accumulated = accumulator + square(gradient)
        scale = (power(accumulated, -self._power) - power(accumulator, -self._power)) / rate
        new_linear = linear + shrunk - scale * variable
        quadratic = power(accumulated, -self._power) / rate + 2 * l2
        moved = where(
            absolute(new_linear) > self._l1,
            (sign(new_linear) * self._l1 - new_linear) / quadratic,
            zeros(variable.aval.shape, variable.dtype),
        )
        updates = [accumulator.assign(accumulated), linear.assign(kept(new_linear, linear))]
        return [*updates, variable.assign(kept(moved, variable))]


def _plain(value: Any) -> Any:
    return value() if callable(value) else value
