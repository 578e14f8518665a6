"""The fix for a NaN or an infinity is code in the program's own names that, put in its place, gives a finite gradient."""

import inspect
import re

import numpy as np
import pytest

import gradtape as tf


def a_root(x):
    return tf.reduce_sum(tf.sqrt(x[:1] * 2.0))


def a_logarithm(x):
    return tf.reduce_sum(tf.math.log(x[:1]) * 0.0 + x[1])


def a_power(x):
    return tf.reduce_sum(x**0.5)


def a_quotient(x):
    return tf.reduce_sum(1.0 / x[:1])


def a_norm_along_an_axis(x):
    return tf.reduce_sum(tf.norm(x[None] - x[None], axis=1))


def a_spread_below_a_line(x):
    return tf.reduce_sum(x / tf.math.reduce_std(x * 0.0))


def a_softplus_by_hand(x):
    return tf.reduce_sum(tf.math.log(1.0 + tf.exp(x * 500.0)))


def a_logarithm_of_a_sigmoid(x):
    return tf.reduce_sum(tf.math.log(tf.sigmoid(x - 300.0)))


def a_softmax_by_hand(x):
    return tf.reduce_sum(tf.exp(x * 500.0) / tf.reduce_sum(tf.exp(x * 500.0)) * x)


def a_quotient_on_the_other_side(x):
    return tf.reduce_sum(tf.where(x > 0.0, 1.0 / x, 0.0))


def a_power_on_the_other_side(x):
    return tf.reduce_sum(tf.where(x < 2.0, x, tf.math.pow(10.0, tf.exp(x + 5.0))))


FIXES = [
    (a_quotient_on_the_other_side, "1.0 / x", "1.0 / tf.where(x > 0.0, x, 1.0)"),
    (
        a_power_on_the_other_side,
        "tf.math.pow(10.0, tf.exp(x + 5.0))",
        "tf.math.pow(10.0, tf.where(x < 2.0, 1.0, tf.exp(x + 5.0)))",
    ),
    (a_root, "tf.sqrt(x[:1] * 2.0)", "tf.sqrt(tf.maximum(x[:1] * 2.0, 1e-12))"),
    (a_logarithm, "tf.math.log(x[:1])", "tf.math.log(tf.maximum(x[:1], 1e-12))"),
    (a_power, "x**0.5", "tf.maximum(x, 1e-12) ** 0.5"),
    (a_quotient, "1.0 / x[:1]", "1.0 / tf.where(tf.abs(x[:1]) < 1e-12, 1e-12, x[:1])"),
    (
        a_norm_along_an_axis,
        "tf.norm(x[None] - x[None], axis=1)",
        "tf.sqrt(tf.reduce_sum(tf.square(x[None] - x[None]), axis=1) + 1e-12)",
    ),
    (a_spread_below_a_line, "tf.math.reduce_std(x * 0.0)", "tf.sqrt(tf.math.reduce_variance(x * 0.0) + 1e-12)"),
    (a_softplus_by_hand, "tf.math.log(1.0 + tf.exp(x * 500.0))", "tf.math.softplus(x * 500.0)"),
    (a_logarithm_of_a_sigmoid, "tf.math.log(tf.sigmoid(x - 300.0))", "tf.math.log_sigmoid(x - 300.0)"),
    (
        a_softmax_by_hand,
        "tf.exp(x * 500.0) / tf.reduce_sum(tf.exp(x * 500.0))",
        "tf.nn.softmax(x * 500.0)",
    ),
]


@pytest.mark.parametrize("loss_of, before, after", FIXES)
def test_the_fix_in_its_place(loss_of, before, after, count):
    x = tf.Variable([0.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_of(x)
    assert not np.isfinite(tape.gradient(loss, x)).all()
    mend = tf.autodiff.explain_nan(loss, x).mend
    assert re.search(r"`([^`]*)`", mend)[1] == after, mend
    written = inspect.getsource(loss_of).split("return ")[1]
    assert before in written
    mended = eval(f"lambda x: {written.replace(before, after)}", {"tf": tf})
    with tf.GradientTape() as tape:
        loss = mended(x)
    assert np.isfinite(loss) and np.isfinite(tape.gradient(loss, x)).all()
    count("fixes of NaN and infinity applied")


def test_a_target_that_is_not_finite_and_its_gradient_is():
    w, data = tf.Variable([1.0, 2.0]), tf.constant([0.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(w * 3.0) + tf.reduce_sum(data * tf.math.log(data))
    assert np.isfinite(tape.gradient(loss, w)).all() and np.isnan(loss)
    diagnosis = tf.autodiff.explain_nan(loss, w)
    assert diagnosis.code == "nan_origin" and "tf.math.log in" in diagnosis.cause and "reaches loss" in diagnosis.cause
    assert "`tf.math.log(tf.maximum(data, 1e-12))`" in diagnosis.mend
