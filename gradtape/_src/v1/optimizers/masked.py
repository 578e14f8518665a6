"""Updates of selected elements by any optimizer: frozen elements keep their values and their slots."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to, zeros
from gradtape._src.ops.math.elementary import pow as power
from gradtape._src.v1.graphs.graph import in_graph
from gradtape._src.v1.graphs.names import NameScope
from gradtape._src.v1.optimizers.first import Optimizer, setting
from gradtape._src.v1.optimizers.rules import AdamOptimizer

OF_ALL = ("_iterations", "_learning_rate")  # numbers of a Keras optimizer that all elements share


class MaskedUpdate:
    """An optimizer wrapper that updates only elements selected by a mask, which may change in every step.

    A frozen element keeps its value and its slots, so that momenta neither decay nor move. Steps, by which Adam corrects the bias
    of its moments, are counted per element. So a released element continues where it was frozen, as if elements with equal
    histories had an optimizer of their own. The gradient of a frozen element counts as 0 in norms for clipping, and IndexedSlices
    are made dense.

    `optimizer`: one of Keras or of `tf.compat.v1.train`. Learning-rate schedules use the optimizer's own step. ValueError for
    optimizers that accumulate gradients over steps, and for Adafactor. It works in eager code and functions, not in graphs. A
    number that an optimizer keeps for all elements (Nadam's product of momenta) is kept per element.

    >>> x = tf.Variable([1.0, 1.0, 1.0, 1.0])
    >>> optimizer = tf.optimizers.MaskedUpdate(tf.compat.v1.train.AdamOptimizer(0.1))
    >>> for mask in ([True, True, False, False], [True, False, True, False]):
    ...     optimizer.apply_gradients([(2 * x, x)], masks=[mask])
    >>> [round(float(v), 3) for v in x.numpy()]
    [0.8, 0.9, 0.9, 1.0]
    """

    @public
    def __init__(self, optimizer: Any) -> None:
        keras = all(hasattr(optimizer, name) for name in ("update_step", "iterations", "apply_gradients"))
        if not keras and not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"MaskedUpdate takes an optimizer of Keras or of tf.compat.v1.train, received {optimizer!r} of type "
                f"{type(optimizer).__name__}."
            )
        if any(kind.__name__ == "Adafactor" for kind in type(optimizer).__mro__):
            raise ValueError(
                "MaskedUpdate cannot wrap Adafactor: its moments and the size of its steps are those of rows, columns and of the "
                "whole variable, which frozen elements would change. Take Adam, RMSprop or another optimizer of elements."
            )
        self.optimizer = optimizer
        self._apply = _apply_keras if keras else _apply_first
        self._steps: dict[int, tuple[Any, Variable]] = {}
        self._numbers: dict[int, dict[str, Any]] = {}

    @public
    def apply_gradients(self, grads_and_vars: Any, masks: Any, **options: Any) -> None:
        """Update by `[(gradient, variable), …]` the elements for which the variable's mask is True.

        `masks`: for each pair a boolean tensor or array with the variable's shape, a single boolean, or None for True. A gradient
        of None changes nothing. `options` are passed to the optimizer's `apply_gradients`. TypeError for a mask that is not
        boolean, ValueError for one of another shape.
        """
        pairs = [(d, v) for d, v in grads_and_vars]
        for _, variable in pairs:
            if not isinstance(variable, Stored):
                raise TypeError(
                    f"grads_and_vars holds pairs of a gradient and its variable, received {variable!r} for a variable."
                )
        masks = list(masks)
        if len(masks) != len(pairs):
            raise ValueError(f"masks has {len(masks)} entries for {len(pairs)} variables: give one for each, or None.")
        if in_graph() is not None:
            raise RuntimeError("MaskedUpdate works in eager code and in functions; this is a graph of TensorFlow 1.")
        changes = [
            _Change(_masked(d, mask, v), v, mask, self.steps(v))
            for (d, v), mask in zip(pairs, [_mask(m, v) for m, (_, v) in zip(masks, pairs, strict=True)], strict=True)
            if d is not None
        ]
        if not changes:
            reasons = hooks.gradients.reasons([v for _, v in pairs])
            raise ValueError(f"No gradients provided for any variable: all of them are None.{reasons}")
        self._apply(self, changes, options)
        for change in changes:
            change.steps.assign_add(cast(change.mask, change.steps.dtype))

    def steps(self, variable: Any) -> Variable:
        """Return the number of steps per element of a variable: an int32 variable of the same shape."""
        known = self._steps.get(id(variable))
        if known is None:
            counter = Variable(zeros(tuple(variable.shape), dtypes.int32), trainable=False, name="steps")
            known = self._steps[id(variable)] = variable, counter
        return known[1]

    def _numbers_of(self, variable: Any) -> dict[str, Any]:
        """Return the numbers shared by all elements in a Keras optimizer, as one per element, by attribute."""
        known = self._numbers.get(id(variable))
        if known is None:
            kind = type(self.optimizer.iterations)
            shared = {
                name: number
                for name, number in vars(self.optimizer).items()
                if isinstance(number, kind) and not tuple(number.shape) and name not in OF_ALL
            }
            shape = tuple(variable.shape)
            known = self._numbers[id(variable)] = {
                name: kind(broadcast_to(tensor(number), shape), trainable=False, name=number.name)
                for name, number in shared.items()
            }
        return known


class _Change:
    """The change of one variable."""

    __slots__ = ("gradient", "mask", "numbers", "steps", "variable")

    def __init__(self, gradient: Tensor, variable: Any, mask: Tensor, steps: Variable) -> None:
        self.gradient, self.variable, self.mask, self.steps = gradient, variable, mask, steps
        self.numbers: dict[str, Any] = {}


def _mask(mask: Any, variable: Any) -> Tensor:
    """Return a mask as a tensor of the variable's shape."""
    shape = tuple(variable.shape)
    given = tensor(True if mask is None else mask)
    if given.dtype != dtypes.bool:
        raise TypeError(f"The mask of {variable.name} has dtype {given.dtype.name}: a mask is boolean, True where elements move.")
    if tuple(extents_of(given)) not in (shape, ()):
        raise ValueError(
            f"The mask of {variable.name} has shape {given.shape}, the variable {shape}: give that shape, or one boolean."
        )
    full: Tensor = broadcast_to(given, shape)
    return full


def _masked(gradient: Any, mask: Tensor, variable: Any) -> Tensor:
    dense = gradient.to_dense() if isinstance(gradient, IndexedSlices) else tensor(gradient)
    if extents_of(dense) != extents_of(mask):
        raise ValueError(f"The gradient of {variable.name} has shape {dense.shape}, the variable {mask.shape}.")
    masked: Tensor = where(mask, dense, tensor(0, dense.dtype))
    return masked


@contextlib.contextmanager
def _replaced(owner: Any, **attributes: Any) -> Iterator[None]:
    """Open a context in which attributes of an object have other values."""
    own = vars(owner)
    before = {name: own[name] for name in attributes if name in own}
    own.update(attributes)  # Keras's __setattr__ would track variables
    try:
        yield
    finally:
        for name in attributes:
            if name in before:
                own[name] = before[name]
            else:
                own.pop(name, None)


@contextlib.contextmanager
def _frozen(variables: Sequence[tuple[Any, Tensor]]) -> Iterator[None]:
    """Open a context after which variables have their earlier values where the mask is False."""
    before = [tensor(variable) for variable, _ in variables]
    yield
    for (variable, mask), old in zip(variables, before, strict=True):
        variable.assign(where(mask, tensor(variable), old))


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow 1's optimizers


def _apply_first(masked: MaskedUpdate, changes: Sequence[_Change], options: dict[str, Any]) -> None:
    optimizer = masked.optimizer
    with NameScope(""):
        optimizer._create_slots([c.variable for c in changes])
    slots = [(optimizer.get_slot(c.variable, name), c.mask) for c in changes for name in optimizer.get_slot_names()]
    held = [(slot, mask) for slot, mask in slots if slot is not None]
    steps = {c.variable._uid: c.steps for c in changes}
    update = optimizer._update

    def counted(variable: Variable, gradient: Tensor, kept: Callable[[Any, Any], Tensor]) -> Any:
        """Run the update rule with each element's own powers of decays."""
        if not isinstance(optimizer, AdamOptimizer):
            return update(variable, gradient, kept)
        number = cast(steps[variable._uid] + 1, variable.dtype)
        decays = [tensor(setting(b, variable.dtype), variable.dtype) for b in (optimizer._beta1, optimizer._beta2)]
        with _replaced(optimizer, _powers=tuple([power(decay, number) for decay in decays])):
            return update(variable, gradient, kept)

    with _frozen([(c.variable, c.mask) for c in changes] + held), _replaced(optimizer, _update=counted):
        optimizer.apply_gradients([(c.gradient, c.variable) for c in changes], **options)


# ---------------------------------------------------------------------------------------------------------------------
# Keras's optimizers


def _apply_keras(masked: MaskedUpdate, changes: Sequence[_Change], options: dict[str, Any]) -> None:
    optimizer = masked.optimizer
    if getattr(optimizer, "gradient_accumulation_steps", None):
        raise ValueError(
            "MaskedUpdate cannot wrap an optimizer with gradient_accumulation_steps: which mask would hold for the sum? Sum the "
            "gradients yourself."
        )
    of = {id(c.variable): c for c in changes}
    update = optimizer._backend_update_step

    def update_one(gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Run the update rule of one variable with each element's own steps, and assignments restricted by the mask."""
        change = of[id(variable)]

        def assign(to: Any, value: Any) -> None:
            shape, own = tuple(to.shape), tuple(variable.shape)
            if shape == own:
                value = where(change.mask, tensor(value, tensor(to).dtype), tensor(to))
            elif shape:
                raise ValueError(
                    f"{type(optimizer).__name__} keeps {to.name} of shape {shape} for a variable of shape {own}: moments that "
                    "elements share cannot be frozen for some of them."
                )
            to.assign(value)

        def assign_add(to: Any, value: Any) -> None:
            assign(to, tensor(to) + value)

        def assign_sub(to: Any, value: Any) -> None:
            assign(to, tensor(to) - value)

        writes = {"assign": assign, "assign_add": assign_add, "assign_sub": assign_sub}
        with _replaced(optimizer, _iterations=change.steps, **change.numbers, **writes):
            update([gradient], [variable], learning_rate)

    def update_step(gradients: Any, variables: Any, learning_rate: Any) -> None:
        for gradient, variable in zip(gradients, variables, strict=True):
            update_one(gradient, variable, learning_rate)

    if not optimizer.built:
        optimizer.build([c.variable for c in changes])
    held = [(c.variable, c.mask) for c in changes]  # weight decay and averages bypass update_step
    for variable, average in zip(
        optimizer._trainable_variables, getattr(optimizer, "_model_variables_moving_average", []), strict=False
    ):
        if id(variable) in of:
            held.append((average, of[id(variable)].mask))
    for change in changes:
        change.numbers = masked._numbers_of(change.variable)
    with _frozen(held), _replaced(optimizer, _backend_update_step=update_step):
        optimizer.apply_gradients([(c.gradient, c.variable) for c in changes], **options)
