"""Branches: `if`, `cond`, `case`."""

from tests.control.programs.table import gradients, program


@program
def if_else(tf):
    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0:
            y = x * 2.0
        else:
            y = x * x
        return y

    return [gradients(tf, f, v, order=2) for v in ([1.0, 2.0], [-1.0, -2.0])]


@program
def if_without_else(tf):
    @tf.function
    def f(x):
        y = x
        if x > 1.0:
            y = y * 3.0
        return y + 1.0

    return [gradients(tf, f, v) for v in (2.0, 0.5)]


@program
def elif_chain(tf):
    @tf.function
    def f(x):
        if x > 2.0:
            r = x * x
        elif x > 1.0:
            r = x * 10.0
        elif x > 0.0:
            r = -x
        else:
            r = tf.zeros_like(x)
        return r

    return [gradients(tf, f, v) for v in (3.0, 1.5, 0.5, -1.0)]


@program
def early_return(tf):
    @tf.function
    def f(x):
        if x > 2.0:
            return x * x
        if x > 1.0:
            return x * 10.0
        return -x

    return [gradients(tf, f, v) for v in (3.0, 1.5, 0.5)]


@program
def nested_if(tf):
    @tf.function
    def f(x, y):
        if x > 0:
            if y > 0:
                z = x * y
            else:
                z = x - y
        else:
            z = y * y
        return z

    return [gradients(tf, f, a, b) for a, b in ((1.0, 2.0), (1.0, -2.0), (-1.0, 3.0))]


@program
def if_with_python_values(tf):
    @tf.function
    def f(x, double):
        if double:
            x = x * 2
        n = 0
        if x > 3.0:
            n = 1
        else:
            n = 2
        return x, n

    return [f(tf.constant(v), d) for v in (1.0, 2.0) for d in (True, False)]


@program
def conditional_expression(tf):
    @tf.function
    def f(x):
        return x * x if x > 0 else -x

    return [gradients(tf, f, v) for v in (3.0, -2.0)]


@program
def logical_operators(tf):
    @tf.function
    def f(x, y):
        if x > 0 and y > 0:
            return x + y
        if x > 0 or not y > 1:
            return x - y
        return x * y

    return [f(tf.constant(a), tf.constant(b)) for a in (-1.0, 1.0) for b in (-2.0, 0.5, 3.0)]


@program
def if_assigns_variable(tf):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        if x > 0:
            v.assign_add(x)
        else:
            v.assign(-5.0)
        return v * x

    results = []
    for value in (2.0, -1.0, 3.0):
        with tf.GradientTape() as tape:
            y = f(tf.constant(value))
        results.append([y, v.numpy(), tape.gradient(y, v)])
    return results


@program
def none_in_branches(tf):
    @tf.function
    def f(x):
        def one():
            return x * 2.0, None

        def two():
            return x * 3.0, None

        return tf.cond(x > 0, one, two)[0]

    return [gradients(tf, f, v) for v in (1.0, -1.0)]
