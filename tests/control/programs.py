"""Programs with functions and control flow, each a function of the module `tf`: what TensorFlow gives is in programs.json.

`python tests/control/record.py`, run where TensorFlow is installed, writes it anew.
"""

import numpy as np

PROGRAMS = {}


def program(function):
    """Enter a program into the table."""
    PROGRAMS[function.__name__] = function
    return function


def data(*shape):
    """The same numbers each time."""
    return np.random.default_rng(sum(shape) + 7).normal(size=shape)


def gradients(tf, fn, *arguments, order=1):
    """The value of `fn` of float64 constants, and gradients of its sum up to an order."""
    xs = [tf.constant(a, tf.float64) for a in arguments]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = fn(*xs)
        first = tape.gradient(y, xs)
        total = tf.add_n([tf.reduce_sum(d * d) for d in first if d is not None]) if order > 1 else None
    second = outer.gradient(total, xs) if order > 1 else []
    return y, first, second


# -- if


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


# -- while


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


# -- for


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


# -- maps


@program
def map_fn(tf):
    def f(x):
        return tf.map_fn(lambda r: tf.reduce_sum(tf.sin(r) * r), x)

    return gradients(tf, f, data(4, 3), order=2), gradients(tf, tf.function(f), data(4, 3), order=2)


@program
def map_fn_of_a_nest(tf):
    def f(x, y):
        a, b = tf.map_fn(lambda r: (r[0] * r[1], r[0] - r[1]), (x, y))
        return a + b

    return gradients(tf, f, data(4), data(4, 1)[:, 0], order=2)


@program
def map_fn_with_signature(tf):
    return tf.map_fn(lambda i: tf.cast(i, tf.float32) / 2.0, tf.range(4), fn_output_signature=tf.float32)


@program
def scan(tf):
    def f(x):
        return tf.scan(lambda h, r: tf.tanh(h * 0.5 + r), x)

    def g(x):
        return tf.scan(lambda h, r: tf.tanh(h * 0.5 + r), x, initializer=tf.ones(3, tf.float64), reverse=True)

    return gradients(tf, f, data(5, 3), order=2), gradients(tf, g, data(5, 3)), gradients(tf, tf.function(f), data(5, 3), order=2)


@program
def folds(tf):
    x = data(4)
    return (
        gradients(tf, lambda x: tf.foldl(lambda a, r: a * r + r, x), x, order=2),
        gradients(tf, lambda x: tf.foldr(lambda a, r: a * r - r, x, initializer=tf.constant(2.0, tf.float64)), x),
    )


@program
def vectorized_map(tf):
    w = data(3, 2)

    def f(x):
        return tf.vectorized_map(lambda r: tf.linalg.matvec(tf.constant(w), r, transpose_a=True) * tf.reduce_sum(r), x)

    return gradients(tf, f, data(4, 3), order=2)


@program
def map_fn_reads_variable(tf):
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.map_fn(lambda r: r * w * w, tf.constant([1.0, 2.0])))
    return y, tape.gradient(y, w)


# -- tensor arrays


@program
def tensor_array_in_loop(tf):
    @tf.function
    def f(x):
        array = tf.TensorArray(x.dtype, size=4)
        for i in tf.range(4):
            array = array.write(i, x * tf.cast(i, x.dtype) ** 2.0)
        return array.stack()

    return gradients(tf, f, [1.0, 2.0], order=1)


@program
def tensor_array_grows(tf):
    @tf.function
    def f(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, tf.cast(i, tf.float32) ** 2)
        return array.stack()

    return f(tf.constant(4)), f(tf.constant(2)), f(5)


@program
def tensor_array_read_back(tf):
    @tf.function
    def f(x):
        array = tf.TensorArray(x.dtype, size=5, clear_after_read=False)
        array = array.write(0, x)
        for i in tf.range(1, 5):
            array = array.write(i, array.read(i - 1) * x)
        return array.stack()

    return gradients(tf, f, 1.5, order=2)


@program
def tensor_array_in_eager_loop(tf):
    def f(x):
        array = tf.TensorArray(x.dtype, size=3)
        for i in range(3):
            array = array.write(i, x * (i + 1.0))
        return array.stack() + array.size().numpy()

    return gradients(tf, f, [1.0, 2.0])


@program
def tensor_array_in_while_loop(tf):
    def f(x):
        array = tf.TensorArray(x.dtype, size=3)
        _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x * x)), (0, array))
        return array.stack()

    return gradients(tf, f, [1.0, 2.0]), gradients(tf, tf.function(f), [1.0, 2.0])


