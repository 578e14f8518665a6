"""A training step of GPT-2 small on 8 × 1,024 tokens: the tape, all gradients, gradient descent. Weights are random."""

from dataclasses import dataclass

import numpy as np

from benchmarks.keras_fit import fitting

KEY = "gpt"
TITLE = "GPT-2 small, batch 8 × 1,024 tokens: a training step"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
STEPS, REPETITIONS = 5, 4
TOLERANCE = 1e-2
APART = True
SECONDS = 240

RATE, EPSILON = 0.01, 1e-5


@dataclass(frozen=True)
class Size:
    """The tokens of a batch, and the size of the network; in GPT-2 each head has width 64."""

    batch: int
    length: int
    vocabulary: int
    width: int
    layers: int
    heads: int


SIZE = Size(batch=8, length=1024, vocabulary=50257, width=768, layers=12, heads=12)
TINY = Size(batch=2, length=16, vocabulary=100, width=64, layers=2, heads=4)


def start():
    """Return tokens, next tokens, and weights: of the embedding, the positions, each layer, and the last norm."""
    random, width = np.random.default_rng(0), SIZE.width

    def normal(*shape):
        return np.float32(0.02) * random.standard_normal(shape, "float32")

    def norm():
        return [np.ones(width, "float32"), np.zeros(width, "float32")]

    def dense(inputs, outputs):
        return [normal(inputs, outputs), np.zeros(outputs, "float32")]

    layers = [
        [*norm(), *dense(width, 3 * width), *dense(width, width), *norm(), *dense(width, 4 * width), *dense(4 * width, width)]
        for _ in range(SIZE.layers)
    ]
    text = random.integers(0, SIZE.vocabulary, (SIZE.batch, SIZE.length + 1))
    return text[:, :-1], text[:, 1:], normal(SIZE.vocabulary, width), normal(SIZE.length, width), layers, norm()


def network(x, layers, last, normalized, attention, gelu):
    """Compute the features of embedded tokens, [batch, length, width]."""
    for scale, offset, into, into_bias, out, out_bias, scale_2, offset_2, up, up_bias, down, down_bias in layers:
        x = x + attention(normalized(x, scale, offset) @ into + into_bias) @ out + out_bias
        x = x + gelu(normalized(x, scale_2, offset_2) @ up + up_bias) @ down + down_bias
    return normalized(x, *last)


def gradtape():
    """Return the step with Keras's attention."""
    import gradtape as tf

    tokens, following, embedding, positions, layers, last = start()
    tokens, following = tf.constant(tokens), tf.constant(following)
    embedding, positions = tf.Variable(embedding), tf.Variable(positions)
    layers, last = [[tf.Variable(weight) for weight in layer] for layer in layers], [tf.Variable(weight) for weight in last]
    weights = [embedding, positions, *[weight for layer in [*layers, last] for weight in layer]]
    each = SIZE.width // SIZE.heads

    def normalized(x, scale, offset):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + EPSILON) * scale + offset

    def attention(x):
        q, k, v = (tf.reshape(part, [SIZE.batch, SIZE.length, SIZE.heads, each]) for part in tf.split(x, 3, -1))
        return tf.reshape(tf.keras.ops.dot_product_attention(q, k, v, is_causal=True), [SIZE.batch, SIZE.length, SIZE.width])

    def gelu(x):
        return tf.nn.gelu(x, approximate=True)

    def step():
        with tf.GradientTape() as tape:
            x = tf.gather(embedding, tokens) + positions
            x = network(x, layers, last, normalized, attention, gelu)
            scores = tf.matmul(x, embedding, transpose_b=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(following, scores))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss, layers[0][1], last[1]

    return step


