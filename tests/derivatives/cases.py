"""Functions written once for gradtape and once for JAX, at points in float64."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf

random = np.random.default_rng(3)
MATRIX = random.normal(size=(3, 4))
POINT, OTHER = random.normal(size=4), random.normal(size=(2, 4))


def branches(x):
    if tf.reduce_sum(x) > 100.0:
        return tf.reduce_sum(x)
    return tf.reduce_sum(x**3)


def loop(x):
    total = tf.reduce_sum(x * 0.0)
    for _ in tf.range(3):
        total = tf.sin(total) + tf.reduce_sum(x * x)
    return total


def jax_loop(x):
    total = 0.0
    for _ in range(3):
        total = jnp.sin(total) + jnp.sum(x * x)
    return total


def until(x):
    return tf.while_loop(lambda y: y < 50.0, lambda y: (y * (2.0 + tf.reduce_sum(x * x)),), (tf.reduce_sum(x**2) + 1.0,))[0]


def jax_until(x):
    y = jnp.sum(x**2) + 1.0
    for _ in range(3):  # so many trips at POINT
        y = y * (2.0 + jnp.sum(x * x))
    return y


@dataclass(eq=False)
class Case:
    name: str
    f: Any
    jax: Any
    args: tuple


@cache
def by_jax(transform, case):
    """What a transformation of JAX's, such as `jax.hessian`, gives at the point of a case."""
    return jax.jit(transform(case.jax, argnums=tuple(range(len(case.args)))))(*case.args)


def constant(array):
    return tf.constant(array)


SCALAR = [
    Case("cubes", lambda x: tf.reduce_sum(x**3) * x[0], lambda x: jnp.sum(x**3) * x[0], (POINT,)),
    Case(
        "layer",
        lambda x: tf.reduce_sum(tf.tanh(tf.linalg.matvec(tf.constant(MATRIX), x)) ** 2),
        lambda x: jnp.sum(jnp.tanh(MATRIX @ x) ** 2),
        (POINT,),
    ),
    Case(
        "two arguments",
        lambda x, y: tf.reduce_sum(tf.exp(y @ x[:, None]) * x[1]),
        lambda x, y: jnp.sum(jnp.exp(y @ x[:, None]) * x[1]),
        (POINT, OTHER),
    ),
    Case("branches", tf.function(branches), lambda x: jnp.sum(x**3), (POINT,)),
    Case("loop", tf.function(loop), jax_loop, (POINT,)),
    Case("until", tf.function(until), jax_until, (POINT,)),
]
VECTOR = [
    Case("softmax", tf.nn.softmax, jax.nn.softmax, (POINT,)),
    Case("product", lambda x, y: (y @ x[:, None], x * x), lambda x, y: (y @ x[:, None], x * x), (POINT, OTHER)),
    Case("tall", lambda x: tf.tanh(x[:2, None] * tf.constant(OTHER)), lambda x: jnp.tanh(x[:2, None] * OTHER), (POINT,)),
]


def directions(args, seed=7):
    drawn = np.random.default_rng(seed)
    return tuple(drawn.normal(size=a.shape) for a in args)


def same(received, expected, rtol=1e-9, atol=1e-10):
    """Every tensor of a nest against JAX's array in its place."""
    received, expected = tf.nest.flatten(received), jax.tree.leaves(expected)
    assert len(received) == len(expected)
    for mine, theirs in zip(received, expected, strict=True):
        np.testing.assert_allclose(np.asarray(mine), theirs, rtol, atol)


def in_a_function(call):
    """`call` on tensors, traced."""
    return lambda *arrays: tf.function(lambda *tensors: call(*tensors))(*[tf.constant(a) for a in arrays])


def eagerly(call):
    return lambda *arrays: call(*[tf.constant(a) for a in arrays])


def compiled_of(program):
    """What XLA makes of a Program."""
    given = program.parameters[: len(program.parameters) - len(program.constants)]
    with jax.enable_x64(True):
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in given]
        return jax.jit(program.evaluate).lower(*shapes).compile()


def temporary_bytes(function, *args):
    """What XLA sets aside for a traced function besides arguments and results."""
    program = tf.function(function).get_concrete_function(*args).program
    return compiled_of(program).memory_analysis().temp_size_in_bytes


def nth(f, x, modes):
    """Return a derivative of f; each letter of `modes` is an order, (r)everse or (f)orward, the outermost first."""
    if not modes:
        return f(x)
    if modes[0] == "f":
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = nth(f, x, modes[1:])
        return accumulator.jvp(y)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nth(f, x, modes[1:])
    return tape.gradient(y, x)
