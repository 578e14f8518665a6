"""`test.compute_gradient`: the full Jacobian, and one by finite differences to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.jacobian import JacobianRows
from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.derivatives.evaluation import Evaluation


class UnsupportedDtypeError(TypeError, AssertionError):
    """A dtype without derivatives. TensorFlow raises a bare AssertionError."""


@public
def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return `(theoretical, numerical)`: the Jacobians of `f(*x)` by its gradients, and by central differences with step
    `delta`.

    Each is a tuple with one NumPy matrix for each argument, [elements of the result, elements of the argument]. A complex
    number counts as two real ones. `delta`: 1/1024 by default. Arguments keep their dtypes, and differences in float32 are good
    to three digits; `tf.autodiff.check_gradients` works in float64. ValueError where `x` is no list or tuple, TypeError (an
    AssertionError, too) where an argument or the result is not floating or complex. While a graph is built, `f` is called on
    placeholders, and its results are run in the default session.

    >>> theoretical, numerical = tf.test.compute_gradient(lambda x: x * x, [tf.constant([1.0, 2.0])])
    >>> theoretical[0].tolist(), numerical[0].tolist()
    ([[2.0, 0.0], [0.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]])
    """
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"`x` must be a list or tuple of values convertible to a Tensor (arguments to `f`), not a {type(x)}")
    inputs = [tensor(a) for a in x]
    for i, a in enumerate(inputs):
        _check_dtype(a, f"argument {i}")
    step = 1.0 / 1024 if delta is None else delta
    if engine.current_graph() is not None:
        return hooks.graphs.compute_gradient(f, inputs, step)
    return tuple(_theoretical(f, inputs)), tuple(_numerical(f, inputs, step))


def _theoretical(f: Callable[..., Any], inputs: Sequence[Tensor]) -> list[np.ndarray]:
    at = Evaluation(f, list(inputs))
    y = one(at.targets.leaves)
    _check_dtype(y, "y, the result of f")
    kind = _real(y)
    units = np.eye(y.node.aval.size * _width(y), dtype=kind)
    found: list[Any] = [None] * len(inputs)
    if units.size:
        seeds = constant(units.view(y.dtype.numpy).reshape(-1, *y.shape))
        found = at.tape.stacked_gradients([y], at.active, [seeds], JacobianRows("reverse"))
    else:
        at.tape.gradient(y, at.active)  # raises an error if a custom gradient has a wrong shape
    results = []
    for a, rows in zip(inputs, found, strict=True):
        width = a.node.aval.size * _width(a)
        if rows is None:
            results.append(np.zeros((len(units), width), _real(a)))
        else:
            results.append(np.ascontiguousarray(rows.numpy()).reshape(len(units), -1).view(_real(a)))
    return results


def _numerical(f: Callable[..., Any], inputs: Sequence[Tensor], delta: float) -> list[np.ndarray]:
    arrays = [a.numpy() for a in inputs]
    results = []
    for i, a in enumerate(inputs):
        if not a.node.aval.size:
            y = tensor(f(*inputs))
            results.append(np.zeros((y.node.aval.size * _width(y), 0), _real(y)))
            continue
        columns = []
        for element in range(a.node.aval.size * _width(a)):
            ends = []
            for step in (delta, -delta):
                moved = np.array(arrays[i])
                moved.reshape(-1).view(_real(a))[element] += step
                y = tensor(f(*[constant(moved) if k == i else b for k, b in enumerate(inputs)]))
                ends.append(np.ascontiguousarray(y.numpy()).reshape(-1).view(_real(y)))
            columns.append((ends[0] - ends[1]) / np.asarray(2 * delta, ends[0].dtype))
        results.append(np.stack(columns, 1))
    return results


def _check_dtype(x: Any, what: str) -> None:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise UnsupportedDtypeError(
            f"Cannot compute gradient for unsupported type {x.dtype.name} of {what}. Give floats, or tf.cast them inside of f."
        )


def one(targets: Sequence[Any]) -> Any:
    if len(targets) != 1:
        raise ValueError(f"f must return one tensor, and it returned {len(targets)}. Stack them, or use check_gradients.")
    return targets[0]


def _real(x: Any) -> np.dtype:
    return np.zeros(0, x.dtype.numpy).real.dtype


def _width(x: Any) -> int:
    return 2 if x.dtype.is_complex else 1
