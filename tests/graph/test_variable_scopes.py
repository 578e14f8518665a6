"""Names of variables and ops in variable scopes, against what TensorFlow 2.21 gives; who makes variables, and how."""

import threading

import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf


def _inner(path):
    """Note the name of a variable, and the name scope inside."""
    path.append(tf.get_variable("w", []).name)
    with tf.name_scope("scope") as scope:
        path.append(scope)


def reentered_by_object(path):
    with tf.variable_scope("outer") as outer:
        pass
    for reuse in (None, True):
        with tf.variable_scope(outer, reuse=reuse):
            _inner(path)
            with tf.variable_scope("default"):
                _inner(path)


def reentered_inside_of_itself(path):
    with tf.variable_scope("outer") as outer:
        for reuse in (None, True):
            with tf.variable_scope(outer, reuse=reuse):
                _inner(path)
            with tf.variable_scope("default", reuse=reuse):
                _inner(path)


def default_names(path):
    def both():
        for name in ("tower", None):
            with tf.variable_scope(name, "default", []):
                _inner(path)

    with tf.variable_scope("outer") as outer:
        both()
    with tf.variable_scope(outer, reuse=True):
        both()


def default_names_are_counted_by_scope(path):
    for name in ("one", "one", "on", "one"):
        with tf.variable_scope(None, name), tf.variable_scope(None, "layer"):
            path.append(tf.get_variable("w", []).name)
    with tf.variable_scope("default") as default:
        for _ in range(2):
            with tf.variable_scope(None, "layer"):
                path.append(tf.get_variable("w", []).name)
            with tf.variable_scope(default):
                pass


def without_name_scope(path):
    with tf.variable_scope("outer"):
        with tf.variable_scope("inner", auxiliary_name_scope=False) as inner:
            path += [inner.original_name_scope, tf.get_variable("w", []).name, tf.constant([], name="c").name]
        with tf.name_scope("inner"):
            path.append(tf.constant([], name="c").name)
    with tf.variable_scope(inner, auxiliary_name_scope=False) as again:
        path += [again.original_name_scope, tf.get_variable("v", []).name, tf.constant([], name="c").name]


def original_name_scope(path):
    with tf.name_scope("one"), tf.variable_scope("tower") as tower:
        path.append(tower.original_name_scope)
    with tf.name_scope("two"):
        with tf.variable_scope(tower) as again:
            path.append(again.original_name_scope)
        with tf.name_scope(tower.original_name_scope), tf.name_scope("bar") as scope:
            path.append(scope)


def getters(path):
    def sum_of_two(getter, name, *args, **kwargs):
        parts = [getter(f"{name}/{i}", *args, **kwargs) for i in range(2)]
        with tf.name_scope("sum"):
            return parts[0] + parts[1]

    with tf.variable_scope("scope", custom_getter=sum_of_two):
        path.append(tf.get_variable("v", [2]).name)
    path += [v.name for v in tf.trainable_variables()]


def regularizers(path):
    with tf.variable_scope("scope", regularizer=lambda w: tf.reduce_mean(w) + 0.1):
        tf.get_variable("v", [])
        tf.get_variable("w", [], regularizer=tf.no_regularizer)
    path += [loss.name for loss in tf.losses.get_regularization_losses()]


NAMES = {
    reentered_by_object: [
        "outer/w:0", "outer_1/scope/", "outer/default/w:0", "outer_1/default/scope/",
        "outer/w:0", "outer_2/scope/", "outer/default/w:0", "outer_2/default/scope/",
    ],
    reentered_inside_of_itself: [
        "outer/w:0", "outer/outer/scope/", "outer/default/w:0", "outer/default/scope/",
        "outer/w:0", "outer/outer_1/scope/", "outer/default/w:0", "outer/default_1/scope/",
    ],
    default_names: [
        "outer/tower/w:0", "outer/tower/scope/", "outer/default/w:0", "outer/default/scope/",
        "outer/tower/w:0", "outer_1/tower/scope/", "outer/default/w:0", "outer_1/default/scope/",
    ],
    default_names_are_counted_by_scope: [
        "one/layer/w:0", "one_1/layer/w:0", "on/layer/w:0", "one_2/layer/w:0", "default/layer/w:0", "default/layer_1/w:0",
    ],
    without_name_scope: ["outer/", "outer/inner/w:0", "outer/c:0", "outer/inner/c:0", "outer/", "outer/inner/v:0", "c:0"],
    original_name_scope: ["one/tower/", "one/tower/", "one/tower/bar/"],
    getters: ["sum/add:0", "scope/v/0:0", "scope/v/1:0"],
    regularizers: ["scope/v/Regularizer/add:0"],
}  # fmt: skip


