"""Variables of a graph: initializers, assignment, order, scopes, collections."""

import numpy as np
import pytest

import gradtape.compat.v1 as tf
from gradtape import Variable, function
from tests.graph.values import same


def test_a_value_only_after_the_initializer(session):
    v = tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Error while reading resource variable v from Container"):
        session.run(v * 2)
    assert not session.run(tf.is_variable_initialized(v))
    missing = tf.report_uninitialized_variables()
    assert session.run(missing).tolist() == [b"v"]
    session.run(tf.global_variables_initializer())
    assert session.run(missing).size == 0
    assert session.run(tf.is_variable_initialized(v))
    assert session.run(v * 2) == 2.0


def test_assignments_happen_when_they_are_run(session):
    v = tf.Variable([1.0, 2.0])
    session.run(v.initializer)
    added, set_to = v.assign_add([1.0, 1.0]), tf.assign(v, [7.0, 7.0])
    same(session.run(v), [1.0, 2.0])
    same(session.run(added), [2.0, 3.0])
    same(session.run(added), [3.0, 4.0])
    assert session.run(set_to.op) is None
    same(session.run(v), [7.0, 7.0])


def test_control_dependencies_order(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    with tf.control_dependencies([v.assign_add(2.0)]):
        after = tf.identity(v)
    alone = tf.identity(v)
    assert [session.run(after), session.run(after), session.run(alone)] == [3.0, 5.0, 5.0]


def test_an_op_that_does_nothing_waits(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    with tf.control_dependencies([v.assign_add(2.0)]):
        waiting = [tf.no_op(name="train"), tf.group(name="nothing"), tf.group(tf.identity(v), name="some")]
    for op, expected in zip(waiting, (3.0, 5.0, 7.0), strict=True):
        assert session.run(op) is None
        assert session.run(v) == expected


def test_control_inputs_are_those_that_no_input_waited_for():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        y, z = tf.identity(x, name="y"), tf.identity(x, name="z")
        with tf.control_dependencies([y]):
            a = tf.identity(x, name="a")
            with tf.control_dependencies([z]):
                b = tf.identity(a, name="b")
            tf.add(a, b, name="c")
            tf.identity(y, name="d")
            tf.no_op(name="e")
    waits = [(op.name, [c.name for c in op.control_inputs]) for op in graph.get_operations()]
    assert waits == [("x", []), ("y", []), ("z", []), ("a", ["y"]), ("b", ["z"]), ("c", []), ("d", []), ("e", ["y"])]


def test_what_an_optimizer_keeps_waits_for_nothing_when_it_is_made(session):
    count, w = tf.Variable(0.0, trainable=False), tf.Variable([1.0, 2.0])
    with tf.control_dependencies([count.assign_add(1.0)]):
        train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w * w))
    session.run(tf.global_variables_initializer())
    assert session.run(count) == 0.0
    session.run(train)
    assert session.run(count) == 1.0


def test_a_sum_of_one_has_its_name(session):
    x = tf.constant(2.0)
    assert [t.name for t in (tf.add_n([x], name="total"), tf.add_n([x]), tf.accumulate_n([x]))] == [
        "total:0",
        "Const:0",
        "Identity:0",
    ]


def test_scatter(session):
    v = tf.Variable(np.zeros((3, 2), np.float32))
    session.run(v.initializer)
    session.run(v.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 0]))))
    same(session.run(v), [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]])


def test_initial_values_are_drawn_by_the_session(session):
    tf.set_random_seed(3)
    w = tf.get_variable("w", [50, 50])
    assert w.initial_value.shape == (50, 50)
    values = []
    for _ in range(2):
        with tf.Session() as other:
            other.run(tf.global_variables_initializer())
            values.append(other.run(w))
    same(values[0], values[1])
    assert np.abs(values[0]).max() == pytest.approx(np.sqrt(6 / 100), rel=0.01)  # Glorot's bound


def test_random_operations_draw_anew(session):
    draw = tf.random_normal([2])
    assert (session.run(draw) != session.run(draw)).all()
    with tf.Session() as other:
        assert (other.run(draw) != session.run(draw)).all()


def test_get_variable_and_its_scopes(session):
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [2])
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w", [2]) is w
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w") is w
        assert tf.get_variable("q", [1]).name == "a/q:0"
    with tf.variable_scope("a") as scope:
        assert (scope.name, scope.original_name_scope, tf.constant(1.0).name) == ("a", "a_3/", "a_3/Const:0")
    names = []
    for _ in range(2):
        with tf.variable_scope(None, "dense"):
            names.append(tf.get_variable("w", [1]).name)
    assert names == ["dense/w:0", "dense_1/w:0"]


