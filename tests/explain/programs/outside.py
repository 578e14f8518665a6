"""Ops that the tape did not see."""

import contextlib
import threading

import gradtape as tf


def losses():
    weights = [tf.Variable(float(i + 1)) for i in range(3)]
    return weights, tf.constant([1.0, 2.0])


def a_stacked_loss_indexed_outside():
    weights, x = losses()
    with tf.GradientTape() as tape:
        stacked = tf.stack([tf.reduce_sum(w * x) for w in weights])
    loss = stacked[0]  # <- outside_tape
    return tape.gradient(loss, weights[0]), tf.autodiff.explain(loss, weights[0])


def a_stacked_loss_gathered_outside():
    weights, x = losses()
    with tf.GradientTape() as tape:
        stacked = tf.stack([tf.reduce_sum(w * x) for w in weights])
    loss = tf.gather(stacked, 1)  # <- outside_tape
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def losses_added_outside():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        first = w * w
        second = w * 3.0
    total = first + second  # <- outside_tape
    return tape.gradient(total, w), tf.autodiff.explain(total, w)


def losses_averaged_by_a_helper_outside():
    def mean_of(parts):
        return tf.add_n(parts) / float(len(parts))

    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        parts = [w * w, w * 3.0]
    total = mean_of(parts)  # <- outside_tape
    return tape.gradient(total, w), tf.autodiff.explain(total, w)


def an_op_before_the_tape():
    w = tf.Variable(2.0)
    doubled = w * 2.0  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = doubled * doubled
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def mapped_losses_indexed_outside():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        mapped = tf.map_fn(lambda x: x * w, tf.constant([1.0, 2.0, 3.0]))
    loss = mapped[2]  # <- outside_tape
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_saliency_used_outside():
    w = tf.Variable([1.0, 2.0])
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        score = tf.reduce_sum(w * x * x)
        saliency = tape.gradient(score, x)
    loss = tf.reduce_sum(saliency**2)  # <- outside_tape
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def unstacked_outside():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        outputs = w * 3.0
    first, _ = tf.unstack(outputs)  # <- outside_tape
    return tape.gradient(first, w), tf.autodiff.explain(first, w)


def two_ops_outside():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        outputs = w * 3.0
    squared = outputs**2  # <- outside_tape
    loss = tf.reduce_sum(squared)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def after_other_training_steps():
    w = tf.Variable(2.0)
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = w * w
        w.assign_sub(0.1 * tape.gradient(loss, w))
    with tf.GradientTape() as tape:
        part = w * w
    loss = part * 2.0  # <- outside_tape
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def recording_paused():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            squared = w * w  # <- recording_paused
        loss = squared * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def in_an_init_scope():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with tf.init_scope():
            squared = w * w  # <- recording_paused
        loss = squared * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_scale_was_computed_while_recording_paused():
    w = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            norm = tf.norm(w)  # <- recording_paused
        loss = norm + 1.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def another_tape_recorded_it():
    w = tf.Variable(2.0)
    with tf.GradientTape():
        features = w * w  # <- other_tape
    with tf.GradientTape() as tape:
        loss = features * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_inner_gradient_was_taken_outside():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x**3
    dy = inner.gradient(y, x)  # <- other_tape
    return outer.gradient(dy, x), tf.autodiff.explain(dy, x, outer)


def one_tape_for_two_orders():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**3
    dy = tape.gradient(y, x)  # <- other_tape
    return tape.gradient(dy, x), tf.autodiff.explain(dy, x)


def tapes_closed_in_the_wrong_order():
    x = tf.Variable(2.0)
    outer, inner = tf.GradientTape(), tf.GradientTape()
    outer.__enter__()
    inner.__enter__()
    y = x**3
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    dy = inner.gradient(y, x)  # <- other_tape
    return outer.gradient(dy, x), tf.autodiff.explain(dy, x, outer)


def another_thread():
    w = tf.Variable(2.0)
    results = []

    def work():
        results.append(w * w)  # <- other_thread

    with tf.GradientTape() as tape:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        loss = results[0] * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def another_thread_that_ran_its_part():
    w = tf.Variable(2.0)
    results = []

    def work():
        results.append(tf.exp(w) * 2.0)  # <- other_thread
        results[0].numpy()

    with tf.GradientTape() as tape:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        loss = results[0] * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_tape_used_twice():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
        other = w * 3.0
    tape.gradient(loss, w)  # <- tape_used
    gradient = None
    with contextlib.suppress(RuntimeError):
        gradient = tape.gradient(other, w)
    return gradient, tf.autodiff.explain(other, w)


