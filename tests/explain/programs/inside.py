"""Tapes inside of functions, asked from outside: gradients that are None."""

import numpy as np

import gradtape as tf


def a_watch_that_was_forgotten():
    x = tf.constant(3.0)  # <- not_watched

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = x * x
        return y, tape.gradient(y, x)

    y, dx = step(x)
    return dx, tf.autodiff.explain(y, x)


def an_op_before_the_tape():
    w = tf.Variable(2.0)

    @tf.function
    def step():
        squared = w * w  # <- outside_tape
        with tf.GradientTape() as tape:
            loss = squared * 3.0
        return loss, tape.gradient(loss, w)

    loss, dw = step()
    return dw, tf.autodiff.explain(loss, w)


def a_loss_after_the_tape():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            losses = w * x
        loss = tf.reduce_mean(losses)  # <- outside_tape
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_cast_to_whole_numbers():
    w = tf.Variable([1.5, 2.5])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            whole = tf.cast(w * x, tf.int32)  # <- not_floating
            loss = tf.reduce_sum(tf.cast(whole, tf.float32))
        grads = tape.gradient(loss, w)
        return loss, grads

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_constant_that_is_stopped():
    w = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            held = tf.stop_gradient(w)  # <- stopped
            loss = held * 3.0
        return loss, tape.gradient(loss, [w])

    loss, grads = step()
    return grads, tf.autodiff.explain(loss, [w])


def an_accuracy_as_a_loss():
    w = tf.Variable(tf.ones([3, 2]))

    @tf.function
    def step(x, labels):
        with tf.GradientTape() as tape:
            logits = x @ w
            found = tf.argmax(logits, axis=1)  # <- not_differentiable
            loss = tf.reduce_mean(tf.cast(tf.equal(found, labels), tf.float32))
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.ones([4, 3]), tf.constant([0, 1, 0, 1], tf.int64))
    return dw, tf.autodiff.explain(loss, w)


def the_other_head():
    body, head, other = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            hidden = body * x
            first, second = hidden * head, hidden * other
            loss = first * first  # <- unused
        grads = tape.gradient(loss, [body, head, other])
        return loss, second, grads

    loss, _, grads = step(tf.constant(2.0))
    return grads, tf.autodiff.explain(loss, [body, head, other])


def an_assignment_in_the_tape():
    w, held = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            held.assign(w * 3.0)  # <- state
            loss = held * held
        return loss, tape.gradient(loss, w)

    loss, dw = step()
    return dw, tf.autodiff.explain(loss, w)


def numpy_in_a_function():
    w = tf.Variable([1.0, 4.0])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            roots = tf.numpy_function(np.sqrt, [w], tf.float32)  # <- left_library
            loss = tf.reduce_sum(roots)
        return loss, tape.gradient(loss, w)

    loss, dw = step()
    return dw, tf.autodiff.explain(loss, w)


def a_variable_that_is_not_trained():
    w = tf.Variable(2.0, trainable=False)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = w * x  # <- not_trainable
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_watch_that_came_late():
    x = tf.constant(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = x * x  # <- watched_late
            tape.watch(x)
        return y, tape.gradient(y, x)

    y, dx = step(x)
    return dx, tf.autodiff.explain(y, x)


def recording_that_was_stopped():
    w = tf.Variable(2.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                part = w * 3.0  # <- recording_paused
            loss = part * 2.0
        return loss, tape.gradient(loss, w)

    loss, dw = step()
    return dw, tf.autodiff.explain(loss, w)


def a_step_that_gives_only_gradients():
    w, b = tf.Variable(2.0), tf.Variable(1.0)

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.round(w * x) + b  # <- not_differentiable
        return tape.gradient(loss, [w, b])

    grads = gradients(tf.constant(2.0))
    return grads, tf.autodiff.explain(grads, [w, b])


def one_gradient_that_is_none():
    w, b = tf.Variable(2.0), tf.Variable(1.0)

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.round(w * x) + b  # <- not_differentiable
        return tape.gradient(loss, {"w": w, "b": b})

    grads = gradients(tf.constant(2.0))
    return grads["w"], tf.autodiff.explain(grads["w"], w)


def a_function_in_a_function():
    w = tf.Variable([1.2, 2.7])

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.floor(w * x))  # <- not_differentiable
        return loss, tape.gradient(loss, w)

    @tf.function
    def step(x):
        loss, dw = gradients(x)
        return loss * 2.0, dw

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_function_under_the_tape_of_a_function():
    w = tf.Variable([1.2, 2.7])

    @tf.function
    def loss_of(x):
        scaled = w * x
        return tf.reduce_sum(tf.stop_gradient(scaled) ** 2)  # <- stopped

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        return loss, tape.gradient(loss, w)

    @tf.function
    def other(x):
        with tf.GradientTape() as tape:
            loss = w * x
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    other(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_loop_of_calls():
    w, b = tf.Variable([1.2, 2.7]), tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.math.ceil(w * x)) + b  # <- not_differentiable
        grads = tape.gradient(loss, [w, b])
        optimizer.apply_gradients([(grads[1], b)])
        return loss

    for i in range(200):
        loss = step(tf.constant(float(i)))
    return [None, 1.0], tf.autodiff.explain(loss, [w, b])


def a_step_for_several_shapes():
    w = tf.Variable(2.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            if x.shape[0] > 2:
                loss = tf.reduce_sum(tf.stop_gradient(w) * x)  # <- stopped
            else:
                loss = tf.reduce_sum(w * x)
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.ones([3]))
    step(tf.ones([2]))
    step(tf.ones([1]))
    return dw, tf.autodiff.explain(loss, w)


def a_method():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0], [2.0]])
            self.b = tf.Variable([0.0])

        @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])])
        def step(self, x, y):
            with tf.GradientTape() as tape:
                out = tf.constant(1.0) * tf.round(x @ self.w)  # <- not_differentiable
                loss = tf.reduce_mean((out + self.b - y) ** 2)
            return loss, tape.gradient(loss, [self.w, self.b])

    model = Model()
    loss, grads = model.step(tf.ones([3, 2]), tf.ones([3, 1]))
    return grads, tf.autodiff.explain(loss, [model.w, model.b])