def gradtape_fit():
    """Return the step of `fit` on the same network of Keras's layers."""
    import gradtape as tf

    tokens, following, embedding, positions, drawn, last = start()
    layers, each = tf.keras.layers, SIZE.width // SIZE.heads
    tf.keras.config.set_dtype_policy(embedding.dtype.name)

    def parts(weights):
        """Convert the weights to those of Keras's attention: query, key, value and output, [width, heads, each]."""
        scale, offset, into, into_bias, out, out_bias, *rest = weights
        into, biases = into.reshape(-1, 3, SIZE.heads, each), into_bias.reshape(3, SIZE.heads, each)
        projected = [array for i in range(3) for array in (into[:, i], biases[i])]
        return [scale, offset, *projected, out.reshape(SIZE.heads, each, -1), out_bias, *rest]

    inputs = layers.Input((SIZE.length,), dtype="int32")
    table = layers.ReversibleEmbedding(SIZE.vocabulary, SIZE.width)
    places = layers.Embedding(SIZE.length, SIZE.width)
    x, made = table(inputs) + places(0 * inputs + np.arange(SIZE.length, dtype="int32")), [table, places]
    for _ in range(SIZE.layers):
        norm, norm_2 = layers.LayerNormalization(epsilon=EPSILON), layers.LayerNormalization(epsilon=EPSILON)
        attention = layers.MultiHeadAttention(SIZE.heads, each)
        up, down = layers.Dense(4 * SIZE.width, tf.keras.ops.gelu), layers.Dense(SIZE.width)
        y = norm(x)
        x = x + attention(y, y, use_causal_mask=True)
        x = x + down(up(norm_2(x)))
        made += [norm, attention, norm_2, up, down]
    made.append(layers.LayerNormalization(epsilon=EPSILON))
    model = tf.keras.Model(inputs, table(made[-1](x), reverse=True))
    weights = [embedding, positions, *[weight for layer in drawn for weight in parts(layer)], *last]
    for variable, weight in zip([v for layer in made for v in layer.trainable_variables], weights, strict=True):
        variable.assign(weight)
    return fitting(model, RATE, tf.constant(tokens), tf.constant(following), [made[2].beta, made[-1].beta])


def torch_step(torch, compiled=lambda function: function):
    """Return the step with PyTorch's own attention."""
    tokens, following, embedding, positions, layers, last = start()
    functional = torch.nn.functional
    tokens, following = torch.from_numpy(tokens), torch.from_numpy(following)
    weights = [embedding, positions, *[weight for layer in [*layers, last] for weight in layer]]
    weights = [torch.from_numpy(weight).requires_grad_() for weight in weights]
    each, of_a_layer = SIZE.width // SIZE.heads, len(layers[0])

    def normalized(x, scale, offset):
        return functional.layer_norm(x, [SIZE.width], scale, offset, EPSILON)

    def attention(x):
        q, k, v = (part.reshape(*part.shape[:2], SIZE.heads, each).transpose(1, 2) for part in x.chunk(3, -1))
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)

    def gelu(x):
        return functional.gelu(x, approximate="tanh")

    @compiled
    def loss_of(tokens, following, embedding, positions, *weights):
        layers = [weights[i : i + of_a_layer] for i in range(0, len(weights) - 2, of_a_layer)]
        x = functional.embedding(tokens, embedding) + positions
        x = network(x, layers, weights[-2:], normalized, attention, gelu)
        return functional.cross_entropy((x @ embedding.T).flatten(0, 1), following.flatten())

    @compiled
    def update(weights, gradients):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.sub_(gradient, alpha=RATE)

    def step():
        loss = loss_of(tokens, following, *weights)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            update(weights, gradients)
        return loss, weights[3], weights[-1]

    return step


def torch_eager():
    import torch

    return torch_step(torch)


def torch_compile():
    import torch

    return torch_step(torch, torch.compile)


def jax_jit():
    """Return the step with JAX's own attention."""
    import jax
    import jax.numpy as jnp

    tokens, following, *weights = jax.tree.map(jnp.asarray, start())
    each = SIZE.width // SIZE.heads

    def normalized(x, scale, offset):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + offset

    def attention(x):
        q, k, v = (part.reshape(*part.shape[:2], SIZE.heads, each) for part in jnp.split(x, 3, -1))
        return jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(*x.shape[:2], SIZE.width)

    def loss_of(weights, tokens, following):
        embedding, positions, layers, last = weights
        x = network(embedding[tokens] + positions, layers, last, normalized, attention, jax.nn.gelu)
        scores = jax.nn.log_softmax(x @ embedding.T)
        return -jnp.take_along_axis(scores, following[:, :, None], axis=-1).mean()

    def train(weights, tokens, following):
        loss, gradients = jax.value_and_grad(loss_of)(weights, tokens, following)
        return loss, jax.tree.map(lambda weight, gradient: weight - RATE * gradient, weights, gradients)

    train = jax.jit(train, donate_argnums=0)

    def step():
        nonlocal weights
        loss, weights = train(weights, tokens, following)
        _, _, layers, last = weights
        return loss, layers[0][1], last[1]

    return step
