"""Names that only TensorFlow 1 has. What they give is what TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf
from tests.graph.values import same


@pytest.mark.parametrize(
    "call, dtype, result",
    [
        (tf.to_bfloat16, "bfloat16", [1.5, 2.0]),
        (tf.to_float, "float32", [1.5, 2.0]),
        (tf.to_double, "float64", [1.5, 2.0]),
        (tf.to_int32, "int32", [1, 2]),
        (tf.to_int64, "int64", [1, 2]),
        (tf.to_complex64, "complex64", [1.5, 2.0]),
        (tf.to_complex128, "complex128", [1.5, 2.0]),
        (lambda x: tf.arg_max(x, 0), "int64", 1),
        (lambda x: tf.arg_min(x, dimension=0, output_type=tf.int32), "int32", 0),
        (lambda x: tf.floor_div(x, -1.0), "float32", [-2.0, -2.0]),
    ],
)
def test_old_names_of_operations(call, dtype, result):
    found = call(tf2.constant([1.5, 2.0]))
    assert found.dtype.name == dtype
    assert found.numpy().tolist() == result


def test_random_numbers(session):
    rows = session.run(tf.multinomial([[0.0, -100.0], [-100.0, 0.0]], 5, output_dtype=tf.int32))
    assert rows.dtype == np.int32 and rows.tolist() == [[0] * 5, [1] * 5]
    numbers = session.run(tf.random_uniform([1000], 1.0, 3.0))
    assert 1.0 <= numbers.min() < 1.1 and 2.9 < numbers.max() < 3.0


@pytest.mark.parametrize(
    "make, deviation",
    [
        (tf.glorot_normal_initializer, (2 / 50) ** 0.5),
        (tf.glorot_uniform_initializer, (2 / 50) ** 0.5),
        (tf.variance_scaling_initializer, (1 / 30) ** 0.5),
        (tf.orthogonal_initializer, (1 / 30) ** 0.5),
    ],
)
def test_initializers(session, make, deviation):
    v = tf.get_variable("v", [30, 20], initializer=make(seed=2))
    session.run(tf.variables_initializer([v]))
    assert session.run(v).std() == pytest.approx(deviation, rel=0.1)


def test_lists_of_variables(session):
    a, b = tf.get_variable("a", initializer=1.0), tf.get_variable("b", initializer=2.0, trainable=False)
    tf.add_to_collections(["x", "y"], a)
    assert tf.get_collection("x") == tf.get_collection("y") == [a]
    assert tf.all_variables() == [a, b]
    assert tf.model_variables() == tf.moving_average_variables() == []
    session.run([tf.initialize_variables([a]), tf.tables_initializer()])
    with pytest.raises(tf2.errors.FailedPreconditionError, match="uninitialized"):
        session.run(b)
    session.run(tf.initialize_all_variables())
    assert session.run([a, b]) == [1.0, 2.0]


def test_the_variable_scope_that_is_open(session):
    with tf.variable_scope("s") as scope:
        assert tf.get_variable_scope() is scope and isinstance(scope, tf.VariableScope)
        a = tf.get_variable("a", [2])
        tf.get_variable_scope().reuse_variables()
        assert tf.get_variable("a", [2]) is a
    assert tf.get_variable_scope().name == ""


def test_scopes_of_names(session):
    with tf.op_scope([tf.constant(1.0)], "given", "default") as given:
        x = tf.constant(1.0, name="c")
    with tf.op_scope([], None, "default") as default, session.graph.container("c"), tf.container("c"):
        y = tf.constant(1.0, name="c")
    assert (given, x.name, default, y.name) == ("given/", "given/c:0", "default/", "default/c:0")
    with pytest.raises(ValueError, match="At least one of name"):
        tf.op_scope([x], None)


def test_settings_are_accepted(session):
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))).close()
    trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.run(tf.constant(2.0) + 1.0, options=trace, run_metadata=tf.RunMetadata()) == 3.0


def test_behaviour_that_is_always_on():
    for what in ("resource_variables", "control_flow_v2", "v2_tensorshape", "tensor_equality"):
        assert getattr(tf, f"enable_{what}")() is getattr(tf, f"disable_{what}")() is None
    assert tf.resource_variables_enabled()


def test_eager_or_not(session):
    assert not tf.executing_eagerly_outside_functions()
    with tf2.init_scope():
        assert not tf.executing_eagerly()  # the graph is where a session runs


def test_parts_of_sparse_results(session):
    value = session.run(tf.SparseTensor([[0, 1]], [5.0], [2, 2]))
    assert type(value) is tf.SparseTensorValue and value._fields == ("indices", "values", "dense_shape")
    same(list(value), [[[0, 1]], [5.0], [2, 2]])
