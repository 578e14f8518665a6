"""Tables of gradients: rows of functions, ours and JAX's, that share one program on each side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf


def numbers(*shape, low=-2.0, high=2.0, seed=0):
    """Distinct numbers that are not whole, in [low, high]."""
    return np.random.default_rng((seed, *shape)).uniform(low, high, shape)


@dataclass
class Row:
    """A function of arrays, as ours and as JAX's, and the arrays (float64) to differentiate by."""

    name: str
    ours: Callable[..., Any]
    oracle: Callable[..., Any]
    arrays: tuple[Any, ...]


def weighted(result, total_of):
    """The sum of what a row gives, each element with a weight of its own."""
    total = 0.0
    for part in jax.tree.leaves(result, is_leaf=lambda x: isinstance(x, tf.Tensor)):
        weights = np.cos(1.0 + np.arange(np.prod(part.shape, dtype=int))).reshape(tuple(part.shape))
        total = total + total_of(part * weights)
    return total


def differences(rows, rtol=1e-9, atol=1e-9):
    """What the gradients of the rows' functions have wrong, a line for each: values are compared, too."""
    inputs = [[tf.constant(np.asarray(array, np.float64)) for array in row.arrays] for row in rows]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        totals = [tf.cast(weighted(row.ours(*xs), tf.reduce_sum), tf.float64) for row, xs in zip(rows, inputs, strict=True)]
        total = tf.add_n(totals)
    found = tape.gradient(total, inputs)

    def expected_total(arrays):
        totals = [weighted(row.oracle(*xs), jnp.sum) for row, xs in zip(rows, arrays, strict=True)]
        return sum(totals), totals

    arrays = [[jnp.asarray(a, jnp.float64) for a in row.arrays] for row in rows]
    expected, values = jax.jit(jax.grad(expected_total, has_aux=True))(arrays)
    wrong = []
    for row, mine, theirs, y, value in zip(rows, found, expected, totals, values, strict=True):
        if not np.allclose(y, value, rtol=1e-6, atol=1e-6):
            wrong.append(f"{row.name}: value {float(y)}, expected {float(value)}")
        for place, (dx, reference) in enumerate(zip(mine, theirs, strict=True)):
            if dx is None or not np.allclose(tf.convert_to_tensor(dx), reference, rtol=rtol, atol=atol):
                wrong.append(f"{row.name}, argument {place}: {dx}, expected {reference}")
    return wrong
