"""`tf.gradients` in functions that run as eager code, because a shape depends on values. The numbers are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

X = np.array([1.0, -2.0, 3.0], np.float32)


def positive(x):
    return tf.boolean_mask(x, x > 0.0)


def first(x):
    return tf.gradients(tf.reduce_sum(positive(x) ** 2), x)[0]


def intermediate(x):
    h = x * 2.0
    return tf.gradients(positive(h) ** 2, [h])[0]


def second(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        slope = tf.gradients(positive(x) ** 3, x)[0]
    return tape.gradient(slope, x)


def twice(x):
    return tf.gradients(tf.gradients(positive(x) ** 3, x), x)[0]


def stopped(x):
    y = positive(x)
    return tf.gradients([y, x * 2.0], x, grad_ys=[tf.ones_like(y) * 3.0, None], stop_gradients=[y])[0]


def seeded(x):
    return tf.gradients(positive(x), x, grad_ys=[tf.constant([3.0, 4.0])])[0]


def unconnected(x):
    return tf.gradients(tf.stop_gradient(positive(x)), x, unconnected_gradients="zero")[0]


def in_a_branch(x):
    if tf.reduce_sum(x) > 0.0:
        y = positive(x)
    else:
        y = x
    return tf.gradients(y**2, x)[0]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (first, [2, 0, 6]),
        (intermediate, [4, 0, 12]),
        (second, [6, 0, 18]),
        (twice, [6, 0, 18]),
        (stopped, [2, 2, 2]),
        (seeded, [3, 0, 4]),
        (unconnected, [0, 0, 0]),
        (in_a_branch, [2, 0, 6]),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_of_an_argument(program, expected):
    function = tf.function(program)
    for _ in range(2):
        np.testing.assert_allclose(function(tf.constant(X)), expected)


def test_a_tape_around_the_function_differentiates_the_gradient():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        slope = tf.function(lambda x: tf.gradients(positive(x) ** 3, x)[0])(x)
    np.testing.assert_allclose(slope, [3, 0, 27])
    np.testing.assert_allclose(tape.gradient(slope, x), [6, 0, 18])


def test_all_reads_of_a_variable_count():
    v = tf.Variable(2.0)

    @tf.function
    def slopes(x):
        before = positive(x) * v
        v.assign(5.0)
        after = positive(x) * v
        return [tf.gradients(y, v)[0] for y in (before + after, before, after)]

    assert [float(d) for d in slopes(tf.constant(X))] == [8.0, 4.0, 4.0]


def test_of_a_method_by_another():
    class Model:
        def __init__(self):
            self.v = tf.Variable(X)

        def slopes(self, y):
            return tf.gradients(y, self.v)[0]

        @tf.function
        def step(self):
            return self.slopes(tf.reduce_sum(positive(self.v) ** 2))

    model = Model()
    np.testing.assert_allclose(model.step(), [2, 0, 6])


def test_by_a_function_that_no_code_names():
    derive = {"how": getattr(tf, "gra" + "dients")}
    slopes = tf.function(lambda x: derive["how"](positive(x) ** 2, x)[0])
    np.testing.assert_allclose(slopes(tf.constant(X)), [2, 0, 6])


@pytest.mark.parametrize("flushes", [False, True])
def test_variables_assigned_before_the_first_request_are_assigned_once(flushes):
    v, w, u = tf.Variable(1.0), tf.Variable(1.0), tf.Variable(1.0)
    double = tf.function(lambda: w.assign(w * 2.0))
    double()

    @tf.function
    def step(x):
        v.assign_add(1.0)
        double()
        u.assign(v + w)
        y = positive(x) * v
        if flushes:
            u.assign(u + 1.0).numpy()
        return tf.gradients(y, x)[0]

    v.assign_add(1.0)
    for count in (1, 2):
        np.testing.assert_allclose(step(tf.constant(X)), [2.0 + count, 0, 2.0 + count])
        assert (float(v), float(w), float(u)) == (2.0 + count, 2.0 * 2**count, 2.0 + count + 2.0 * 2**count + flushes)


def test_random_numbers_before_the_first_request_are_drawn_once():
    def noisy(x, derived):
        noise = tf.random.normal([])
        y = positive(x) * noise
        return noise, tf.gradients(y, x)[0] if derived else y

    drawn = []
    for derived in (True, False):
        tf.random.set_seed(5)
        function = tf.function(noisy)
        drawn.append([float(function(tf.constant(X), derived)[0]) for _ in range(3)])
    assert drawn[0] == drawn[1]


def test_in_a_function_that_another_one_calls_op_by_op():
    inner = tf.function(lambda x: tf.gradients(positive(x) ** 2, x)[0])

    @tf.function
    def outer(x):
        slope = inner(positive(x))
        return slope, tf.gradients(positive(x) ** 3, x)[0]

    for _ in range(2):
        slope, own = outer(tf.constant(X))
        np.testing.assert_allclose(slope, [2, 6])
        np.testing.assert_allclose(own, [3, 0, 27])


def test_over_a_dataset():
    v = tf.Variable(1.0)

    @tf.function
    def train(data):
        total = 0.0
        for x in data:
            slope = tf.gradients(x * v * v, v)[0]
            v.assign_sub(0.1 * slope)
            total += slope
        return total

    assert train(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])).numpy() == pytest.approx(8.08)
    assert v.numpy() == pytest.approx(0.192)


def test_an_optimizer_of_tensorflow_1_takes_the_loss_itself():
    v = tf.Variable(X)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)

    @tf.function
    def step():
        optimizer.minimize(tf.reduce_sum(positive(v) ** 2), var_list=[v])

    step()
    step()
    np.testing.assert_allclose(v, [0.64, -2.0, 1.92], rtol=1e-6)


def test_eager_code_has_a_tape():
    def eager(x):
        return tf.gradients(x * x, x)

    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(RuntimeError, match=r"Use tf\.GradientTape instead"):
            tf.function(eager)(tf.constant(1.0))
    finally:
        tf.config.run_functions_eagerly(False)
