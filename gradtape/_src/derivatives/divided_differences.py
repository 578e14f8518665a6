"""Divided differences of a function at the eigenvalues of a matrix, exact where eigenvalues are equal or near.

`f[x₀, x₁] = (f(x₁) − f(x₀)) / (x₁ − x₀)`, and likewise for more points. At equal points it is the integral of a derivative:
`f[x₀, …, xⱼ] = ∫ f⁽ʲ⁾(Σ tᵢ xᵢ) dt` over the simplex (Hermite and Genocchi; de Boor, "Divided differences", 2005).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.ops.array.creation import ones_like
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, stop_gradient
from gradtape._src.ops.linalg.matmul import tensordot
from gradtape._src.ops.math.arithmetic import abs as abs_
from gradtape._src.ops.math.compare import equal, less_equal, logical_and, logical_or
from gradtape._src.ops.math.reduction import reduce_sum

INT32 = np.dtype(np.int32)
NODES = 10  # of the polynomial that replaces the derivative: exact to rounding for gaps of up to a tenth of an eigenvalue
ROUNDING = 4.0  # assumed error of a value of the function, in units of rounding
AGREEING = 10.0  # difference between a quotient and its integral up to which they agree, in errors of the quotient

Values = Callable[[int, Tensor], Tensor]  # (order, points) → the derivative of this order at the points


def _choices_avals(x: Aval, order: int) -> tuple[Aval, ...]:
    count = x.shape[-1]
    chosen = math.comb(count + order, order + 1)
    return aval((order + 1, chosen), INT32), aval((2, chosen), INT32), aval((count,) * (order + 1), INT32)


@op("SortedChoices", infer=_choices_avals, of_shapes=True, traits="own")
def _choices(x: Any, *, order: int) -> tuple[Any, ...]:
    """Return all sorted choices of `order + 1` of the n columns of `x`, in lexicographic order.

    The three results: the columns of each choice; the positions, among choices of `order` columns, of the choice without its last
    and without its first column; and the positions of the choices for any columns, [n, …, n].
    """
    count = x.shape[-1]

    def table(order: int) -> np.ndarray:
        chosen = itertools.chain.from_iterable(itertools.combinations_with_replacement(range(count), order + 1))
        return np.fromiter(chosen, np.int64).reshape(-1, order + 1)

    def places(chosen: np.ndarray, order: int) -> np.ndarray:
        digits = count ** np.arange(order, -1, -1, dtype=np.int64)
        return np.searchsorted(table(order) @ digits, chosen @ digits)

    mine = table(order)
    shorter = np.stack([places(mine[:, :-1], order - 1), places(mine[:, 1:], order - 1)])
    every = np.sort(np.stack(np.meshgrid(*[np.arange(count)] * (order + 1), indexing="ij"), -1), -1)
    return tuple([jnp.array(t, dtype="int32") for t in (mine.T, shorter, places(every, order))])


not_differentiable(_choices, because="the choices depend on the shape alone")


def divided_differences(values: Values, x: Tensor, order: int) -> Tensor:
    """Return `f[xᵢ, xⱼ, …]` for all choices of `order + 1` of the numbers `x`, [..., n], in ascending order: [..., n, …, n].

    `values(j, points)` is the j-th derivative of f, elementwise. Of quotient and integral, the more accurate one is taken.
    `error` is its error if derivatives have the accuracy of their dtype, `most` if only values of f do.
    """
    rounding = float(np.finfo(x.dtype.as_numpy_dtype).eps)
    found = values(0, x)
    error = most = stop_gradient(abs_(found)) * (ROUNDING * rounding)
    for j in range(1, order + 1):
        columns, shorter, every = _choices(x, order=j)
        points = [gather(x, columns[m], axis=-1) for m in range(j + 1)]
        gap = points[-1] - points[0]
        together = equal(gap, 0.0)
        width = where(together, ones_like(gap), gap)
        before, after = gather(found, shorter[0], axis=-1), gather(found, shorter[1], axis=-1)
        quotient = (after - before) / width
        off, most_off = [(gather(e, shorter[0], axis=-1) + gather(e, shorter[1], axis=-1)) / width for e in (error, most)]
        integral, left = _integral(values, points)
        left = left + stop_gradient(abs_(integral)) * (ROUNDING * rounding)
        # If the quotient differs by more than its error, the polynomial has missed a feature of f, such as a step.
        agreeing = less_equal(stop_gradient(abs_(integral - quotient)), AGREEING * most_off)
        by_integral = logical_or(together, logical_and(agreeing, less_equal(left, off)))
        found = where(by_integral, integral, quotient)
        error, most = where(by_integral, left, off), where(together, left, most_off)
    return gather(found, every, axis=-1) if order else found


@lru_cache
def _polynomial(order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes in [-1, 1], and the matrices of two linear maps.

    The first takes values at the nodes to coefficients of Chebyshev polynomials. The second takes the complete homogeneous
    symmetric polynomials of some points to the integrals of Chebyshev polynomials over their simplex.
    """
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    coefficients = np.cos(np.outer(angles, np.arange(NODES))) * 2.0 / NODES
    coefficients[:, 0] /= 2.0
    powers = np.zeros((NODES, NODES))
    for r in range(NODES):
        powers[: r + 1, r] = np.polynomial.chebyshev.cheb2poly([0.0] * r + [1.0])
    moments = np.array([math.factorial(s) / math.factorial(s + order) for s in range(NODES)])
    return np.cos(angles), coefficients, moments[:, None] * powers


def _integral(values: Values, points: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the divided difference as an integral of the derivative's interpolating polynomial, and an estimate of its error."""
    order = len(points) - 1
    nodes, coefficients, integrals = _polynomial(order)
    middle, half = (points[0] + points[-1]) / 2.0, (points[-1] - points[0]) / 2.0
    scale = where(equal(half, 0.0), ones_like(half), half)
    kind = middle.dtype.as_numpy_dtype
    sampled = values(order, expand_dims(middle, -1) + expand_dims(half, -1) * nodes.astype(kind))
    series = tensordot(sampled, coefficients.astype(kind), 1)
    symmetric: list[Any] = [ones_like(middle)] + [middle * 0.0] * (NODES - 1)
    for point in points:  # hₛ(u₀, …, uⱼ) = hₛ(u₀, …, uⱼ₋₁) + uⱼ hₛ₋₁(u₀, …, uⱼ)
        u = (point - middle) / scale
        for s in range(1, NODES):
            symmetric[s] = symmetric[s] + u * symmetric[s - 1]
    weights = tensordot(stack(symmetric, -1), integrals.astype(kind), 1)
    tail = stop_gradient(abs_(series[..., -1]) + abs_(series[..., -2])) * (1.0 / math.factorial(order))
    return reduce_sum(series * weights, -1), tail
