"""`gradients` and `hessians` in a graph, gradients that are overridden, and their numeric check."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from gradtape import GradientTape, function
from tests.graph.values import same


@tf.RegisterGradient("FloorOfOne")
def floor_of_one(op, dy):
    return dy * tf.ones_like(op.inputs[0])


def test_first_and_second_order(session):
    x = tf.placeholder(tf.float32, [None])
    (first,) = tf.gradients(tf.sin(x), x)
    (second,) = tf.gradients(first, x)
    same(session.run([first, second], {x: [0.5, 1.0]}), [[0.87758255, 0.5403023], [-0.47942555, -0.84147096]])


def test_hessians(session):
    x = tf.constant([1.0, 2.0, 3.0])
    y = tf.reduce_sum(x**3) * x[0]
    same(session.run(tf.hessians(y, [x])), [[[12.0, 12.0, 27.0], [12.0, 12.0, 0.0], [27.0, 0.0, 18.0]]])


def test_stop_gradients(session):
    a = tf.constant(1.5)
    b = 2 * a
    assert session.run(tf.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert session.run(tf.gradients(a + b, [a, b])) == [3.0, 1.0]


def test_grad_ys(session):
    x = tf.constant([1.0, 2.0])
    ys = [x * 2, x * 3]
    same(session.run(tf.gradients(ys, x, grad_ys=[tf.constant([1.0, 10.0]), None])), [[5.0, 23.0]])
    with pytest.raises(ValueError, match="Passed 1 grad_ys for 2 ys"):
        tf.gradients(ys, x, grad_ys=[None])
    with pytest.raises(TypeError, match="grad_ys must have the dtypes of ys"):
        tf.gradients(x * 2, x, grad_ys=[tf.constant([1, 1])])


@pytest.mark.parametrize("f", [lambda x: x**2, lambda x: tf.stack([x, x**3]), lambda x: -x * 3.0, tf.transpose])
@pytest.mark.parametrize("in_function", [False, True])
def test_grad_ys_of_equal_elements_are_sources(session, f, in_function):
    """The gradient of a gradient with respect to its grad_ys is a tangent: forward mode by two reverse passes."""

    def tangent():
        x = tf.constant([1.0, 2.0])
        y = f(x)
        ones = tf.ones_like(y)
        return tf.gradients(tf.gradients(y, x, grad_ys=ones), ones)[0], tf.gradients(y, x)[0], y

    made, slope, y = session.run(function(tangent)() if in_function else tangent())
    assert made.shape == y.shape
    np.testing.assert_allclose(made.sum(), slope.sum(), rtol=1e-6)


def test_unconnected(session):
    x = tf.placeholder(tf.float32, [None])
    z = tf.constant([1.0, 2.0])
    assert tf.gradients(z * 1.0, [x]) == [None]
    same(session.run(tf.gradients(z * 1.0, [x], unconnected_gradients="zero"), {x: [1.0, 2.0, 3.0]}), [[0.0, 0.0, 0.0]])


def test_integers_have_none(session):
    x = tf.constant([1, 2])
    assert tf.gradients(x * 2, [x]) == [None]


def test_a_variable_that_is_read_twice(session):
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    same(session.run(tf.gradients(v * v + v, v)), [[3.0, 5.0]])


@pytest.mark.parametrize("accessed", [True, False])
def test_a_variable_that_a_tape_is_told_to_watch_counts_once(session, accessed):
    v = tf.get_variable("v", initializer=1.0)
    row = tf.get_variable("row", initializer=[1.0, 2.0])
    with GradientTape() as outer:
        with GradientTape(watch_accessed_variables=accessed) as tape:
            tape.watch(v)
            tape.watch([v, row])
            y = v**3 + 3.0 * v.read_value()
        first = tape.gradient(y, v)
        outer.watch(v)
    with GradientTape(watch_accessed_variables=accessed) as tape:
        tape.watch(row)
        cubes = row**3
    rows = tape.jacobian(cubes, row)
    session.run(tf.global_variables_initializer())
    same(session.run([first, outer.gradient(first, v), rows]), [6.0, 6.0, [[3.0, 0.0], [0.0, 12.0]]])


def test_branches(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: x * 3.0)
    (dx,) = tf.gradients(y, x)
    same(session.run([y, dx], {x: [2.0, 1.0]}), [[4.0, 1.0], [4.0, 2.0]])
    same(session.run([y, dx], {x: [-2.0, 1.0, 0.0]}), [[-6.0, 3.0, 0.0], [3.0, 3.0, 3.0]])


NOT_TAKEN = {
    "cond": lambda i, a, b: tf.cond(i > 0, lambda: a * 2.0, lambda: b * b),
    "switch_case": lambda i, a, b: tf.switch_case(1 - i, [lambda: a * 2.0, lambda: b * b]),
    "case": lambda i, a, b: tf.case([(i > 0, lambda: a * 2.0)], default=lambda: b * b),
}


@pytest.mark.parametrize("choose", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_a_branch_that_is_not_taken_gives_zeros(session, choose):
    i, a, b = tf.placeholder(tf.int32, []), tf.constant(2.0), tf.constant(3.0)
    gradients = tf.gradients(choose(i, a, b), [a, b])
    assert [session.run(gradients, {i: value}) for value in (1, 0)] == [[2.0, 0.0], [0.0, 6.0]]


def test_a_loop_of_no_trips_gives_zeros(session):
    n, a, b = tf.placeholder(tf.int32, []), tf.constant(2.0), tf.constant(3.0)
    y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * b), (0, a * 1.0))[1]
    gradients = tf.gradients(y, [a, b])
    assert [session.run(gradients, {n: value}) for value in (1, 0)] == [[3.0, 2.0], [1.0, 0.0]]


def test_what_is_added_after_the_target_is_not_connected(session):
    def f(x):
        return tf.reduce_sum(x**2)

    a, delta = tf.constant([1.0, 2.0]), tf.constant(0.1)
    b = f(a)
    moved = a + delta
    assert tf.gradients(b, moved) == [None]
    same(session.run(tf.gradients(f(moved), moved)), [[2.2, 4.2]])


def test_loops(session):
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (tf.constant(0), x))
    same(session.run([y, tf.gradients(y, x)[0]], {x: [2.0, 3.0]}), [[16.0, 81.0], [32.0, 108.0]])


def test_functions_and_custom_gradients(session):
    @tf.custom_gradient
    def hundred(a):
        return a * 2, lambda dy: dy * 100.0

    x = tf.placeholder(tf.float32, [None])
    y, z = function(lambda a: a * a)(x), hundred(x)
    same(session.run([y, *tf.gradients(y, x)], {x: [1.0, 3.0]}), [[1.0, 9.0], [2.0, 6.0]])
    same(session.run([z, *tf.gradients(z, x)], {x: [1.0, 3.0]}), [[2.0, 6.0], [100.0, 100.0]])


def test_dropout_keeps_the_same_elements(session):
    x = tf.placeholder(tf.float32, [None, 100])
    keep = tf.placeholder(tf.float32)
    y = tf.nn.dropout(x, keep_prob=keep)
    value, gradient = session.run([y, tf.gradients(y, x)[0]], {x: np.ones((3, 100)), keep: 0.5})
    assert (value == gradient).all() and 100 < value.sum() < 500
    assert session.run(tf.reduce_sum(y), {x: np.ones((3, 100)), keep: 1.0}) == 300.0


def test_rows_of_a_table_give_indexed_slices(session):
    table = tf.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    ids = tf.placeholder(tf.int32, [None])
    (slices,) = tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2), table)
    assert isinstance(slices, tf.IndexedSlices)
    session.run(table.initializer)
    got = session.run(slices, {ids: [0, 2, 0]})
    same(got.values, [[0.0, 2.0], [8.0, 10.0], [0.0, 2.0]])
    same(got.indices, [0, 2, 0])


@pytest.mark.parametrize("lookup", ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"])
def test_a_call_that_waits_for_values_gives_slices_where_it_takes_rows(session, lookup):
    """So an optimizer leaves alone the rows that a batch does not name: FTRL sets them to 0 otherwise."""
    table = tf.get_variable("table", [5, 3], initializer=tf.ones_initializer())
    ids = tf.sparse_placeholder(tf.int64)
    rows = getattr(tf.nn, lookup)(table, ids, None, combiner="mean")
    loss = tf.reduce_sum(rows**2)
    (slices,) = tf.gradients(loss, table)
    assert rows.shape.as_list() == [None, 3]
    assert isinstance(slices, tf.IndexedSlices) and slices.values.shape.as_list() == [None, 3]
    train = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    fed = {ids: tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], [1, 3, 1], [2, 2])}
    found = session.run(slices, fed)
    same(sorted(found.indices), [1, 3])
    same(sorted(found.values[:, 0]), [1.0, 3.0])
    (doubled,) = tf.gradients(tf.reduce_sum(slices.values**2), table)
    same(session.run(tf.convert_to_tensor(doubled), fed)[:, 0], [0.0, 16.0, 0.0, 4.0, 0.0])
    session.run(train, fed)
    same(session.run(table)[[0, 2, 4]], np.ones([3, 3]))
    assert (session.run(table)[[1, 3]] < 1.0).all()


def test_an_optimizer_in_a_branch_leaves_rows_alone_that_a_batch_does_not_name(session):
    table = tf.get_variable("table", [5, 3], initializer=tf.ones_initializer())
    ids, optimizer = tf.sparse_placeholder(tf.int64), tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.1)

    def step():
        rows = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
        with tf.control_dependencies([optimizer.minimize(tf.reduce_sum(rows**2))]):
            return tf.constant(1.0)

    done = tf.cond(tf.constant(True), step, lambda: tf.constant(0.0))
    session.run(tf.global_variables_initializer())
    session.run(done, {ids: tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], [1, 3, 1], [2, 2])})
    same(session.run(table)[:, 0], [1.0, 0.38135156, 1.0, 0.17408419, 1.0])


def test_override_map(session):
    x = tf.constant([1.3, 2.4])
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"Floor": "FloorOfOne"}):
        y = tf.floor(x)
    assert y.op.get_attr("_gradient_op_type") == b"FloorOfOne"
    same(session.run([y, *tf.gradients(y, x)]), [[1.0, 2.0], [1.0, 1.0]])
    assert tf.gradients(tf.floor(x), x) == [None]


def test_a_gradient_that_runs_python_finds_the_graph_that_it_was_made_for(session):
    """A run whose shapes depend on Python goes on op by op; `py_func` gives a list for a list of dtypes all the same."""
    eager = []

    @tf.RegisterGradient("TwiceInPython")
    def twice(op, dy):
        eager.append(tf.executing_eagerly())
        return dy * tf.py_func(lambda x: 2.0 * x, [op.inputs[0]], [tf.float32])[0]

    x = tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().gradient_override_map({"PyFunc": "TwiceInPython"}):
        y = tf.py_func(np.square, [x], [tf.float32])[0]
    same(session.run(tf.gradients(y, x)[0], {x: [1.0, 2.0, -3.0]}), [2.0, 4.0, -6.0])
    assert not any(eager)


def test_an_override_concerns_its_type_and_its_scope_alone(session):
    @tf.RegisterGradient("FiveTimes")
    def five_times(op, dy):
        return dy * 5.0

    x = tf.constant([1.5, -2.5])
    with tf.get_default_graph().gradient_override_map({"Identity": "FiveTimes", "Floor": "Identity"}):
        scoped, floor, other = tf.identity(x), tf.floor(x), x * 3.0
    ys = [scoped, floor, other, tf.identity(x)]
    same(session.run(ys), [[1.5, -2.5], [1.0, -3.0], [4.5, -7.5], [1.5, -2.5]])
    same(session.run([tf.gradients(y, x)[0] for y in ys]), [[5.0, 5.0], [1.0, 1.0], [3.0, 3.0], [1.0, 1.0]])


# at 1 and 2, where floor jumps, a difference with delta 1e-3 is 1/0.002; beside them nothing is wrong with 0
@pytest.mark.parametrize(
    "override, at, error",
    [(False, [1.0, 2.0], 500.0), (True, [1.0, 2.0], 499.0), (False, [1.3, 2.4], 0.0), (True, [1.3, 2.4], 1.0)],
)
def test_compute_gradient_error_of_floor(session, override, at, error):
    x = tf.constant([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Floor": "FloorOfOne"} if override else {}):
        y = tf.floor(x) if override else x - (x - tf.floor(x))
    found = tf.test.compute_gradient_error(x, [2], y, [2], x_init_value=np.array(at, np.float32))
    assert found == pytest.approx(error, abs=1e-3)


def test_compute_gradient(session):
    x = tf.placeholder(tf.float64, [2])
    start = np.array([0.5, 1.5])
    analytical, numerical = tf.test.compute_gradient(x, [2], tf.sin(x) * x[0], [2], x_init_value=start, delta=1e-6)
    same(analytical, [[0.9182168195, 0.9974949866], [0.0, 0.0353686008]], tolerance=1e-8)
    same(numerical, analytical, tolerance=1e-6)


def test_compute_gradient_of_a_tensor_without_elements(session):
    x = tf.placeholder_with_default(np.zeros([0, 3], np.float32), [0, 3])
    found = tf.test.compute_gradient(x, [0, 3], x * 2.0, [0, 3], x_init_value=np.zeros([0, 3], np.float32))
    assert [jacobian.shape for jacobian in found] == [(0, 0), (0, 0)]


def test_compute_gradient_of_what_is_not_connected(session):
    x = tf.constant([1.0, 2.0])
    with pytest.raises(AssertionError, match="dx = None"):
        tf.test.compute_gradient_error(x, [2], tf.floor(x), [2])


def test_an_op_without_a_gradient_is_named(session):
    x = tf.constant(np.ones((2, 2, 3), np.float32))
    with pytest.raises(LookupError, match=r"No gradient defined for operation '\w+' \(op type: AdjustContrastv2\)"):
        tf.gradients(tf.image.adjust_contrast(x, 2.0), x)


def test_complex_targets_want_grad_ys():
    @function
    def of(grad_ys):
        z = tf.constant(2.0 + 1.0j)
        return tf.gradients(z * z, z, grad_ys=grad_ys)

    assert of(tf.constant(1.0 + 0.0j))[0].numpy() == 4.0 - 2.0j
    with pytest.raises(TypeError, match=r"Gradients of complex tensors .* must set grad_ys"):
        of(None)


def test_what_is_no_tensor_is_a_constant_to_the_target():
    @function
    def found(x):
        return [dx is None for dx in tf.gradients(x * x, [x, 3.0])]

    assert found(tf.constant(2.0)) == [False, True]


def test_aggregation_method():
    @function
    def of(method):
        x = tf.constant(3.0)
        return tf.gradients(x * x + x, x, aggregation_method=method)

    assert of(tf.AggregationMethod.EXPERIMENTAL_TREE)[0].numpy() == 7.0
    with pytest.raises(ValueError, match="Invalid `aggregation_method` specified 77"):
        of(77)


def test_in_a_function():
    @function
    def slope(x):
        y = tf.sin(x) * x
        return tf.gradients(y, x)[0]

    same(slope(tf.constant([0.5, 1.0])).numpy(), [np.cos(0.5) * 0.5 + np.sin(0.5), np.cos(1.0) + np.sin(1.0)])


def test_not_in_eager_code():
    x = tf.constant(1.0)
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        tf.gradients(x * x, x)


def test_two_placeholders_of_different_sizes(session):
    a, b = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 2])
    apart = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)
    distance = tf.reduce_sum(apart * apart)
    da, db = tf.gradients(distance, [a, b])
    feed = {a: [[1.0, 0.0]], b: [[0.0, 0.0], [2.0, 0.0], [3.0, 1.0]]}
    same(session.run([distance, da, db], feed), [7.0, [[-4.0, -2.0]], [[-2.0, 0.0], [2.0, 0.0], [4.0, 2.0]]])


def test_a_recurrent_network(session):
    x = tf.placeholder(tf.float32, [None, 3, 2])
    w = tf.Variable(np.full((5, 3), 0.1, np.float32))
    state = tf.zeros([tf.shape(x)[0], 3])
    for step in range(3):
        state = tf.tanh(tf.matmul(tf.concat([x[:, step], state], 1), w))
    (dw,) = tf.gradients(tf.reduce_sum(state), w)
    session.run(w.initializer)
    assert state.shape.as_list() == [None, 3]
    value, gradient = session.run([state, dw], {x: np.ones((2, 3, 2))})
    assert value.shape == (2, 3)
    same(gradient[0], gradient[1])


def test_batch_jacobian_of_rows_without_elements():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.zeros([2, 0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
        assert session.run(tape.batch_jacobian(y, x)).shape == (2, 0, 0)


def test_a_shape_that_a_constant_decides(session):
    """What was computed from constants while the graph was built has a value, and stands in examples as that."""
    v1 = tf.compat.v1
    x = v1.placeholder(tf.float64, (3,))
    counts = tf.math.bincount(tf.reshape(tf.constant([[1, 2, 3], [1, 1, 1]]), [6]), maxlength=3, dtype=tf.float32)
    total = tf.reduce_sum(tf.cast(counts, tf.float64))
    (gradient,) = v1.gradients(tf.stack([x, x * total]), [x])
    assert session.run(gradient, {x: [1.0, 1.0, 1.0]}).tolist() == [6.0, 6.0, 6.0]


def first(x):
    return tf.gradients(tf.reduce_sum(tf.sin(x) ** 2), x)[0]


def by_rows(row):
    return tf.map_fn(row, tf.range(2), fn_output_signature=tf.float32)


def of_a_third_order(x):
    second = tf.gradients(tf.reduce_sum(first(x) ** 2), x)[0]
    return by_rows(lambda j: tf.gradients(second[j], x)[0])


def of_rows_of_a_gather(x):
    g = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.gather(x, [0, 1, 1]) ** 3), x)[0])
    return by_rows(lambda j: tf.convert_to_tensor(tf.gradients(g[j], x)[0]))


def to_a_gradient(x):
    g = first(x)
    return by_rows(lambda j: tf.gradients(tf.sin(g)[j] * x[j], g)[0])


def with_what_flows_in(x):
    g = tf.gradients(tf.sin(x) ** 2, x, grad_ys=x * x)[0]
    return by_rows(lambda j: tf.gradients(g[j], x)[0])


def with_a_constant(x):
    y = tf.sin(x)
    g = tf.gradients(y * x, x, stop_gradients=[y])[0]
    return by_rows(lambda j: tf.gradients(g[j], x)[0])


def to_a_variable(x):
    v = tf.compat.v1.get_variable("v", (2,), initializer=tf.compat.v1.ones_initializer())
    g = tf.gradients(tf.reduce_sum(tf.sin(x * v) * v), x)[0]
    return by_rows(lambda j: tf.gradients(g[j], v)[0])


def in_a_map_in_a_map(x):
    g = first(x)
    second = lambda j: tf.gradients(g[j], x)[0]  # noqa: E731
    return by_rows(lambda j: by_rows(lambda k: tf.gradients(second(j)[k], x)[0]))


OF_GRADIENTS = {
    "map_fn": (lambda x: (lambda g: by_rows(lambda j: tf.gradients(g[j], x)[0]))(first(x)), [[1.9601, 0.0], [0.0, 1.8421]]),
    "while_loop": (
        lambda x: (lambda g: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + tf.gradients(g[i], x)[0]), (0, 0.0 * x)))(
            first(x)
        )[1],
        [1.9601, 1.8421],
    ),
    "cond": (
        lambda x: (lambda g: tf.cond(x[0] > 0.0, lambda: tf.gradients(tf.reduce_sum(g * g), x)[0], lambda: x))(first(x)),
        [0.7788, 1.4347],
    ),
    "scan": (
        lambda x: (lambda g: tf.scan(lambda a, j: a + tf.gradients(g[j], x)[0], tf.range(2), 0.0 * x))(first(x)),
        [[1.9601, 0.0], [1.9601, 1.8421]],
    ),
    "function": (
        lambda x: (lambda g: tf.function(lambda: tf.gradients(tf.reduce_sum(g * g), x)[0])())(first(x)),
        [0.7788, 1.4347],
    ),
    "third order": (of_a_third_order, [[7.3685, 0.0], [0.0, 5.5737]]),
    "gather": (of_rows_of_a_gather, [[0.6, 0.0], [0.0, 2.4]]),
    "to a gradient": (to_a_gradient, [[0.098, 0.0], [0.0, 0.185]]),
    "grad_ys": (with_what_flows_in, [[0.0593, 0.0], [0.0, 0.2295]]),
    "stop_gradients": (with_a_constant, [[0.995, 0.0], [0.0, 0.9801]]),
    "to a variable": (to_a_variable, [[1.98, 0.0], [0.0, 1.9204]]),
    "map_fn in map_fn": (in_a_map_in_a_map, [[[-0.7947, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, -1.5577]]]),
}


@pytest.mark.parametrize("build, expected", OF_GRADIENTS.values(), ids=OF_GRADIENTS)
def test_a_gradient_of_a_gradient_within_a_body(session, build, expected):
    """TensorFlow's numbers."""
    x = tf.compat.v1.placeholder(tf.float32, [2])
    result = build(x)
    session.run(tf.compat.v1.global_variables_initializer())
    np.testing.assert_allclose(session.run(result, {x: [0.1, 0.2]}), expected, atol=1e-4)


def test_gradients_within_a_body_where_the_extent_is_open(session):
    x = tf.compat.v1.placeholder(tf.float32, [None])
    g = first(x)
    hessian = tf.map_fn(lambda j: tf.gradients(g[j], x)[0], tf.range(tf.size(x)), fn_output_signature=tf.float32)
    whole = tf.map_fn(lambda j: tf.gradients(x * x, x)[0], tf.range(2), fn_output_signature=tf.float32)
    hessian, whole = session.run([hessian, whole], {x: [0.1, 0.2, 0.3]})
    np.testing.assert_allclose(hessian, np.diag(2 * np.cos([0.2, 0.4, 0.6])), rtol=1e-5)
    np.testing.assert_allclose(whole, [[0.2, 0.4, 0.6]] * 2, rtol=1e-6)


def test_a_list_of_tensors_in_the_list_of_sources_is_refused(session):
    x = tf.constant(1.0)
    for gradients in (tf.gradients, tf.compat.v1.gradients):
        with pytest.raises(TypeError, match="of type list is no tensor or variable, so nothing was recorded of it"):
            gradients(x * x, [[x, x]])
