"""Names and types of operations are TensorFlow's."""

import pytest

import gradtape.compat.v1 as tf


def test_a_small_graph():
    """As TensorFlow 2.21 lists it: operands that are numbers and reads of variables are operations, too."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        b = tf.Variable(tf.zeros([3]), name="b")
        y = x * 2.0 + b
        tf.square(y, name="loss")
        tf.group(b.initializer, name="init")
    listed = [
        (op.name, op.type, [i.name for i in op.inputs], [c.name for c in op.control_inputs]) for op in graph.get_operations()
    ]
    assert listed == [
        ("x", "Placeholder", [], []),
        ("zeros", "Const", [], []),
        ("b", "VarHandleOp", [], []),
        ("b/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp", ["b:0"], []),
        ("b/Assign", "AssignVariableOp", ["b:0", "zeros:0"], []),
        ("b/Read/ReadVariableOp", "ReadVariableOp", ["b:0"], []),
        ("mul/y", "Const", [], []),
        ("mul", "Mul", ["x:0", "mul/y:0"], []),
        ("add/ReadVariableOp", "ReadVariableOp", ["b:0"], []),
        ("add", "AddV2", ["mul:0", "add/ReadVariableOp:0"], []),
        ("loss", "Square", ["add:0"], []),
        ("init", "NoOp", [], ["b/Assign"]),
    ]


# what is made of a placeholder x [None, 3] → the name and type that TensorFlow gives it
MADE = {
    "x + x": (lambda x: x + x, "add", "AddV2"),
    "tf.add": (lambda x: tf.add(x, x), "Add", "AddV2"),
    "tf.add(name=)": (lambda x: tf.add(x, x, name="sum"), "sum", "AddV2"),
    "x - 1": (lambda x: x - 1.0, "sub", "Sub"),
    "2 - x": (lambda x: 2.0 - x, "sub", "Sub"),
    "x * x": (lambda x: x * x, "mul", "Mul"),
    "x / 2": (lambda x: x / 2.0, "truediv", "RealDiv"),
    "x ** 2": (lambda x: x**2, "pow", "Pow"),
    "-x": (lambda x: -x, "Neg", "Neg"),
    "x[0]": (lambda x: x[0], "strided_slice", "StridedSlice"),
    "x @ w": (lambda x: x @ tf.ones([3, 2]), "matmul", "MatMul"),
    "tf.matmul": (lambda x: tf.matmul(x, tf.ones([3, 2])), "MatMul", "MatMul"),
    "tf.reduce_mean": (lambda x: tf.reduce_mean(x, name="loss"), "loss", "Mean"),
    "tf.concat": (lambda x: tf.concat([x, x], 1), "concat", "ConcatV2"),
    "tf.stack": (lambda x: tf.stack([x, x]), "stack", "Pack"),
    "tf.reshape": (lambda x: tf.reshape(x, [-1]), "Reshape", "Reshape"),
    "tf.shape": (lambda x: tf.shape(x), "Shape", "Shape"),
    "tf.transpose": (lambda x: tf.transpose(x), "transpose", "Transpose"),
    "tf.zeros_like": (lambda x: tf.zeros_like(x), "zeros_like", "ZerosLike"),
    "tf.cast": (lambda x: tf.cast(x, tf.int32), "Cast", "Cast"),
    "tf.nn.softmax": (lambda x: tf.nn.softmax(x), "Softmax", "Softmax"),
    "tf.nn.relu": (lambda x: tf.nn.relu(x, name="hidden"), "hidden", "Relu"),
    "tf.argmax": (lambda x: tf.argmax(x, 1), "ArgMax", "ArgMax"),
    "tf.constant": (lambda x: tf.constant(1.0), "Const", "Const"),
    "tf.identity": (lambda x: tf.identity(x, name="same"), "same", "Identity"),
}


@pytest.mark.parametrize("make, name, type_", MADE.values(), ids=MADE)
def test_names_and_types(session, make, name, type_):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    first, second = make(x), make(x)
    assert (first.name, first.op.type, first.op.name) == (f"{name}:0", type_, name)
    assert second.name == f"{name}_1:0"
    assert tf.get_default_graph().get_tensor_by_name(f"{name}:0") is first


def test_scopes(session):
    with tf.name_scope("a"):
        x = tf.constant(1.0, name="c")
        with tf.name_scope("b") as inner:
            y = tf.add(x, x, name="q")
    with tf.name_scope("a"):
        z = x * x
    assert (x.name, y.name, z.name, inner) == ("a/c:0", "a/b/q:0", "a_1/mul:0", "a/b/")
    assert tf.get_default_graph().unique_name("a") == "a_2"
    with tf.name_scope(None, "layer"):
        assert tf.constant(1.0).name == "layer/Const:0"
        with tf.name_scope("_inner"):
            assert tf.constant(1.0, name="_c").name == "layer/_inner/_c:0"
    with pytest.raises(ValueError, match=r"'_inner' is not a valid root scope name"), tf.name_scope("_inner"):
        pass


def test_what_a_tensor_and_an_operation_say(session):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = x * 2.0
    assert repr(x.op) == "<tf.Operation 'x' type=Placeholder>"
    assert (x.op.get_attr("dtype"), x.op.get_attr("shape").as_list()) == (tf.float32, [None, 2])
    assert [op.name for op in x.consumers()] == ["mul"]
    assert x.graph is session.graph and x.op.outputs[0] is x
    assert x == x and x != y and x in {x: 1}
    with pytest.raises(ValueError, match="has no attr named 'nothing'"):
        x.op.get_attr("nothing")
    total = tf.reduce_sum(tf.cast(x, tf.float64), 1, keepdims=True)
    assert (total.op.get_attr("T"), total.op.get_attr("keep_dims"), tf.stack([x, x]).op.get_attr("N")) == (tf.float64, True, 2)
    pooled = tf.nn.max_pool2d(tf.zeros([1, 4, 4, 1]), 2, 2, "VALID").op
    assert (pooled.get_attr("ksize"), pooled.get_attr("padding")) == ([1, 2, 2, 1], b"VALID")


ABSENT = {
    "operation": (lambda g: g.get_operation_by_name("q"), KeyError, "The name 'q' refers to an Operation not in the graph"),
    "tensor": (lambda g: g.get_tensor_by_name("q:0"), KeyError, "The operation, 'q', does not exist in the graph"),
    "output": (lambda g: g.get_tensor_by_name("x:1"), KeyError, "exists but only has 1 outputs"),
    "operation for tensor": (lambda g: g.get_tensor_by_name("x"), ValueError, "refers to an Operation, not a Tensor"),
    "tensor for operation": (lambda g: g.get_operation_by_name("x:0"), ValueError, "appears to refer to a Tensor"),
    "no string": (lambda g: g.get_operation_by_name(1), TypeError, "Operation names are strings"),
    "no element": (lambda g: g.as_graph_element(3.5), TypeError, "Can not convert a float into a Tensor or Operation"),
}


@pytest.mark.parametrize("ask, error, message", ABSENT.values(), ids=ABSENT)
def test_names_that_are_not_there(session, ask, error, message):
    tf.placeholder(tf.float32, name="x")
    with pytest.raises(error, match=message):
        ask(session.graph)


def test_finalize(session):
    session.graph.finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
        tf.constant(1.0)


@pytest.mark.parametrize("name", ["a b", "x:0", "_x"])
def test_a_name_that_is_none(session, name):
    with pytest.raises(ValueError, match=f"`{name}` is not a valid node name"):
        tf.constant(1.0, name=name)
    with tf.name_scope("s"):
        assert tf.constant(1.0, name="_x").name == "s/_x:0"


def test_a_name_by_position(session):
    x = tf.constant(1.0)
    assert [t.name for t in (tf.nn.relu(x, "r"), tf.sin(x, "s"), tf.multiply(x, x, "m"))] == ["r:0", "s:0", "m:0"]
