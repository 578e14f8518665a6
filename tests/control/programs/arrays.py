"""Tensor arrays."""

from tests.control.programs.table import data, gradients, program


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


@program
def tensor_array_read_behind_a_guard(tf):
    def through(size, shape):
        @tf.function
        def f(x, n):
            array = tf.TensorArray(x.dtype, size, dynamic_size=not size, element_shape=shape)
            i = 0
            while i < n:
                before = array.read(i - 1) if i > 0 else tf.zeros_like(x)
                array = array.write(i, x * tf.cast(i, x.dtype) + before)
                i += 1
            return array.stack()

        return gradients(tf, lambda x: f(x, tf.constant(4)), [1.0, 2.0])

    return [through(size, shape) for size, shape in [(4, None), (4, [2]), (0, [2]), (0, None)]]


@program
def tensor_array_out_of_range_in_a_branch(tf):
    @tf.function
    def f(x, n):
        array = tf.TensorArray(x.dtype, 2).unstack(x)
        if n > 2:
            array = array.write(7, x[0])
            return array.read(5) + array.stack()[0]
        return array.read(1) * array.read(0)

    def refused():
        try:
            f(tf.constant([1.0, 2.0], tf.float64), tf.constant(3))
        except tf.errors.InvalidArgumentError:
            return True

    return gradients(tf, lambda x: f(x, tf.constant(1)), [1.0, 2.0]), refused()