def a_tape_that_was_reset():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        squared = w * w
        tape.reset()  # <- tape_used
        loss = squared * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_watch_that_was_reset():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.reset()  # <- tape_used
        loss = x * 3.0
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


def a_jacobian_of_something_outside():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        outputs = w * 3.0
    squared = outputs**2  # <- outside_tape
    return tape.jacobian(squared, w), tf.autodiff.explain(squared, w)


def used_up_by_a_jacobian():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        outputs = w * 3.0
        other = w * 4.0
    tape.jacobian(outputs, w)  # <- tape_used
    gradient = None
    with contextlib.suppress(RuntimeError):
        gradient = tape.gradient(other, w)
    return gradient, tf.autodiff.explain(other, w)


def a_generator_that_ran_ahead():
    w = tf.Variable([1.0, 2.0])

    def losses():
        for factor in (1.0, 2.0):
            yield tf.reduce_sum(w * factor)  # <- outside_tape

    ahead = losses()
    first = next(ahead)
    with tf.GradientTape() as tape:
        loss = first * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def losses_differentiated_in_a_comprehension():
    w = tf.Variable([1.0, 2.0])

    def squares(values):
        return [values[i] ** 2 for i in range(2)]

    with tf.GradientTape(persistent=True) as tape:
        doubled = w * 2.0
    parts = squares(doubled)  # <- outside_tape
    gradients = [tape.gradient(part, w) for part in parts]
    return gradients[0], tf.autodiff.explain(parts[0], w)


def features_of_weights_that_were_assigned_since():
    encoder, decoder = tf.Variable([[0.5], [0.25]]), tf.Variable([[2.0]])
    features = tf.tanh(tf.ones([3, 2]) @ encoder)  # <- outside_tape
    encoder.assign(encoder * 0.9)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(features @ decoder)
    return tape.gradient(loss, encoder), tf.autodiff.explain(loss, encoder)


def features_of_a_model_that_was_trained_since():
    encoder, decoder = tf.keras.layers.Dense(2), tf.Variable([[2.0], [1.0]])
    x = tf.ones([3, 2])
    features = encoder(x)  # <- outside_tape
    with tf.GradientTape() as training:
        own = tf.reduce_sum(encoder(x) ** 2)
    tf.keras.optimizers.SGD(0.1).apply_gradients(
        zip(training.gradient(own, encoder.trainable_variables), encoder.trainable_variables, strict=True)
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(features @ decoder)
    return tape.gradient(loss, encoder.kernel), tf.autodiff.explain(loss, encoder.kernel)


def copies_of_each_step():
    w, copies = tf.Variable([1.0, 2.0]), []
    for _ in range(3):
        copies.append(tf.identity(w))  # <- outside_tape
        w.assign_add([0.1, 0.1])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.add_n(copies) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def another_model_that_was_trained_with_this_one():
    """All that is trained together depends on each other, by way of the updates: the loss does not depend on `generator`."""
    generator, critic = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    for _ in range(3):
        with tf.GradientTape() as training:
            both = tf.reduce_sum(generator * critic)
        to_generator, to_critic = training.gradient(both, [generator, critic])
        generator.assign_sub(0.1 * to_generator)
        critic.assign_sub(0.1 * to_critic)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(critic**2)  # <- unused
    return tape.gradient(loss, generator), tf.autodiff.explain(loss, generator)


def a_running_sum_of_weights_before_the_tape():
    weights, x = [tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])], tf.ones([2])
    for w in weights:
        x = x + w * 2.0  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x**2)
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def a_weight_added_before_the_tape():
    w, x = tf.Variable([1.0, 2.0]), tf.ones([2])
    x = x + w  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_rounding_of_a_number_times_a_tensor_after_an_integer_index():
    table, x = tf.Variable([[1.0, 2.0]]), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        first = table[:, 0]
        y = tf.reduce_sum(tf.round(0.5 * tf.exp(x))) + tf.reduce_sum(first)  # <- not_differentiable
    return tape.gradient(y, x), tf.autodiff.explain(y, x)
