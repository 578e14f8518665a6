"""Loops with a condition."""

from tests.control.programs.table import gradients, program


@program
def while_loop_on_tensor(tf):
    @tf.function
    def f(x):
        n = tf.constant(0)
        while tf.reduce_sum(x) < 100.0:
            x = x * 1.5 + 0.1 * x * x
            n += 1
        return x, n

    return gradients(tf, lambda x: f(x)[0], [1.0, 2.0], order=2), f(tf.constant([1.0, 2.0]))


@program
def while_with_break_and_continue(tf):
    @tf.function
    def f(x):
        i = tf.constant(0)
        total = tf.zeros_like(x)
        while i < 20:
            i += 1
            if i % 3 == 0:
                continue
            if tf.reduce_sum(total) > 30.0:
                break
            total += x * x * tf.cast(i, x.dtype)
        return total

    return [gradients(tf, f, v, order=2) for v in ([1.0, 2.0], [0.1, 0.2])]


@program
def nested_while(tf):
    @tf.function
    def f(x):
        i = tf.constant(0)
        total = tf.zeros_like(x)
        while i < 3:
            j = tf.constant(0)
            y = x
            while j < i + 1:
                y = tf.sin(y) * x
                j += 1
            total += y
            i += 1
        return total

    return gradients(tf, f, [0.3, 0.7, 1.1], order=2)


@program
def tf_while_loop(tf):
    def f(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.ones_like(x)))[1]

    return gradients(tf, f, [1.1, 0.9], order=2), gradients(tf, tf.function(f), [1.1, 0.9], order=2)


@program
def while_maximum_iterations(tf):
    def f(x):
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 1e6, lambda y: (y * x,), (x,), maximum_iterations=4)[0]

    return gradients(tf, f, [1.5, 2.0]), gradients(tf, tf.function(f), [1.5, 2.0])


@program
def while_of_no_trips(tf):
    @tf.function
    def f(x, y):
        while x < 0.0:
            x = x * y
        return x

    return gradients(tf, f, 2.0, 3.0)


@program
def while_nested_structure(tf):
    def f(x):
        state = {"a": x, "b": (x * 2.0, tf.constant(0))}
        end = tf.while_loop(
            lambda s: s["b"][1] < 3, lambda s: ({"a": s["a"] * s["b"][0], "b": (s["b"][0] + 1.0, s["b"][1] + 1)},), (state,)
        )
        return end[0]["a"] + end[0]["b"][0]

    return gradients(tf, f, 0.5), gradients(tf, tf.function(f), 0.5, order=2)


@program
def while_with_variable(tf):
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        i = 0
        while i < 4:
            x = x * w
            i += 1
        return tf.reduce_sum(x)

    with tf.GradientTape() as tape:
        y = f(tf.constant([0.5, 0.25]))
    return y, tape.gradient(y, w)


@program
def while_assigns_variable(tf):
    v = tf.Variable(0)

    @tf.function
    def f(n):
        while v < n:
            v.assign_add(2)
        return v.read_value()

    return f(tf.constant(5)), v.numpy(), f(tf.constant(9)), v.numpy()
