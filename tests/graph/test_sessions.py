"""`Session.run`: what can be fetched and fed, and what a second run costs."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from gradtape import config
from tests.graph.values import same


def test_eager_code_goes_on_outside_of_the_graph():
    before = tf.constant(2.0) * 3.0
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        inside = tf.constant(1.0)
    assert tf.executing_eagerly()
    assert float(before + 1.0) == 7.0
    with pytest.raises(TypeError, match="have values in a Session only"):
        inside + 1.0


def test_fetches_come_back_in_their_nest(session):
    x = tf.constant(1.0)
    v = tf.Variable(2.0, name="v")
    session.run(v.initializer)
    fetched = session.run({"x": x, "nested": [x, (v,)], "name": "v/Read/ReadVariableOp:0", "operation": v.initializer})
    assert fetched == {"x": 1.0, "nested": [1.0, (2.0,)], "name": 2.0, "operation": None}
    assert type(fetched["x"]) is np.float32


def test_slices_come_back_with_their_dense_shape(session):
    table = tf.Variable(tf.ones([4, 2]), name="table")
    session.run(table.initializer)
    (slices,) = session.run(tf.gradients(tf.gather(table, [1, 1]), table))
    same(slices.indices, [1, 1])
    same(slices.dense_shape, [4, 2])
    assert type(slices) is tf.IndexedSlicesValue and type(slices).__name__ == "IndexedSlicesValue"
    assert session.run(tf.IndexedSlices(tf.constant([3.0]), tf.constant([1]))).dense_shape is None


def test_what_is_not_zero_is_counted_in_a_graph(session):
    same(session.run(tf.count_nonzero([[0, 1], [2, 3]], keep_dims=True)), [[3]])
    same(session.run(tf.sparse.to_dense(tf.sparse.from_dense(tf.constant([0.0, 1.0])))), [0.0, 1.0])


def test_a_named_tuple_is_a_nest(session):
    from collections import namedtuple

    Pair = namedtuple("Pair", "first second")
    assert session.run(Pair(tf.constant(1), tf.constant(2))) == Pair(1, 2)


def test_any_tensor_can_be_fed(session):
    x = tf.placeholder(tf.float32, [])
    y = x * 2
    z = y + 1
    assert session.run(z, {y: 10.0}) == 11.0
    assert session.run([y, z], {y: 3.0}) == [3.0, 4.0]
    assert session.run(z, {"mul:0": 5.0}) == 6.0
    assert session.run(z, {x: 1.0}) == 3.0


def test_a_constant_can_be_fed(session):
    c = tf.constant([1.0, 2.0])
    assert session.run(tf.reduce_sum(c), {c: [3.0, 4.0]}) == 7.0


def test_the_second_run_is_one_compiled_call(session):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(tf.ones([3, 2]))
    loss = tf.reduce_sum(tf.matmul(x, w) ** 2)
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    feed = {x: np.ones((4, 3))}
    session.run([step, loss], feed)
    session.run([step, loss], feed)
    before = config.cache_info()
    session.run([step, loss], feed)
    after = config.cache_info()
    assert {name: before[name] for name in ("programs", "kernels")} == {name: after[name] for name in ("programs", "kernels")}


def test_make_callable(session):
    x = tf.placeholder(tf.float32, [])
    double = session.make_callable(x * 2, [x])
    assert double(4.0) == 8.0


def test_sessions_have_variables_of_their_own(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    session.run(v.assign_add(1.0))
    with tf.Session() as other:
        other.run(v.initializer)
        assert other.run(v) == 1.0
    assert session.run(v) == 2.0


def test_eval_and_run_use_the_default_session(session):
    v = tf.Variable([1.0, 2.0])
    v.initializer.run()
    same((v * 2).eval(), [2.0, 4.0])
    same(v.eval(), [1.0, 2.0])
    assert v.read_value().eval(feed_dict={v.read_value(): [5.0, 5.0]}).tolist() == [1.0, 2.0]


def test_load(session):
    v = tf.Variable([1.0, 2.0])
    v.load([5.0, 6.0], session)
    same(v.eval(), [5.0, 6.0])


def test_interactive_session():
    with tf.Graph().as_default():
        session = tf.InteractiveSession()
        assert (tf.constant(1.0) + 1.0).eval() == 2.0
        session.close()
        assert tf.get_default_session() is None


def test_an_interactive_session_leaves_eager_code_on_unless_it_is_given_a_graph():
    session = tf.InteractiveSession()
    assert tf.executing_eagerly() and tf.get_default_session() is session
    session.close()
    assert tf.executing_eagerly() and tf.get_default_session() is None
    session = tf.InteractiveSession(graph=tf.Graph())
    assert not tf.executing_eagerly() and tf.get_default_graph() is session.graph and tf.constant(1.0).eval() == 1
    session.close()
    assert tf.executing_eagerly()
    with tf.Graph().as_default():
        session, x = tf.InteractiveSession(), tf.constant(2.0)
    assert tf.executing_eagerly() and x.eval() == 2
    session.close()


def test_disable_and_enable_eager_execution():
    tf.disable_eager_execution()
    try:
        assert not tf.executing_eagerly()
        x = tf.placeholder(tf.float32, [])
        with tf.Session() as session:
            assert session.run(x + 1.0, {x: 1.0}) == 2.0
        tf.reset_default_graph()
        assert tf.get_default_graph().get_operations() == []
    finally:
        tf.enable_eager_execution()
    assert tf.executing_eagerly()
    assert float(tf.constant(1.0) + 1.0) == 2.0


def test_configurations_are_accepted(session):
    settings = tf.ConfigProto(allow_soft_placement=True, gpu_options=tf.GPUOptions(allow_growth=True))
    settings.gpu_options.per_process_gpu_memory_fraction = 0.5
    with tf.Session(config=settings) as other:
        assert other.run(tf.constant(1.0), options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)) == 1.0


def test_strings_are_constants_only(session):
    assert session.run(tf.constant("abc")) == b"abc"
    assert session.run([tf.constant(["a", "b"])])[0].tolist() == [b"a", b"b"]


def test_a_tape_in_a_graph(session):
    x = tf.placeholder(tf.float32, [2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    same(session.run(tape.gradient(y, x), {x: [1.0, 2.0]}), [2.0, 4.0])


def test_names_that_only_tensorflow_1_has(session):
    x = tf.constant([[1.0, 4.0, 2.0, 3.0]])
    same(session.run(tf.reduce_sum(x, reduction_indices=[1], keep_dims=True)), [[10.0]])
    same(session.run(tf.nn.in_top_k(x, [1], 1)), [True])
    same(session.run([tf.log(x)[0, 0], tf.div(7, 2), tf.to_int32(x)[0, 1]]), [0.0, 3, 4])
    same(session.run(tf.matrix_inverse([[2.0]])), [[0.5]])


def test_a_fetched_variable_is_what_it_was_before_the_run():
    """As in TensorFlow, whose read of a fetched variable waits for nothing."""
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_sum(w**2)
        train = tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
        more = w.assign_add([1.0, 1.0])
        session.run(tf.global_variables_initializer())
        same(session.run([train, w, loss])[1:], [[1.0, 2.0], 5.0])
        same(session.run([w, more, step]), [[0.5, 1.0], [1.5, 2.0], 1])
        same(session.run([w.assign([7.0, 8.0]), w]), [[7.0, 8.0], [1.5, 2.0]])
        same(session.run(w), [7.0, 8.0])


def test_a_run_in_steps_runs_each_operation_once(session):
    a, b, unused = [tf.placeholder(tf.float32, []) for _ in range(3)]
    v = tf.Variable(0.0)
    session.run(v.initializer)
    counted, noise = v.assign_add(a), tf.random.uniform([])
    first, second, slope = counted + noise, noise + b, tf.gradients(counted * b + a * a, [a, b])
    run = session.partial_run_setup([first, {"second": second}, slope], [a, b])
    with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed from the feeds that have been fed so far"):
        session.partial_run(run, second, {a: 2.0})
    got = session.partial_run(run, first, {a: 2.0})
    for fetch, feed, message in [
        (first, {b: 1.0}, "has already been fetched"),
        (second, {a: 1.0}, "has already been fed"),
        (second, {unused: 1.0}, "The feed Placeholder_2:0 was not specified in partial_run_setup"),
        (counted, {}, "was not specified in partial_run_setup"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.partial_run(run, fetch, feed)
    rest = session.partial_run(run, {"second": second}, {b: 5.0})
    same(got - (rest["second"] - 5.0), 2.0)
    same(session.partial_run(run, slope), [4.0, 2.0])
    same(session.run(v), 2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before performing partial runs!"):
        session.partial_run(run, first, {})
