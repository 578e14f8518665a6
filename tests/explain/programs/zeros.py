"""Gradients that exist and are zero."""

import gradtape as tf


def dead_units():
    w = tf.Variable([[-1.0, -2.0], [-3.0, -1.0]])
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        hidden = tf.nn.relu(x @ w)  # <- dead_relu
        loss = tf.reduce_sum(hidden * 3.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_saturated_sigmoid():
    w = tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.sigmoid(w * 200.0)  # <- saturated
        loss = y * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_saturated_tanh():
    w = tf.Variable([50.0, -60.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.tanh(w))  # <- saturated
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_saturated_softmax():
    logits = tf.Variable([0.0, 500.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        shares = tf.nn.softmax(logits)  # <- saturated
        loss = shares[1]
    return tape.gradient(loss, logits), tf.autodiff.explain(loss, logits)


def the_side_that_was_not_taken():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        chosen = tf.where(w > 5.0, w * 3.0, tf.zeros([2]))  # <- where_side
        loss = tf.reduce_sum(chosen)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def clipped_to_a_bound():
    w = tf.Variable([3.0, -4.0])
    with tf.GradientTape(persistent=True) as tape:
        bounded = tf.clip_by_value(w, -1.0, 1.0)  # <- clipped
        loss = tf.reduce_sum(bounded * 2.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_sign():
    w = tf.Variable([3.0, -4.0])
    with tf.GradientTape(persistent=True) as tape:
        signs = tf.sign(w)  # <- piecewise_constant
        loss = tf.reduce_sum(signs)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_detour_around_floor():
    x = tf.Variable(2.7)
    with tf.GradientTape(persistent=True) as tape:
        fraction = x - tf.floor(x)  # <- piecewise_constant
        loss = x - fraction
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


def a_masked_loss():
    w = tf.Variable([1.0, 2.0, 3.0])
    lengths = tf.constant([0])
    with tf.GradientTape(persistent=True) as tape:
        mask = tf.sequence_mask(lengths, 3, tf.float32)
        loss = tf.reduce_sum(mask * w**2)  # <- masked_out
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_rate_of_zero():
    w = tf.Variable([1.0, 2.0])
    weight = tf.constant(0.0)
    with tf.GradientTape(persistent=True) as tape:
        penalty = tf.reduce_sum(w**2)
        loss = penalty * weight  # <- zero_factor
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def weights_that_start_at_zero():
    w1 = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    w2 = tf.Variable([[0.0], [0.0]])
    with tf.GradientTape(persistent=True) as tape:
        hidden = tf.tanh(tf.constant([[0.1, 0.2]]) @ w1)
        loss = tf.reduce_sum(hidden @ w2)  # <- zero_factor
    return tape.gradient(loss, w1), tf.autodiff.explain(loss, w1)


def everything_was_dropped():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        kept = tf.nn.dropout(w, 0.9999999)  # <- dropped_out
        loss = tf.reduce_sum(kept)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def small_numbers_in_float16():
    w = tf.Variable([1.0, 2.0], dtype=tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        small = w * tf.constant(1e-4, tf.float16)  # <- underflow
        loss = tf.reduce_sum(small * tf.constant(1e-4, tf.float16))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_small_exponential_in_float16():
    w = tf.Variable([-20.0, -25.0], dtype=tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        shares = tf.exp(w)  # <- underflow
        loss = tf.reduce_sum(shares)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_product_of_matrices_that_underflows():
    w, tiny = tf.Variable([[1.0]]), tf.constant([[1e-30]])
    with tf.GradientTape(persistent=True) as tape:
        small = tf.matmul(tiny, tiny)
        loss = tf.reduce_sum(w * small)  # <- underflow
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def another_row_was_taken():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        heads = tf.stack([v * 2.0, w * 3.0])
        loss = heads[0]  # <- not_selected
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_bottom_of_a_parabola():
    w = tf.Variable(0.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = w**2  # <- stationary
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def two_terms_that_cancel():
    w = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        gain = w * 3.0
        loss = gain - w * 3.0  # <- cancelled
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def after_a_kept_step():
    w = tf.Variable([-1.0, -2.0])
    tf.config.keep_last_step(True)
    try:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.relu(w))  # <- dead_relu
        return tape.gradient(loss, w), tf.autodiff.explain(loss, w)
    finally:
        tf.config.keep_last_step(False)


def in_a_function():
    w = tf.Variable([[-1.0, -2.0], [-3.0, -1.0]])

    @tf.function
    def loss_of(x):
        hidden = tf.nn.relu(x @ w)  # <- dead_relu
        return tf.reduce_sum(hidden * 3.0)

    with tf.GradientTape(persistent=True) as tape:
        loss = loss_of(tf.constant([[1.0, 2.0]]))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_branch_of_a_function():
    v0, v1 = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def chosen(x):
        return tf.cond(x > 0.0, lambda: v0 * 1.0, lambda: v1**2)  # <- branch_not_taken

    with tf.GradientTape(persistent=True) as tape:
        result = chosen(tf.constant(-1.0))
    return tape.gradient(result, v0), tf.autodiff.explain(result, v0)


def an_if_in_a_function():
    v0, v1 = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def chosen(x):
        if x > 0.0:  # <- branch_not_taken
            result = v0 * 1.0
        else:
            result = v1**2
        return result

    with tf.GradientTape(persistent=True) as tape:
        result = chosen(tf.constant(-1.0))
    return tape.gradient(result, v0), tf.autodiff.explain(result, v0)


def stopped_in_a_function():
    w = tf.Variable(2.0)

    @tf.function
    def both(x):
        return tf.stop_gradient(w * x), w + x  # <- stopped

    with tf.GradientTape(persistent=True) as tape:
        first, _ = both(tf.constant(3.0))
    return tape.gradient(first, w), tf.autodiff.explain(first, w)


def in_a_loop_of_a_function():
    w = tf.Variable([-1.0, -2.0])

    @tf.function
    def loss_of(x):
        total = tf.constant(0.0)
        for i in tf.range(3):
            total += tf.reduce_sum(tf.nn.relu(w * x)) * tf.cast(i + 1, tf.float32)  # <- dead_relu
        return total

    with tf.GradientTape(persistent=True) as tape:
        loss = loss_of(tf.constant(1.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_python_function_that_uses_numpy():
    w = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.py_function(lambda x: x.numpy() ** 2, [w], tf.float32)  # <- left_library
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def units_of_an_embedding():
    layer = tf.keras.layers.Embedding(5, 2)
    rows = tf.constant([0, 1])
    layer(rows)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.nn.relu(-tf.exp(layer(rows))))  # <- dead_relu
    return tape.gradient(loss, layer.embeddings), tf.autodiff.explain(loss, layer.embeddings)


def the_mean_of_a_softmax():
    w = tf.Variable([1.0, 1.0])  # whose gradient is 0 to the bit, however it is computed
    with tf.GradientTape(persistent=True) as tape:
        shares = tf.nn.softmax(w)  # <- cancelled
        loss = tf.reduce_mean(shares)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_softmax_over_one_class():
    w = tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape(persistent=True) as tape:
        shares = tf.nn.softmax(tf.ones([2, 3]) @ w)  # <- saturated
        loss = tf.reduce_mean(shares**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_exponential_that_no_dtype_holds():
    w = tf.Variable(-800.0, dtype=tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        weight = tf.exp(w)  # <- underflow
        loss = weight * 5.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_product_of_small_factors():
    w = tf.Variable([1e-3] * 40)
    with tf.GradientTape(persistent=True) as tape:
        likelihood = tf.reduce_prod(w)  # <- underflow
        loss = -likelihood
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def factors_multiplied_one_by_one():
    logit = tf.Variable(-9.0)
    with tf.GradientTape(persistent=True) as tape:
        p = tf.sigmoid(logit)
        total = tf.constant(1.0)
        for _ in range(20):
            total = total * p  # <- underflow
        loss = -total
    return tape.gradient(loss, logit), tf.autodiff.explain(loss, logit)


def the_top_of_a_cosine():
    w = tf.Variable([0.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.cos(w))  # <- stationary
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_mask_that_keeps_nothing():
    w = tf.Variable([1.0, 2.0, 3.0])
    labels = tf.constant([0, 0, 0])
    with tf.GradientTape(persistent=True) as tape:
        kept = tf.boolean_mask(w * 2.0, labels > 0)  # <- masked_out
        loss = tf.reduce_sum(kept**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_index_that_keeps_nothing():
    w = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        negative = tf.gather_nd(w, tf.where(w < 0.0))  # <- masked_out
        loss = tf.reduce_sum(negative)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def everything_was_dropped_before_a_square():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        kept = tf.nn.dropout(w, 0.9999999)  # <- dropped_out
        loss = tf.reduce_sum(kept**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def saturated_before_a_loss_of_two_terms():
    w, label = tf.Variable(60.0), tf.constant(0.0)
    with tf.GradientTape(persistent=True) as tape:
        p = tf.sigmoid(w)  # <- saturated
        p = tf.clip_by_value(p, 1e-7, 1.0 - 1e-7)
        loss = -(label * tf.math.log(p) + (1.0 - label) * tf.math.log(1.0 - p))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_square_too_large_for_float16():
    x = tf.Variable([500.0, -500.0], dtype=tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        variance = tf.reduce_mean(x * x)  # <- overflow
        loss = tf.reduce_sum(x * tf.math.rsqrt(variance + 1e-3))
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


def dead_units_that_are_computed_again():
    w = tf.Variable([-1.0, -2.0])

    def block(x):
        hidden = tf.nn.relu(x * w)  # <- dead_relu
        return tf.reduce_sum(hidden)

    with tf.GradientTape(persistent=True) as tape:
        loss = tf.recompute_grad(block)(tf.constant([1.0, 3.0])) * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_bias_before_a_normalization():
    b = tf.Variable([0.5])
    with tf.GradientTape(persistent=True) as tape:
        h = tf.constant([[1.0], [2.0], [6.0]]) + b
        centered = h - tf.reduce_mean(h, 0)  # <- cancelled
        loss = tf.reduce_sum(centered**2)
    return tape.gradient(loss, b), tf.autodiff.explain(loss, b)


def a_custom_gradient_that_gives_zeros():
    @tf.custom_gradient
    def binarize(x):
        return tf.where(x >= 0.0, 1.0, -1.0), lambda up: up * tf.cast(tf.abs(x) > 1.0, tf.float32)  # <- zero_factor

    w = tf.Variable([0.3, -0.2])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(binarize(w) * 3.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_phase_of_an_amplitude():
    phase = tf.Variable([0.0, 0.0])
    with tf.GradientTape(persistent=True) as tape:
        amplitude = tf.abs(tf.exp(tf.complex(tf.zeros_like(phase), phase)))  # <- not_selected
        loss = tf.reduce_sum((amplitude - 0.5) ** 2)
    return tape.gradient(loss, phase), tf.autodiff.explain(loss, phase)


def a_hard_sigmoid_far_below():
    w = tf.Variable([-6.0, -8.0])
    with tf.GradientTape(persistent=True) as tape:
        gate = tf.keras.activations.hard_sigmoid(w)  # <- saturated
        loss = tf.reduce_sum((gate - 0.5) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_normalization_of_one_example():
    w = tf.Variable([[1.0, 2.0], [0.5, -1.0]])

    def normalized(x):
        mean, variance = tf.nn.moments(x, axes=[0])
        return (x - mean) / tf.sqrt(variance + 1e-3)  # <- cancelled

    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum((normalized(tf.ones([1, 2]) @ w) - 1.0) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_sigmoid_far_below():
    w = tf.Variable([-1.0, -2.0])
    with tf.GradientTape(persistent=True) as tape:
        p = tf.sigmoid(w * 200.0)  # <- saturated
        loss = tf.reduce_sum((p - 1.0) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_value_less_itself():
    logits = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        chosen = tf.nn.log_softmax(logits)[:, 0]
        ratio = tf.exp(chosen - chosen)  # <- cancelled
        loss = tf.reduce_mean(ratio * 2.0)
    return tape.gradient(loss, logits), tf.autodiff.explain(loss, logits)


def a_rounding_by_a_remainder():
    w = tf.Variable([0.3, 1.7])
    with tf.GradientTape(persistent=True) as tape:
        whole = w - tf.math.floormod(w, 1.0)  # <- piecewise_constant
        loss = tf.reduce_sum(whole * 3.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)
