"""Gradients that are NaN or infinite, with masked NaNs beside the guilty op."""

import numpy as np

import gradtape as tf


def the_norm_and_not_the_masked_logarithm():
    x = tf.Variable([0.0, 1.0])
    z = tf.Variable([0.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        m = x > 0.0
        safe = tf.where(m, tf.math.log(tf.where(m, x, 0.0)), 0.0)
        y = tf.reduce_sum(safe) + tf.norm(z)  # <- nan_origin
    return tape.gradient(y, [x, z]), tf.autodiff.explain_nan(y, [x, z])


def one_source_for_both():
    w = tf.Variable([0.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        m = w > 0.0
        masked = tf.where(m, tf.math.log(tf.where(m, w, 0.0)), 0.0)
        length = tf.sqrt(tf.reduce_sum(w**2))  # <- nan_origin
        y = tf.reduce_sum(masked) + length
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_mask_after_the_fact():
    x = tf.Variable([0.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        logs = tf.math.log(x)  # <- nan_origin
        y = tf.reduce_sum(tf.where(x > 0.0, logs, 0.0))
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def a_root_at_zero():
    x = tf.Variable([0.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        roots = tf.sqrt(x)  # <- inf_origin
        y = tf.reduce_sum(roots)
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def a_root_of_a_square():
    x = tf.Variable([0.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        squares = x * x
        y = tf.reduce_sum(tf.sqrt(squares))  # <- nan_origin
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def a_quotient_of_zeros():
    x = tf.Variable([0.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        shares = x / tf.constant([0.0, 1.0])  # <- inf_origin
        y = tf.reduce_sum(shares)
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def an_overflow_in_the_forward_pass():
    x = tf.Variable([1.0, 100.0])
    with tf.GradientTape(persistent=True) as tape:
        scores = tf.exp(x)  # <- nan_origin
        shares = scores / tf.reduce_sum(scores)
        y = shares[0]
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def a_root_of_a_negative_number():
    w = tf.Variable(-2.0)
    with tf.GradientTape(persistent=True) as tape:
        root = tf.sqrt(w)  # <- nan_origin
        y = root * root * 3.0
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_nan_that_is_masked_on_the_way():
    w = tf.Variable([1.0, 2.0])
    v = tf.Variable(0.0)
    with tf.GradientTape(persistent=True) as tape:
        noisy = tf.math.log(w - 5.0)
        clean = tf.where(tf.math.is_nan(noisy), w, noisy)
        y = tf.reduce_sum(clean) + v**0.5  # <- inf_origin
    return tape.gradient(y, [w, v]), tf.autodiff.explain_nan(y, [w, v])


def after_a_kept_step():
    x = tf.Variable([0.0, 4.0])
    tf.config.keep_last_step(True)
    try:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sqrt(x))  # <- inf_origin
        return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)
    finally:
        tf.config.keep_last_step(False)


def in_a_function():
    z = tf.Variable([0.0, 0.0])

    @tf.function
    def loss_of(scale):
        length = tf.norm(z)  # <- nan_origin
        return length * scale

    with tf.GradientTape(persistent=True) as tape:
        y = loss_of(tf.constant(2.0))
    return tape.gradient(y, z), tf.autodiff.explain_nan(y, z)


def in_a_branch_of_a_function():
    z = tf.Variable([0.0, 0.0])

    @tf.function
    def loss_of(x):
        if x > 0.0:
            y = tf.norm(z)  # <- nan_origin
        else:
            y = tf.reduce_sum(z)
        return y * 2.0

    with tf.GradientTape(persistent=True) as tape:
        y = loss_of(tf.constant(2.0))
    return tape.gradient(y, z), tf.autodiff.explain_nan(y, z)


def in_the_last_trip_of_a_loop():
    w = tf.Variable(3.0)

    @tf.function
    def loss_of(x):
        total = x * 0.0
        for i in tf.range(3):
            total += tf.sqrt(w - tf.cast(i, tf.float32) - 1.0)  # <- inf_origin
        return total

    with tf.GradientTape(persistent=True) as tape:
        y = loss_of(tf.constant(1.0))
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def in_a_while_loop():
    w = tf.Variable(0.0)

    @tf.function
    def loss_of(x):
        while x < 3.0:
            x = x + 1.0 + tf.sqrt(w * w)  # <- nan_origin
        return x

    with tf.GradientTape(persistent=True) as tape:
        y = loss_of(tf.constant(1.0))
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def data_with_a_nan():
    w = tf.Variable([1.0, 2.0])
    data = tf.constant([3.0, float("nan")])
    with tf.GradientTape(persistent=True) as tape:
        scaled = w * data  # <- nan_origin
        y = tf.reduce_sum(tf.tanh(scaled))
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def in_one_element_of_map_fn():
    u = tf.Variable([4.0, 1.0, 0.0])

    @tf.function
    def loss_of():
        return tf.reduce_sum(tf.map_fn(lambda t: tf.sqrt(t), u))  # <- inf_origin

    with tf.GradientTape(persistent=True) as tape:
        y = loss_of()
    return tape.gradient(y, u), tf.autodiff.explain_nan(y, u)


def a_cross_entropy_by_hand():
    logits, labels = tf.Variable([[200.0, 0.0]]), tf.constant([[0.0, 1.0]])
    with tf.GradientTape(persistent=True) as tape:
        shares = tf.nn.softmax(logits)
        loss = -tf.reduce_sum(labels * tf.math.log(shares))  # <- nan_origin
    return tape.gradient(loss, logits), tf.autodiff.explain_nan(loss, logits)


def a_deviation_of_equal_values():
    x = tf.Variable([1.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        deviation = tf.math.reduce_std(x)  # <- nan_origin
        y = deviation * 2.0
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def the_angle_of_one_direction():
    a = tf.Variable([1.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        cosine = tf.reduce_sum(tf.math.l2_normalize(a) * tf.constant([1.0, 0.0]))
        angle = tf.acos(cosine)  # <- nan_origin
    return tape.gradient(angle, a), tf.autodiff.explain_nan(angle, a)


def a_number_that_float16_does_not_hold():
    w, mask = tf.Variable([1.0, 2.0], dtype=tf.float16), tf.constant([1.0, 0.0], tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        low = tf.constant(-1e9, tf.float16)  # <- nan_origin
        scores = w + (1.0 - mask) * low
        y = tf.nn.softmax(scores)[0]
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_cast_to_float16():
    x = tf.Variable([70000.0, 1.0])
    with tf.GradientTape(persistent=True) as tape:
        small = tf.cast(x, tf.float16)  # <- nan_origin
        mean = tf.reduce_mean(small)
        y = tf.reduce_sum((small - mean) ** 2)
    return tape.gradient(y, x), tf.autodiff.explain_nan(y, x)


def a_loss_scaled_too_far():
    w = tf.Variable([2.0, 3.0], dtype=tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(w * w)
        y = loss * tf.constant(32768.0, tf.float16)  # <- inf_origin
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_recurrence_that_explodes():
    w = tf.Variable([[30.0]])
    with tf.GradientTape(persistent=True) as tape:
        h = tf.ones([1, 1])
        for _ in range(40):
            h = h @ w  # <- inf_origin
        y = tf.reduce_sum(h - 0.5 * h)
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_variable_that_a_step_spoiled():
    w = tf.Variable([1e10, 1.0])
    for _ in range(2):
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(w**4)
        gradient = tape.gradient(y, w)
        if np.isfinite(gradient.numpy()).all():
            w.assign_sub(gradient * 1e30)  # <- inf_origin
    return gradient, tf.autodiff.explain_nan(y, w)


def a_hole_in_the_data():
    table = np.array([[1.0, np.nan], [2.0, 3.0]], np.float32)
    w = tf.Variable([[1.0], [2.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum((table @ w) ** 2)  # <- nan_origin
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)


def a_matrix_that_is_not_positive():
    w = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        root = tf.linalg.cholesky(w * tf.constant([[1.0, 2.0], [2.0, 1.0]]))  # <- nan_origin
        y = tf.reduce_sum(root)
    return tape.gradient(y, w), tf.autodiff.explain_nan(y, w)