def a_tape_in_a_loop():
    w = tf.Variable([1.2, 2.7])

    @tf.function
    def train(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.floor(w) * tf.cast(i, tf.float32))  # <- not_differentiable
            dw = tape.gradient(loss, w)
            assert dw is None
            total += loss
        return total

    loss = train(tf.constant(3))
    return None, tf.autodiff.explain(loss, w)


def a_loop_in_the_tape():
    w = tf.Variable([1.2, 2.7])

    @tf.function
    def step(n):
        with tf.GradientTape() as tape:
            total = tf.zeros([2])
            for _ in tf.range(n):
                total += tf.math.rint(w)  # <- not_differentiable
            loss = tf.reduce_sum(total)
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(3))
    return dw, tf.autodiff.explain(loss, w)


def a_branch_in_the_tape():
    w = tf.Variable(1.2)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            if x > 0.0:
                loss = tf.stop_gradient(w) * x  # <- stopped
            else:
                loss = x
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(3.0))
    return dw, tf.autodiff.explain(loss, w)


def a_variable_that_became_a_tensor():
    w = tf.Variable(2.0)

    @tf.function
    def step(x):
        v = w
        v = v * x  # <- rebound
        with tf.GradientTape() as tape:
            loss = v * v
        return loss, v, tape.gradient(loss, v)

    loss, v, dv = step(tf.constant(3.0))
    return dv, tf.autodiff.explain(loss, v)


def a_second_derivative_of_a_line():
    w = tf.Variable(2.0)

    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = w * x
            dw = inner.gradient(y, w)  # <- unused
        return dw, outer.gradient(dw, w)

    dw, ddw = second(tf.constant(3.0))
    return ddw, tf.autodiff.explain(dw, w)


def an_inner_gradient_taken_outside():
    w = tf.Variable(2.0)

    @tf.function
    def second():
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            y = w * w * w
        dw = inner.gradient(y, w)  # <- other_tape
        return dw, outer.gradient(dw, w)

    dw, ddw = second()
    return ddw, tf.autodiff.explain(dw, w)


def a_jacobian():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def rows(x):
        with tf.GradientTape() as tape:
            y = tf.math.floor(w * x)  # <- not_differentiable
        return y, tape.jacobian(y, w)

    y, rows_of_w = rows(tf.constant(2.0))
    return rows_of_w, tf.autodiff.explain(y, w)


def a_persistent_tape():
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape(persistent=True) as tape:
            first = v * x
            second = tf.stop_gradient(first) * w  # <- stopped
        dv, dw = tape.gradient(first, v), tape.gradient(second, w)
        return first, second, tape.gradient(second, v), dv, dw

    first, second, nothing, _, _ = step(tf.constant(2.0))
    assert tf.autodiff.explain(first, v).connected and tf.autodiff.explain(second, w).connected
    return nothing, tf.autodiff.explain(second, v)
