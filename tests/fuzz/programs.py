"""Random programs: straight-line code over a few arrays, that runs on gradtape and on JAX alike.

An instruction is a pair of functions, one of gradtape's and one of JAX's, with the numbers of the values that it takes.
All arithmetic is smooth and bounded away from poles, so that two right answers agree closely in float64.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf

# Few, so that ops meet the same shapes again and their kernels are compiled once; every value has one of them.
SHAPES = ((), (3,), (2, 3), (3, 2), (2, 1), (1, 3))

UNARY = (
    ("tanh", tf.tanh, jnp.tanh),
    ("sin", tf.sin, jnp.sin),
    ("cos", tf.cos, jnp.cos),
    ("sigmoid", tf.sigmoid, jax.nn.sigmoid),
    ("softplus", tf.nn.softplus, jax.nn.softplus),
    ("square", tf.square, jnp.square),
    ("negative", tf.negative, jnp.negative),
    ("abs", tf.abs, jnp.abs),
    ("sqrt of 1 + x²", lambda x: tf.sqrt(1.0 + x * x), lambda x: jnp.sqrt(1.0 + x * x)),
    ("log of 1 + x²", lambda x: tf.math.log(1.0 + x**2), lambda x: jnp.log(1.0 + x**2)),
    ("exp of tanh", lambda x: tf.exp(tf.tanh(x)), lambda x: jnp.exp(jnp.tanh(x))),
    ("relu", tf.nn.relu, lambda x: jnp.maximum(x, 0.0)),
    ("elu", tf.nn.elu, jax.nn.elu),
    ("atan", tf.atan, jnp.arctan),
    ("x³", lambda x: x**3 / 4.0, lambda x: x**3 / 4.0),
    ("stop_gradient", lambda x: x + 0.3 * tf.stop_gradient(x), lambda x: x + 0.3 * jax.lax.stop_gradient(x)),
    ("identity", tf.identity, lambda x: x),
    ("clip", lambda x: tf.clip_by_value(x, -0.7, 0.7), lambda x: jnp.clip(x, -0.7, 0.7)),
)
BINARY = (
    ("add", tf.add, jnp.add),
    ("subtract", lambda x, y: x - y, lambda x, y: x - y),
    ("multiply", lambda x, y: x * y, lambda x, y: x * y),
    ("divide", lambda x, y: x / (1.5 + tf.square(y)), lambda x, y: x / (1.5 + y * y)),
    ("maximum", tf.maximum, jnp.maximum),
    ("minimum", tf.minimum, jnp.minimum),
    ("squared difference", tf.math.squared_difference, lambda x, y: (x - y) ** 2),
    ("where", lambda x, y: tf.where(x > y, tf.tanh(x), y), lambda x, y: jnp.where(x > y, jnp.tanh(x), y)),
    ("atan2", lambda x, y: tf.atan2(x, 2.0 + tf.abs(y)), lambda x, y: jnp.arctan2(x, 2.0 + jnp.abs(y))),
)


@dataclass
class Program:
    """Input arrays, and instructions `(name, gradtape function, JAX function, operand numbers)`; the last value counts."""

    inputs: list
    instructions: list

    def run(self, inputs, side):
        """The sum of the last three values, on gradtape (side 0) or JAX (side 1); the values computed on the way too."""
        values = list(inputs)
        for _, *functions, operands in self.instructions:
            values.append(functions[side](*[values[i] for i in operands]))
        total = (tf.reduce_sum, jnp.sum)[side]
        return total(values[-1]) + 0.5 * total(values[-2]) + 0.25 * total(values[-3]), values

    def __str__(self):
        lines = [f"v{i} = input of shape {x.shape}" for i, x in enumerate(self.inputs)]
        for number, (name, _, _, operands) in enumerate(self.instructions, len(self.inputs)):
            lines.append(f"v{number} = {name}({', '.join(f'v{i}' for i in operands)})")
        return "\n".join(lines)


def draw(seed):
    """The random program of a seed."""
    random = np.random.default_rng(seed)
    inputs = [random.uniform(-1.5, 1.5, SHAPES[random.integers(len(SHAPES))]) for _ in range(random.integers(2, 4))]
    shapes = [x.shape for x in inputs]
    instructions = []
    for _ in range(random.integers(3, 6)):
        instruction, shape = _draw_instruction(random, shapes)
        instructions.append(instruction)
        shapes.append(shape)
    return Program(inputs, instructions)


def _draw_instruction(random, shapes):
    kind = random.integers(10)
    x = int(random.integers(len(shapes)))
    if kind < 3:
        name, ours, theirs = UNARY[random.integers(len(UNARY))]
        return (name, ours, theirs, (x,)), shapes[x]
    if kind < 7:
        name, ours, theirs = BINARY[random.integers(len(BINARY))]
        for _ in range(20):
            y = int(random.integers(len(shapes)))
            try:
                shape = np.broadcast_shapes(shapes[x], shapes[y])
            except ValueError:
                continue
            if shape not in SHAPES:
                continue
            return (name, ours, theirs, (x, y)), shape
    return _draw_structural(random, shapes, x)


def _draw_structural(random, shapes, x):
    """Reductions, reshapes, products: what depends on the shape of its operand."""
    shape = shapes[x]
    if not shape:
        return ("fill", lambda v: tf.fill([2, 3], v), lambda v: jnp.full((2, 3), v), (x,)), (2, 3)
    axis = int(random.integers(len(shape)))
    rest = shape[:axis] + shape[axis + 1 :]
    kept = shape[:axis] + (1,) + shape[axis + 1 :]
    extent = shape[axis]
    begin = int(random.integers(extent))
    choices = [
        (("sum", lambda v: tf.reduce_sum(v, axis), lambda v: jnp.sum(v, axis)), rest),
        (("mean", lambda v: tf.reduce_mean(v, axis, keepdims=True), lambda v: jnp.mean(v, axis, keepdims=True)), kept),
        (("max", lambda v: tf.reduce_max(v, axis), lambda v: jnp.max(v, axis)), rest),
        (("logsumexp", lambda v: tf.reduce_logsumexp(v, axis), lambda v: jax.nn.logsumexp(v, axis)), rest),
        (("reshape", lambda v: tf.reshape(v, [-1]), lambda v: jnp.reshape(v, -1)), (int(np.prod(shape)),)),
        (("transpose", tf.transpose, jnp.transpose), shape[::-1]),
        (("cumsum", lambda v: tf.cumsum(v, axis), lambda v: jnp.cumsum(v, axis)), shape),
        (("softmax", lambda v: tf.nn.softmax(v, axis), lambda v: jax.nn.softmax(v, axis)), shape),
        (("expand", lambda v: tf.expand_dims(v, axis), lambda v: jnp.expand_dims(v, axis)), shape[:axis] + (1,) + shape[axis:]),
        (("slice", lambda v: v[begin:], lambda v: v[begin:]), (shape[0] - begin,) + shape[1:]) if begin < shape[0] else None,
        (("element", lambda v: v[..., -1], lambda v: v[..., -1]), shape[:-1]),
        (
            ("concat", lambda v: tf.concat([v, 2.0 * v], axis), lambda v: jnp.concatenate([v, 2.0 * v], axis)),
            shape[:axis] + (2 * extent,) + shape[axis + 1 :],
        ),
        (("stack", lambda v: tf.stack([v, -v]), lambda v: jnp.stack([v, -v])), (2, *shape)),
        (
            (
                "gather",
                lambda v: tf.gather(v, [0, extent - 1, 0], axis=axis),
                lambda v: jnp.take(v, jnp.array([0, extent - 1, 0]), axis),
            ),
            shape[:axis] + (3,) + shape[axis + 1 :],
        ),
        (
            ("product", lambda v: tf.matmul(v, v, transpose_b=True), lambda v: v @ jnp.swapaxes(v, -1, -2)),
            shape[:-1] + shape[-2:-1],
        )
        if len(shape) > 1
        else None,
        (("einsum", lambda v: tf.einsum("...i,...i->...", v, v), lambda v: jnp.einsum("...i,...i->...", v, v)), shape[:-1]),
        (("reverse", lambda v: tf.reverse(v, [axis]), lambda v: jnp.flip(v, axis)), shape),
        (
            ("pad", lambda v: tf.pad(v, [[1, 0]] * len(shape)), lambda v: jnp.pad(v, [[1, 0]] * len(shape))),
            tuple([n + 1 for n in shape]),
        ),
        (
            ("tile", lambda v: tf.tile(v, [2] * len(shape)), lambda v: jnp.tile(v, [2] * len(shape))),
            tuple([2 * n for n in shape]),
        ),
    ]
    choices = [c for c in choices if c is not None and c[1] in SHAPES]
    (name, ours, theirs), result = choices[random.integers(len(choices))]
    return (name, ours, theirs, (x,)), result
