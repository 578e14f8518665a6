"""`compat.v1.profiler`: FLOPs and parameters as TensorFlow counts them. The numbers are those of TensorFlow 2.21."""

import pytest

import gradtape as tf

v1 = tf.compat.v1
Options = v1.profiler.ProfileOptionBuilder
QUIET = Options.float_operation() | {"output": "none"}


def flops(graph):
    """The total, and the FLOPs by type of op."""
    root = v1.profiler.profile(graph, run_meta=v1.RunMetadata(), cmd="op", options=QUIET)
    below, found = root, {}
    while below.children:
        (below,) = below.children
        found[below.name] = below.float_ops
    assert sum(found.values()) == root.total_float_ops
    return root.total_float_ops, found


def mlp():
    x = v1.placeholder(tf.float32, [8, 16])
    w, b, w2 = v1.get_variable("w", [16, 32]), v1.get_variable("b", [32]), v1.get_variable("w2", [32, 4])
    y = tf.nn.relu(tf.nn.bias_add(x @ w, b)) @ w2 + 1.0
    return tf.reduce_mean(tf.nn.softmax(y)), [w, b, w2]


def cnn():
    x, labels = v1.placeholder(tf.float32, [2, 12, 12, 3]), v1.placeholder(tf.float32, [2, 5])
    k = v1.get_variable("k", [3, 3, 3, 8], initializer=v1.truncated_normal_initializer(stddev=0.1))
    k2 = v1.get_variable("k2", [3, 3, 8, 16], initializer=v1.random_normal_initializer())
    b = v1.get_variable("b", [8], initializer=v1.zeros_initializer())
    h = tf.nn.relu(tf.nn.bias_add(v1.nn.conv2d(x, k, strides=[1, 1, 1, 1], padding="SAME"), b))
    h = v1.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = tf.tanh(tf.nn.conv2d(h, k2, strides=2, padding="VALID"))
    h = tf.reshape(v1.nn.avg_pool(h, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), [2, -1])
    w = v1.get_variable("dense", [h.shape[1], 5])
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=h @ w)), [k, k2, b, w]


def elementwise():
    x, y = v1.placeholder(tf.float32, [4, 5]), v1.placeholder(tf.float32, [5])
    z = x * y + x / y - tf.square(x) + tf.math.squared_difference(x, y) + tf.maximum(x, y) + tf.minimum(x, 0.0)
    z += tf.exp(x) + tf.math.log(x) + tf.pow(x, y) + tf.math.rsqrt(x) + (-x) + tf.sqrt(x) + tf.sigmoid(x)
    loss = tf.reduce_sum(z) + tf.nn.l2_loss(z) + tf.reduce_max(z) + tf.reduce_mean(tf.nn.log_softmax(z))
    return loss, [x, y]


def products():
    x, y, z = [v1.placeholder(tf.float32, shape) for shape in ([4, 4], [6, 4], [3, 6, 4])]
    p = tf.matmul(tf.matmul(x, y, transpose_b=True), tf.random.normal([4, 6]), transpose_a=True)
    return tf.reduce_sum(tf.matmul(tf.broadcast_to(p, [3, 6, 6]), z)), [x, y, z]


