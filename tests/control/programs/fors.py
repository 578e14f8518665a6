"""Loops over ranges and tensors."""

from tests.control.programs.table import data, gradients, program


@program
def for_over_range(tf):
    @tf.function
    def f(x):
        y = tf.zeros_like(x)
        for i in tf.range(5):
            y += x ** tf.cast(i, x.dtype)
        return y

    return gradients(tf, f, [1.2, 0.8], order=2)


@program
def for_over_dynamic_range(tf):
    @tf.function
    def f(x, n):
        for _ in tf.range(n):
            x = tf.sin(x) + x
        return x

    return [gradients(tf, lambda x, n=n: f(x, tf.constant(n)), [0.2, 0.4], order=2) for n in (0, 1, 5)]


@program
def for_over_rows(tf):
    @tf.function
    def f(x):
        h = tf.zeros_like(x[0])
        for row in x:
            h = tf.tanh(h + row)
        return h

    return gradients(tf, f, data(4, 3), order=2)


@program
def for_with_break(tf):
    @tf.function
    def f(x):
        total = tf.constant(0.0, tf.float64)
        for row in x:
            if total > 2.0:
                break
            total += tf.reduce_sum(row * row)
        return total

    return gradients(tf, f, data(6, 2))


@program
def for_over_python_range(tf):
    @tf.function
    def f(x):
        results = []
        for i in range(3):
            x = x * (i + 1.0)
            results.append(x)
        return tf.stack(results)

    return gradients(tf, f, [1.0, 2.0])


@program
def for_with_step(tf):
    @tf.function
    def f(n):
        total = 0
        for i in tf.range(10, n, -3):
            total = total * 10 + i
        return total

    return f(tf.constant(0)), f(tf.constant(9)), f(tf.constant(20))


@program
def name_bound_in_loop_only(tf):
    @tf.function
    def f(x):
        for i in tf.range(3):
            z = x * tf.cast(i, x.dtype)
        return z

    return f(tf.constant(2.0))
