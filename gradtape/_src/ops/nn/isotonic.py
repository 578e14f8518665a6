"""Isotonic regression: the nearest vector with descending elements."""

from typing import NamedTuple

import jax
import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import _reshape, _transpose, host_constant, inverse
from gradtape._src.ops.math.segment import take_rows, unsorted_segment_mean
from gradtape._src.ops.shapes import REAL, axis_of, require

INT32 = np.dtype(np.int32)
RESULT = {"int8": "float32", "int16": "float32", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}


class IsotonicRegression(NamedTuple):
    """The result of `isotonic_regression`."""

    output: Tensor
    segments: Tensor


def _pooled(x):
    """Pool adjacent violators (Barlow et al., 1972): in a stack of blocks, the last one absorbs all that it exceeds."""
    size = x.shape[0]

    def push(i, stack):
        sums, counts, top = stack

        def exceeds(block):
            total, count, top = block
            return (top > 0) & (sums[top - 1] * count < total * counts[top - 1])

        def merge(block):
            total, count, top = block
            return total + sums[top - 1], count + counts[top - 1], top - 1

        total, count, top = lax.while_loop(exceeds, merge, (x[i], jnp.ones((), x.dtype), top))
        return at(sums)[top].set(total), at(counts)[top].set(count), top + 1

    zeros = jnp.zeros((size,), x.dtype)
    sums, counts, top = lax.fori_loop(0, size, push, (zeros, zeros, jnp.zeros((), jnp.int32)))
    place = jnp.arange(size, dtype=jnp.int32)
    ends = jnp.cumsum(jnp.where(place < top, counts, 0.0).astype(jnp.int32), dtype=jnp.int32)
    block = jnp.searchsorted(ends, place, side="right").astype(jnp.int32)
    return (sums / jnp.maximum(counts, 1.0))[block], block


def _avals(input, output_dtype):
    require(input, REAL)
    return aval(input.shape, output_dtype), aval(input.shape, INT32)


@op("IsotonicRegression", unhosted="it loops", infer=_avals, saves="y1")
def _isotonic(input, *, output_dtype):
    if not input.size:
        return input.astype(output_dtype), jnp.zeros(input.shape, INT32)
    y, segments = jax.vmap(_pooled)(input.astype(jnp.float64))
    return y.astype(output_dtype), segments


@gradient(_isotonic)
def _(dy, dblocks, input, blocks):
    """Distribute each block's mean cotangent to all of its elements, as each block is a mean."""
    rows, size = dy.node.aval.shape
    first = host_constant(np.arange(0, rows * size, max(size, 1), dtype=np.int32).reshape(-1, 1))
    ids = _reshape(blocks + first, shape=(rows * size,))
    means = unsorted_segment_mean(_reshape(dy, shape=(rows * size,)), ids, rows * size)
    return cast(_reshape(take_rows(means, ids), shape=(rows, size)), input.dtype)


@public
def isotonic_regression(inputs, decreasing=True, axis=-1):
    """Return the least-squares fit of descending vectors to those of `inputs` along `axis`, and its segments.

    Neighbours in the wrong order are replaced by their mean. `segments`, int32, is the number of each element's block of equal
    elements. With `decreasing=False` elements ascend. int8 and int16 give float32, other integers float64, floats their own
    dtype.

    >>> values, segments = tf.nn.isotonic_regression([1.0, 3.0, 2.0], decreasing=False)
    >>> values.numpy()
    array([1. , 2.5, 2.5], dtype=float32)
    """
    x = tensor(inputs)
    require(x.node.aval, REAL)
    output_dtype = np.dtype("float64") if x.dtype.name not in RESULT else tensor(0, RESULT[x.dtype.name]).dtype.numpy
    shape = x.node.aval.shape
    last = axis_of(axis, x.ndim) if shape else 0
    perm = (*[a for a in range(x.ndim) if a != last], last) if shape else ()
    moved = tuple([shape[a] for a in perm])
    size = moved[-1] if shape else 1
    flat = _reshape(_transpose(x, perm=perm), shape=(x.node.aval.size // size if size else 0, size))
    output, segments = _isotonic(flat if decreasing else -flat, output_dtype=output_dtype)
    output = output if decreasing else -output
    return IsotonicRegression(*[_transpose(_reshape(y, shape=moved), perm=inverse(perm)) for y in (output, segments)])
