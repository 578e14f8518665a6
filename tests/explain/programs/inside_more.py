"""Tapes inside of functions: training steps of models, optimizers, passed variables, functions that run eagerly."""

import gradtape as tf


def a_model_of_keras_in_a_step():
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="relu"), tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.SGD(0.1)
    model.build([None, 2])

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            predicted = tf.argmax(model(x), axis=-1)  # <- not_differentiable
            loss = tf.reduce_mean(tf.cast(predicted - y, tf.float32) ** 2)
        return loss, tape.gradient(loss, model.trainable_variables)

    loss, grads = train_step(tf.ones([4, 2]), tf.constant([0, 1, 0, 1], tf.int64))
    del optimizer
    return grads, tf.autodiff.explain(loss, model.trainable_variables)


def a_head_of_keras_that_is_not_used():
    dense, other = tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)
    dense.build([None, 2]), other.build([None, 2])

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            hidden = dense(x)
            other(hidden)
            loss = tf.reduce_sum(hidden**2)  # <- unused
        variables = dense.trainable_variables + other.trainable_variables
        return loss, tape.gradient(loss, variables)

    loss, grads = train_step(tf.ones([4, 2]))
    return grads, tf.autodiff.explain(loss, dense.trainable_variables + other.trainable_variables)


def variables_that_are_passed():
    a, b = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def step(v, x):
        with tf.GradientTape() as tape:
            loss = tf.round(v) * x  # <- not_differentiable
        return loss, tape.gradient(loss, v)

    first, _ = step(a, tf.constant(1.0))
    second, db = step(b, tf.constant(1.0))
    assert tf.autodiff.explain(first, a).code == "not_differentiable"
    return db, tf.autodiff.explain(second, b)


def a_function_that_runs_eagerly():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            chosen = tf.boolean_mask(w, x > 0.0)
            loss = tf.reduce_sum(tf.stop_gradient(chosen))  # <- stopped
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant([1.0, -1.0]))
    return dw, tf.autodiff.explain(loss, w)


def functions_that_run_eagerly():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.stop_gradient(w * x))  # <- stopped
        return loss, tape.gradient(loss, w)

    tf.config.run_functions_eagerly(True)
    try:
        loss, dw = step(tf.constant([1.0, -1.0]))
    finally:
        tf.config.run_functions_eagerly(False)
    return dw, tf.autodiff.explain(loss, w)


def asked_inside_of_the_function():
    w, said = tf.Variable([1.0, 2.0]), []

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.floor(w * x))  # <- not_differentiable
        tape.gradient(loss, w)
        said.append(tf.autodiff.explain(loss, w))
        return loss

    step(tf.constant(2.0))
    return None, said[0]


def an_inner_function_asked_inside():
    w, said = tf.Variable([1.0, 2.0]), []

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.floor(w * x))  # <- not_differentiable
        return loss, tape.gradient(loss, w)

    @tf.function
    def step(x):
        loss, _ = gradients(x)
        said.append(tf.autodiff.explain(loss, w))
        return loss

    gradients(tf.constant(2.0))
    step(tf.constant(2.0))
    return None, said[0]


def a_generator_that_gets_nothing():
    g, d = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def train_step(noise, real):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            fake = tf.stop_gradient(g * noise)  # <- stopped
            gen_loss = -tf.reduce_mean(d * fake)
            disc_loss = tf.reduce_mean(d * fake) - tf.reduce_mean(d * real)
        dg = gen_tape.gradient(gen_loss, [g])
        dd = disc_tape.gradient(disc_loss, [d])
        d.assign_sub(0.1 * dd[0])
        return {"gen": gen_loss, "disc": disc_loss}, dg

    losses, grads = train_step(tf.ones([3]), tf.ones([3]))
    assert tf.autodiff.explain(losses["disc"], d).connected
    return grads, tf.autodiff.explain(losses["gen"], [g])


def a_tensor_made_of_a_variable_before():
    w = tf.Variable([1.0, 2.0])
    scale = tf.exp(w)  # <- outside_tape

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(scale * x)
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def an_argument_made_of_a_variable():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(scale):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(scale * 2.0)
        return loss, tape.gradient(loss, w)

    scale = tf.exp(w)  # <- outside_tape
    loss, dw = step(scale)
    return dw, tf.autodiff.explain(loss, w)


def a_second_gradient_of_a_used_tape():
    w = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            loss = w * 3.0
        return loss, tape.gradient(loss, w)

    # nobody watches the variable: told where it was made
    loss, dw = step()
    found = tf.autodiff.explain(loss, w)
    assert found.code == "not_watched" and dw is None

    @tf.function
    def other(x):
        with tf.GradientTape() as tape:
            loss = tf.cast(x, tf.float32) * 2.0
            tape.watch(x)
        return loss, tape.gradient(loss, x)

    x = tf.constant([1, 2])  # <- not_floating
    loss, dx = other(x)
    return dx, tf.autodiff.explain(loss, x)
