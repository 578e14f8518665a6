"""Branches, loops and calls of a graph whose shapes depend on values. The numbers are TensorFlow's 2.21."""

import numpy as np
import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf
from tests.graph.values import same


def test_a_loop_whose_result_grows(session):
    n, factor = tf.placeholder(tf.int32, []), tf.Variable(2.0)
    start = [0, tf.constant([1.0])]
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    _, row = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x[-1:] * factor], 0)), start, shapes)
    (d_factor,) = tf.gradients(row, factor)
    session.run(factor.initializer)
    assert row.shape.as_list() == [None]
    same(session.run([row, d_factor], {n: 3}), [[1.0, 2.0, 4.0, 8.0], 17.0])
    assert session.run(tf.reduce_sum(row), {n: 5}) == 63.0


def test_an_array_that_grows_in_a_loop(session):
    n, factor = tf.placeholder(tf.int32, []), tf.Variable(2.0)
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * factor)), [0, array])
    stacked = array.stack()
    (d_factor,) = tf.gradients(stacked, factor)
    session.run(factor.initializer)
    same(session.run([stacked, d_factor], {n: 3}), [[0.0, 2.0, 4.0], 3.0])
    same(session.run(stacked, {n: 1}), [0.0])


def test_branches_of_other_shapes(session):
    x, w = tf.placeholder(tf.float32, [None]), tf.Variable(3.0)
    chosen = tf.cond(tf.size(x) > 2, lambda: x[:2], lambda: tf.concat([x, x], 0))
    total = tf.reduce_sum(chosen * w)
    gradients = tf.gradients(total, [w, x])
    session.run(w.initializer)
    same(session.run([chosen, total, *gradients], {x: [1.0, 2.0, 3.0]}), [[1.0, 2.0], 9.0, 3.0, [3.0, 3.0, 0.0]])
    same(session.run([chosen, total, *gradients], {x: [1.0]}), [[1.0, 1.0], 6.0, 2.0, [6.0]])


def test_branches_of_other_ranks_and_cases(session):
    k = tf.placeholder(tf.int32, [])
    either = tf.cond(k > 0, lambda: tf.constant([1.0, 2.0]), lambda: tf.constant(3.0))
    case = tf.case([(k < 1, lambda: tf.constant([1.0])), (k < 2, lambda: tf.constant([1.0, 2.0]))], default=lambda: tf.zeros([0]))
    assert either.shape.rank is None
    same(session.run([either * 2.0, case], {k: 0}), [6.0, [1.0]])
    same(session.run([either * 2.0, case], {k: 1}), [[2.0, 4.0], [1.0, 2.0]])
    same(session.run([either, case], {k: 7}), [[1.0, 2.0], []])


def test_a_mask_inside_of_a_branch_and_of_a_loop(session):
    x = tf.placeholder(tf.float32, [None])
    in_branch = tf.cond(tf.size(x) > 2, lambda: tf.reduce_sum(tf.boolean_mask(x, x > 1.0)), lambda: 0.0)
    body = lambda i, a: (i + 1, a + tf.reduce_sum(tf.boolean_mask(x, x > tf.cast(i, tf.float32))))  # noqa: E731
    in_loop = tf.while_loop(lambda i, a: i < 3, body, [0, 0.0])[1]
    results = [in_branch, in_loop, *tf.gradients(in_branch, x), *tf.gradients(in_loop, x)]
    same(session.run(results, {x: [1.0, 2.0, 3.0]}), [5.0, 14.0, [0.0, 1.0, 1.0], [1.0, 2.0, 3.0]])


def test_a_function_in_a_graph(session):
    @tf2.function
    def squares(n):
        array = tf2.TensorArray(tf2.int32, 0, dynamic_size=True)
        for i in tf2.range(n):
            array = array.write(i, i * i)
        return array.stack()

    n = tf.placeholder(tf.int32, [])
    result = squares(n)
    same(session.run(result, {n: 3}), [0, 1, 4])
    same(session.run(result, {n: 2}), [0, 1])


@tf2.function
def squares_of_squares(x):
    total = tf.constant(0.0)
    for row in x:
        for entry in tf.foldl(lambda total, entry: total + entry * entry, row, 0.0) * row:
            total += entry
    return total


