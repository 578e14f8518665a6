"""Functions: arguments, captures, state, what they call."""

import numpy as np

from tests.control.programs.table import data, gradients, program


@program
def gradient_inside(tf):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    return gradients(tf, f, [1.0, 2.0], order=2)


@program
def nested_functions(tf):
    @tf.function
    def inner(x):
        return tf.sin(x)

    @tf.function
    def outer(x):
        return inner(x) * inner(x * 2.0)

    return gradients(tf, outer, [0.5, 1.0], order=2)


@program
def structures(tf):
    @tf.function
    def f(x, options):
        return {"sum": x["a"] + x["b"][0], "none": None, "pair": (x["b"][1], [options["scale"] * x["a"]])}

    return f({"a": tf.constant(1.0), "b": [tf.constant(2.0), tf.constant(3.0)]}, {"scale": 2.0})


@program
def captures(tf):
    c = tf.constant([1.0, 2.0])

    @tf.function
    def f(x):
        return tf.reduce_sum(c * x * c)

    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch([c, x])
        y = f(x)
    return y, tape.gradient(y, [c, x])


@program
def traces(tf):
    seen = []

    @tf.function
    def f(x, n=1):
        seen.append(1)
        return x * n

    f(tf.constant(1.0))
    f(tf.constant(2.0))
    f(tf.constant([1.0]))
    f(tf.constant(1.0), 2)
    f(tf.constant(1.0), n=2)
    f(tf.constant(1), 2)
    f(1.0)
    f(2.0)
    f(np.float32(2.0))
    return len(seen)


@program
def variables_made_once(tf):
    class Layer(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([2, 3]) * 2.0)
            return tf.matmul(x, self.w)

    layer = Layer()
    first, second = layer(tf.ones([1, 2])), layer(tf.ones([4, 2]))
    return first, second, len(layer.variables)


@program
def methods(tf):
    class Counter:
        def __init__(self, step):
            self.step = step
            self.total = tf.Variable(0.0)

        @tf.function
        def add(self, x):
            self.total.assign_add(x * self.step)
            return self.total + 0.0

    a, b = Counter(1.0), Counter(10.0)
    return a.add(tf.constant(1.0)), b.add(tf.constant(1.0)), a.add(tf.constant(2.0)), b.add(tf.constant(3.0))


@program
def training_step(tf):
    w = tf.Variable([[0.5], [-0.3]])
    b = tf.Variable([0.0])
    x, y = tf.constant(data(8, 2), tf.float32), tf.constant(data(8, 1), tf.float32)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, w) + b - y) ** 2)
        for v, d in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.1 * d)
        return loss

    losses = [step(x, y) for _ in range(5)]
    return losses, w.numpy(), b.numpy()


@program
def read_after_assign(tf):
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        y = v * x
        v.assign(v * 2.0)
        return y + v * v

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, [x, v]), v.numpy()


@program
def data_dependent_shapes(tf):
    @tf.function
    def f(x):
        kept = tf.boolean_mask(x, x > 0)
        return tf.reduce_sum(kept * kept), tf.where(x > 0), tf.unique(tf.cast(x, tf.int32))[0]

    x = tf.constant([1.0, -2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y[0], x)


@program
def dynamic_shapes(tf):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def f(x):
        n = tf.shape(x)[0]
        return tf.reshape(x, [n * 3]), tf.zeros([n, 2]), tf.cast(n, tf.float32) * tf.reduce_sum(x)

    return f(tf.ones([2, 3])), f(tf.ones([4, 3]))


@program
def switch_case(tf):
    def f(i, x):
        return tf.switch_case(i, [lambda: x * 2.0, lambda: x * x, lambda: -x])

    g = tf.function(f)
    return [[gradients(tf, lambda x, i=i, h=h: h(tf.constant(i), x), 3.0) for i in (0, 1, 2, 5, -1)] for h in (f, g)]


@program
def case(tf):
    @tf.function
    def f(x):
        return tf.case([(x > 2.0, lambda: x * x), (x > 1.0, lambda: x * 5.0)], default=lambda: -x)

    return [gradients(tf, f, v) for v in (3.0, 1.5, 0.0)]


@program
def cond_untaken(tf):
    @tf.function
    def f(x, y):
        return tf.cond(x > 0, lambda: x * 2.0, lambda: y * 3.0)

    return gradients(tf, f, 1.0, 2.0), gradients(tf, f, -1.0, 2.0)


@program
def eager_cond_untaken(tf):
    return gradients(tf, lambda x, y: tf.cond(x > 0, lambda: x * 2.0, lambda: y * 3.0), 1.0, 2.0)


@program
def concrete_function(tf):
    @tf.function
    def f(x, y=2.0):
        return x * y

    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32), 3.0)
    return concrete(tf.constant([1.0, 2.0])), list(concrete.output_shapes), concrete.output_dtypes.name


