"""`as_graph_def` of graphs and of traced functions, and its file: nodes as TensorFlow has them."""

import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef

import gradtape as tf


def nodes(graph):
    return [(list(node.input), node.name, node.op) for node in graph.as_graph_def().node]


def attributes(graph, name):
    (node,) = [node for node in graph.as_graph_def().node if node.name == name]
    return node.attr


@pytest.mark.parametrize(("given", "op", "dtype"), [(1, "AddV2", 3), ("a", "Add", 7)])
def test_a_function(given, op, dtype):
    @tf.function
    def double(a):
        return a + a

    graph = double.get_concrete_function(tf.constant(given)).graph
    assert nodes(graph) == [([], "a", "Placeholder"), (["a", "a"], "add", op), (["add"], "Identity", "Identity")]
    assert (attributes(graph, "a")["dtype"].type, attributes(graph, "add")["T"].type) == (dtype, dtype)
    assert attributes(graph, "a")["shape"].HasField("shape")
    assert "_output_shapes" not in attributes(graph, "add")


@pytest.mark.parametrize(("count", "expected"), [(3, 11), (10, 32)])
def test_a_loop_over_python_values_is_unrolled(count, expected):
    @tf.function
    def train(dataset):
        loss = tf.constant(0)
        for x, y in dataset:
            loss += tf.abs(y - x)
        return loss

    graph = train.get_concrete_function([(1, 1)] * count).graph
    assert len(graph.as_graph_def().node) == expected
    assert nodes(graph)[-1] == ([f"add_{count - 1}"], "Identity", "Identity")


def test_names_are_unique_whatever_their_case():
    @tf.function
    def f(v, add_1):
        return v @ v, tf.matmul(v, v), v + add_1, v + 1.0, tf.add(v, v), tf.split(v, 2)[1]

    spec = tf.TensorSpec([2, 2])
    made = nodes(f.get_concrete_function(spec, spec).graph)
    names = [name for _, name, _ in made]
    assert names[:2] == ["v", "add_1"]
    assert {"matmul", "MatMul_1", "add", "add_2", "Add_3"} <= set(names)
    assert len({name.lower() for name in names}) == len(names)
    assert (["split:1"], "Identity_5", "Identity") in made


def test_what_is_captured_is_a_placeholder():
    outside = tf.constant([5.0, 6.0])
    made = nodes(tf.function(lambda x: x + outside).get_concrete_function(tf.TensorSpec([2])).graph)
    assert [op for _, _, op in made] == ["Placeholder", "Placeholder", "AddV2", "Identity"]


def graph_of_tensorflow_1():
    with tf.Graph().as_default() as graph:
        p = tf.compat.v1.placeholder(tf.float32, [None, 2], name="p")
        s = tf.add(p, tf.constant([1.0, 2.0], name="c"), name="s")
        with tf.control_dependencies([s]):
            tf.square(p, name="z")
        tf.add(tf.constant("hi", name="w"), "!", name="n")
        tf.zeros([3])
        tf.zeros([2000])
    return graph


def test_a_graph():
    graph = graph_of_tensorflow_1()
    assert nodes(graph)[:4] == [
        ([], "p", "Placeholder"),
        ([], "c", "Const"),
        (["p", "c"], "s", "AddV2"),
        (["p", "^s"], "z", "Square"),
    ]
    assert (["w", "n/y"], "n", "Add") in nodes(graph)
    assert [extent.size for extent in attributes(graph, "p")["shape"].shape.dim] == [-1, 2]
    assert tf.make_ndarray(attributes(graph, "c")["value"].tensor).tolist() == [1.0, 2.0]
    assert attributes(graph, "w")["value"].tensor.string_val == [b"hi"]
    assert tf.make_ndarray(attributes(graph, "zeros")["value"].tensor).tolist() == [0.0, 0.0, 0.0]
    assert "value" not in attributes(graph, "zeros_1")
    assert graph.get_operation_by_name("zeros").get_attr("value").tolist() == [0.0, 0.0, 0.0]
    shapes = [node.attr["_output_shapes"].list.shape for node in graph.as_graph_def(add_shapes=True).node]
    assert [[extent.size for extent in shape[0].dim] for shape in shapes[:3]] == [[-1, 2], [2], [-1, 2]]


def test_a_function_that_runs_as_eager_code_has_no_graph():
    @tf.function
    def f(x):
        return x[: int(x[0])]

    graph = f.get_concrete_function(tf.constant([1.0, 2.0])).graph
    with pytest.raises(tf.errors.UnimplementedError, match="f runs as eager code and has no graph: its shapes"):
        graph.as_graph_def()


