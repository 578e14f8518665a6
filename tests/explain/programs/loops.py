"""Programs whose break is in how Python runs them: late names, loops that begin again, errors that are hidden, earlier steps."""

import contextlib

import gradtape as tf


def a_name_that_is_looked_up_late():
    weights, functions = [tf.Variable(float(i)) for i in range(3)], []
    for w in weights:
        functions.append(lambda x: w * x)  # noqa: B023, PERF401  # <- unused
    with tf.GradientTape() as tape:
        loss = tf.add_n([f(2.0) for f in functions])
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def a_sum_that_begins_again():
    weights, loss = [tf.Variable(float(i)) for i in range(3)], 0.0
    with tf.GradientTape() as tape:
        for w in weights:
            loss = (w - 1.0) ** 2  # <- unused
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def an_error_that_is_hidden():
    w = tf.Variable([[1.0, 2.0]])

    def product(x):
        try:
            return x @ w
        except tf.errors.InvalidArgumentError:  # <- branch_not_taken
            return tf.zeros([2, 2])

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(product(tf.ones([2, 3])) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_value_of_an_earlier_step():
    w, kept = tf.Variable(2.0), []
    for k in range(2):
        with tf.GradientTape() as tape:
            kept.append(w * float(k + 1))
            loss = kept[0] ** 2  # <- other_tape
        gradient = tape.gradient(loss, w)
    return gradient, tf.autodiff.explain(loss, w)


def a_number_of_trips():
    length, position = tf.Variable(2.5), tf.constant(0.0)
    with tf.GradientTape() as tape:
        for _ in range(int(length / 0.5)):  # <- left_library
            position = position + 0.5
        loss = (position - 3.0) ** 2
    return tape.gradient(loss, length), tf.autodiff.explain(loss, length)


def a_source_that_is_made_in_the_call():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(x**2)
    gradient = tape.gradient(loss, source := tf.reshape(x, [2]))  # <- wrong_object
    return gradient, tf.autodiff.explain(loss, source)


def a_loss_that_minimize_is_given():
    w, x = tf.Variable(1.0), tf.constant([1.0, 2.0])
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    predicted = w * x  # <- outside_tape
    with contextlib.suppress(ValueError):
        optimizer.minimize(lambda: tf.reduce_sum(predicted**2), var_list=[w])
    return None, tf.autodiff.explain(None, w)


def a_generator_that_was_read_before():
    w = tf.Variable([1.0, 2.0])

    def rows(data):
        for row in data:
            yield row * w  # <- outside_tape

    first = next(rows(tf.ones([2, 2])))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(first**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_value_that_was_looked_at_in_the_trip_before():
    x, w = tf.constant([[1.0], [3.0]]), tf.Variable([[2.0]])
    for layer in (lambda x: tf.tanh(x @ w), lambda x: x @ w):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                u = layer(x)
            u_x = inner.gradient(u, x)  # <- unused
        gradient = outer.gradient(u_x, x)
        if gradient is not None:
            gradient.numpy()
    return gradient, tf.autodiff.explain(u_x, x)
