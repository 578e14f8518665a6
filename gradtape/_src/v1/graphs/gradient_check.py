"""`compat.v1.test.compute_gradient` and `compute_gradient_error`: a graph's gradient compared with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.derivatives.gradient_check import one
from gradtape._src.ops.array.shape import identity
from gradtape._src.v1.graphs.gradients import gradients
from gradtape._src.v1.graphs.graph import get_default_session
from gradtape._src.v1.graphs.placeholders import placeholder


def _real(tensor: Any) -> Any:
    return np.zeros(0, tensor.dtype.numpy).real.dtype


def _jacobian_of_gradient(
    x: Any, x_data: np.ndarray, dx: Any, dy: Any, dy_shape: Sequence[int], extra: dict[Any, Any]
) -> np.ndarray:
    """Return the Jacobian by the gradient: a column for each element of y. Complex numbers count as two real ones."""
    session = get_default_session()
    kind = _real(x)
    flow = np.zeros(dy_shape, dy.dtype.numpy)
    elements = flow.reshape(-1).view(_real(dy))
    result = np.zeros((x_data.size * (2 if x.dtype.is_complex else 1), elements.size), kind)
    rows = math.prod(x_data.shape[1:])
    for column in range(elements.size):
        elements[column] = 1
        feed = {**extra, x: x_data, dy: flow}
        if isinstance(dx, IndexedSlices):
            indices, values = session.run([dx.indices, dx.values], feed)
            for index, value in zip(indices, values, strict=True):
                result[index * rows : (index + 1) * rows, column] += value.ravel()
        else:
            result[:, column] = np.ascontiguousarray(session.run(dx, feed)).reshape(-1).view(kind)
        elements[column] = 0
    return result


def _jacobian_of_differences(x: Any, x_data: np.ndarray, y: Any, y_shape: Any, delta: float, extra: dict[Any, Any]) -> np.ndarray:
    """Return the Jacobian by central differences: a row for each element of x."""
    session = get_default_session()
    x_data = np.asarray(x_data, x.dtype.numpy)
    kind, y_kind = _real(x), _real(y)
    scale = np.asarray(2 * delta, y_kind)[()]
    rows = []
    for row in range(x_data.size * (2 if x.dtype.is_complex else 1)):
        values = []
        for step in (delta, -delta):
            moved = x_data.copy()
            moved.reshape(-1).view(kind)[row] += step
            values.append(session.run(y, {**extra, x: moved}))
        rows.append(np.ascontiguousarray((values[0] - values[1]) / scale).reshape(-1).view(y_kind))
    return np.array(rows, kind).reshape(len(rows), math.prod(y_shape) * (2 if y.dtype.is_complex else 1))


def _pair(x: Any, x_shape: Any, y: Any, y_shape: Any, x_init_value: Any, delta: float, extra: dict[Any, Any]) -> Any:
    if get_default_session() is None:
        raise ValueError("compute_gradient needs a default session: call it inside of `with tf.compat.v1.Session():`.")
    for name, tensor in (("x", x), ("y", y)):
        assert tensor.dtype.is_floating or tensor.dtype.is_complex, f"Don't support type {tensor.dtype.name} for {name}"
    with x.graph.as_default():
        dy = constant(1.0, shape=y_shape, dtype=y.dtype)
        (dx,) = gradients(y, x, identity(dy))
    if x_init_value is None:
        data = np.random.random_sample(x_shape).astype(x.dtype.numpy)
        if x.dtype.is_complex:
            data.imag = np.random.random_sample(x_shape)
    else:
        data = x_init_value
        assert list(x_shape) == list(data.shape), f"x_shape = {x_shape}, init_data shape = {list(data.shape)}"
    assert dx is not None, "dx = None: y does not depend on x, so there is no gradient to compare."
    analytical = _jacobian_of_gradient(x, data, dx, dy, y_shape, extra)
    return analytical, _jacobian_of_differences(x, data, y, y_shape, delta, extra)


@public
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return `(theoretical, numerical)` Jacobians of `y` with respect to `x`, [x's size, y's size], in the default session.

    `x_init_value` is the point (random by default), `delta` the step of differences. For a list `x`, a list of pairs is returned.
    AssertionError if `y` does not depend on `x`.
    """
    for target in init_targets or ():
        target.run()
    extra = extra_feed_dict or {}
    if isinstance(x, list):
        values = x_init_value or [None] * len(x)
        return [_pair(a, s, y, y_shape, v, delta, extra) for a, s, v in zip(x, x_shape, values, strict=True)]
    return _pair(x, x_shape, y, y_shape, x_init_value, delta, extra)


@public
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return the largest difference between the two Jacobians of `compute_gradient`."""
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    error = 0.0
    for analytical, numerical in pairs if isinstance(pairs, list) else [pairs]:
        if analytical.size or numerical.size:
            error = max(error, np.abs(analytical - numerical).max())
    return error


def in_session(
    f: Callable[..., Any], inputs: Sequence[Tensor], delta: float
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return the analytical and numerical Jacobians of a graph's ops, at the inputs' values in the default session."""
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient in a graph needs a default session: call it inside of `with tf.compat.v1.Session():`.")
    values = [np.asarray(session.run(a)) for a in inputs]
    fed = [placeholder(a.dtype, value.shape) for a, value in zip(inputs, values, strict=True)]
    y = one(nest.flatten(f(*fed)))
    feeds = dict(zip(fed, values, strict=True))
    extents = np.shape(session.run(y, feeds))
    pairs = compute_gradient(fed, [value.shape for value in values], y, extents, values, delta, extra_feed_dict=feeds)
    return tuple([theoretical.T for theoretical, _ in pairs]), tuple([numerical.T for _, numerical in pairs])