TEXT = """node {
  name: "x"
  op: "Placeholder"
  attr {
    key: "dtype"
    value {
      type: DT_FLOAT
    }
  }
  attr {
    key: "shape"
    value {
      shape {
        dim {
          size: -1
        }
      }
    }
  }
}
node {
  name: "y"
  op: "Mul"
  input: "x"
  input: "x"
  attr {
    key: "T"
    value {
      type: DT_FLOAT
    }
  }
}
"""


def test_write_graph(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, x, name="y")
    folder = tmp_path / "a" / "b"
    assert tf.io.write_graph(graph, folder, "g.pbtxt") == str(folder / "g.pbtxt")
    assert (folder / "g.pbtxt").read_text() == TEXT
    path = tf.compat.v1.train.write_graph(graph.as_graph_def(), str(folder), "g.pb", as_text=False)
    assert GraphDef.FromString((folder / "g.pb").read_bytes()) == graph.as_graph_def()
    assert path == str(folder / "g.pb")
    with pytest.raises(TypeError, match="a GraphDef; received int"):
        tf.io.write_graph(3, folder, "g.pb")
    assert GraphDef.FromString((folder / "g.pb").read_bytes()) == graph.as_graph_def()


def steps(dataset):
    total = tf.constant(0, tf.int64)
    for x in dataset:
        total += x
    return total


def numbered_steps(dataset):
    total, count = tf.constant(0, tf.int64), 0
    for x in dataset:
        total += x
        count += 1
    return total, count


def steps_up_to(dataset):
    total = tf.constant(0, tf.int64)
    for x in dataset:
        if x > 2:
            break
        total += x
    return total


def printed_steps(dataset):
    for x in dataset:
        tf.print(x)


SCAN, TAKE, REDUCE = "ScanDataset", "TakeWhileDataset", "ReduceDataset"
NUMBER, AGAIN = "normalize_element/component_{}", "initial_state/normalize_element/component_{}"


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        (steps, ["dataset", "Const", SCAN, REDUCE, "Identity", "NoOp"]),
        (printed_steps, ["dataset", "Const", SCAN, REDUCE]),
        (
            numbered_steps,
            ["dataset", "Const", NUMBER.format(0), SCAN, AGAIN.format(0), REDUCE, "Identity", "Identity_1", "NoOp"],
        ),
        (steps_up_to, ["dataset", "Const", NUMBER.format(1), SCAN, TAKE, AGAIN.format(1), REDUCE, "Identity", "NoOp"]),
    ],
)
def test_a_loop_over_a_dataset(python, expected):
    """The nodes are TensorFlow's. A dataset of unknown shapes is gone through in eager code, and has a graph nevertheless."""
    generator = tf.data.Dataset.from_generator(lambda: iter(()), tf.int64)
    for dataset in (tf.data.Dataset.range(4), generator):
        made = nodes(tf.function(python).get_concrete_function(dataset).graph)
        assert [name for _, name, _ in made] == expected
        assert {op for _, _, op in made} <= {"Placeholder", "Const", SCAN, TAKE, REDUCE, "Identity", "NoOp"}
        if python is not printed_steps:
            assert [inputs[1:] for inputs, name, _ in made if name == "Identity"] == [["^NoOp"]]
            assert made[-1] == (["^ReduceDataset"], "NoOp", "NoOp")


def test_a_loop_that_uses_variables_and_a_captured_dataset():
    """TensorFlow calls the variable `other_arguments_1`, as it numbers what the body uses in another order."""
    dataset, v = tf.data.Dataset.range(4), tf.Variable(tf.constant(0, tf.int64))

    @tf.function
    def total(scale):
        for x in dataset:
            v.assign_add(x * scale)
        return v

    made = nodes(total.get_concrete_function(tf.TensorSpec([], tf.int64)).graph)
    names = [name for _, name, _ in made]
    assert names[0] == "scale"
    assert set(names[1:4]) == {"Const", "ScanDataset/input_dataset", "ScanDataset/other_arguments_0"}
    assert names[4:] == [SCAN, REDUCE, "ReadVariableOp", "Identity", "NoOp"]
    assert made[-2] == (["ReadVariableOp", "^NoOp"], "Identity", "Identity")


def test_what_else_is_eager_code_has_no_graph():
    @tf.function
    def step(dataset):
        for x in dataset:
            print(x.numpy())

    with pytest.raises(tf.errors.UnimplementedError, match="goes through a Dataset runs as eager code"):
        nodes(step.get_concrete_function(tf.data.Dataset.range(2)).graph)
