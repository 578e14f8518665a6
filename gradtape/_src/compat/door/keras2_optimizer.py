"""The optimizer of Keras 2, a base class for users' optimizers, derived from Keras 3's."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.public import public


def _taking_a_rate(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras 2's `update_step` for calls by Keras 3, which pass the learning rate."""

    @functools.wraps(step)
    def update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any = None) -> Any:
        return step(self, gradient, variable)

    return update_step


def _gradients(loss: Any, var_list: Any, tape: Any) -> list[tuple[Any, Any]]:
    if not callable(loss):
        if tape is None:
            raise ValueError(f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss}, tape={tape}.")
    else:
        tape = tape or GradientTape()
        with tape:
            loss = loss()
    variables = var_list() if callable(var_list) else var_list
    return list(zip(tape.gradient(loss, variables), variables, strict=True))


def _kind(base: Any) -> Any:
    """Return the metaclass of Keras 2's `Optimizer`, for which all instances of `base` are its instances."""

    class Kind(type(base)):  # type: ignore[misc]
        @public
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, base) if cls.__bases__ == (base,) else type.__instancecheck__(cls, instance)

        @public
        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, base) if cls.__bases__ == (base,) else type.__subclasscheck__(cls, subclass)

    return Kind


def optimizer(base: Any) -> type:
    """Return Keras 2's `Optimizer` for Keras 3's, `base`. All optimizers are instances of it."""

    class Optimizer(base, metaclass=_kind(base)):  # type: ignore[metaclass]
        """The base class of users' optimizers, as in Keras 2.

        A subclass sets `_learning_rate` to `_build_learning_rate(learning_rate)` in its constructor. Its `build` creates
        variables with `add_variable_from_reference`, and `update_step(gradient, variable)` updates a variable.
        """

        @public
        def __init__(
            self,
            name: str,
            weight_decay: float | None = 0,
            *,
            jit_compile: bool = True,
            is_legacy_optimizer: Any = None,
            **options: Any,
        ) -> None:
            super().__init__(learning_rate=0.001, weight_decay=weight_decay or None, name=name, **options)
            self.jit_compile = jit_compile

        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            step = vars(cls).get("update_step")
            if step is not None and "learning_rate" not in inspect.signature(step).parameters:
                cls.update_step = _taking_a_rate(step)

        def _build_learning_rate(self, learning_rate: Any) -> Any:
            if callable(learning_rate):
                return learning_rate
            self.learning_rate = learning_rate
            return self._learning_rate

        _index_dict = property(operator.attrgetter("_trainable_variables_indices"))

        @public
        def add_variable_from_reference(
            self,
            model_variable: Any = None,
            variable_name: str | None = None,
            shape: Any = None,
            initial_value: Any = None,
            **kwargs: Any,
        ) -> Any:
            """Create a variable for a variable of the model, by default zeros of its shape and dtype."""
            renamed = {"reference_variable": model_variable, "name": variable_name}
            kwargs |= {name: value for name, value in renamed.items() if value is not None}
            if shape is not None:
                made = self.add_variable(shape, dtype=kwargs["reference_variable"].dtype, name=kwargs.get("name"))
            else:
                made = super().add_variable_from_reference(**kwargs)
            if initial_value is not None:
                made.assign(initial_value)
            return made

        @public
        def compute_gradients(self, loss: Any, var_list: Any, tape: Any = None) -> list[tuple[Any, Any]]:
            """Return the pairs (gradient, variable) of a loss on `tape`, or of a function that returns the loss."""
            return _gradients(loss, var_list, tape)

        @public
        def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> Any:
            """Apply the gradients of a loss, see `compute_gradients`."""
            return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

        @public
        def get_config(self) -> dict[str, Any]:
            """Return the arguments of the constructor."""
            config = super().get_config()
            del config["learning_rate"]
            return {**config, "jit_compile": self.jit_compile}

    return Optimizer