def test_loops_over_rows_of_unknown_number_in_a_function(session):
    x = tf.placeholder(tf.float32, [None, None])
    y = squares_of_squares(x)
    same(session.run([y, *tf.gradients(y, x)], {x: [[1.0, 2.0]]}), [15.0, [[11.0, 17.0]]])
    same(session.run(y, {x: [[1.0], [2.0], [3.0]]}), 36.0)


def test_the_gradient_of_rows_at_once_of_unknown_number(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.vectorized_map(lambda row: row * row + 1.0, x)
    same(session.run(tf.gradients(y, x)[0], {x: [1.0, 2.0, 3.0]}), [2.0, 4.0, 6.0])


def recurrent(x, w, u):
    """A recurrent network by hand over rows of unknown number and length, with its outputs in an array."""
    time, rows = tf.shape(x)[1], tf.transpose(x, [1, 0, 2])
    given = tf.TensorArray(tf.float32, time).unstack(rows)

    def body(t, h, out):
        h = tf.tanh(tf.matmul(given.read(t), w) + tf.matmul(h, u))
        return t + 1, h, out.write(t, h)

    start = [0, tf.zeros(tf.stack([tf.shape(x)[0], 2])), tf.TensorArray(tf.float32, time)]
    _, last, out = tf.while_loop(lambda t, *_: t < time, body, start)
    return tf.transpose(out.stack(), [1, 0, 2]), last


@pytest.mark.parametrize("masked", [False, True], ids=["fed rows", "rows chosen by their values"])
def test_a_loop_without_trips_reads_no_row(session, masked):
    x, lengths = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32, [None])
    rows = tf.boolean_mask(x, tf.reduce_sum(x, [1, 2]) >= 0.0) if masked else x
    time, w = tf.shape(rows)[1], tf.ones([3, 2])
    given = tf.TensorArray(tf.float32, time).unstack(tf.transpose(rows, [1, 0, 2]))

    def body(t, h, out):
        h = tf2.where((t < lengths)[:, None], tf.matmul(given.read(t), w), h)
        return t + 1, h, out.write(t, h)

    start = [0, tf.zeros([tf.shape(rows)[0], 2]), tf.TensorArray(tf.float32, time)]
    last = tf.while_loop(lambda t, *_: t < time, body, start)[1]
    same(session.run(last, {x: np.ones((2, 4, 3)), lengths: [2, 4]}), [[3.0, 3.0], [3.0, 3.0]])
    same(session.run(last, {x: np.ones((2, 0, 3)), lengths: [2, 4]}), [[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 4 is not in \[0, 4\)"):
        session.run(given.read(lengths[1]), {x: np.ones((2, 4, 3)), lengths: [2, 4]})


def test_a_recurrent_network_of_unknown_extents(session):
    x = tf.placeholder(tf.float32, [None, None, 3])
    w, u = tf.fill([3, 2], 0.1), tf.fill([2, 2], 0.2)
    outputs, last = recurrent(x, w, u)
    for batch, length in ((2, 3), (3, 2)):
        fed = np.arange(batch * length * 3, dtype=np.float32).reshape(batch, length, 3) / 10
        found, h = session.run([outputs, last], {x: fed})
        assert found.shape == (batch, length, 2)
        expected = np.zeros((batch, 2))
        for t in range(length):
            expected = np.tanh(fed[:, t] @ np.full((3, 2), 0.1) + expected @ np.full((2, 2), 0.2))
            np.testing.assert_allclose(found[:, t], expected, rtol=1e-5)
        np.testing.assert_allclose(h, expected, rtol=1e-5)


# Calls that need the value of m, the largest element of x: what they give for x = [1, 3].
CALLS = {
    "range": (lambda x, m: tf.range(m), [0, 1, 2]),
    "zeros": (lambda x, m: tf.zeros([m]), [0.0, 0.0, 0.0]),
    "top_k": (lambda x, m: tf.nn.top_k([0, 4, 1, 3], m)[1], [1, 3, 2]),
    "one_hot": (lambda x, m: tf.one_hot([0, 1], m), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "tile": (lambda x, m: tf.tile(x, [m]), [1.0, 3.0, 1.0, 3.0, 1.0, 3.0]),
    "sequence_mask": (lambda x, m: tf.sequence_mask([1, 2], m), [[True, False, False], [True, True, False]]),
    "reshape": (lambda x, m: tf.reshape(tf.range(m * 2), [m, 2]), [[0, 1], [2, 3], [4, 5]]),
    "segments": (lambda x, m: tf.unsorted_segment_sum(x, [0, 1], m), [1.0, 3.0, 0.0]),
    "pad": (lambda x, m: tf.pad(x, [[m, 0]]), [0.0, 0.0, 0.0, 1.0, 3.0]),
    "slice": (lambda x, m: x[m - 2 :], [3.0]),
    "partition": (lambda x, m: tf.dynamic_partition(x, tf.cast(x > 2.0, tf.int32), 2)[1], [3.0]),
}


@pytest.mark.parametrize("call, expected", CALLS.values(), ids=CALLS)
def test_calls_that_need_values(session, call, expected):
    x = tf.placeholder(tf.float32, [None])
    result = call(x, tf.cast(tf.reduce_max(x), tf.int32))
    same(session.run(result, {x: [1.0, 3.0]}), expected)


def test_the_gradient_of_a_slice_at_a_place_that_is_fed(session):
    x, i = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    row = x[i : i + 2]
    (dx,) = tf.gradients(tf.reduce_sum(row * row), x)
    same(session.run([row, dx], {x: [1.0, 2.0, 3.0, 4.0], i: 1}), [[2.0, 3.0], [0.0, 4.0, 6.0, 0.0]])


def test_slices_that_reach_beyond_what_is_fed(session):
    x = tf.placeholder(tf.float32, [None])
    slices = [x[:10], x[1:5], x[-3:], x[5:], x[:5:2], *tf.gradients(x[:10] * 2.0, x)]
    same(session.run(slices, {x: [1.0, 2.0]}), [[1.0, 2.0], [2.0], [1.0, 2.0], [], [1.0], [2.0, 2.0]])


def test_a_gradient_inside_of_a_loop_with_respect_to_what_is_around_it(session):
    p, v = tf.constant(5.0), tf.get_variable("v", initializer=3.0)
    p2, v2 = tf.square(p), v * v

    def body(i, x):
        data = tf.constant([1.0, 2.0, 3.0]) * p2 * v2
        return i + 1, x + tf.gradients(data, p)[0] + tf.gradients(data, v)[0]

    result = tf.while_loop(lambda i, _: i < 10, body, [tf.constant(0), tf.constant(0.0)])
    session.run(v.initializer)
    assert session.run(result[1]) == 14400.0


def test_a_variable_that_a_body_makes_is_the_graphs(session):
    def body(i, y):
        return i + 1, y * tf.get_variable("x", shape=(), initializer=tf.ones_initializer()) * 2.0

    result = tf.while_loop(lambda i, y: i < 3, body, [0, tf.ones([2])])[1]
    gradients = tf.gradients(result, tf.global_variables())
    session.run(tf.global_variables_initializer())
    same(session.run([result, *gradients]), [[8.0, 8.0], 48.0])
    assert [v.name for v in tf.global_variables()] == ["x:0"]


def test_exclusive_cases_are_checked(session):
    x = tf.placeholder(tf.int32, [])
    branches = [(x < 3, lambda: tf.constant(1)), (x < 5, lambda: tf.constant(2))]
    result = tf.case(branches, default=lambda: tf.constant(0), exclusive=True)
    assert session.run(result, {x: 4}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
        session.run(result, {x: 1})


def test_operations_as_results_of_branches(session):
    p, v = tf.placeholder(tf.bool, []), tf.Variable(1.0)
    session.run(v.initializer)
    chosen = tf.cond(p, lambda: tf.group(tf.assign(v, 5.0)), lambda: tf.no_op())
    failing = tf.cond(p, lambda: tf.no_op(), lambda: tf.Assert(False, ["wrong"]))
    session.run(chosen, {p: False})
    assert session.run(v) == 1.0
    session.run([chosen, failing], {p: True})
    assert session.run(v) == 5.0


def test_what_a_branch_or_loop_waits_for_runs_once_before_it(session):
    v = tf.Variable(0.0)
    session.run(v.initializer)
    increment = v.assign_add(1.0)

    def body(i):
        with tf.control_dependencies([increment]):
            return i + 1

    assert session.run(tf.while_loop(lambda i: i < 3, body, [0])) == 3
    assert session.run(v) == 1.0


def test_the_size_of_an_array_of_unknown_size_and_its_entries_in_a_row(session):
    x = tf.placeholder(tf.float32, [None, 2])
    array = tf.TensorArray(tf.float32, tf.shape(x)[0])
    filled = array.unstack(x)
    fed = {x: [[1.0, 2.0], [3.0, 4.0]]}
    same(session.run([array.size(), filled.size(), filled.concat()], fed), [2, 2, [1.0, 2.0, 3.0, 4.0]])
    same(session.run(array.write(1, 5.0).stack(), fed), [0.0, 5.0])


def test_a_list_behind_an_open_batch_can_be_cut_off_again(session):
    x = tf.placeholder(tf.int32, [None])
    n = tf.shape(x)[0]
    both = tf.concat([x, [1, 5]], 0)
    values, places = tf.unique(both)
    assert places.shape.as_list() == values.shape.as_list() == [None]
    sums = tf.unsorted_segment_sum(tf.ones_like(both), places, tf.size(values))
    for fed in ([3, 1, 3], [5]):
        head, tail, counts = session.run([both[:n], both[n:], sums], {x: fed})
        assert (head.tolist(), tail.tolist()) == (fed, [1, 5])
        assert counts.tolist() == [fed.count(v) + (v in (1, 5)) for v in dict.fromkeys([*fed, 1, 5])]


def test_word2vec_of_an_open_batch(session):
    """The losses are TensorFlow's."""
    table = tf.get_variable("table", initializer=np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3))
    weights = tf.get_variable("weights", initializer=np.linspace(1, -1, 24, dtype="float32").reshape(8, 3))
    words, labels = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int64, [None, 1])
    sampled = (tf.constant([1, 5], tf.int64), tf.constant([[0.5], [0.5]]), tf.constant([0.4, 0.3]))
    inputs = tf.nn.embedding_lookup(table, words)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, tf.zeros(8), labels, inputs, 2, 8, sampled_values=sampled))
    step = tf.train.AdagradOptimizer(0.5).minimize(loss)
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], {words: [0, 3], labels: [[2], [7]]})[0] for _ in range(3)]
    np.testing.assert_allclose(losses, [3.2800364, 2.2278767, 1.3594224], rtol=1e-5)


