"""Derivatives in and of functions: gradients of their own, Jacobians, slices."""

from tests.control.programs.table import data, gradients, program


@program
def gradient_of_several_outputs(tf):
    @tf.function
    def f(x, y):
        return x * 2.0, tf.stop_gradient(y), tf.cast(x, tf.int32)

    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        a, b, c = f(x, y)
    return tape.gradient(a, [x, y]), tape.gradient(b, [x, y]), tape.gradient(c, [x, y])


@program
def ignored_argument(tf):
    @tf.function
    def f(x, y):
        return x * 2.0

    return gradients(tf, f, 1.0, 2.0)


@program
def stopped(tf):
    @tf.function
    def f(x):
        return tf.stop_gradient(x) * x + tf.floor(x)

    return gradients(tf, f, [1.5, 2.5])


@program
def custom_gradient_inside(tf):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), grad

    @tf.function
    def f(x):
        return log1pexp(x) * x

    return gradients(tf, f, [0.5, 100.0]), gradients(tf, f, [0.5, -1.0], order=2)


@program
def custom_gradient_with_variables(tf):
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        def grad(upstream, variables=None):
            return upstream * 10.0, [upstream * 100.0 for _ in variables]

        return x * w, grad

    @tf.function
    def f(x):
        return scaled(x) * 3.0

    x = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, [x, w])


@program
def jacobian_of_function(tf):
    @tf.function
    def f(x):
        return tf.stack([x[0] * x[1], tf.sin(x[0]), x[1] ** 2])

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x)


@program
def jacobian_inside_function(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * tf.reduce_sum(x)
        return tape.jacobian(y, x)

    return f(tf.constant([1.0, 2.0, 3.0]))


@program
def jacobian_through_loop(tf):
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = tf.sin(x) * tf.reduce_sum(x)
        return x

    x = tf.constant([0.1, 0.2], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x)


@program
def batch_jacobian_of_while(tf):
    @tf.function
    def f(x):
        i = tf.constant(0)
        while i < 3:
            x = x * x
            i += 1
        return x

    x = tf.constant([[0.9, 0.8], [0.7, 1.1]], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.batch_jacobian(y, x)


@program
def indexed_slices_across(tf):
    table = tf.Variable(data(5, 2), dtype=tf.float64)

    @tf.function
    def f(ids):
        return tf.reduce_sum(tf.gather(table, ids) ** 2)

    with tf.GradientTape() as tape:
        y = f(tf.constant([0, 3, 3]))
    return y, tf.convert_to_tensor(tape.gradient(y, table))


@program
def gradients_as_results(tf):
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w * x)
        return loss, tape.gradient(loss, [w])

    return f(tf.constant([3.0, 4.0]))