def test_defaults_of_a_variable_scope(session):
    def halved(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 0.5

    with tf.variable_scope("s", initializer=tf.constant_initializer(4.0), custom_getter=halved):
        half = tf.get_variable("w", [2])
    penalty = tf.get_variable("p", initializer=[3.0], regularizer=lambda v: tf.reduce_sum(v * v))
    session.run(tf.global_variables_initializer())
    same(session.run(half), [2.0, 2.0])
    assert session.run(tf.losses.get_regularization_losses()) == [9.0]
    assert penalty.shape == (1,)


MISUSED = {
    "made twice": (lambda: (tf.get_variable("w", [2]), tf.get_variable("w", [2])), "Variable w already exists, disallowed"),
    "not made": (lambda: reused("w", [2]), "Variable w does not exist, or was not created with tf.get_variable"),
    "another shape": (lambda: (tf.get_variable("w", [2]), reused("w", [3])), r"specified shape \(3,\) and found shape \(2,\)"),
    "another dtype": (lambda: (tf.get_variable("w", [2]), reused("w", [2], tf.float64)), "specified dtype float64"),
    "no shape": (lambda: tf.get_variable("w"), "its `shape` argument must be specified"),
    "open shape": (lambda: tf.get_variable("w", [None, 2]), "must be fully defined"),
    "shape and constant": (lambda: tf.get_variable("w", [2], initializer=[1.0, 2.0]), "do not specify shape"),
}


def reused(*args):
    with tf.variable_scope("", reuse=True):
        return tf.get_variable(*args)


@pytest.mark.parametrize("misuse, message", MISUSED.values(), ids=MISUSED)
def test_misuse_of_get_variable(session, misuse, message):
    with pytest.raises(ValueError, match=message):
        misuse()


def test_collections(session):
    fixed, local = tf.Variable(1.0, trainable=False), tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.add_to_collection("mine", 1)
    assert tf.get_collection("mine") == [1]
    assert [v.name for v in tf.global_variables()] == [fixed.name]
    assert [v.name for v in tf.local_variables()] == [v.name for v in tf.trainable_variables()] == [local.name]
    session.run(tf.local_variables_initializer())
    assert session.run(local) == 2.0
    tf.get_collection_ref("mine").append(2)
    assert tf.get_default_graph().get_collection("mine") == [1, 2]


def test_a_variable_of_eager_code_is_refused():
    eager = tf.Variable(1.0)
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="was not made in this graph"):
        eager * 2.0


def test_rows_by_function(session):
    v = tf.Variable([1.0, 2.0, 3.0])
    session.run(v.initializer)
    same(session.run(tf.scatter_update(v, [0, 2], [7.0, 8.0])), [7.0, 2.0, 8.0])
    same(session.run(tf.scatter_add(v, [0], [1.0])), [8.0, 2.0, 8.0])
    same(session.run(v[0:1].assign([9.0])), [9.0, 2.0, 8.0])


def test_a_branch_assigns(session):
    """As batch normalization does it: the running mean moves where the branch for training is taken."""
    x, training = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.bool, [])
    running = tf.Variable(tf.zeros([2]), trainable=False)
    mean = tf.reduce_mean(x, 0)

    def moving():
        with tf.control_dependencies([running.assign(running * 0.9 + mean * 0.1)]):
            return tf.identity(mean)

    y = x - tf.cond(training, moving, lambda: tf.identity(running))
    session.run(running.initializer)
    same(session.run(y, {x: [[1.0, 2.0], [3.0, 4.0]], training: True}), [[-1.0, -1.0], [1.0, 1.0]])
    same(session.run(running), [0.2, 0.3])
    same(session.run(y, {x: [[1.0, 2.0]], training: False}), [[0.8, 1.7]])
    same(session.run(running), [0.2, 0.3])


def test_moving_averages(session):
    v = tf.Variable(1.0)
    averages = tf.train.ExponentialMovingAverage(0.9)
    move = averages.apply([v])
    session.run(tf.global_variables_initializer())
    session.run(v.assign(2.0))
    session.run(move)
    same(session.run(averages.average(v)), 1.1)
    assert averages.average_name(v) == "Variable/ExponentialMovingAverage"


def test_moving_averages_that_begin_in_a_branch(session):
    x, training = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.bool)
    mean, variance = tf.nn.moments(x, [0])
    averages = tf.train.ExponentialMovingAverage(0.5)

    def update():
        with tf.control_dependencies([averages.apply([mean, variance])]):
            return tf.identity(mean), tf.identity(variance)

    used = tf.cond(training, update, lambda: (averages.average(mean), averages.average(variance)))
    session.run(tf.global_variables_initializer())
    same(session.run(used, {x: [[1.0, 2.0], [3.0, 5.0]], training: True}), ([2.0, 3.5], [1.0, 2.25]))
    same(session.run(used, {x: [[1.0, 2.0], [3.0, 5.0]], training: False}), ([1.0, 1.75], [0.5, 1.125]))


def test_collections_of_ones_own_leave_a_variable_trainable(session):
    tf.get_variable("a", [1], collections=["mine"])
    tf.get_variable("b", [1], collections=["mine"], trainable=False)
    assert [[v.op.name for v in tf.get_collection(k)] for k in ("mine", "trainable_variables", "variables")] == [
        ["a", "b"],
        ["a"],
        [],
    ]


def test_an_initial_value_that_depends_on_another(session):
    a = tf.Variable(2.0)
    b = tf.Variable(a.initialized_value() * 3)
    session.run(tf.global_variables_initializer())
    assert session.run([a, b]) == [2.0, 6.0]


def test_a_variable_that_a_function_makes_is_of_the_graph(session):
    made = []

    @function
    def f(x):
        if not made:
            made.append(Variable(tf.sqrt(tf.constant(4.0)) + 4.0, name="q"))
        return made[0] * x

    x = tf.placeholder(tf.float32, [])
    y = f(x)
    gradients = tf.gradients(y, [x, made[0]])
    session.run(tf.global_variables_initializer())
    assert session.run([y, *gradients], {x: 3.0}) == [18.0, 6.0, 3.0]
    assert (made[0].name, len(tf.global_variables())) == ("q:0", 1)


def test_numbers_of_the_default_initializer():
    """TensorFlow's, for the seed of the graph."""
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(3)
        first = tf.compat.v1.get_variable("w", [2])
        tf.compat.v1.get_variable("u", [2, 2], initializer=tf.compat.v1.glorot_uniform_initializer(seed=4))
        second = tf.compat.v1.get_variable("n", [2])
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            found = session.run([first, second])
        assert first.name == "w:0"
    np.testing.assert_allclose(found, [[-0.912768, 0.77083313], [0.6811275, 0.01295412]], rtol=1e-6)