@pytest.mark.parametrize("build, expected", NAMES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_names(session, build, expected):
    path = []
    build(path)
    assert path == expected


def test_reuse_is_inherited_and_not_undone(session):
    with tf.variable_scope("a", reuse=True) as a:
        assert a.reuse is True
    with tf.variable_scope(a, reuse=False) as again:
        assert again.reuse is True
    with tf.variable_scope("b") as b:
        assert b.reuse is False


def misuse(name):
    return {
        "other dtype": (ValueError, lambda: tf.get_variable("i")),
        "initializer of another dtype": (ValueError, lambda: tf.get_variable("x", initializer=1, dtype=tf.float32)),
        "default name reused": (ValueError, lambda: tf.variable_scope(None, "default", reuse=True)),
        "getter": (ValueError, lambda: tf.get_variable("x", [], custom_getter=3)),
        "name scope": (TypeError, lambda: tf.variable_scope("x", auxiliary_name_scope="yes")),
        "complex": (ValueError, lambda: tf.get_variable("c", [2], tf.complex64)),
    }[name]


@pytest.mark.parametrize(
    "name", ["other dtype", "initializer of another dtype", "default name reused", "getter", "name scope", "complex"]
)
def test_misuse(session, name):
    tf.get_variable("i", [2], tf.int32)
    error, call = misuse(name)
    with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE), pytest.raises(error):
        call()


def test_scopes_end_in_order(session):
    outer = tf.variable_scope("outer")
    outer.__enter__()
    with tf.variable_scope("inner"), pytest.raises(RuntimeError, match="Improper nesting"):
        outer.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert tf.get_variable_scope().name == ""


def test_each_thread_has_its_own_scope(session):
    graph, names = tf.get_default_graph(), []

    def make():
        with graph.as_default(), tf.variable_scope("thread"):
            names.append(tf.get_variable("v", []).name)

    with tf.variable_scope("main"):
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    assert names == ["thread/v:0"]


def test_local_variables(session):
    v = tf.get_local_variable("v", [], collections=["mine"], initializer=tf.zeros_initializer())
    assert tf.get_collection("mine") == tf.local_variables() == [v]
    assert not tf.trainable_variables() and not tf.global_variables()
    session.run(tf.local_variables_initializer())
    assert session.run(v) == 0.0


def test_control_dependencies_do_not_hold_for_variables(session):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    with tf.control_dependencies([v.read_value()]):
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    session.run(w.initializer)
    assert session.run(w) == 1.0


def test_counting(session):
    v = tf.Variable(0)
    step = v.count_up_to(2)
    session.run(v.initializer)
    assert [session.run(step), session.run(step)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
        session.run(step)
    assert session.run(v) == 2


def test_assignments_follow_each_other(session):
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    twice = v.assign(5.0).assign_add(1.0)
    rows = w.scatter_add(tf.IndexedSlices([2.0], [1])).scatter_nd_update([[0]], [7.0])
    session.run(tf.global_variables_initializer())
    assert session.run(twice) == 6.0
    assert session.run(rows).tolist() == [7.0, 4.0]


def test_creators_see_and_change_the_arguments(session):
    seen = []

    def note(next_creator, **kwargs):
        seen.append((kwargs["name"], kwargs["trainable"]))
        return next_creator(**kwargs)

    def rename(next_creator, **kwargs):
        return next_creator(**(kwargs | {"name": "forced", "trainable": False}))

    with tf.variable_creator_scope(note), tf.variable_creator_scope(rename):
        v = tf.get_variable("v", [])
    assert seen == [("forced", False)]
    assert v.name == "forced:0" and tf.trainable_variables() == []


def test_a_creator_may_make_an_object_of_a_class_derived_from_variable():
    class Counted(tf2.Variable):
        def __init__(self, value):
            super().__init__(value)
            self.count = 0

    with tf2.variable_creator_scope(lambda _, **kwargs: Counted(kwargs["initial_value"])):
        v = tf2.Variable(2.0)
    assert type(v) is Counted and v.count == 0 and v.numpy() == 2.0


def test_what_is_read_on_synchronization_is_not_trained(session):
    on_read = tf.VariableSynchronization.ON_READ
    v = tf.get_variable("v", [], synchronization=on_read, aggregation=tf.VariableAggregation.MEAN)
    w = tf.get_variable("w", [], synchronization=on_read, trainable=True)
    assert tf.trainable_variables() == [w]
    assert v.synchronization is on_read and v.aggregation is tf.VariableAggregation.MEAN
    with pytest.raises(ValueError, match="synchronization"):
        tf.Variable(1.0, synchronization="on_read")


def test_a_scope_in_a_branch():
    """Two branches that open scopes have two variables."""

    def branch(name, value):
        def called():
            with tf.variable_scope(name):
                return tf.get_variable("w", [], initializer=tf.constant_initializer(value)) * 1.0

        return called

    with tf.Graph().as_default():
        with tf.variable_scope("m", reuse=tf.AUTO_REUSE):
            chosen = tf.placeholder(tf.bool, [])
            y = tf.cond(chosen, branch("a", 2.0), branch("b", 3.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert [v.name for v in tf.trainable_variables()] == ["m/a/w:0", "m/b/w:0"]
            assert [session.run(y, {chosen: truth}) for truth in (True, False)] == [2.0, 3.0]


def test_a_scope_in_a_loop_and_a_map():
    def body(i, x):
        with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):
            return i + 1, x * tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))

    with tf.Graph().as_default():
        with tf.variable_scope("net"):
            _, y = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
            z = tf.map_fn(lambda e: body(0, e)[1], tf.constant([1.0, 2.0]))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert [v.name for v in tf.trainable_variables()] == ["net/cell/w:0"]
            assert session.run(y) == 8.0 and session.run(z).tolist() == [2.0, 4.0]


def test_a_large_extent_is_known():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2_000_000])
        assert tf.get_variable("w", [x.shape[1], 2]).shape.as_list() == [2_000_000, 2]