@program
def tensor_array_unstack(tf):
    @tf.function
    def f(x):
        rows = tf.TensorArray(x.dtype, size=3).unstack(x)
        out = tf.TensorArray(x.dtype, size=3)
        h = tf.zeros_like(x[0])
        for i in tf.range(3):
            h = tf.tanh(h + rows.read(i))
            out = out.write(i, h)
        return out.stack()

    return gradients(tf, f, data(3, 2), order=2)


# -- functions


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


# -- what did not run


@program
def eager_code_that_did_not_run(tf):
    """Functions whose shapes depend on values, so that they run as eager code."""
    a, b, c = [tf.Variable(v) for v in (2.0, 3.0, 5.0)]

    @tf.function
    def branches(x):
        positive = tf.boolean_mask(x, x > 0)
        y = tf.reduce_sum(positive)
        if y > 1.0:
            y = y * a
        else:
            y = y * b
        return y if tf.size(positive) > 1 else y * c

    @tf.function
    def calls(x):
        count = tf.size(tf.where(x > 0))
        y = tf.switch_case(count - 1, [lambda: x[0] * a, lambda: x[0] * b])
        return tf.cond(count > 1, lambda: y, lambda: y * c), x[1] * c

    @tf.function
    def loops(x):
        count = tf.size(tf.where(x > 0))
        y = x[0] * c
        while count > 1:
            y *= a
            count -= 1
        for row in tf.boolean_mask(x, x > 1.5):
            y += row * b
        return tf.while_loop(lambda y: y < 0.0, lambda y: (y * a,), (y,))

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.boolean_mask(x, x > 0))
            if y > 1.0:
                y = y * a
            else:
                y = y * b
        return tape.gradient(y, [a, b]), tf.gradients(y, [a, b])

    found = []
    for function in (branches, calls, loops):
        for x in ([1.0, 2.0], [0.5, -1.0]):
            with tf.GradientTape() as tape:
                y = function(tf.constant(x))
            found.append(tape.gradient(y, [a, b, c]))
    return found, inside(tf.constant([1.0, 2.0])), inside(tf.constant([0.5]))


@program
def loops_without_a_trip(tf):
    w = tf.Variable(2.0)

    @tf.function
    def f(rows):
        x, y = tf.constant(3.0), tf.constant(4.0)
        for row in rows:
            x = x * w + row
        for _ in tf.range(0):
            if y > 9.0:
                break
            y *= w
        return x, y, tf.map_fn(lambda row: row * w, rows), tf.foldl(lambda s, row: s + row * w, rows, 0.0)

    found = []
    for k in range(4):
        with tf.GradientTape() as tape:
            y = f(tf.zeros([0]))[k]
        found.append(tape.gradient(y, w))
    return found


@program
def second_derivatives_in_one_function(tf):
    a, b = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def loops(x):
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))
        first = tf.gradients(y, x)[0]
        for _ in tf.range(3):
            x = x * 2.0
        with tf.GradientTape() as outer, tf.GradientTape() as tape:
            outer.watch(x)
            tape.watch(x)
            z = x
            for _ in tf.range(3):
                z = z * 2.0
            second = tape.gradient(z, x)
        return first, tf.gradients(first, x), second, outer.gradient(second, x)

    @tf.function
    def branch(x):
        y, _ = tf.cond(x > 1.0, lambda: (x * a, x * b), lambda: (x, x * x))
        z = tf.cond(x > 1.0, lambda: x * a, lambda: x * x * b)
        first = tf.gradients(z, [x, a, b])
        return tf.gradients(y, [a, b]), first, [tf.gradients(d, [x, a, b]) for d in first]

    return loops(tf.constant(2.0)), branch(tf.constant(2.0)), branch(tf.constant(0.5))


@program
def counts_of_traces(tf):
    def counted(function, *calls):
        found = []
        for call in calls:
            function(*call)
            found.append(function.experimental_get_tracing_count())
        return found

    def first(x, *_):
        return x + x

    zeros, spec = tf.zeros, tf.TensorSpec([None, 2], tf.float32)
    opened = tf.function(first)
    opened.get_concrete_function(spec)(zeros([3, 2]))
    return [
        counted(tf.function(first, reduce_retracing=True), *[(zeros(s),) for s in ([1], [2], [3], [4, 2], [5, 2], [1])]),
        counted(tf.function(first, reduce_retracing=True), *[(zeros([n]), n > 2) for n in (1, 2, 3, 4, 5)]),
        counted(tf.function(first), *[(zeros([n]),) for n in (1, 2, 3, 1)]),
        counted(tf.function(first, input_signature=[spec]), *[(zeros([n, 2]),) for n in (1, 2, 3)]),
        counted(tf.function(first), *[(tf.Variable(v),) for v in (1.0, 2.0, [1.0])]),
        counted(opened, (zeros([4, 2]),), (zeros([4, 3]),)),
    ]
