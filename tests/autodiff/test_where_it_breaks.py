"""Programs whose gradient is `None`, each beside the way to write it that has one."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def test_unrelated_target():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = y * y
    agree(tape.gradient(z, [x, y]), [None, 6.0])


def test_a_variable_became_a_tensor():
    x = tf.Variable(2.0)
    gradients = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = x + 1
        gradients.append(tape.gradient(y, x))
        x = x + 1
    agree(gradients, [1.0, None, None])


@pytest.mark.parametrize(
    "outside",
    [
        lambda x2: np.mean(x2, axis=0),
        lambda x2: x2.numpy().mean(axis=0),
        lambda x2: tf.constant(x2.numpy())[0],
        lambda x2: np.asarray(x2)[0],
        lambda x2: [float(part) for part in x2[0]],
        lambda x2: x2[0].numpy().tolist(),
    ],
)
def test_the_value_left_the_library(outside):
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(outside(x**2))
    assert tape.gradient(y, x) is None


def test_the_value_stayed_in_the_library():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        x2 = x**2
        y = tf.reduce_sum(tf.reduce_mean(x2, axis=0))
    agree(tape.gradient(y, x), [[1.0, 2.0], [3.0, 4.0]])


def test_an_array_beside_a_tensor_is_a_constant():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * np.array([10.0, 100.0]) + np.ones(2)
    agree(tape.gradient(y, x), [10.0, 100.0])


def test_integers(caplog):
    x = tf.constant(10)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    assert "The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.int32" in caplog.text


def test_a_detour_through_integers():
    x = tf.constant([1.5, 2.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0
    agree(y, [2.0, 4.0])
    assert tape.gradient(y, x) is None


def test_state():
    x0 = tf.Variable(3.0)
    x1 = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        x1.assign_add(x0)
        y = x1**2
    assert tape.gradient(y, x0) is None
    agree(x1, 3.0)
    with tf.GradientTape() as tape:
        x2 = x1 + x0
        y = x2**2
    agree(tape.gradient(y, [x0, x1]), [12.0, 12.0])


@pytest.mark.parametrize("x, gradients", [(1.0, [1.0, None, None]), (-1.0, [None, 4.0, None])])
def test_the_condition_of_an_if(x, gradients):
    x = tf.constant(x)
    v0 = tf.Variable(2.0)
    v1 = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = v0 if x > 0.0 else v1**2
    agree(tape.gradient(result, [v0, v1, x]), gradients)


@pytest.mark.parametrize("targets, dx", [("y1", -0.4121803), ("y0", 4.0), ("y0 y1", 3.5878196)])
def test_one_target_and_several(targets, dx):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        values = {"y0": x**2, "y1": tf.exp(1 / x)}
    agree(tape.gradient([values[name] for name in targets.split()], x), dx)


# Losses of several heads


@pytest.fixture
def heads():
    """Three weights, an input, and the outputs wanted of the three heads."""
    return [tf.Variable(float(i + 1), name=f"head{i}") for i in range(3)], tf.constant([1.0, 2.0]), [0.0, 1.0, 5.0]


def squared_error(output, wanted):
    return tf.reduce_mean((output - wanted) ** 2)


def test_a_list_of_losses(heads):
    weights, x, wanted = heads
    with tf.GradientTape(persistent=True) as tape:
        losses = [squared_error(w * x, target) for w, target in zip(weights, wanted, strict=True)]
    agree(tape.gradient(losses[0], weights), [5.0, None, None])
    agree(tape.gradient(losses[1], weights), [None, 7.0, None])
    agree(tape.gradient(losses[2], weights), [None, None, 0.0])
    agree(tape.gradient(losses, weights), [5.0, 7.0, 0.0])


@pytest.mark.parametrize("select", [lambda stacked, i: stacked[i], tf.gather, lambda stacked, i: tf.unstack(stacked)[i]])
def test_heads_that_the_loss_does_not_use_get_zeros(heads, select):
    weights, x, wanted = heads
    with tf.GradientTape(persistent=True) as tape:
        outputs = tf.stack([w * x for w in weights])
        losses = [squared_error(select(outputs, i), wanted[i]) for i in range(3)]
    agree(tape.gradient(losses[0], weights), [5.0, 0.0, 0.0])
    agree(tape.gradient(losses[1], weights), [0.0, 7.0, 0.0])


@pytest.mark.parametrize("select", [lambda stacked, i: stacked[i], tf.gather, lambda stacked, i: tf.unstack(stacked)[i]])
def test_indexing_outside_the_tape_is_an_op_that_it_has_not_seen(heads, select):
    weights, x, wanted = heads
    with tf.GradientTape(persistent=True) as tape:
        losses = tf.stack([squared_error(w * x, target) for w, target in zip(weights, wanted, strict=True)])
        inside = select(losses, 1)
    outside = select(losses, 1)
    agree(outside, inside)
    agree(tape.gradient(outside, weights), [None, None, None])
    agree(tape.gradient(inside, weights), [0.0, 7.0, 0.0])
    agree(tape.gradient(losses, weights), [5.0, 7.0, 0.0])


def test_indexing_what_map_fn_gave(heads):
    weights, x, wanted = heads

    def loss(pair):
        weight, target = pair
        return tf.reduce_mean((weight * x - target) ** 2)

    with tf.GradientTape(persistent=True) as tape:
        pairs = tf.stack(weights), tf.constant(wanted)
        losses = tf.map_fn(loss, pairs, fn_output_signature=tf.float32)
        inside = losses[1]
    agree(tape.gradient(inside, weights), [0.0, 7.0, 0.0])
    agree(tape.gradient(losses[1], weights), [None, None, None])
    agree(tape.gradient(tf.gather(losses, 1), weights), [None, None, None])
    agree(tape.gradient(losses, weights), [5.0, 7.0, 0.0])


# A saliency map in the loss


def test_saliency_from_one_persistent_tape():
    w = tf.Variable([2.0, -3.0])
    x = tf.constant([0.5, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum((w * x) ** 2)
        saliency = tape.gradient(y, x)
    loss = tf.reduce_sum(tf.abs(saliency))
    agree(saliency, [4.0, 18.0])
    assert tape.gradient(loss, w) is None
    agree(tape.gradient(saliency, w), [4.0, -12.0])


def test_saliency_from_two_tapes():
    w = tf.Variable([2.0, -3.0])
    x = tf.constant([0.5, 1.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum((w * x) ** 2)
        saliency = inner.gradient(y, x)
        loss = tf.reduce_sum(tf.abs(saliency))
    agree(outer.gradient(loss, w), [4.0, -12.0])


# A variable filled element by element: the product of every pair of memberships

LEFT, RIGHT = [0.5, 2.0], [1.0, 3.0, 4.0]


def filled_element_by_element(left, right):
    products = tf.Variable(tf.zeros([2, 3], left.dtype))
    for i in range(2):
        for j in range(3):
            products[i, j].assign(left[i] * right[j])
    return products


def filled_row_by_row(left, right):
    products = tf.Variable(tf.zeros([2, 3], left.dtype))
    for i in range(2):
        products[i].assign(left[i] * right)
    return products


def expanded(left, right):
    return tf.expand_dims(left, 1) * tf.expand_dims(right, 0)


def multiplied(left, right):
    shape = [2, 3]
    pairs = tf.stack([tf.broadcast_to(left[:, None], shape), tf.broadcast_to(right[None, :], shape)], axis=-1)
    return tf.reduce_prod(pairs, axis=-1)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16])
@pytest.mark.parametrize(
    "products, gradients",
    [
        (filled_element_by_element, [None, None]),
        (filled_row_by_row, [None, None]),
        (expanded, [[8.0, 8.0], [2.5, 2.5, 2.5]]),
        (multiplied, [[8.0, 8.0], [2.5, 2.5, 2.5]]),
    ],
)
def test_products_of_pairs(products, gradients, dtype):
    left = tf.Variable(LEFT, dtype=dtype)
    right = tf.Variable(RIGHT, dtype=dtype)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(products(left, right))
    assert total.dtype == dtype
    agree(total, 20.0)
    agree(tape.gradient(total, [left, right]), gradients)