def depthwise_and_volumes():
    x, k = v1.placeholder(tf.float32, [1, 6, 6, 3]), v1.placeholder(tf.float32, [3, 3, 3, 2])
    u, m = v1.placeholder(tf.float32, [1, 6, 6, 6, 3]), v1.placeholder(tf.float32, [3, 3, 3, 3, 2])
    loss = tf.reduce_sum(v1.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"))
    loss += tf.reduce_sum(tf.nn.conv3d(u, m, [1, 1, 1, 1, 1], "SAME"))
    return loss + tf.cast(tf.argmax(tf.reshape(u, [-1])), tf.float32), [x, k, u, m]


@pytest.mark.parametrize(
    "build, forward, both",
    [
        (mlp, 12067, 32954),
        (cnn, 152630, 493198),
        (elementwise, 581, 1795),
        (products, 1463, 4223),
        (depthwise_and_volumes, 75167, 75167),
    ],
)
def test_flops_of_a_graph_and_of_its_gradients(build, forward, both):
    graph = tf.Graph()
    with graph.as_default():
        loss, sources = build()
        assert flops(graph)[0] == forward
        v1.gradients(loss, sources)
    assert flops(graph)[0] == both


def test_flops_by_type():
    graph = tf.Graph()
    with graph.as_default():
        v1.train.GradientDescentOptimizer(0.1).minimize(mlp()[0])  # what updates the variables counts nothing
    assert flops(graph) == (
        32954,
        {
            "MatMul": 30720,
            "Mul": 736,
            "AddV2": 704,
            "BiasAdd": 256,
            "BiasAddGrad": 224,
            "Softmax": 160,
            "Sum": 55,
            "Sub": 35,
            "Mean": 32,
            "RealDiv": 32,
        },
    )


def test_flops_of_keras_models_by_their_concrete_functions():
    layers = tf.keras.layers
    dense = [layers.Dense(32, activation="relu"), layers.Dropout(0.1), layers.LayerNormalization(), layers.Dense(4)]
    convolutional = [layers.Conv2D(4, 3), layers.MaxPooling2D(), layers.BatchNormalization(), layers.SeparableConv2D(6, 2)]
    pooled = [layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")]
    for stack, shape, expected in ((dense, [1, 16], 1608), (convolutional + pooled, [2, 8, 8, 3], 17392)):
        model = tf.keras.Sequential([tf.keras.Input(shape[1:]), *stack])
        concrete = tf.function(lambda x, model=model: model(x)).get_concrete_function(tf.TensorSpec(shape, tf.float32))
        assert flops(concrete.graph)[0] == expected


def test_shapes_that_are_not_known_count_nothing_and_channels_come_last():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4])
        tf.reduce_sum(x @ tf.ones([4, 3]))
        tf.nn.relu(v1.placeholder(tf.float32, [2, 3]))
        tf.nn.max_pool2d(v1.placeholder(tf.float32, [1, 1, 4, 4]), 2, 2, "VALID", data_format="NCHW")
    assert flops(graph) == (0, {})


def test_parameters_by_name(capsys, tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        with v1.variable_scope("a"):
            v1.get_variable("w", [16, 32])
            v1.get_variable("b", [32])
        v1.get_variable("fixed", [32, 4], trainable=False)
        root = v1.profiler.profile(options=Options.trainable_variables_parameter())
    assert (root.name, root.total_parameters, root.total_float_ops) == ("_TFProfRoot", 544, 0)
    (a,) = root.children
    assert [(child.name, child.parameters) for child in a.children] == [("a/b", 32), ("a/w", 512)]
    printed = "node name | # parameters\n_TFProfRoot (--/544 params)\n  a (0/544 params)\n    a/b (32/32 params)\n"
    assert printed in capsys.readouterr().out
    some = Options(Options.trainable_variables_parameter()).with_node_names(hide_name_regexes=[".*/b"])
    v1.profiler.profile(graph, options=some.with_file_output(str(tmp_path / "report")).build())
    assert "_TFProfRoot (--/512 params)" in (tmp_path / "report").read_text()
    root = v1.profiler.profile(graph, cmd="graph", options=Options(QUIET).with_min_float_operations(600).build())
    assert (root.total_float_ops, [child.name for child in root.children]) == (1347, ["a"])


def test_what_cannot_be_counted():
    with pytest.raises(NotImplementedError, match=r"time_and_memory\(\) is not supported: .* tf.profiler.experimental.start"):
        Options.time_and_memory()
    graph = tf.Graph()
    with pytest.raises(NotImplementedError, match=r"select=\['micros'\] is not supported"):
        v1.profiler.profile(graph, options=Options(QUIET).select(["micros"]).build())
    with pytest.raises(NotImplementedError, match="counts by line"):
        v1.profiler.profile(graph, cmd="code")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unknown cmd: x. Expected 'op'"):
        v1.profiler.profile(graph, cmd="x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown output 'printer'"):
        v1.profiler.profile(graph, options=QUIET | {"output": "printer"})
    with pytest.raises(TypeError, match=r"Expected a tf.Graph, or that of a concrete function; received 3"):
        v1.profiler.profile(3, options=QUIET)
