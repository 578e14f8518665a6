"""The public functions that take values: each a function of TensorFlow's module and of a value, which returns a nest of results.

A function that is called with a kind of value is a cell of the table. `x` is what is asked about; `t` and `v` are a tensor and
a variable of the same numbers.
"""

import os
import tempfile

import numpy as np

from tests.values.kinds import NUMBERS, mirrored

FUNCTIONS = {}
ALL = ("eager", "function", "graph", "keras")
IN_TRACES = ("function", "graph", "keras")


def called(name, contexts=ALL):
    """Add a function to the table."""

    def add(function):
        FUNCTIONS[name] = (function, contexts)
        return function

    return add


def short(name, code, contexts=ALL):
    """Add a function that is one expression of tf, np, x, t and v."""
    compiled = compile(code, f"<{name}>", "eval")

    def function(tf, x):
        names = {"tf": tf, "np": np, "x": x}
        if "t" in compiled.co_names:
            names["t"] = tf.constant(NUMBERS)
        if "v" in compiled.co_names:
            names["v"] = tf.Variable(NUMBERS)
        return eval(compiled, names)

    called(name, contexts)(function)


def watch(tape, x):
    """Watch all but variables, which are watched without that."""
    if not hasattr(x, "assign"):
        tape.watch(x)


# -- derivatives


@called("tape: watch and sources")
def _(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, x)


@called("tape: sources")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.math.square(x)
    return tape.gradient(y, x)


@called("tape: sources in a dict")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.math.square(x)
    return tape.gradient(y, {"a": x})


@called("tape: unconnected zeros")
def _(tf, x):
    with tf.GradientTape() as tape:
        s = tf.constant(NUMBERS)
        tape.watch(s)
        y = s * s
    return tape.gradient(y, x, unconnected_gradients="zero")


@called("tape: target")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
    return tape.gradient(x, x)


@called("tape: output_gradients")
def _(tf, x):
    s = tf.constant(NUMBERS)
    with tf.GradientTape() as tape:
        tape.watch(s)
        y = s * s
    return tape.gradient(y, s, output_gradients=x)


@called("tape: jacobian")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.math.square(x)
    return tape.jacobian(y, x)


@called("tape: batch_jacobian")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.math.square(tf.reshape(x, [1, 2]))
    return tape.batch_jacobian(y, x)


@called("tape: watched_variables")
def _(tf, x):
    with tf.GradientTape() as tape:
        tf.math.square(x)
    return len(tape.watched_variables())


@called("gradients: xs", IN_TRACES)
def _(tf, x):
    return tf.gradients(tf.math.square(x), x)


@called("gradients: xs, zeros", IN_TRACES)
def _(tf, x):
    return tf.gradients(tf.math.square(x), [x], unconnected_gradients="zero")


@called("gradients: ys", IN_TRACES)
def _(tf, x):
    return tf.gradients(x, x)


@called("gradients: grad_ys", IN_TRACES)
def _(tf, x):
    s = tf.constant(NUMBERS) * 1.0
    return tf.gradients(s * s, s, grad_ys=x)


@called("gradients: stop_gradients", IN_TRACES)
def _(tf, x):
    s = tf.constant(NUMBERS) * 1.0
    return tf.gradients(s * s * x, s, stop_gradients=x)


@called("compat.v1.gradients", IN_TRACES)
def _(tf, x):
    return tf.compat.v1.gradients([tf.math.square(x)], [x])


@called("hessians", IN_TRACES)
def _(tf, x):
    return tf.hessians(tf.reduce_sum(x * x * x), x)


@called("custom_gradient")
def _(tf, x):
    @tf.custom_gradient
    def triple(a):
        return tf.math.sign(a), lambda dy: dy * 3.0

    with tf.GradientTape() as tape:
        watch(tape, x)
        y = triple(x)
    return y, tape.gradient(y, x)


@called("grad_pass_through")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.grad_pass_through(tf.math.round)(x)
    return y, tape.gradient(y, x)


@called("recompute_grad")
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.recompute_grad(lambda a: a * a)(x)
    return y, tape.gradient(y, x)


@called("ForwardAccumulator: primals")
def _(tf, x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as accumulator:
        y = tf.math.square(x)
    return accumulator.jvp(y)


@called("ForwardAccumulator: tangents")
def _(tf, x):
    s = tf.constant(NUMBERS)
    with tf.autodiff.ForwardAccumulator(s, x) as accumulator:
        y = s * s
    return accumulator.jvp(y)


short("stop_gradient", "tf.stop_gradient(x)")

# -- optimizers

GRADIENT = [0.5, 0.5]


def trained(name, make, contexts=ALL):
    @called(f"{name}: variables", contexts)
    def _(tf, x):
        done = make(tf).apply_gradients([(tf.constant(GRADIENT), x)])
        with tf.control_dependencies([] if done is None else [done]):
            return tf.identity(x)

    @called(f"{name}: gradients", contexts)
    def _(tf, x):
        with tf.init_scope():
            v = tf.Variable([4.0, 8.0])
        done = make(tf).apply_gradients([(x, v)])
        with tf.control_dependencies([] if done is None else [done]):
            return tf.identity(v)


trained("keras SGD", lambda tf: tf.keras.optimizers.SGD(0.5), ("eager",))
trained("keras Adam", lambda tf: tf.keras.optimizers.Adam(0.5), ("eager",))
trained("v1 GradientDescent", lambda tf: tf.compat.v1.train.GradientDescentOptimizer(0.5), ("eager", "function", "graph"))
trained("v1 Momentum", lambda tf: tf.compat.v1.train.MomentumOptimizer(0.5, 0.9), ("eager", "graph"))
