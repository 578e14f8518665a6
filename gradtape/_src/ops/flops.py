"""Formulas for the `flops` of ops: functions of the attributes by name, the Avals of the inputs and that of the result.

A FLOP is one operation on real floating-point numbers. A multiply-add counts as two; a division, a square root, an elementary
function (`exp`, `tanh`, …) and a comparison count as one. Moving, selecting and converting values are free, and so are
integers and booleans. A sum or product over n elements counts n − 1. The leading terms of dense linear algebra are Golub and
Van Loan's ("Matrix Computations", 4th edition: 3.2.7 LU, 4.2.5 Cholesky, 5.2.9 QR, 3.1 triangular systems); a Fourier
transform of n points counts 5·n·log₂ n (Van Loan, "Computational Frameworks for the FFT" (1992), 1.4). Convolutions and
pooling count padding like pixels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.values.aval import Aval

Formula = Callable[[Any, Sequence[Aval], Any], float]


def of_input(number: float, at: int = 0) -> Formula:
    """Count `number` operations for each element of an input."""
    return lambda attrs, inputs, result: number * inputs[at].size


def of_updates(how: Any) -> float | Formula:
    """Count one for each element of the third input, which is combined into the first; `how` "scatter" is free."""
    return 0 if how == "scatter" else of_input(1, at=2)


def reduction(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    """Count a sum, or another reduction, over axes."""
    return inputs[0].size - result.size


def by_rows(number: float, less: float) -> Formula:
    """Count `number` operations for each element of the first input, minus `less` for each row along `axis`."""

    def formula(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
        return number * inputs[0].size - less * inputs[0].size / max(inputs[0].shape[attrs["axis"]], 1)

    return formula


def matmul(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    (a, _), transposed = inputs, attrs.get("transpose_a") or attrs.get("adj_x")
    return 2 * result.size * a.shape[-2 if transposed else -1]


def einsum(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    """Count one multiplication for each combination of labels, and one addition if some labels are summed."""
    if len(inputs) > 2:
        return math.nan  # depends on the order of the products
    terms, _, output = attrs["equation"].partition("->")
    extents: dict[str, int] = {}
    for term, given in zip(terms.split(","), inputs, strict=True):
        before, _, after = term.partition("...")
        extents |= zip(before, given.shape, strict=False)
        extents |= zip(reversed(after), reversed(given.shape), strict=False)
    summed = math.prod([n for label, n in extents.items() if label not in output])
    return result.size * (2 * summed if summed > 1 and len(inputs) == 2 else summed - 1 if len(inputs) == 1 else 1)


def convolution(window: int, places: int, own: int) -> Formula:
    """Count two for each position of the output, channel and filter cell.

    `window` is the index of the filter among the inputs, `places` that of the output (−1: the result). `own` is the number of
    the filter's last axes that distinguish output channels: 2 if each channel has its own filters.
    """

    def formula(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
        shape = attrs["filter_sizes"] if window < 0 else inputs[window].shape
        image = result if places < 0 else inputs[places]
        return 2 * image.size * math.prod(shape[:-own])

    return formula


def window_sums(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    """Count one matrix product for each spatial axis, in the order with the fewest operations."""
    format = attrs["data_format"]
    axes = [axis for axis in range(1, len(format)) if axis != format.index("C")]
    spread = "input_sizes" in attrs
    image, cells = (result, inputs[0]) if spread else (inputs[0], result)
    pairs = [(image.shape[axis], cells.shape[1 + k]) for k, axis in enumerate(axes)]
    if spread:
        pairs = [(after, before) for before, after in pairs]
    best = math.inf
    for order in itertools.permutations(pairs):
        size, flops = inputs[0].size, 0.0
        for before, after in order:
            flops += 2 * size * after
            size = size // before * after
        best = min(best, flops)
    return best


def batch_norm(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    """Count mean and variance (4n) in training, the normalization (3n), and per channel 1/√(v + ε)·γ and running averages."""
    size, channels = inputs[0].size, inputs[1].size
    if not attrs["is_training"]:
        return 3 * size + 3 * channels
    return 7 * size + (4 if attrs["exponential_avg_factor"] == 1 else 10) * channels


def pooling(at: int, more: int) -> Formula:
    """Count the cells of the window plus `more` for each element of an input (−1: of the result)."""
    return lambda attrs, inputs, result: (result if at < 0 else inputs[at]).size * (math.prod(attrs["ksize"]) + more)


def cube(number: float) -> Formula:
    """Count `number · n³` for square matrices with n rows; more exactly, `number` per element and column of the first input."""
    return lambda attrs, inputs, result: number * inputs[0].size * inputs[0].shape[-1]


lu = cube(2 / 3)  # a decomposition into triangles


def qr(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    """Count the computation of R, and that of the first columns of Q from the reflections."""
    *batch, m, n = inputs[0].shape
    if attrs["full_matrices"]:
        return math.nan
    k = min(m, n)
    factor = 2 * m * n * k - (m + n) * k**2 + 2 / 3 * k**3
    return math.prod(batch) * (factor + 2 * m * k**2 - 2 / 3 * k**3)


def fourier(axes: int, of_result: bool = False, half: bool = False) -> Formula:
    """Count a transform over the last axes of the input, or of the result; a real transform (`half`) costs half."""

    def formula(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
        whole = result if of_result else inputs[0]
        length = math.prod(whole.shape[-axes:])
        return (2.5 if half else 5) * whole.size * math.log2(max(length, 1))

    return formula
