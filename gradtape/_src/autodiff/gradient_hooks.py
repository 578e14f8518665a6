"""Gradient hooks of tensors: functions that see a gradient in the backward pass, and may replace it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.autodiff.custom import custom_gradient
from gradtape._src.autodiff.recording import HookedTensor
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.ops.array.shape import identity


class GradientHook:
    """The handle of a registered gradient hook; `remove()` removes it.

    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = 2.0 * x
    ...     hook = y.register_gradient_hook(lambda dy: 0.0 * dy)
    ...     z = y * y
    >>> hook.remove()
    >>> print(tape.gradient(z, x).numpy())
    24.0
    """

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        self._function: Callable[[Tensor], Any] | None = function

    def remove(self) -> None:
        """Remove the hook. A `tf.function` traced with the hook keeps it."""
        self._function = None

    def _passed(self, dy: Tensor) -> Any:
        replaced = None if self._function is None else self._function(dy)
        if isinstance(replaced, Tensor) and (replaced.node.aval.differs(dy.node.aval) or replaced.dtype != dy.dtype):
            raise ValueError(
                f"A gradient hook returned {replaced.dtype.name} of shape {replaced.shape} in the place of a gradient that is "
                f"{dy.dtype.name} of shape {dy.shape}: they must agree."
            )
        return dy if replaced is None else replaced

    def attached(self, x: Tensor) -> Tensor:
        """Return `x` with this hook attached."""
        result: Tensor = custom_gradient(lambda x: (identity(x), self._passed))(x)
        return result


@public
def register_gradient_hook(self: Tensor, function: Callable[[Tensor], Any]) -> GradientHook:
    """Call `function(dy)` when the gradient of this tensor has been computed; return a hook with `remove()`.

    A result other than None replaces the gradient, of this tensor and of all that it was computed from. Only uses of the tensor
    from now on count. The hook registered last runs first. In a `tf.function` the hook is traced once. TypeError if `function` is
    not callable; ValueError if the tensor has no gradient, or if the hook returns another shape or dtype.

    >>> x = tf.Variable([3.0, 4.0])
    >>> with tf.GradientTape() as tape:
    ...     y = x * 2.0
    ...     hook = y.register_gradient_hook(lambda dy: tf.clip_by_value(dy, -1.0, 1.0))
    ...     z = tf.reduce_sum(y * y)
    >>> tape.gradient(z, x).numpy().tolist()
    [2.0, 2.0]
    """
    if not callable(function):
        raise TypeError(
            f"A gradient hook is a function of the gradient, received {function!r} of type {type(function).__name__}."
        )
    if not self.node.aval.inexact:
        raise ValueError(f"A tensor of dtype {self.dtype.name} has no gradient, and so no hook: it must be floating or complex.")
    hook = GradientHook(function)
    before = EagerTensor(self.node)
    hooked: Any = self
    if not isinstance(self, HookedTensor):
        hooked.__class__ = HookedTensor
        hooked.origin, hooked.hooks = before, []
    hooked.hooks.append(hook.attached)
    hooked.hold(hook.attached(before))
    return hook


attach(Tensor, register_gradient_hook=register_gradient_hook)
