"""Names, operations and the graph of tensors in a function, as in TensorFlow 2.21."""

import pytest

import gradtape as tf


def traced(function, *args):
    """What `function` returns while it is traced."""
    found = []

    @tf.function
    def call(x):
        found.append(function(x, *args))
        return x

    call(tf.ones([2, 2]))
    return found[-1]


def names_of_scopes(x):
    names = []
    with tf.name_scope("s") as scope:
        names += [scope, (x + 1).name, (x * 2).name]
    with tf.name_scope("s"):
        names.append((x + 1).name)
    with tf.name_scope("t"), tf.name_scope("u"):
        names += [(x * 3).name, tf.nn.relu(x, name="r").name, tf.nn.relu(x, name="r").name]
    with tf.name_scope("t/"):
        names.append((x * 3).name)
    return [*names, tf.split(x, 2, name="sp")[1].name, tf.concat([x, x], 0, name="c").name, x.name]


def test_names_and_scopes():
    assert traced(names_of_scopes) == [
        "s/", "s/add:0", "s/mul:0", "s_1/add:0", "t/u/mul:0", "t/u/r:0", "t/u/r_1:0", "t/mul:0", "sp:1", "c:0", "x:0",
    ]  # fmt: skip


DEFAULTS = {
    "concat:0": lambda x: tf.concat([x, x], 0),
    "stack:0": lambda x: tf.stack([x, x]),
    "unstack:1": lambda x: tf.unstack(x)[1],
    "split:1": lambda x: tf.split(x, 2)[1],
    "transpose:0": tf.transpose,
    "one_hot:0": lambda x: tf.one_hot(tf.cast(x, tf.int32), 3),
    "GatherV2:0": lambda x: tf.gather(x, [0]),
    "Tanh:0": tf.tanh,
    "pow:0": lambda x: x**2,
    "Pow:0": lambda x: tf.pow(x, 2),
    "random_normal:0": lambda x: tf.random.normal([2]),
    "random_uniform/RandomUniform:0": lambda x: tf.random.uniform([2]),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_names(name):
    assert traced(lambda x: DEFAULTS[name](x).name) == name


def test_names_in_layers():
    layer = tf.keras.layers.Dense(2, name="d")
    layer.build((None, 2))
    assert traced(lambda x: layer(x).name) == "d_1/Add:0"
    assert traced(lambda x: str(tf.reduce_mean(x, name="loss"))) == 'Tensor("loss:0", shape=(), dtype=float32)'


def test_operations():
    def asked(x):
        with tf.name_scope("s"):
            y = tf.matmul(x, x, name="mm")
        z, (_, part) = tf.reduce_sum(y * 2.0, axis=1), tf.split(x, 2, name="parts")
        assert (y.op.name, y.op.type, z.op.type, part.op.name, x.op.type, x.op.name) == (
            "s/mm", "MatMul", "Sum", "parts", "Placeholder", "x",
        )  # fmt: skip
        assert z.op.get_attr("keep_dims") is False and y.op.get_attr("transpose_a") is False
        assert [i.name for i in y.op.inputs] == ["x:0", "x:0"] and [o.name for o in part.op.outputs] == ["parts:0", "parts:1"]
        graph = y.graph
        assert graph is z.graph is x.graph is y.op.graph and graph.building_function and y.op == y.op != z.op
        assert [operation.name for operation in graph.get_operations()] == ["x", "s/mm", "mul", "Sum", "parts"]
        assert graph.get_tensor_by_name("s/mm:0") is y and graph.get_operation_by_name("Sum").outputs[0] is z
        with pytest.raises(KeyError, match="refers to an Operation not in the graph"):
            graph.get_tensor_by_name("nope:0")
        with pytest.raises(KeyError, match="only has 1 outputs"):
            graph.get_tensor_by_name("Sum:1")
        with pytest.raises(ValueError, match="not a Tensor"):
            graph.get_tensor_by_name("Sum")
        return repr(y.op)

    assert traced(asked) == "<tf.Operation 's/mm' type=MatMul>"
    with pytest.raises(AttributeError, match=r"Tensor\.op is undefined when eager execution is enabled"):
        tf.constant(1.0).op  # noqa: B018


def test_the_graph_of_the_function_has_the_names():
    @tf.function
    def scaled(x):
        with tf.name_scope("outer"):
            y = tf.square(x, name="squared")
        return tf.add(y, 1.0, name="result")

    graph = scaled.get_concrete_function(tf.TensorSpec([2])).graph
    assert [operation.name for operation in graph.get_operations()] == ["x", "Const", "outer/squared", "result", "Identity"]
    unnamed = tf.function(lambda x: tf.square(x) + 1.0)
    names = [operation.name for operation in unnamed.get_concrete_function(tf.TensorSpec([2])).graph.get_operations()]
    assert names == ["x", "Const", "Square", "add", "Identity"]


def test_scopes_are_no_names_on_a_tape():
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.name_scope("inner"):
                y = tf.square(x, name="squared")
            loss = tf.reduce_sum(y)
        assert tape.get_tensor_by_name("inner/squared") is y
        with pytest.raises(ValueError, match="No tensor of the name 'inner' is on this tape, but there is 'inner/squared'"):
            tape.get_tensor_by_name("inner")
        return tape.gradient(loss, "squared")

    assert gradient(tf.ones([2])).numpy().tolist() == [1, 1]
