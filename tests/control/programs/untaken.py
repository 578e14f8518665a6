"""What did not run."""

from tests.control.programs.table import program


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