@program
def run_eagerly(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(1)
        return x + 1.0

    tf.config.run_functions_eagerly(True)
    try:
        f(tf.constant(1.0))
        f(tf.constant(2.0))
    finally:
        tf.config.run_functions_eagerly(False)
    return len(seen), tf.config.functions_run_eagerly()


@program
def py_function_inside(tf):
    @tf.function
    def f(x):
        y = tf.py_function(lambda v: v * v, [x], tf.float64)
        y = tf.ensure_shape(y, [2])
        return y * x

    return gradients(tf, f, [1.0, 2.0])


@program
def numpy_function_inside(tf):
    @tf.function
    def f(x):
        y = tf.numpy_function(lambda v: np.sin(v), [x], tf.float64)
        return tf.reduce_sum(y) + tf.reduce_sum(x)

    return gradients(tf, f, [1.0, 2.0])


@program
def init_scope(tf):
    seen = []

    @tf.function
    def f(x):
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        seen.append(tf.executing_eagerly())
        return x

    f(tf.constant(1.0))
    return [int(s) for s in seen]


@program
def static_values(tf):
    seen = []

    @tf.function
    def f(x):
        seen.append(tf.get_static_value(tf.constant(3)))
        seen.append(tf.get_static_value(x))
        return tf.zeros([tf.constant(2) + 1, 2])

    return f(tf.constant(1)), [-1 if s is None else int(s) for s in seen]


@program
def lambdas_and_closures(tf):
    scale = 3.0
    square = tf.function(lambda x: x * x * scale)

    @tf.function
    def f(x):
        def helper(y):
            if y > 1.0:
                return y * 2.0
            return y

        return helper(x) + square(x)

    return gradients(tf, f, 2.0), gradients(tf, f, 0.5)


@program
def optimizer_by_hand(tf):
    w = tf.Variable(data(3), dtype=tf.float64)
    m = tf.Variable(tf.zeros(3, tf.float64), trainable=False)

    @tf.function
    def train(steps):
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((w - 1.0) ** 2)
            d = tape.gradient(loss, w)
            m.assign(0.9 * m + d)
            w.assign_sub(0.1 * m)
        return loss

    return train(tf.constant(5)), w.numpy(), m.numpy()


@program
def loops_that_print_nothing(tf):
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x)
        for i in tf.range(2):
            tf.debugging.assert_less(i, 5)
            x = x * 2.0
        return x

    return gradients(tf, f, [1.0, 2.0])


@program
def dict_and_list_state(tf):
    @tf.function
    def f(x):
        state = {"h": x, "history": [x, x]}
        for i in tf.range(3):
            state["h"] = state["h"] * 0.5 + tf.cast(i, x.dtype)
            state = {"h": state["h"], "history": [state["h"], state["history"][0]]}
        return state["h"] + state["history"][1]

    return gradients(tf, f, [1.0, 2.0])


@program
def fibonacci(tf):
    @tf.function
    def f(n):
        a, b = 0, 1
        for _ in tf.range(n):
            a, b = b, a + b
        return a

    return [f(tf.constant(n)) for n in (0, 1, 2, 10)]


@program
def newton(tf):
    @tf.function
    def root(a):
        x = a
        for _ in tf.range(30):
            new = 0.5 * (x + a / x)
            if tf.abs(new - x) < 1e-12:
                break
            x = new
        return x

    return gradients(tf, root, 2.0, order=2)


@program
def errors_that_are_caught_by_name(tf):
    @tf.function
    def f(x):
        try:
            if x > 2.0:
                x = x * 2.0
            raise ValueError("four")
        except TypeError:
            return x
        except ValueError as error:
            y = x * len(str(error))
        for _ in tf.range(2):
            try:
                y = tf.matmul(y, y)
            except (ValueError, tf.errors.InvalidArgumentError) as error:
                y = y * y if isinstance(error, Exception) else y
            finally:
                y = y + 1.0
        return y

    return gradients(tf, f, 1.0) + gradients(tf, f, 3.0)
