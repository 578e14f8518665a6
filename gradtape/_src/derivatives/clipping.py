"""Per-example gradients scaled before they are summed: factors, clipping, noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.derivatives.ghost import norms_program, sum_of_squares, total
from gradtape._src.derivatives.per_example import PerExample, weighted
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import ones, stop_gradient
from gradtape._src.ops.math.arithmetic import add_n, minimum, sqrt
from gradtape._src.ops.random.generator import Generator, get_global_generator


@public
def per_example_norms(
    loss_fn: Callable[..., Any],
    sources: Any,
    examples: Any,
    keep_axis: bool = True,
    per_source: bool = False,
    chunk_size: int | None = None,
) -> Any:
    """Return the norm of each example's gradient, of all `sources` together: shape [examples]; `per_source`: of each of them.

    Arguments as for `per_example_gradients`. The gradients are not kept. For dense layers and projections, on vectors or
    sequences, for embeddings and 2-D convolutions, a gradient is a product of two factors. Its norm is computed from the factors
    if these are smaller, in about the memory of a backward pass of the batch. See Goodfellow, "Efficient per-example gradient
    computations" (2015). Other gradients are computed, and their squares summed.

    >>> w = tf.Variable([1.0, 2.0])
    >>> x = tf.constant([[3.0, 4.0], [0.0, 1.0]])
    >>> tf.autodiff.per_example_norms(lambda x: tf.reduce_sum(x * w), w, x).numpy().tolist()
    [5.0, 1.0]
    """
    each = PerExample(loss_fn, sources, examples, keep_axis, chunk_size)
    squares = each.of_gradients(norms_program, sum_of_squares)
    if per_source:
        return each.sources.pack([sqrt(s) for s in squares])
    return sqrt(total(squares))


@public
def clipped_gradients(
    loss_fn: Callable[..., Any],
    sources: Any,
    examples: Any,
    max_norm: float,
    noise_multiplier: float = 0.0,
    generator: Generator | None = None,
    reduction: str = "mean",
    keep_axis: bool = True,
    chunk_size: int | None = None,
) -> Any:
    """Return the mean (or "sum") of the examples' gradients, each scaled to a norm of at most `max_norm`, with noise.

    The step of DP-SGD: Abadi et al., "Deep learning with differential privacy" (2016), algorithm 1. The noise is normal with
    standard deviation `noise_multiplier` · `max_norm` on the sum, from `generator` (`tf.random.Generator`, by default the global
    one). The privacy spent has to be computed by an accountant, which is not part of gradtape. Two passes, one for the norms (see
    `per_example_norms`) and one for the sum: no per-example gradient is kept. Other arguments as for `per_example_gradients`;
    ValueError where `max_norm` is not positive or `noise_multiplier` negative.

    >>> w = tf.Variable([1.0, 2.0])
    >>> x = tf.constant([[3.0, 4.0], [0.0, 1.0]])
    >>> tf.autodiff.clipped_gradients(lambda x: tf.reduce_sum(x * w), w, x, max_norm=2.5, reduction="sum").numpy().tolist()
    [1.5, 3.0]
    """
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction must be 'mean' or 'sum', received {reduction!r}.")
    if not isinstance(max_norm, Tensor) and not max_norm > 0:
        raise ValueError(f"max_norm must be positive, received {max_norm!r}.")
    if not isinstance(noise_multiplier, Tensor) and not noise_multiplier >= 0:
        raise ValueError(f"noise_multiplier must not be negative, received {noise_multiplier!r}.")
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"generator must be a tf.random.Generator, received {generator!r}.")
    each = PerExample(loss_fn, sources, examples, keep_axis, chunk_size)
    norms = sqrt(total(each.of_gradients(norms_program, sum_of_squares)))
    factors = minimum(tensor(max_norm, norms.dtype) / norms, ones([], norms.dtype))  # a norm of 0: min(inf, 1) = 1
    sums = _sums(each, factors)
    noisy = isinstance(noise_multiplier, Tensor) or noise_multiplier > 0
    if noisy:
        source = get_global_generator() if generator is None else generator
        deviation = tensor(noise_multiplier, norms.dtype) * tensor(max_norm, norms.dtype)
        sums = [d + source.normal(extents_of(d), dtype=d.dtype) * cast(deviation, d.dtype) for d in sums]
    if reduction == "mean":
        sums = [d / each.count for d in sums]
    return each.sources.pack(sums)


def _sums(each: PerExample, factors: Tensor) -> list[Tensor]:
    if hasattr(each, "program"):
        return weighted(each, stop_gradient(cast(factors, each.loss_type)))
    columns = zip(*each.one_by_one, strict=True)
    return [add_n([d * cast(factors[i], d.dtype) for i, d in enumerate(column)]) for column in columns]
