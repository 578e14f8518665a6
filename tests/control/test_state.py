"""Variables in loops, branches and maps, and other things that random programs have shown; the numbers are TensorFlow's."""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf


def assigned_then_read(v, x):
    y = x
    for _ in tf.range(3):
        v.assign(v * x)
        y = y + v * x
    return y * v


def read_then_assigned(v, x):
    y = x
    for _ in tf.range(3):
        y = y + v * x
        v.assign_add(x)
    return y * v


def in_foldl(v, x):
    def step(state, row):
        v.assign(state * row)
        return state + v * row

    return tf.foldl(step, tf.stack([x, x * x]), initializer=x) * v


def in_a_branch_that_is_not_taken(v, x):
    def each(row):
        def assigning():
            v.assign(row * 0.3)
            return row * row

        return tf.cond(x > 0.1, lambda: row * v, assigning)

    return tf.reduce_sum(tf.map_fn(each, tf.stack([x, 2 * x]))) + v * x


STATE = [  # value, gradients to x and v, the variable afterwards
    (assigned_then_read, 0.21206832, 0.30295475, 1.5967, 0.1715),
    (read_then_assigned, 8.372, 11.96, 8.68, 2.6),
    (in_foldl, 0.66103036, 1.12716386, 1.9015976, 0.51107),
    (in_a_branch_that_is_not_taken, 1.4, 2.0, 2.8, 0.5),
]


