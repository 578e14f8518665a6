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


def test_orthogonal_numbers():
    """As TensorFlow draws them, from the stream of an op."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(4)
        found = session.run(tf.orthogonal_initializer(gain=2.0, seed=4)([3, 2])).ravel()
    expected = [-0.88815999, 1.69050026, -1.70569909, -1.00091267, -0.54932940, 0.37467718]
    assert found == pytest.approx(expected, abs=1e-6)


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


def test_what_a_scope_is_set_to_holds_from_there_on(session):
    with tf.variable_scope("s") as scope:
        scope.set_initializer(tf.constant_initializer(7.0))
        scope.set_regularizer(lambda w: 0.5 * w * w)
        scope.set_custom_getter(lambda getter, name, **options: getter(name, **options) + 1.0)
        x = tf.get_variable("v", [])
    session.run(tf.global_variables_initializer())
    assert session.run([x, tf.losses.get_regularization_loss()]) == [8.0, 24.5]


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
    for what in ("resource_variables", "control_flow_v2", "tensor_equality"):
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


def test_rows_of_a_large_constant(session):
    indices = [[row, column] for row in range(40) for column in range(2)]
    rows = tf2.RaggedTensor.from_sparse(tf2.SparseTensor(indices, tf2.range(80), [40, 2]))
    summed = tf2.nn.embedding_lookup_sparse(tf2.ones([80, 3]), rows, None, combiner="sum")
    assert summed.shape == (40, 3) and session.run(summed).sum() == 240.0


def test_rows_of_ragged_results(session):
    rows, nested = session.run([tf2.ragged.constant([[1.0, 2.0], [], [3.0]]) * 2.0, tf2.ragged.constant([[[1], [2, 3]], []])])
    assert type(rows) is tf.ragged.RaggedTensorValue and rows.to_list() == [[2.0, 4.0], [], [6.0]]
    assert (rows.shape, rows.dtype, rows.row_splits.tolist()) == ((3, None), np.float32, [0, 2, 2, 3])
    assert (str(nested), nested.ragged_rank, nested.shape) == ("<tf.RaggedTensorValue [[[1], [2, 3]], []]>", 2, (2, None, None))
    assert repr(rows).startswith("tf.RaggedTensorValue(values=array([2., 4., 6.]")
    with pytest.raises(TypeError, match="row_splits must be a 1D int32 or int64 numpy array"):
        tf.ragged.RaggedTensorValue(np.ones(3), [0, 3])
    with pytest.raises(TypeError, match="values must be a numpy array or a RaggedTensorValue"):
        tf.ragged.RaggedTensorValue([1], np.array([0, 1]))


def test_losses_are_collected(session):
    labels, x = tf.constant([[0.0, 1.0], [1.0, 0.0]]), tf.constant([[0.2, 0.9], [0.5, 0.1]])
    losses = [
        tf.losses.huber_loss(labels, x, delta=0.3),
        tf.losses.log_loss(labels, x),
        tf.losses.softmax_cross_entropy(labels, x, label_smoothing=0.1),
        tf.losses.compute_weighted_loss(x, weights=[[1.0], [3.0]]),
    ]
    tf.losses.add_loss(tf.constant(5.0))
    assert len(tf.losses.get_losses()) == 5
    same(session.run([*losses, tf.losses.get_total_loss()]), [0.03375, 0.28175, 0.4856, 0.725, 6.5261], 2e-5)


IMAGE = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
FILTER = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2) / 10
ONES = np.ones((1, 3, 3, 4), np.float32)
VOLUME = np.arange(27, dtype=np.float32).reshape(1, 3, 3, 3, 1)
OLD_NETWORKS = {
    "cross entropy": (
        lambda: tf.nn.softmax_cross_entropy_with_logits_v2([[0.0, 1.0]], [[0.2, 0.9]]),
        [0.403186],
    ),
    "depthwise": (
        lambda: tf.reduce_sum(tf.nn.depthwise_conv2d_native(IMAGE, FILTER, [1, 1, 1, 1], "VALID")),
        1940.4,
    ),
    "depthwise, filter": (
        lambda: tf.reduce_sum(tf.nn.depthwise_conv2d_native_backprop_filter(IMAGE, [2, 2, 2, 2], ONES, [1, 1, 1, 1], "VALID")),
        2232.0,
    ),
    "depthwise, input": (
        lambda: tf.reduce_sum(tf.nn.depthwise_conv2d_native_backprop_input([1, 4, 4, 2], FILTER, ONES, [1, 1, 1, 1], "VALID")),
        108.0,
    ),
    "volume, filter": (
        lambda: tf.reshape(
            tf.nn.conv3d_backprop_filter_v2(VOLUME, [2, 2, 2, 1, 1], np.ones((1, 2, 2, 2, 1), np.float32), [1] * 5, "VALID"), [8]
        ),
        [52.0, 60.0, 76.0, 84.0, 124.0, 132.0, 148.0, 156.0],
    ),
    "average": (
        lambda: tf.nn.avg_pool_v2(IMAGE, 2, 2, "VALID"),
        [[[[5.0, 6.0], [9.0, 10.0]], [[21.0, 22.0], [25.0, 26.0]]]],
    ),
    "maximum": (
        lambda: tf.nn.max_pool_v2(IMAGE, 2, 2, "VALID"),
        [[[[10.0, 11.0], [14.0, 15.0]], [[26.0, 27.0], [30.0, 31.0]]]],
    ),
    "ctc": (
        lambda: tf.nn.ctc_loss_v2([[1, 2]], np.zeros((4, 1, 3), np.float32), [2], [4], blank_index=0),
        [1.6863989],
    ),
}


@pytest.mark.parametrize("make, result", OLD_NETWORKS.values(), ids=OLD_NETWORKS)
def test_old_names_of_networks(session, make, result):
    same(session.run(make()), result)


def test_steps_and_rates(session):
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert tf.train.get_global_step() is step and step.name == "global_step:0"
    session.run(step.initializer)
    assert session.run(tf.train.piecewise_constant_decay(step, [10, 20], [1.0, 0.5, 0.25])) == 1.0
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    assert tf.train.AdamOptimizer(0.1).get_name() == "Adam"


def test_the_flags_and_main_of_a_script(capsys):
    """Flags that nobody defined are the script's own."""
    flags = tf.app.flags
    assert flags is tf.flags
    flags.DEFINE_float("rate_of_the_script", 0.5, "learning rate")
    try:
        with pytest.raises(SystemExit, match=r"^7$"):
            tf.app.run(
                lambda arguments: print(flags.FLAGS.rate_of_the_script, arguments) or 7,
                ["script", "--rate_of_the_script=0.25", "--other=1", "file"],
            )
        assert capsys.readouterr().out == "0.25 ['script', '--other=1', 'file']\n"
    finally:
        del flags.FLAGS.rate_of_the_script


def test_a_value_becomes_a_tensor_or_stays_sparse():
    convert = tf.convert_to_tensor_or_sparse_tensor
    sparse = tf.SparseTensor([[1]], [2.0], [3])
    assert convert(sparse, tf.float32) is sparse
    value = tf.SparseTensorValue(np.array([[1]]), np.array([2.0], np.float32), np.array([3]))
    assert tf.sparse.to_dense(convert(value)).numpy().tolist() == [0.0, 2.0, 0.0]
    assert convert([1, 2], tf.float32).dtype == tf.float32
    with pytest.raises(RuntimeError, match="Sparse dtype mismatch"):
        convert(sparse, tf.int32)
