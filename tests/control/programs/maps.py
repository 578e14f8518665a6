"""Maps, scans and folds."""

from tests.control.programs.table import data, gradients, program


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
