"""`figures.loss_landscape`: a loss along two directions from the present values of its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.figures.canvas import FAULT, blank


@public
def loss_landscape(
    loss: Callable[[], Any], variables: Any, *, extent: float = 1.0, steps: int = 21, seed: int = 0, directions: Any = None
) -> Any:
    """Draw contours of `loss()` around the present values of `variables`, along two directions.

    `loss` takes no arguments and returns a scalar; it is called `steps` times `steps`. The directions are random, with each
    filter scaled to the norm of the variable's filter (Li et al. 2018, "Visualizing the Loss Landscape of Neural Nets"). For
    exactly two numbers they are the numbers themselves. `directions`, a pair of nests of arrays like `variables`, replaces them.
    Each axis goes from `-extent` to `extent`. The variables' values are restored afterwards, also after an error.

    Returns a matplotlib Figure. ValueError for fewer than 3 `steps`, and for directions of other shapes.
    ImportError without matplotlib (`pip install '.[pictures]'`).

    >>> import gradtape as tf
    >>> x, y = tf.Variable(1.0), tf.Variable(2.0)
    >>> figure = tf.figures.loss_landscape(lambda: x**2 + 10.0 * y**2, [x, y], steps=5)
    >>> figure.axes[0].get_xlabel()
    'direction 1'
    >>> float(x), float(y)
    (1.0, 2.0)
    """
    if steps < 3:
        raise ValueError(f"loss_landscape: received steps={steps}, expected 3 or more.")
    holders = nest.flatten(variables)
    if other := [holder for holder in holders if not hasattr(holder, "assign")]:
        raise TypeError(f"loss_landscape moves variables, received {other[0]!r}. Give the variables of the loss.")
    figure = blank(6.0, 5.0)
    values = [np.array(holder) for holder in holders]
    first, second = _directions(values, seed) if directions is None else [_given(d, values) for d in directions]
    offsets = np.linspace(-extent, extent, steps)
    try:
        heights = [[_height(loss, holders, _moved(values, a, first, b, second)) for a in offsets] for b in offsets]
    finally:
        _assign(holders, values)
    axes = figure.subplots()
    shown = np.ma.masked_invalid(heights)
    if shown.count():
        figure.colorbar(axes.contourf(offsets, offsets, shown, levels=20, cmap="cividis"), ax=axes, label="loss")
    axes.plot(0.0, 0.0, "o", color=FAULT, markeredgecolor="white", label="the present values")
    axes.set_xlabel("direction 1")
    axes.set_ylabel("direction 2")
    axes.legend(fontsize=8)
    return figure


def _given(direction: Any, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the arrays of a user's direction, with the shapes of the values."""
    arrays = [np.asarray(array) for array in nest.flatten(direction)]
    shapes, expected = [array.shape for array in arrays], [value.shape for value in values]
    if shapes != expected:
        raise ValueError(f"loss_landscape: received a direction of shapes {shapes}, expected those of the variables: {expected}.")
    return arrays


def _directions(values: Sequence[np.ndarray], seed: int) -> list[list[np.ndarray]]:
    total = sum([value.size for value in values])
    if total == 2:
        unit = np.eye(2)
        return [_shaped(row, values) for row in unit]
    draw = np.random.default_rng(seed)
    return [[_filterwise(draw.standard_normal(value.shape), value) for value in values] for _ in range(2)]


def _shaped(row: np.ndarray, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    ends = np.cumsum([value.size for value in values])
    return [row[end - value.size : end].reshape(value.shape) for end, value in zip(ends, values, strict=True)]


def _filterwise(direction: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return a direction scaled to the filter norms of `value`; a filter spans all axes but the last, or a whole vector."""
    axes = tuple(range(value.ndim - 1)) if value.ndim > 1 else None
    norms = np.sqrt(np.sum(np.abs(value) ** 2, axis=axes, keepdims=True))
    return direction * norms / np.sqrt(np.sum(direction**2, axis=axes, keepdims=True) + 1e-30)


def _moved(values: Any, a: float, first: Any, b: float, second: Any) -> list[np.ndarray]:
    moved = [v + a * np.asarray(d) + b * np.asarray(e) for v, d, e in zip(values, first, second, strict=True)]
    return [m.astype(v.dtype) for m, v in zip(moved, values, strict=True)]


def _height(loss: Callable[[], Any], holders: Sequence[Any], values: Sequence[np.ndarray]) -> float:
    _assign(holders, values)
    return float(loss())


def _assign(holders: Sequence[Any], values: Sequence[np.ndarray]) -> None:
    for holder, value in zip(holders, values, strict=True):
        holder.assign(value)
