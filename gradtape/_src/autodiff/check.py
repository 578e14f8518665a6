"""Numeric gradient checks for users: comparison of derivatives with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.forward import ForwardAccumulator
from gradtape._src.autodiff.recording import inexact
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.math.arithmetic import add_n
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.reduction import reduce_sum

STEP = {1: 1e-6, 2: 1e-5}
MODES = ("reverse", "forward")


class GradientMismatch(AssertionError):
    """The error for a gradient that disagrees with finite differences.

    >>> @tf.custom_gradient
    ... def square(x):
    ...     return x * x, lambda dy: 2.001 * x * dy
    >>> try:
    ...     tf.autodiff.check_gradients(square, [np.array([3.0])])
    ... except tf.autodiff.GradientMismatch as error:
    ...     print(str(error).partition(":")[0])
    gradient of order 1 is wrong
    """


@public
def check_gradients(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = MODES,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> list[str]:
    """Check the derivatives of `f(*args)` against central differences, in float64, along random directions.

    Returns the names of the arguments that were not checked. `args`: arrays, tensors, or nests of them. Floating and complex ones
    are differentiated in 64 bits, others are passed unchanged. `f` returns a tensor or a nest of tensors. `order`: 1, or 2 to
    check the gradient's gradient, too. `modes`: "reverse" checks each element of the gradient with one random direction,
    "forward" checks the product with that direction. `tolerance` is relative to the size of the derivative. Raises
    GradientMismatch (an AssertionError) with the argument, the index of the worst element, and both numbers. ValueError if there
    is nothing to check, or if repeated calls of `f` return different values.

    >>> tf.autodiff.check_gradients(lambda x: tf.sin(x) * x, [np.array([0.5, 1.5])])
    []
    >>> tf.autodiff.check_gradients(lambda x, i: tf.gather(x, i), [np.array([0.5, 1.5]), np.array([1])])
    ['argument 1']
    """
    modes = (modes,) if isinstance(modes, str) else modes
    if order not in STEP:
        raise ValueError(f"order must be 1 or 2, received {order!r}.")
    for mode in modes:
        if mode not in MODES:
            raise ValueError(f"unknown mode {mode!r}: gradients can be checked in the modes 'reverse' and 'forward'.")
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be a list or tuple of the arguments of f, received {type(args).__name__}.")
    check = _Check(f, args, tolerance, np.random.default_rng(seed))
    check.derivatives(check.value, 1, modes)
    if order == 2 and check.has_gradient():
        check.derivatives(check.slope, 2, modes)
    return [name for i, name in enumerate(check.names) if i not in check.active]


class _Check:
    """A scalar function of the differentiated arrays, with random directions."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any], tolerance: float, random: np.random.Generator) -> None:
        self.f, self.tolerance, self.random = f, tolerance, random
        leaves, self.spec = nest.flatten_with_spec(tuple(args))
        self.names = [_name(path) for path in self.spec.paths()]
        self.arrays = [_as_array(a) for a in leaves]
        self.active = [i for i, a in enumerate(self.arrays) if a.dtype.kind in "fc"]
        if not self.active:
            raise ValueError("no argument is floating, so there is nothing to differentiate. Give float arrays.")
        self.weights: list[Any] = []
        self._check_deterministic()
        self.along = [constant(self._drawn(self.arrays[i], 0.5, 1.5)) for i in self.active]

    def _drawn(self, like: np.ndarray, low: float, high: float) -> np.ndarray:
        drawn = self.random.uniform(low, high, like.shape)
        return drawn + 1j * self.random.uniform(low, high, like.shape) if like.dtype.kind == "c" else drawn

    def _results(self, inputs: Sequence[Tensor]) -> list[Any]:
        results = nest.flatten(self.f(*nest.unflatten(self.spec, inputs)))
        for result in results:
            if not isinstance(result, (Tensor, Stored, IndexedSlices)):
                raise TypeError(f"f must return a tensor, or a nest of them; it returned {result!r}, a {type(result).__name__}.")
        return [o for o in results if inexact(o.dtype)]

    def _check_deterministic(self) -> None:
        once, again = [[_dense(o) for o in self._results([constant(a) for a in self.arrays])] for _ in range(2)]
        if not once:
            raise ValueError("f returned no floating tensor, so it has no gradient to check.")
        for i, (first, second) in enumerate(zip(once, again, strict=True)):
            if first.shape != second.shape or not np.array_equal(first, second, equal_nan=True):
                name = getattr(self.f, "__name__", repr(self.f))
                raise ValueError(
                    f"{name} is not deterministic: its result {i} differs between two calls with the same arguments, so that "
                    "differences say nothing. Does it draw random numbers (tf.random.stateless_* take a seed), or assign?"
                )
            if not np.isfinite(first).all():
                raise ValueError(f"The result {i} of f is not finite at these arguments, so that differences say nothing.")
        self.weights = [constant(self._drawn(first, 0.5, 1.5)) for first in once]

    def value(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return the sum of f's outputs with fixed random weights."""
        return _total([_inner(w, o) for w, o in zip(self.weights, self._results(inputs), strict=True)])

    def slope(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return f's derivative along a fixed direction; its derivative is of second order."""
        grads = self._gradient(self.value, inputs)
        return _total([_inner(d, g) for d, g in zip(self.along, grads, strict=True) if g is not None])

    def has_gradient(self) -> bool:
        """Return whether any argument has a gradient."""
        return any(g is not None for g in self._gradient(self.value, [constant(a) for a in self.arrays]))

    def _gradient(self, scalar: Callable[..., Tensor], inputs: Sequence[Tensor]) -> list[Any]:
        sources = [inputs[i] for i in self.active]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            value = scalar(inputs)
        found: list[Any] = tape.gradient(value, sources)
        return found

    def derivatives(self, scalar: Callable[..., Tensor], order: int, modes: Sequence[str]) -> None:
        """Compare the derivatives of `scalar` with central differences along one direction; if they differ, for each element."""
        inputs = [constant(a) for a in self.arrays]
        directions = {
            i: self.random.choice([-1.0, 1.0], self.arrays[i].shape) * self._drawn(self.arrays[i], 0.5, 1.0) for i in self.active
        }
        numerical = self._difference(scalar, directions, STEP[order])
        grads = {}
        for i, g in zip(self.active, self._gradient(scalar, inputs), strict=True):
            grads[i] = np.zeros_like(self.arrays[i]) if g is None else _dense(g)
        terms = {i: np.real(np.conj(grads[i]) * directions[i]) for i in self.active}
        size = max(sum(float(np.sum(np.abs(t))) for t in terms.values()), abs(numerical), 1e-3)
        if "reverse" in modes:
            analytical = sum(float(np.sum(t)) for t in terms.values())
            if not abs(analytical - numerical) <= self.tolerance * size:
                self._fail(scalar, grads, order, numerical, analytical)
        if "forward" in modes:
            primals, tangents = [inputs[i] for i in self.active], [constant(directions[i]) for i in self.active]
            with ForwardAccumulator(primals, tangents) as accumulator:
                value = scalar(inputs)
            pushed = float(accumulator.jvp(value, unconnected_gradients="zero"))
            if not abs(pushed - numerical) <= self.tolerance * size:
                raise GradientMismatch(
                    f"the forward derivative of order {order} is wrong: along a random direction: numerical {numerical:.10g}, "
                    f"analytical {pushed:.10g}."
                )

    def _fail(
        self, scalar: Callable[..., Tensor], grads: dict[int, np.ndarray], order: int, numerical: float, analytical: float
    ) -> None:
        worst = None
        for i in self.active:
            for index in np.ndindex(self.arrays[i].shape):
                for unit in (1.0, 1j) if self.arrays[i].dtype.kind == "c" else (1.0,):
                    direction = np.zeros_like(self.arrays[i])
                    direction[index] = unit
                    expected = self._difference(scalar, {i: direction}, STEP[order])
                    received = float(np.real(np.conj(grads[i][index]) * unit))
                    error = abs(expected - received)
                    if worst is None or not error <= worst[0]:
                        worst = error, i, index, unit, expected, received
        _, i, index, unit, expected, received = worst or (0, self.active[0], (), 1.0, numerical, analytical)
        part = ", imaginary part" if unit == 1j else ""
        raise GradientMismatch(
            f"gradient of order {order} is wrong: {self.names[i]} at index {list(index)}{part}: numerical {expected:.10g}, "
            f"analytical {received:.10g}; along a random direction: numerical {numerical:.10g}, analytical {analytical:.10g}."
        )

    def _difference(self, scalar: Callable[..., Tensor], directions: dict[int, np.ndarray], step: float) -> float:
        """Return the central difference of `scalar` along directions."""
        ends = []
        for sign in (1.0, -1.0):
            moved = [a + sign * step * directions[i] if i in directions else a for i, a in enumerate(self.arrays)]
            ends.append(float(scalar([constant(a) for a in moved])))
        return (ends[0] - ends[1]) / (2 * step)


def _name(path: tuple[Any, ...]) -> str:
    return f"argument {path[0]}" + "".join([f"[{part!r}]" for part in path[1:]])


def _inner(weight: Tensor, output: Any) -> Tensor:
    """Return the real part of sum(conj(weight) · output), in float64."""
    if output.dtype.is_complex:
        return real(reduce_sum(conj(weight) * cast(output, weight.dtype)))
    result: Tensor = reduce_sum(cast(output, weight.dtype) * weight)
    return result


def _total(terms: Sequence[Tensor]) -> Tensor:
    result: Tensor = terms[0] if len(terms) == 1 else add_n(terms)
    return result


def _as_array(value: Any) -> np.ndarray:
    array = np.array(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def _dense(x: Any) -> np.ndarray:
    return _as_array(x.to_dense() if hasattr(x, "to_dense") else x)
