"""Programs that give the same on a card as on the CPU: functions without arguments that return arrays."""

from dataclasses import dataclass

import numpy as np

import gradtape as tf


@dataclass(frozen=True)
class Same:
    """How far the results of a program may differ, relative to the largest element; 0: bit for bit."""

    tolerance: float
    sample: bool = False


def step_of_a_network():
    """A training step recorded by the engine, three times over."""
    random = np.random.default_rng(0)
    x = tf.constant(random.standard_normal((8, 16)), tf.float32)
    weights = [tf.Variable(0.3 * random.standard_normal((16, 16)), dtype=tf.float32) for _ in range(3)]
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.tanh(y @ weight)
            loss = tf.reduce_mean(y * y)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
    return [weight.numpy() for weight in weights]


def function_with_branches():
    """A function with a condition on a value, and its gradient."""

    @tf.function
    def f(x):
        return tf.sin(x) if tf.reduce_sum(x) > 0 else tf.exp(x)

    found = []
    for start in (-1.0, 2.0):
        x = tf.constant([start, 0.5])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found += [y.numpy(), tape.gradient(y, x).numpy()]
    return found


def loops():
    """A counted loop and one that a value ends, with their gradients."""

    @tf.function
    def f(x):
        for _ in tf.range(20):
            x = tf.sin(x * 1.1)
        while tf.reduce_sum(x * x) < 50.0:
            x = x * 1.3
        return x

    x = tf.constant([0.3, 0.6, 0.9])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return [y.numpy(), tape.gradient(y, x).numpy()]


def random_bits():
    """Integers, which no rounding can change: from a stateless op, a generator, and the global seed."""
    tf.random.set_seed(5)
    generator = tf.random.Generator.from_seed(3)
    draws = [
        tf.random.stateless_uniform([64], seed=[1, 2], minval=None, maxval=None, dtype=tf.int32),
        generator.uniform_full_int([64], dtype=tf.int32),
        tf.random.uniform([64], maxval=1 << 30, dtype=tf.int32),
    ]
    return [draw.numpy() for draw in draws]


def random_floats():
    """Uniform numbers, which are integers times a power of two."""
    tf.random.set_seed(6)
    uniform = [tf.random.stateless_uniform([64], seed=[1, 2], dtype=dtype) for dtype in (tf.float32, tf.float64)]
    return [draw.numpy() for draw in [*uniform, tf.random.uniform([64])]]


def normal_numbers():
    """Normal numbers, which go through a logarithm."""
    return [tf.random.stateless_normal([64], seed=[1, 2]).numpy()]


def one_device_strategy():
    """A step of a replica under a strategy of one device."""
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable([1.0, 2.0])

    @tf.function
    def step():
        def replica():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(weight**3)
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            return loss

        return strategy.reduce("SUM", strategy.run(replica), axis=None)

    return [step().numpy(), weight.numpy()]


def mixed_precision():
    """A dense layer in bfloat16 on variables of float32, with gradients of float32."""
    random = np.random.default_rng(0)
    x, w = random.standard_normal((8, 16)), tf.Variable(random.standard_normal((16, 4)), dtype=tf.float32)
    with tf.GradientTape() as tape:
        y = tf.cast(x, tf.bfloat16) @ tf.cast(w, tf.bfloat16)
        loss = tf.reduce_mean(tf.cast(y, tf.float32) ** 2)
    gradient = tape.gradient(loss, w)
    assert gradient.dtype == tf.float32
    return [loss.numpy(), gradient.numpy()]


def attended(**options):
    """Attention in bfloat16, long enough for the fused kernel, with the gradients, a second one and a Jacobian."""
    random = np.random.default_rng(0)
    q, k, v, up = (tf.constant(random.standard_normal((2, 512, 4, 64)), tf.bfloat16) for _ in range(4))
    with tf.GradientTape() as tape:
        tape.watch([q, k, v])
        y = tf.keras.ops.dot_product_attention(q, k, v, **options)
    found = [y, *tape.gradient(y, [q, k, v], up)]
    q, k, v = q[:1, :, :1, :8], k[:1, :, :1, :8], v[:1, :, :1, :8]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(q)
        with tf.GradientTape() as inner:
            inner.watch(q)
            y = tf.keras.ops.dot_product_attention(q, k, v, **options)
        gradient = inner.gradient(y, q)
        few = y[0, :3, 0, :2]
    found += [tape.gradient(gradient, q), tape.jacobian(few, q)]
    return [tf.cast(each, tf.float32).numpy() for each in found]


def product_of_odd_extents():
    """A large product in bfloat16 whose rows start anywhere, with its gradients."""
    random = np.random.default_rng(0)
    x, w = (tf.constant(random.standard_normal(shape), tf.bfloat16) for shape in ((2, 600, 777), (1501, 777)))
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.matmul(x, w, transpose_b=True)
    return [tf.cast(each, tf.float32).numpy() for each in [y, *tape.gradient(y, [x, w], y)]]


def attention():
    """Attention of all to all."""
    return attended()


def causal_attention():
    """Attention to what is behind."""
    return attended(is_causal=True)


def masked_attention():
    """Attention with sources that do not count."""
    counts = np.random.default_rng(1).random((1, 1, 1, 512)) > 0.3
    return attended(mask=counts, is_causal=True, scale=0.2)


PROGRAMS = {
    step_of_a_network: Same(1e-5, sample=True),
    function_with_branches: Same(1e-5, sample=True),
    loops: Same(1e-4),
    random_bits: Same(0, sample=True),
    random_floats: Same(0),
    normal_numbers: Same(1e-6),
    one_device_strategy: Same(1e-6),
    mixed_precision: Same(2e-2),
    product_of_odd_extents: Same(2e-2),
    attention: Same(5e-2),
    causal_attention: Same(5e-2),
    masked_attention: Same(5e-2),
}


def row_results(name, dtype):
    """The results of a row of the op table in `dtype`, and the gradients of those that are floating."""
    from tests.ops.rows import ROWS
    from tests.ops.spy import several

    row = ROWS[name]
    arguments = [tf.constant(array) for array in row.arguments(dtype)]
    watched = [arguments[i] for i in row.differentiated] if row.order > 0 else []
    with tf.GradientTape() as tape:
        tape.watch(watched)
        results = several(row.call(*arguments))
        floating = [y for y in results if y.dtype.is_floating or y.dtype.is_complex]
    gradients = tape.gradient(floating, watched) if watched and floating else []
    return [np.asarray(tf.convert_to_tensor(y).numpy()) for y in [*results, *gradients] if y is not None]