@pytest.mark.parametrize("shape", [[None], None])
def test_a_sparse_tensor_of_unknown_values(shape):
    with tf.Graph().as_default(), tf.Session() as session:
        values = tf.placeholder(tf.float32, shape)
        sparse = tf.SparseTensor([[0, 1], [2, 3]], values, [3, 4])
        assert sparse.shape.as_list() == [3, 4]
        found = session.run(tf.sparse.to_dense(sparse), {values: [5.0, 6.0]})
        np.testing.assert_array_equal(found, [[0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 6]])


@pytest.mark.parametrize("known", [True, False])
def test_calls_whose_results_follow_from_an_argument_alone(known):
    def unknown(rank):
        return tf.placeholder(tf.float32, [None] * rank if known else None)

    with tf.Graph().as_default(), tf.Session() as session:
        image, kernel, boxes, scores = unknown(4), unknown(4), unknown(2), unknown(1)
        larger = tf.nn.conv2d_transpose(image, kernel, [1, 4, 4, 1], 2)
        gradients = tf.gradients(larger, [image, kernel])
        arrays = {image: np.arange(4.0).reshape(1, 2, 2, 1), kernel: np.arange(4.0).reshape(2, 2, 1, 1)}
        value, *slopes = session.run([larger, *gradients], arrays)
        assert larger.shape[1:].as_list() == [4, 4, 1]
        np.testing.assert_array_equal(value[0, ..., 0], [[0, 0, 0, 1], [0, 0, 2, 3], [0, 2, 0, 3], [4, 6, 6, 9]])
        assert [slope.ravel().tolist() for slope in slopes] == [[6.0] * 4, [6.0] * 4]
        left = tf.image.non_max_suppression(boxes, scores, 2)
        assert left.shape.as_list() == [None]
        found = session.run(left, {boxes: [[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], scores: [0.9, 0.8, 0.7]})
        assert found.tolist() == [0, 2]
        numbers, rest = tf.image.non_max_suppression_with_scores(boxes, scores, 2)
        assert (numbers.shape.as_list(), rest.shape.as_list(), rest.dtype) == ([None], [None], tf.float32)
        assert tf.image.crop_and_resize(image, boxes, [0, 0], [1, 1]).shape[1:3].as_list() == [1, 1]


def test_random_numbers_go_on_whatever_the_shapes_of_a_run_are(session):
    x, on = tf.placeholder(tf.float32, [None]), tf.placeholder_with_default(True, [])
    tf.set_random_seed(3)
    in_a_branch = tf.cond(on, lambda: tf.random_uniform(tf.shape(x), seed=1), lambda: x)
    by_itself = tf.random_uniform(tf.shape(x), seed=2)
    op_by_op = tf.random_uniform(tf.shape(tf.boolean_mask(x, x < 1.0)), seed=4)
    expected = [
        ([0.778069, 0.505288], [0.850984, 0.145488], [0.923737, 0.370430]),
        ([0.598418, 0.641394], [0.701776, 0.876020], [0.778252, 0.224855]),
        ([0.416775, 0.971146, 0.357983], [0.047942, 0.018726, 0.842925], [0.514955, 0.062850, 0.796866]),
    ]
    for row in expected:
        for draws, numbers in zip((in_a_branch, by_itself, op_by_op), row, strict=True):
            np.testing.assert_allclose(session.run(draws, {x: np.zeros(len(numbers))}), numbers, atol=1e-6)


@pytest.mark.parametrize("use_resource", [True, False])
def test_rows_of_an_unknown_number_are_put_at_known_places(session, use_resource):
    rows = tf.placeholder(tf.float32, [None, 2])
    v = tf.Variable(tf.zeros([3, 2]), use_resource=use_resource)
    session.run(v.initializer)
    added, put = tf.scatter_add(v, [0, 2], rows), tf.scatter_nd_update(v, [[1], [2]], rows)
    same(session.run(added, {rows: [[1, 2], [3, 4]]}), [[1, 2], [0, 0], [3, 4]])
    same(session.run(put, {rows: [[5, 6], [7, 8]]}), [[1, 2], [5, 6], [7, 8]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="updates"):
        session.run(added, {rows: np.ones([3, 2])})


def test_a_call_whose_ops_are_the_same_for_all_extents_is_recorded(session):
    x = tf.placeholder(tf.float32, [None, 4])
    rows = tf2.shape(x)[0]
    calls = {
        "a product": lambda: tf2.matmul(x, tf.ones([4, 2])),
        "halves": lambda: tf2.reshape(x, [rows * 2, 2]),
        "means": lambda: tf2.reduce_mean(x, 1, keepdims=True),
        "text": lambda: tf2.equal(tf2.strings.as_string(x), "1"),
        "rows behind the first": lambda: x[1:],  # there may be none
    }
    deferred = []
    for name, call in calls.items():
        before = len(tf.get_default_graph().trace.nodes)
        made = call()
        if any(node.op.type == "Late" for node in tf.get_default_graph().trace.nodes[before:]):
            deferred.append(name)
        given = np.arange(12, dtype=np.float32).reshape(3, 4)
        assert made.shape.is_compatible_with(np.shape(session.run(made, {x: given}))), name
    assert deferred == ["rows behind the first"]


@pytest.mark.parametrize("shape", [[None, 3], [None, None], None])
@pytest.mark.parametrize(
    ("change", "rows"), [(lambda a: tf.concat([a, a], 0), 16), (lambda a: a[:-1], 2)], ids=["that grow", "that shrink"]
)
def test_what_has_the_shape_of_a_loop_s_results(session, shape, change, rows):
    invariants = [tf.TensorShape([]), tf.TensorShape([None, 3])]
    x = tf.placeholder(tf.float32, shape)
    y = tf.while_loop(lambda k, _: k < 2, lambda k, a: (k + 1, change(a)), [tf.constant(0), x], shape_invariants=invariants)[1]
    for value in session.run([y, tf.ones_like(y), tf.zeros_like(y) + y], {x: np.ones((4, 3), "float32")}):
        same(value, np.ones((rows, 3)))
