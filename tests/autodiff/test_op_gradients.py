"""Gradients of particular ops at the places where a choice was made: ties, edges, steps, and what flows where."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

NAN, INF = np.nan, np.inf


def gradients(function, *values):
    """The gradients of `function` with respect to its arguments, at `values`."""
    arguments = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        target = function(*arguments)
    return tape.gradient(target, arguments)


def test_where_sends_the_gradient_to_the_side_taken():
    agree(
        gradients(lambda x, y: tf.where([True, False], x, y) * [10.0, 100.0], [1.0, 2.0], [3.0, 4.0]),
        [[10.0, 0.0], [0.0, 100.0]],
    )


def test_where_does_not_use_the_values():
    agree(
        gradients(lambda x, y: tf.where([True, False], x, y), [NAN, 2.0], [3.0, INF]),
        [[1.0, 0.0], [0.0, 1.0]],
    )


def test_where_sends_nothing_to_the_condition():
    agree(gradients(lambda x, y: tf.where(x > 0, y, 2.0), [1.0, -1.0], [3.0, 4.0]), [None, [1.0, 0.0]])
    agree(gradients(lambda x: tf.where(x > 0, x, 0.0), [1.0, -2.0]), [[1.0, 0.0]])


@pytest.mark.parametrize(
    "function",
    [
        tf.floor,
        tf.math.ceil,
        tf.round,
        tf.math.rint,
        tf.argmax,
        tf.argmin,
        lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
        lambda x: tf.cast(x > 1.0, tf.float32),
        lambda x: tf.cast(tf.equal(x, 1.5), tf.float32),
        tf.ones_like,
        tf.zeros_like,
        lambda x: tf.cast(tf.shape(x), tf.float32),
        lambda x: x // 2.0,
        lambda x: tf.range(0.0, x[0], 1.0),
        lambda x: tf.cast(tf.searchsorted([1.0, 2.0], x), tf.float32),
        lambda x: tf.cast(tf.math.is_nan(x), tf.float32),
    ],
)
def test_steps_give_none(function):
    assert gradients(function, [1.5, -2.3]) == [None]


@pytest.mark.parametrize(
    "function, dx",
    [
        (tf.sign, [0.0, 0.0]),
        (lambda x: x - (x - tf.floor(x)), [0.0, 0.0]),
        (lambda x: x - tf.floor(x), [1.0, 1.0]),
        (lambda x: x + tf.stop_gradient(tf.floor(x) - x), [1.0, 1.0]),
        (lambda x: x % 2.0, [1.0, 1.0]),
    ],
)
def test_around_steps(function, dx):
    agree(gradients(function, [1.5, -2.3]), [dx])


@pytest.mark.parametrize(
    "function, x, dx",
    [
        (tf.reduce_max, [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
        (tf.reduce_min, [1.0, 1.0, 1.0], [1 / 3, 1 / 3, 1 / 3]),
        (lambda x: tf.reduce_max(x, axis=1), [[1.0, 1.0], [2.0, 3.0]], [[0.5, 0.5], [0.0, 1.0]]),
        (lambda x: tf.math.segment_max(x, [0, 0, 1]), [2.0, 2.0, 3.0], [0.5, 0.5, 1.0]),
        (lambda x: tf.math.segment_min(x, [0, 0, 1]), [2.0, 2.0, 3.0], [0.5, 0.5, 1.0]),
        (lambda x: tf.math.unsorted_segment_max(x, [0, 0, 1], 2), [2.0, 2.0, 3.0], [0.5, 0.5, 1.0]),
        (lambda x: tf.math.top_k(x, 1).values, [3.0, 3.0, 1.0], [1.0, 0.0, 0.0]),
        (lambda x: tf.math.top_k(x, 2).values * [1.0, 10.0], [3.0, 3.0, 3.0], [1.0, 10.0, 0.0]),
        (lambda x: tf.sort(x) * [1.0, 10.0, 100.0], [3.0, 3.0, 1.0], [10.0, 100.0, 1.0]),
        (lambda x: tf.sort(x, direction="DESCENDING") * [1.0, 10.0, 100.0], [3.0, 3.0, 1.0], [1.0, 10.0, 100.0]),
        (lambda x: tf.clip_by_value(x, 1.0, 2.0), [0.0, 1.0, 1.5, 2.0, 3.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
        (tf.nn.relu, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
        (tf.nn.relu6, [-1.0, 0.0, 3.0, 6.0, 7.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
        (tf.abs, [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]),
    ],
)
def test_ties_and_kinks(function, x, dx):
    agree(gradients(function, x), [dx])


@pytest.mark.parametrize(
    "function, dx, dy",
    [
        (tf.maximum, [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]),
        (tf.minimum, [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
    ],
)
def test_ties_of_two_arguments_go_to_the_first(function, dx, dy):
    agree(gradients(function, [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), [dx, dy])


def test_ties_of_max_pooling_go_to_the_first():
    dx = gradients(lambda x: tf.nn.max_pool2d(tf.reshape(x, [1, 2, 2, 1]), 2, 2, "VALID"), [1.0, 3.0, 3.0, 3.0])
    agree(dx, [[0.0, 1.0, 0.0, 0.0]])


def test_clip_sends_the_rest_to_its_bounds():
    agree(gradients(tf.clip_by_value, [0.0, 1.0, 1.5, 2.0, 3.0], 1.0, 2.0), [[0.0, 1.0, 1.0, 1.0, 0.0], 1.0, 1.0])


@pytest.mark.parametrize(
    "function, dx",
    [
        (tf.sqrt, [0.0, 0.25]),
        (tf.math.rsqrt, [0.0, -0.0625]),
        (tf.math.reciprocal, [0.0, -0.0625]),
        (tf.tan, [0.0, 2.3405502]),
        (lambda x: 1.0 / x, [NAN, -0.0625]),
        (tf.math.log, [NAN, 0.25]),
        (lambda x: x**0.5, [NAN, 0.25]),
        (lambda x: tf.pow(x, -1.0), [NAN, -0.0625]),
    ],
)
def test_a_zero_gradient_at_the_edge(function, dx):
    agree(gradients(lambda x: tf.where(x > 0, function(x), 0.0), [0.0, 4.0]), [dx])


def test_a_norm_under_a_mask():
    agree(gradients(lambda x: tf.where(tf.reduce_sum(x) > 0, tf.norm(x), 0.0), [0.0, 0.0]), [[0.0, 0.0]])
    agree(gradients(lambda x: tf.norm(x) * 0.0, [0.0, 0.0]), [[0.0, 0.0]])


@pytest.mark.parametrize(
    "function, x, dx",
    [
        (tf.norm, [0.0, 0.0], [NAN, NAN]),
        (tf.norm, [3.0, 4.0], [0.6, 0.8]),
        (tf.sqrt, 0.0, INF),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**0.5, 0.0, INF),
        (tf.reduce_prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
        (tf.reduce_prod, [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        (tf.math.cumprod, [2.0, 1.0, 3.0], [5.0, 8.0, 2.0]),
        (tf.cumsum, [2.0, 0.0, 3.0], [3.0, 2.0, 1.0]),
    ],
)
def test_at_zero(function, x, dx):
    agree(gradients(function, x), [dx])


@pytest.mark.parametrize(
    "function, dx, dy",
    [
        (tf.pow, 0.0, 0.0),
        (tf.math.xlogy, np.log(2.0), 0.0),  # TensorFlow: 0
        (tf.math.divide_no_nan, 0.5, 0.0),
    ],
)
def test_two_arguments_the_first_of_which_is_zero(function, dx, dy):
    agree(gradients(function, 0.0, 2.0), [dx, dy])


@pytest.mark.better
@pytest.mark.parametrize(
    "function, x, dx",
    [
        (tf.math.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
        (tf.math.cumprod, [0.0, 2.0, 0.0, 3.0], [3.0, 0.0, 0.0, 0.0]),
        (lambda x: tf.math.cumprod(x, exclusive=True), [2.0, 0.0, 3.0], [1.0, 2.0, 0.0]),
        (lambda x: tf.math.cumprod(x, reverse=True), [2.0, 0.0, 3.0], [0.0, 9.0, 1.0]),
    ],
)
def test_a_cumulative_product_with_zeros_is_exact(function, x, dx):
    agree(gradients(function, x), [dx])


@pytest.mark.better
@pytest.mark.parametrize("x, first, second", [(1.0, 0.25, -0.25), (-3.0, 0.0625, 0.03125), (0.0, 1.0, 0.0)])
def test_softsign_has_a_second_derivative(x, first, second):
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.nn.softsign(x)
        dy_dx = inner.gradient(y, x)
    agree(dy_dx, first)
    agree(outer.gradient(dy_dx, x), second)


@pytest.mark.parametrize(
    "function, x, dx",
    [
        (tf.linalg.cholesky, [[4.0, 2.0], [2.0, 3.0]], [[0.21338835, 0.07322331], [0.07322331, 0.35355335]]),
        (tf.linalg.cholesky, [[1.0, 2.0], [2.0, 1.0]], [[NAN, NAN], [NAN, NAN]]),
        (tf.linalg.inv, [[2.0, 1.0], [1.0, 3.0]], [[-0.16, -0.08], [-0.08, -0.04]]),
        (tf.linalg.det, [[2.0, 1.0], [1.0, 3.0]], [[3.0, -1.0], [-1.0, 2.0]]),
        (tf.linalg.logdet, [[2.0, 1.0], [1.0, 3.0]], [[0.6, -0.2], [-0.2, 0.4]]),
        (tf.linalg.trace, [[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]]),
    ],
)
def test_matrices(function, x, dx):
    agree(gradients(function, x), [dx])


def test_solve():
    agree(
        gradients(tf.linalg.solve, [[2.0, 1.0], [1.0, 3.0]], [[1.0], [2.0]]),
        [[[-0.08, -0.24], [-0.04, -0.12]], [[0.4], [0.2]]],
    )


@pytest.mark.parametrize("function", [tf.linalg.inv, lambda a: tf.linalg.solve(a, [[1.0], [1.0]])], ids=["inv", "solve"])
def test_a_singular_matrix_raises(function):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        gradients(function, [[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    "function, x, op_type",
    [
        (lambda x: tf.unique(x)[0], [1.0, 2.0, 1.0], "Unique"),
        (lambda x: tf.unique_with_counts(x)[0], [1.0, 2.0, 1.0], "UniqueWithCounts"),
        (lambda x: tf.math.bincount([0, 1, 1], weights=x), [1.0, 2.0, 3.0], "DenseBincount"),
        (lambda x: tf.image.adjust_contrast(x, 0.1), [[[0.5, 0.0, 0.0]]], "AdjustContrastv2"),
    ],
)
def test_an_op_without_a_gradient_raises(function, x, op_type):
    with pytest.raises(LookupError, match=f"gradient registry has no entry for: {op_type}"):
        gradients(function, x)


def test_an_op_without_a_gradient_is_harmless_off_the_path():
    x = tf.constant([1.0, 2.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        values, _ = tf.unique(x)
        y = x * x
    agree(values, [1.0, 2.0])
    agree(tape.gradient(y, x), [2.0, 4.0, 2.0])
    with pytest.raises(LookupError, match="gradient registry has no entry for: Unique"):
        tape.gradient([y, values], x)


@pytest.mark.parametrize(
    "op_type, function",
    [
        ("IsNan", tf.math.is_nan),
        ("IsFinite", tf.math.is_finite),
        ("Bitcast", lambda x: tf.bitcast(x, tf.int32)),
        ("InTopKV2", lambda x: tf.math.in_top_k([0], x[None], 1)),
        ("HistogramFixedWidth", lambda x: tf.histogram_fixed_width(x, [0.0, 1.0], 3)),
        ("Where", tf.where),
        ("Unique", lambda x: tf.unique(x)[1]),
        ("NonMaxSuppressionV3", lambda x: tf.image.non_max_suppression(tf.zeros([3, 4]), x, 2)),
    ],
)
def test_integers_and_bools_of_ops_without_an_entry(op_type, function):
    x = tf.Variable([0.5, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = function(x)
    with pytest.raises(LookupError, match=f"gradient registry has no entry for: {op_type}$"):
        tape.gradient(y, x)


@pytest.mark.parametrize("function", [tf.argsort, lambda x: tf.math.top_k(x, 2).indices])
def test_places_of_what_is_sorted_have_gradient_zero(function):
    x, apart = tf.Variable([0.5, 2.0, 3.0]), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = function(x)
    dx, none = tape.gradient(y, [x, apart])
    agree(dx, [0.0, 0.0, 0.0])
    assert none is None
