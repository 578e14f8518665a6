"""TensorFlow 1's optimizers with proximal operators: gradient descent, Adagrad, Adagrad with dual averaging."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.math.arithmetic import abs as absolute, maximum, rsqrt, sign, sqrt, square
from gradtape._src.v1.optimizers.first import Optimizer, setting
from gradtape._src.v1.optimizers.rules import AdagradOptimizer, Kept


def _shrunk(value: Any, rate: Any, l1: float, l2: float) -> Any:
    """Return the proximal operator of the penalties l1·|x| + l2·x²/2 for a step `rate`."""
    if l1 > 0:
        value = sign(value) * maximum(absolute(value) - rate * l1, 0.0)
    return value / (1.0 + rate * l2)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent followed by the proximal operator of l1 and l2 penalties (Duchi and Singer, FOBOS, 2009)."""

    @public
    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._l1, self._l2 = learning_rate, l1_regularization_strength, l2_regularization_strength

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        rate = setting(self._learning_rate, variable.dtype)
        return variable.assign(kept(_shrunk(variable - gradient * rate, rate, self._l1, self._l2), variable))


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad followed by the proximal operator of l1 and l2 penalties, with each element's rate (Duchi and Singer, 2009)."""

    @public
    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        slot = self._slot(variable, "accumulator")
        accumulated = slot + square(gradient)
        rate = setting(self._learning_rate, variable.dtype) * rsqrt(accumulated)
        moved = _shrunk(variable - gradient * rate, rate, self._l1, self._l2)
        return [slot.assign(accumulated), variable.assign(kept(moved, variable))]


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging: variables are computed from the sums of all gradients (Duchi et al., 2011).

    `global_step` counts the steps; it is the variable that `minimize(global_step=…)` increases.
    """

    @public
    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_gradient_squared_accumulator_value must be positive: {initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial_slots = {
            "gradient_accumulator": 0.0,
            "gradient_squared_accumulator": float(initial_gradient_squared_accumulator_value),
        }
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _update(self, variable: Variable, gradient: Tensor, kept: Kept) -> Any:
        rate = setting(self._learning_rate, variable.dtype)
        step = cast(self._global_step, variable.dtype) + 1.0
        sums, squares = self._slot(variable, "gradient_accumulator"), self._slot(variable, "gradient_squared_accumulator")
        new_sums, new_squares = sums + gradient, squares + square(gradient)
        pull = sign(new_sums) * maximum(absolute(new_sums) - step * self._l1, 0.0) if self._l1 > 0 else new_sums
        moved = pull * -rate / (step * rate * self._l2 + sqrt(new_squares))
        updates = [sums.assign(new_sums), squares.assign(new_squares)]
        return [*updates, variable.assign(kept(moved, variable))]
