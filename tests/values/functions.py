"""The public functions that take values: each a function of TensorFlow's module and of a value, which returns a nest of results.

A function that is called with a kind of value is a cell of the table. `x` is what is asked about; `t` and `v` are a tensor and
a variable of the same numbers.
"""

import os
import tempfile

import numpy as np

from tests.values.kinds import NUMBERS, mirrored

FUNCTIONS = {}
ALL = ("eager", "argument", "function", "graph")
IN_TRACES = ("argument", "function", "graph", "keras")


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


@called("tape: watch and sources", (*ALL, "keras"))
def _(tf, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return tape.gradient(y, x)


@called("tape: sources", (*ALL, "keras"))
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


@called("tape: jacobian", (*ALL, "keras"))
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


@called("custom_gradient", (*ALL, "keras"))
def _(tf, x):
    @tf.custom_gradient
    def triple(a):
        return tf.math.sign(a), lambda dy: dy * 3.0

    with tf.GradientTape() as tape:
        watch(tape, x)
        y = triple(x)
    return y, tape.gradient(y, x)


@called("grad_pass_through", (*ALL, "keras"))
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.grad_pass_through(tf.math.round)(x)
    return y, tape.gradient(y, x)


@called("recompute_grad", (*ALL, "keras"))
def _(tf, x):
    with tf.GradientTape() as tape:
        watch(tape, x)
        y = tf.recompute_grad(lambda a: a * a)(x)
    return y, tape.gradient(y, x)


@called("ForwardAccumulator: primals", (*ALL, "keras"))
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


# -- ops

EAGER = ("eager", "argument", "graph")
MOST = ("eager", "argument")

for name, code in {
    "convert_to_tensor": "tf.convert_to_tensor(x)",
    "convert_to_tensor, dtype": "tf.convert_to_tensor(x, tf.float32)",
    "constant": "tf.constant(x)",
    "identity": "tf.identity(x)",
    "shape": "tf.shape(x)",
    "size": "tf.size(x)",
    "cast": "tf.cast(x, tf.float64)",
    "zeros_like": "tf.zeros_like(x)",
    "x + tensor": "x + t",
    "tensor + x": "t + x",
    "x + variable": "x + v",
    "variable + x": "v + x",
    "-x": "-x",
    "x[0]": "x[0]",
    "x == tensor": "x == t",
    "add": "tf.add(x, t)",
    "square": "tf.math.square(x)",
    "reduce_sum": "tf.reduce_sum(x)",
    "stack": "tf.stack([x, x])",
    "concat": "tf.concat([x, x], 0)",
    "expand_dims": "tf.expand_dims(x, 0)",
    "gather": "tf.gather(x, [0])",
    "where": "tf.where([True, False], x, t)",
    "add_n": "tf.math.add_n([x, x])",
    "einsum": "tf.einsum('i,i->i', x, x)",
    "relu": "tf.nn.relu(x)",
    "clip_by_value": "tf.clip_by_value(x, 1.5, 3.0)",
    "clip_by_norm": "tf.clip_by_norm(x, 1.0)",
    "clip_by_global_norm": "tf.clip_by_global_norm([x], 1.0)[0]",
    "global_norm": "tf.linalg.global_norm([x])",
    "check_numerics": "tf.debugging.check_numerics(x, 'm')",
    "ensure_shape": "tf.ensure_shape(x, [2])",
    "raw_ops.Neg": "tf.raw_ops.Neg(x=x)",
    "unstack": "tf.unstack(x)",
    "as_string": "tf.strings.as_string(x)",
    "TensorArray.write": "tf.TensorArray(tf.float32, 1).write(0, x).read(0)",
    "Variable": "tf.Variable(lambda: x).read_value()",
    "keras.ops.add": "tf.keras.ops.add(x, 1.0)",
    "keras.ops.relu": "tf.keras.ops.relu(x)",
    "keras mse": "tf.keras.losses.mean_squared_error(x, x)",
    "nest.flatten": "len(tf.nest.flatten(x))",
    "nest.map_structure": "tf.nest.map_structure(lambda a: a, x)",
    "nest.pack_sequence_as": "tf.nest.pack_sequence_as(x, tf.nest.flatten(x))",
    "nest.is_nested": "tf.nest.is_nested(x)",
    "is_tensor": "tf.is_tensor(x)",
    "get_static_value": "tf.get_static_value(x)",
}.items():
    short(name, code, EAGER)

for name, code in {
    "len": "len(x)",
    "list": "[float(a) for a in x]",
    "np.asarray": "np.asarray(x)",
    "type_spec_from_value": "str(tf.type_spec_from_value(x))",
    "experimental.numpy": "tf.experimental.numpy.add(x, x)",
    "Variable.assign": "tf.Variable([0.0, 0.0]).assign(x)",
    "Variable.assign_add": "tf.Variable([1.0, 1.0]).assign_add(x)",
    "keras.Variable": "tf.keras.Variable(x) + 0.0",
    "compat.v1.assign": "tf.compat.v1.assign(x, [3.0, 4.0])",
    "Dataset.from_tensors": "tf.data.Dataset.from_tensors(x)",
    "Dataset.from_tensor_slices": "tf.data.Dataset.from_tensor_slices(x)",
    "Dataset.map": "tf.data.Dataset.range(1).map(lambda _: x)",
    "Dataset.batch": "tf.data.Dataset.from_tensors(x).batch(1)",
    "Optional": "tf.experimental.Optional.from_value(x).get_value()",
}.items():
    short(name, code, ("eager",))

# -- control flow

for name, code in {
    "map_fn": "tf.map_fn(lambda a: a * 2.0, x)",
    "map_fn, signature": "tf.map_fn(lambda a: tf.reduce_sum(a), x, fn_output_signature=tf.float32)",
    "vectorized_map": "tf.vectorized_map(lambda a: a * 2.0, x)",
    "scan": "tf.scan(lambda a, b: a + b, x)",
    "foldl": "tf.foldl(lambda a, b: a + b, x)",
    "foldr, initializer": "tf.foldr(lambda a, b: a + b, t, initializer=x)",
    "while_loop: variable": "tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2.0), (tf.constant(0), x))[1]",
    "while_loop: captured": "tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + x), (tf.constant(0), t))[1]",
    "cond: results": "tf.cond(t[0] > 0.0, lambda: x, lambda: x)",
    "cond: captured": "tf.cond(t[0] > 0.0, lambda: x * 2.0, lambda: x * 3.0)",
    "cond: predicate": "tf.cond(x, lambda: 1.0, lambda: 2.0)",
    "switch_case: results": "tf.switch_case(tf.cast(t[0], tf.int32), [lambda: x, lambda: x])",
    "case: results": "tf.case([(t[0] > 5.0, lambda: x)], default=lambda: x)",
    "py_function": "tf.py_function(lambda a: a * 2.0, [x], tf.float32)",
    "numpy_function": "tf.numpy_function(lambda a: a * np.float32(2.0), [x], tf.float32)",
}.items():
    short(name, code, EAGER)


@called("autograph if", ("eager", "argument"))
def _(tf, x):
    @tf.function
    def chosen(flag):
        if flag:
            y = x
        else:
            y = x * 2.0
        return y

    return chosen(tf.constant(True))


@called("autograph while", ("eager", "argument"))
def _(tf, x):
    @tf.function
    def grown(n):
        y = x
        while n > 0:
            y = y * 2.0
            n -= 1
        return y

    return grown(tf.constant(2))


@called("autograph for", ("eager", "argument"))
def _(tf, x):
    @tf.function
    def summed():
        y = 0.0
        for a in x:
            y += a
        return y

    return summed()


# -- functions


@called("function: argument", MOST)
def _(tf, x):
    return tf.function(lambda a: a * 2.0)(x)


@called("function: result", MOST)
def _(tf, x):
    return tf.function(lambda a: a)(x)


@called("function: traces", ("eager",))
def _(tf, x):
    f = tf.function(lambda a: 1.0)
    f(x)
    f(x)
    return f.experimental_get_tracing_count()


@called("function: input_signature", ("eager",))
def _(tf, x):
    return tf.function(lambda a: a, input_signature=[tf.type_spec_from_value(x)])(x)


@called("function: an open signature", ("eager",))
def _(tf, x):
    return tf.function(lambda a: a * 2.0, input_signature=[tf.TensorSpec([None])])(x)


@called("function: the spec as a signature", ("eager",))
def _(tf, x):
    return tf.function(lambda a: a * 2.0, input_signature=[x])(tf.constant(NUMBERS))


@called("function: concrete", ("eager",))
def _(tf, x):
    return tf.function(lambda a: a * 2.0).get_concrete_function(x)(x)


@called("function: a list as argument", ("eager",))
def _(tf, x):
    return tf.function(lambda a: a[0])([x, x])


# -- strategies, files


@called("strategy: run", ("eager",))
def _(tf, x):
    return mirrored(tf).run(lambda a: a * 2.0, args=(x,))


@called("strategy: reduce", ("eager",))
def _(tf, x):
    return mirrored(tf).reduce("SUM", x, axis=None)


@called("strategy: reduce along an axis", ("eager",))
def _(tf, x):
    return mirrored(tf).reduce("SUM", x, axis=0)


@called("strategy: local results", ("eager",))
def _(tf, x):
    return mirrored(tf).experimental_local_results(x)


@called("checkpoint", ("eager",))
def _(tf, x):
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tf.train.Checkpoint(x=x)
        path = checkpoint.write(os.path.join(folder, "c"))
        x.assign([0.0, 0.0])
        checkpoint.read(path).assert_consumed()
    return x


@called("saved model", ("eager",))
def _(tf, x):
    module = tf.Module()
    module.x = x
    module.double = tf.function(lambda: module.x * 2.0, input_signature=[])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        return tf.saved_model.load(folder).double()


@called("v1 Saver", ("eager", "graph"))
def _(tf, x):
    tf.compat.v1.train.Saver([x])


@called("v1 moving average", ("eager", "graph"))
def _(tf, x):
    average = tf.compat.v1.train.ExponentialMovingAverage(0.5)
    done = average.apply([x])
    with tf.control_dependencies([] if done is None else [done]):
        return tf.identity(average.average(x))


@called("Module.variables", ("eager",))
def _(tf, x):
    module = tf.Module()
    module.x = x
    return len(module.variables)


@called("control_dependencies", ("graph",))
def _(tf, x):
    with tf.control_dependencies([x]):
        return tf.constant(1.0)


@called("Session.run", ("graph",))
def _(tf, x):
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(x)


@called("feed", ("graph",))
def _(tf, x):
    given = tf.compat.v1.placeholder(tf.float32, [2])
    with tf.compat.v1.Session() as session:
        return session.run(given * 2.0, {given: x})