@pytest.mark.parametrize("wrapped", [tf.function, lambda f: f], ids=["function", "eager"])
@pytest.mark.parametrize(("body", "value", "to_x", "to_v", "after"), STATE, ids=[row[0].__name__ for row in STATE])
def test_state_stops_gradients_and_every_read_counts(body, value, to_x, to_v, after, wrapped):
    v, x = tf.Variable(np.float64(0.5)), tf.constant(0.7, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrapped(lambda x: body(v, x))(x)
    results = [y, *tape.gradient(y, [x, v]), v]
    np.testing.assert_allclose([float(r) for r in results], [value, to_x, to_v, after], rtol=1e-7)


def test_gradient_of_a_tensor_array_in_nested_loops_of_a_function():
    """The checks of ops that gradients are made of are not the function's."""

    @tf.function
    def f(x):
        array = tf.TensorArray(tf.float64, size=3)
        for i in tf.range(3):
            y = x
            while y < 3.0:
                y = y * x
            array = array.write(i, y * x)
        return tf.reduce_sum(array.stack())

    x = tf.constant(2.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert (float(y), float(tape.gradient(y, x))) == (24.0, 36.0)  # 3 x³


@pytest.mark.parametrize("fold", [tf.foldl, tf.scan])
def test_folds_run_row_by_row_where_python_looks_at_values(fold):
    result = fold(lambda total, row: total + row if row > 0 else total, tf.constant([1.0, -2.0, 3.0]))
    assert float(tf.reshape(result, [-1])[-1]) == 4.0


def test_a_range_up_to_a_constant_tensor_is_compiled():
    @tf.function
    def f(x):
        for _ in tf.range(tf.constant(3)):
            x = x * 2.0
        return x

    assert float(f(tf.constant(1.0))) == 8.0
    assert [type(traced).__name__ for traced in f._traced.values()] == ["ConcreteFunction"]


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_may_use_a_value_that_the_other_branch_reads_from_its_variable(taken):
    v = tf.Variable(3.0)

    @tf.function
    def branches(pred, x):
        before = v.read_value()
        if pred:
            y = x * before  # a capture, and `v` is no input of this branch
        else:
            v.assign_add(x)
            y = x * v
        return y

    @tf.function
    def loop(x):
        before = v.read_value()
        while tf.reduce_sum(x) < v:  # the condition reads `v`, the body its value from outside
            x = x * before
        return x

    with tf.GradientTape() as tape:
        y = branches(tf.constant(taken), tf.constant(2.0))
    assert (float(y), float(tape.gradient(y, v)), float(v)) == ((6.0, 2.0, 3.0) if taken else (10.0, 2.0, 5.0))
    v.assign(10.0)
    with tf.GradientTape() as tape:
        y = loop(tf.constant(0.5))
    assert (float(y), float(tape.gradient(y, v))) == (50.0, 10.0)


def test_branches_without_results_may_assign_different_variables():
    total, count, scale = tf.Variable(1.0), tf.Variable(0), tf.Variable(2.0)

    def grow():
        count.assign(0)
        scale.assign(scale * 2.0)

    def wait():
        count.assign_add(1)

    def accept():
        total.assign(total * 3.0)
        tf.cond(count == 1, grow, wait)

    def reject():
        count.assign(0)
        scale.assign(scale * 0.5)

    @tf.function
    def step(x):
        tf.cond(x > 0.0, accept, reject)

    held = []
    for x in (1.0, 1.0, -1.0):
        step(tf.constant(x))
        held.append((float(total), int(count), float(scale)))
    assert held == [(3.0, 1, 2.0), (9.0, 0, 4.0), (9.0, 0, 2.0)]


def called_once():
    """References to a function that was called, and to the variable that it reads."""
    variable = tf.Variable(2.0)
    double = tf.function(lambda x: x * variable)
    assert float(double(3.0)) == 6.0
    return weakref.ref(double), weakref.ref(variable)


def test_functions_and_their_variables_are_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        assert [reference() for reference in called_once()] == [None, None]
        concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([], tf.float32))
        assert float(concrete(tf.constant(1.0))) == 2.0 and concrete.graph.name  # it keeps its function
    finally:
        gc.enable()


def test_what_a_function_enters_in_a_collection_stays_in_it():
    v1, found = tf.compat.v1, []
    with tf.Graph().as_default():
        v1.add_to_collection("c", 1)

        @tf.function
        def f(x):
            found.append(v1.get_collection("c"))
            v1.add_to_collection("c", 2)
            v1.add_to_collection("d", x)
            found.append(v1.get_collection("c"))
            return x

        f(tf.constant(1.0))
        assert found == [[1], [1, 2]]
        assert v1.get_collection("c") == [1] and v1.get_collection("d") == []
        tf.cond(v1.placeholder(tf.bool, []), lambda: v1.add_to_collection("c", 3) or 1.0, lambda: 2.0)
        assert v1.get_collection("c") == [1, 3]  # a branch is no function, in TensorFlow neither
    f = tf.function(lambda x: v1.add_to_collection("e", x) or x)
    f(1.0)
    assert v1.get_collection("e") == []


class Counter:
    """A sum in a variable that the first use creates."""

    variable = None

    def add(self, x):
        if self.variable is None:
            self.variable = tf.Variable(0.0)
        self.variable.assign_add(x)
        return self.variable + 0.0


def own_sum(x):
    variable = tf.Variable(1.0)
    variable.assign_add(x)
    return variable + 0.0


def test_a_branch_may_create_variables_in_the_first_trace():
    counter = Counter()
    f = tf.function(lambda x, chosen: tf.cond(chosen, lambda: counter.add(x), lambda: x))
    assert [f(1.0, tf.constant(chosen)).numpy() for chosen in (False, True, True)] == [1.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="only supports singleton"):
        tf.function(lambda x, chosen: tf.cond(chosen, lambda: own_sum(x), lambda: x))(1.0, tf.constant(True))


def test_a_loop_may_create_variables_in_the_first_trace():
    counter = Counter()
    f = tf.function(lambda x: tf.map_fn(counter.add, x))
    assert [f(tf.constant(x)).numpy().tolist() for x in ([1.0, 2.0], [2.0])] == [[1.0, 3.0], [5.0]]
    with pytest.raises(ValueError, match="only supports singleton"):
        tf.function(lambda x: tf.map_fn(own_sum, x))(tf.constant([1.0, 2.0]))


def test_each_trip_in_eager_code_creates_its_own_variable():
    x = tf.constant([1.0, 2.0, 3.0])
    assert tf.map_fn(own_sum, x).numpy().tolist() == [2.0, 3.0, 4.0]
    assert tf.scan(lambda a, b: own_sum(a + b), x).numpy().tolist() == [1.0, 4.0, 8.0]
