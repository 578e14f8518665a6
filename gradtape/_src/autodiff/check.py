"""Numeric gradient checks for users: does the gradient agree with differences of the function's values?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core import nest
from gradtape._src.core.convert import constant
from gradtape._src.core.errors import public
from gradtape._src.ops.cast import cast
from gradtape._src.ops.reduction import reduce_sum

STEP = {1: 1e-6, 2: 1e-5}


class GradientMismatch(AssertionError):
    """The gradient and the differences of function values do not agree."""


@public
def check_gradients(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("reverse",),
    tolerance: float = 1e-4,
    seed: int = 0,
) -> None:
    """Check the gradients of `f(*args)` against central differences, in float64, along a random direction.

    `args`: arrays or tensors; the floating ones are differentiated (in float64, whatever they were), the others passed
    as they are. `f` returns a tensor or a nest of them. `order`: 1, or 2 to check the gradient's gradient too. `modes`:
    `"reverse"`. `tolerance` is relative to the size of the derivative. Raises GradientMismatch (an AssertionError) that
    names the argument, the index of the worst element, and both numbers.

    >>> tf.autodiff.check_gradients(lambda x: tf.sin(x) * x, [np.array([0.5, 1.5])])
    """
    if order not in (1, 2):
        raise ValueError(f"order must be 1 or 2, received {order!r}.")
    for mode in modes:
        if mode != "reverse":
            raise ValueError(f"unknown mode {mode!r}: gradients can be checked in mode 'reverse'.")
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be a list or tuple of the arguments of f, received {type(args).__name__}.")
    arrays = [_as_array(a) for a in args]
    floating = [i for i, a in enumerate(arrays) if a.dtype == np.float64]
    if not floating:
        raise ValueError("no argument is floating, so there is nothing to differentiate. Give float arrays.")
    random = np.random.default_rng(seed)
    weights = None

    def scalar(*inputs: Any) -> Any:
        """f as one number: the sum of its outputs times fixed random weights."""
        nonlocal weights
        outputs = [o for o in nest.flatten(f(*inputs)) if o.dtype.is_floating]
        if not outputs:
            raise ValueError("f returned no floating tensor, so it has no gradient to check.")
        if weights is None:
            weights = [constant(random.uniform(0.5, 1.5, tuple(o.shape))) for o in outputs]
        total = None
        for output, weight in zip(outputs, weights, strict=True):
            term = reduce_sum(output * cast(weight, output.dtype))
            total = term if total is None else total + term
        return total

    _check(scalar, arrays, floating, 1, tolerance, random)
    if order == 2:
        directions = {i: constant(random.uniform(0.5, 1.5, arrays[i].shape)) for i in floating}

        def slope(*inputs: Any) -> Any:
            """The derivative of f along a fixed direction: its gradient is the second order."""
            with GradientTape() as tape:
                tape.watch([inputs[i] for i in floating])
                value = scalar(*inputs)
            grads = tape.gradient(value, [inputs[i] for i in floating])
            terms = [reduce_sum(g * directions[i]) for i, g in zip(floating, grads, strict=True) if g is not None]
            return sum(terms[1:], terms[0]) if terms else None

        if slope(*[constant(a) for a in arrays]) is not None:
            _check(slope, arrays, floating, 2, tolerance, random)


def _check(
    scalar: Callable[..., Any],
    arrays: list[np.ndarray],
    floating: list[int],
    order: int,
    tolerance: float,
    random: np.random.Generator,
) -> None:
    """Compare the gradient of `scalar` with central differences, first along one direction, then where it went wrong."""
    inputs = [constant(a) for a in arrays]
    sources = [inputs[i] for i in floating]
    with GradientTape() as tape:
        tape.watch(sources)
        value = scalar(*inputs)
    grads = [
        np.zeros(tuple(s.shape)) if g is None else _dense(g) for s, g in zip(sources, tape.gradient(value, sources), strict=True)
    ]
    directions = [random.choice([-1.0, 1.0], arrays[i].shape) * random.uniform(0.5, 1.0, arrays[i].shape) for i in floating]
    analytical = sum(float(np.sum(g * d)) for g, d in zip(grads, directions, strict=True))
    numerical = _difference(scalar, arrays, dict(zip(floating, directions, strict=True)), STEP[order])
    size = sum(float(np.sum(np.abs(g * d))) for g, d in zip(grads, directions, strict=True))
    if abs(analytical - numerical) <= tolerance * max(size, abs(numerical), 1e-3):
        return
    worst = None
    for i, grad in zip(floating, grads, strict=True):
        for index in np.ndindex(arrays[i].shape):
            direction = np.zeros(arrays[i].shape)
            direction[index] = 1.0
            expected = _difference(scalar, arrays, {i: direction}, STEP[order])
            error = abs(expected - grad[index])
            if worst is None or not error <= worst[0]:
                worst = error, i, index, expected, grad[index]
    _, i, index, expected, received = worst if worst else (0, floating[0], (), numerical, analytical)
    raise GradientMismatch(
        f"gradient of order {order} is wrong: argument {i} at index {list(index)}: numerical {expected:.10g}, analytical "
        f"{float(received):.10g}; along a random direction: numerical {numerical:.10g}, analytical {analytical:.10g}."
    )


def _difference(scalar: Callable[..., Any], arrays: list[np.ndarray], directions: dict[int, np.ndarray], step: float) -> float:
    """The central difference of `scalar` along directions, a dict from argument number to array."""
    values = []
    for sign in (1.0, -1.0):
        moved = [a + sign * step * directions[i] if i in directions else a for i, a in enumerate(arrays)]
        values.append(float(scalar(*[constant(a) for a in moved])))
    return (values[0] - values[1]) / (2 * step)


def _as_array(value: Any) -> np.ndarray:
    array = np.array(value.numpy() if hasattr(value, "numpy") else value)
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def _dense(grad: Any) -> np.ndarray:
    """A gradient as a float64 array; IndexedSlices become dense."""
    return np.asarray((grad.to_dense() if hasattr(grad, "to_dense") else grad).numpy(), np.float64)
