"""Recurrent networks of the Keras backend: what they give, and their gradients, against loops in JAX."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import nn

import gradtape as tf
from gradtape.keras import layers, ops
from tests.keras.gradients import Row, differences, numbers

BATCH, STEPS, FEATURES, UNITS = 2, 4, 3, 2
sequences = numbers(BATCH, STEPS, FEATURES)
start = numbers(BATCH, UNITS, seed=1)
weights = numbers(FEATURES, UNITS, seed=2), numbers(UNITS, UNITS, seed=3)
MASK = np.array([[False, True, False, True], [True, True, False, False]])


def backend():
    """Where Keras has the recurrent functions: from 3.16 on in a module of the backend."""
    from keras.src import backend

    return backend if callable(backend.rnn) else backend.rnn


def simple(module):
    """The step of a layer with one state, in `gradtape` or `jax.numpy`."""
    return lambda x, h, w, u: module.tanh(module.matmul(x, w) + module.matmul(h, u))


def ours(**options):
    """`rnn` of the step, all that it gives."""

    def run(x, h, w, u):
        def step(inputs, states):
            y = simple(tf)(inputs, states[0], w, u)
            return y, [y]

        last, outputs, states = backend().rnn(step, x, [h], **options)
        return last, outputs, states[0]

    return run


def loop(mask=None, go_backwards=False, zero_output_for_mask=False):
    """The same in JAX, written out."""

    def run(x, h, w, u):
        outputs, before = [], jnp.zeros_like(h)
        for t in range(STEPS)[:: -1 if go_backwards else 1]:
            y = after = simple(jnp)(x[:, t], h, w, u)
            if mask is not None:
                here = mask[:, t : t + 1]
                y = jnp.where(here, y, 0.0 if zero_output_for_mask else before)
                after = jnp.where(here, after, h)
            h, before = after, y
            outputs.append(y)
        return outputs[-1], jnp.stack(outputs, 1), h

    return run


def only_last(run):
    """Of what an rnn gives, the last output in place of all."""

    def last(*args):
        y, _, h = run(*args)
        return y, y[:, None], h

    return last


def of_lstm(x, h, c, w, u, b):
    outputs = []
    for t in range(STEPS)[::-1]:
        i, f, g, o = jnp.split(x[:, t] @ w + h @ u + b, 4, -1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        outputs.append(h)
    return h, jnp.stack(outputs, 1), [h, c]


def of_gru(x, h, w, u, b):
    for t in range(STEPS):
        (x_z, x_r, x_h), (h_z, h_r, h_h) = jnp.split(x[:, t] @ w + b[0], 3, -1), jnp.split(h @ u + b[1], 3, -1)
        z, r = nn.sigmoid(x_z + h_z), nn.sigmoid(x_r + h_r)
        h = z * h + (1 - z) * jnp.tanh(x_h + r * h_h)
    return h, h[:, None], [h]


def our_lstm(x, h, c, w, u, b):
    return backend().lstm(x, h, c, None, w, u, b, ops.tanh, ops.sigmoid, return_sequences=True, go_backwards=True)


def our_gru(x, h, w, u, b):
    return backend().gru(x, h, None, w, u, b, ops.tanh, ops.sigmoid)


ARRAYS = (sequences, start, *weights)
ROWS = [
    Row("scan", ours(), loop(), ARRAYS),
    Row("unrolled", ours(unroll=True), loop(), ARRAYS),
    Row("last output", ours(return_all_outputs=False), only_last(loop()), ARRAYS),
    Row("backwards", ours(go_backwards=True), loop(go_backwards=True), ARRAYS),
    Row("mask", ours(mask=MASK), loop(MASK), ARRAYS),
    Row("mask, unrolled, backwards", ours(mask=MASK, unroll=True, go_backwards=True), loop(MASK, go_backwards=True), ARRAYS),
    Row("mask, last output", ours(mask=MASK, return_all_outputs=False), only_last(loop(MASK)), ARRAYS),
    Row("zeros for the mask", ours(mask=MASK, zero_output_for_mask=True), loop(MASK, zero_output_for_mask=True), ARRAYS),
    Row(
        "lstm",
        our_lstm,
        of_lstm,
        (
            sequences,
            start,
            numbers(BATCH, UNITS, seed=4),
            numbers(FEATURES, 4 * UNITS),
            numbers(UNITS, 4 * UNITS),
            numbers(4 * UNITS),
        ),
    ),
    Row(
        "gru",
        our_gru,
        of_gru,
        (sequences, start, numbers(FEATURES, 3 * UNITS), numbers(UNITS, 3 * UNITS), numbers(2, 3 * UNITS)),
    ),
]


def test_values_and_gradients_are_those_of_a_loop():
    assert differences(ROWS) == []


def test_time_major_sequences_are_taken_and_given():
    last, outputs, _ = backend().rnn(lambda x, h: (h[0] + x, [h[0] + x]), tf.ones([3, 2, 1]), [tf.zeros([2, 1])], time_major=True)
    assert outputs.numpy()[:, :, 0].tolist() == [[1, 1], [2, 2], [3, 3]]
    assert last.numpy().tolist() == [[3], [3]]


def test_nests_of_inputs_states_and_constants():
    def step(inputs, states):
        (total, (count,)), constant = states[:2], states[2]
        total = total + inputs["a"] + inputs["b"] * constant
        return {"total": total}, [total, (count + 1,)]

    inputs = {"a": tf.ones([2, 3, 1]), "b": tf.fill([2, 3, 1], 2.0)}
    states = [tf.zeros([2, 1]), (tf.zeros([2, 1]),)]
    last, outputs, (total, (count,)) = backend().rnn(step, inputs, states, constants=[tf.constant(10.0)])
    assert last["total"].numpy().tolist() == total.numpy().tolist() == [[63.0], [63.0]]
    assert outputs["total"].shape == (2, 3, 1)
    assert count.numpy().tolist() == [[3.0], [3.0]]


def test_a_layer_in_a_function_draws_masks_anew():
    layer = layers.LSTM(2, dropout=0.5, recurrent_dropout=0.5, seed=1)
    call = tf.function(lambda x: layer(x, training=True))
    x = tf.ones([2, 3, 4])
    assert not np.allclose(call(x), call(x))


@pytest.mark.parametrize("mask, unroll", [(MASK, False), (None, True)])
def test_what_the_whole_layer_does_not_do_is_left_to_the_steps(mask, unroll):
    states = [tf.constant(start)] * 2
    with pytest.raises(NotImplementedError, match=r"^$"):
        backend().lstm(tf.constant(sequences), *states, mask, *weights, None, ops.tanh, ops.sigmoid, unroll=unroll)
