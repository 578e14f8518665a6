"""Derivatives along a direction, of any order, and the Laplacian: forward mode in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.autodiff.forward import ForwardAccumulator
from gradtape._src.autodiff.vectorized import call_vectorized, check_chunk
from gradtape._src.core.base.public import public
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.derivatives.collapsed import summed_over
from gradtape._src.derivatives.evaluation import check_function, traced
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.shape import identity, ones, reshape
from gradtape._src.ops.math.reduction import reduce_sum


def _point(f: Callable[[Any], Any], x: Any, what: str) -> Tensor:
    """Copy a point to a tensor of its own; raise TypeError or ValueError for a bad call."""
    check_function(f)
    point: Tensor = identity(tensor(x))
    if not point.dtype.is_floating:
        raise ValueError(f"tf.autodiff.{what} is with respect to floating numbers, received {point.dtype.name}.")
    return point


def _along(f: Callable[[Any], Any], x: Tensor, direction: Tensor, order: int) -> list[Any]:
    """Return the derivatives of `f` at `x` along a direction, from order 0 on."""
    if order == 0:
        result = f(x)
        leaves = [dense(y) if isinstance(y, IndexedSlices) else tensor(y) for y in nest.flatten(result)]
        if not all(y.dtype.is_floating or y.dtype.is_complex for y in leaves) or not leaves:
            raise ValueError(f"f must return floating tensors; it returned {result!r}.")
        return [nest.pack_sequence_as(result, leaves)]
    with ForwardAccumulator(x, direction) as accumulator:
        found = _along(f, x, direction, order - 1)
    return [*found, accumulator.jvp(found[-1], unconnected_gradients="zero")]


@public
def derivatives(f: Callable[[Any], Any], x: Any, order: int, direction: Any = None) -> list[Any]:
    """Return the derivatives of `t ↦ f(x + t · direction)` at t = 0, of the orders 0 to `order`: a list of results like `f(x)`.

    `x`: a floating tensor. `f`: returns a tensor or a nest of them, all floating or complex. `direction`: of the shape of `x`.
    None stands for ones: an `f` that works element by element, or row by row, has its derivatives at each. It is forward mode in
    forward mode: `f` runs once, and each order costs about twice as much as the one below. ValueError for a negative order.

    >>> [d.numpy().tolist() for d in tf.autodiff.derivatives(lambda x: x**3, tf.constant([1.0, 2.0]), 3)]
    [[1.0, 8.0], [3.0, 12.0], [6.0, 12.0], [6.0, 6.0]]
    """
    point = _point(f, x, "derivatives")
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"order must be an int of 0 or more, received {order!r}.")
    along = ones(extents_of(point), point.dtype) if direction is None else tensor(direction, point.dtype)
    if extents_of(along) != extents_of(point):
        raise ValueError(f"direction must have the shape of x, {point.shape}, received shape {along.shape}.")
    return _along(f, point, along, order)


@public
def laplacian(f: Callable[[Any], Any], x: Any, chunk_size: int | None = None) -> Tensor:
    """Return the Laplacian of `f` at `x`: Σ ∂²f / ∂xᵢ² over all elements of `x`, for each element of the one result of `f`.

    Second derivatives along the unit vectors are taken in forward mode, so the Hessian is never made: all at once, where linear
    ops take one sum of them (collapsed Taylor mode), or `chunk_size` at a time where memory is short. It has derivatives of any
    order with respect to `x` and to the variables and tensors that `f` uses. For a batch of points, use `tf.vectorized_map`.
    Raises NotImplementedError if `f` needs concrete values, ValueError if it has effects.

    >>> potential = lambda x: 1.0 / tf.norm(x)  # harmonic in three dimensions
    >>> print(round(abs(float(tf.autodiff.laplacian(potential, tf.constant([1.0, 2.0, 2.0])))), 5))
    0.0
    >>> print(tf.autodiff.laplacian(lambda x: x**3, tf.constant([1.0, 2.0])).numpy())
    [ 6. 12.]
    """
    point = _point(f, x, "laplacian")
    check_chunk(chunk_size)
    at, along = [leaf(point.node.aval, None) for _ in range(2)]

    def second() -> Tensor:
        found = _along(f, EagerTensor(at), EagerTensor(along), 2)[-1]
        if not isinstance(found, Tensor):
            raise ValueError(f"tf.autodiff.laplacian needs a function that returns one tensor; it returned {found!r}.")
        return found

    body = traced(second, [at, along], "The function", draws=True)
    n = point.node.aval.size
    units = reshape(eye(n, dtype=point.dtype), (n, *extents_of(point)))
    inputs = body.inputs([point.node, units.node])
    if chunk_size is None:
        return summed_over(body.program, inputs, 1)
    (found,) = call_vectorized(body.program, inputs, [False, True, *[False] * (len(inputs) - 2)], chunk_size)
    total: Tensor = reduce_sum(EagerTensor(found), 0)
    return total
