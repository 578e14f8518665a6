"""Weights and robust losses: transformations of residuals before they are squared.

A loss ρ(r) that grows more slowly than r² is the square of ±√ρ(r), with the sign of r. So a sum of losses is a sum of squares of
other residuals, with their own Jacobian, and every rule and solver works with it. The losses are those of Triggs et al., "Bundle
adjustment - a modern synthesis" (2000), section 3, in units of a scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors.nest import flatten
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import Aval
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import ones, zeros
from gradtape._src.ops.math.arithmetic import sign, sqrt
from gradtape._src.ops.math.elementary import log1p


def _huber(r: Tensor) -> Tensor:
    far = abs(r) > 1.0
    root: Tensor = sqrt(2.0 * where(far, abs(r), ones(extents_of(r), r.dtype)) - 1.0)
    return where(far, sign(r) * root, r)


def _soft_l1(r: Tensor) -> Tensor:
    root: Tensor = sqrt(2.0 / (1.0 + sqrt(1.0 + r * r)))
    return r * root


def _cauchy(r: Tensor) -> Tensor:
    square, eps = r * r, float(np.finfo(r.dtype.as_numpy_dtype).eps)
    square = where(square > eps, square, eps * ones(extents_of(r), r.dtype))  # below eps, log1p(x) / x is 1 to rounding
    root: Tensor = sqrt(log1p(square) / square)
    return r * root


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {"squares": lambda r: r, "huber": _huber, "soft_l1": _soft_l1, "cauchy": _cauchy}


def check_loss(loss: str, scale: float) -> None:
    """Raise ValueError for an unknown loss or an invalid scale."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, received {loss!r}.")
    if not isinstance(scale, (int, float)) or not 0.0 < scale < np.inf:
        raise ValueError(f"loss_scale must be a positive number, received {scale!r}.")


def roots_of(weights: Any, avals: Sequence[Aval], count: int | None = None) -> list[np.ndarray]:
    """Return the square roots of weights, one array for each residual tensor, in `count` rows; ValueError for wrong shapes."""
    given = flatten(weights) if len(avals) > 1 else [weights]
    if len(given) != len(avals):
        raise ValueError(f"weights has {len(given)} entries for {len(avals)} tensors of residuals: give an array for each.")
    roots = []
    for number, (weight, of) in enumerate(zip(given, avals, strict=True)):
        shape = of.shape if count is None else (count, *of.shape)
        try:
            whole = np.broadcast_to(np.asarray(weight, np.float64), shape)
        except ValueError:
            raise ValueError(
                f"weights must be numbers, or arrays of the residuals' shape, {shape}; received shape {np.shape(weight)}."
            ) from None
        wrong = np.flatnonzero(~((whole >= 0) & (whole < np.inf)))
        if wrong.size:
            value = whole.reshape(-1)[wrong[0]]
            raise ValueError(f"weights must be finite and not negative; number {wrong[0]} of residuals {number} is {value}.")
        roots.append(np.sqrt(whole).astype(of.dtype))
    return roots


def _times(r: Tensor, root: Tensor) -> Tensor:
    left: Tensor = where(root > 0.0, r, zeros(extents_of(r), r.dtype)) * root  # residuals with weight 0 may be NaN
    return left


@memoized
def weighted(program: Program, weighs: bool, loss: str, scale: float) -> Program:
    """Return the Program of residuals with a loss. If it `weighs`, the roots of the weights are its last parameters."""
    if not weighs and loss == "squares":
        return program
    parameters = program.parameters[: arity(program)]

    def record(*given: Node) -> list[Node]:
        results: list[Tensor] = [EagerTensor(n) for n in tracing.inline(program, given[: len(parameters)])]
        if weighs:
            results = [_times(r, EagerTensor(root)) for r, root in zip(results, given[len(parameters) :], strict=True)]
        return [(scale * LOSSES[loss](r / scale)).node for r in results]

    roots = [program.aval_of(r) for r in program.outputs] if weighs else []
    return tracing.program_of(record, [*parameters, *roots])
