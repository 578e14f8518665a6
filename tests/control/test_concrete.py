"""What `get_concrete_function` gives: how it is called, its names and types, what it refuses; TensorFlow's answers."""

import collections
import logging

import pytest

import gradtape as tf

SPEC = tf.TensorSpec([], tf.float32)


def test_tensors_are_given_as_traced_or_one_by_one_by_name():
    @tf.function
    def f(x, **kwargs):
        a, b, c = x
        return a + 10.0 * b + 100.0 * c + 1000.0 * kwargs["d"]

    concrete = f.get_concrete_function((SPEC, SPEC, SPEC), d=SPEC)
    a, b, c, d = (tf.constant(v) for v in (1.0, 2.0, 3.0, 4.0))
    calls = [concrete((a, b, c), d=d), concrete(a, b, c, d), concrete(x=a, x_1=b, x_2=c, d=d), concrete(a, b, x_2=c, d=d)]
    assert [float(y) for y in calls] == [4321.0] * 4
    assert [spec.name for spec in concrete.inputs] == ["x:0", "x_1:0", "x_2:0", "d:0"]


def test_names_of_specs_and_of_places_in_nests():
    @tf.function
    def f(a, *args, z):
        return a["x"] + a["y"][0] + args[1] + z

    concrete = f.get_concrete_function({"x": SPEC, "y": [SPEC]}, SPEC, tf.TensorSpec([], tf.float32, "second"), z=SPEC)
    (a, first, second), keywords = concrete.structured_input_signature
    assert [a["x"].name, a["y"][0].name, first.name, second.name] == ["a_x", "a_y_0", "args_0", "second"]
    assert keywords == {"z": tf.TensorSpec([], tf.float32, "z")}


def test_the_type_of_a_function():
    captured = tf.constant(1)

    @tf.function
    def f(x, y=3, *, k=(1, "x")):
        return {"sum": x + captured, "list": [y, None]}

    concrete = f.get_concrete_function(tf.TensorSpec([], tf.int32))
    kind = concrete.function_type
    assert list(kind.parameters) == ["x", "y", "k"]
    assert kind.parameters["x"].type_constraint == tf.TensorSpec([], tf.int32)
    assert list(kind.captures.values()) == [tf.TensorSpec([], tf.int32)]
    scalar = "TensorSpec(shape=(), dtype=tf.int32, name=None)"
    output = f"Dict[['sum', {scalar}], ['list', List[{scalar}, Literal[None]]]]"
    assert str(kind) == f"(x: {scalar}, y: Literal[3], *, k: Tuple[Literal[1], Literal['x']]) -> {output}"
    assert concrete.pretty_printed_signature(verbose=False) == str(kind)
    assert concrete.pretty_printed_signature().splitlines()[:3] == [
        "Input Parameters:",
        f"  x (POSITIONAL_OR_KEYWORD): {scalar}",
        "  y (POSITIONAL_OR_KEYWORD): Literal[3]",
    ]


@pytest.mark.parametrize(
    ("traced", "called"),
    [
        ((1, 2.0), (1,)),
        ((1, 2), (1, 2, 3)),
        (({"a": 1.0, "b": 1.0},), (1.0, 5)),
        (((1.0, 2.0),), (1.0, 5)),
        ((1.0,), (1, 5)),
        ((1.0,), ("not a tensor",)),
        ((1.0,), (None,)),
        ((1.0,), ()),
        ((5,), (8, 5)),
    ],
)
def test_what_does_not_fit_the_traced_arguments(traced, called):
    """A float stands for a tensor of it, a tensor 1 for an int tensor in a call; an int is itself."""

    def given(value):
        return tf.nest.map_structure(lambda v: tf.constant(v) if isinstance(v, float) else v, value)

    @tf.function
    def f(x, y=5, *args):
        return x

    called = tuple(tf.constant(v) if traced == (1.0,) and v == 1 else v for v in given(called))
    with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
        f.get_concrete_function(*given(traced))(*called)


def test_python_values_and_variables_fit_a_spec():
    @tf.function
    def f(x, y=5):
        return x * 2.0

    concrete = f.get_concrete_function(tf.constant([1.0, 2.0]))
    for value in ([3.0, 4.0], tf.Variable([3.0, 4.0]), tf.constant([3.0, 4.0]).numpy().astype("float64")):
        assert concrete(value, 5).numpy().tolist() == [6.0, 8.0]


def test_a_traced_variable_stands_for_any_like_it():
    @tf.function
    def f(v):
        v.assign_add(1.0)
        return v.read_value()

    one, two = tf.Variable(0.0), tf.Variable(10.0)
    concrete = f.get_concrete_function(one)
    assert [float(concrete(v)) for v in (one, two, one)] == [1.0, 11.0, 2.0]
    assert [float(one), float(two)] == [2.0, 11.0]


def test_open_extents_that_cannot_be_traced_as_one():
    f = tf.function(lambda x: tf.reshape(x, [-1, 3]), input_signature=[tf.TensorSpec([None], tf.float32)])
    assert f.get_concrete_function()(tf.range(6.0)).shape == (2, 3)
    anything = tf.TensorSpec(None, tf.float32)
    g = tf.function(lambda x: tf.transpose(x, [1, 0, 2]))
    assert g.get_concrete_function(anything)(tf.ones([2, 3, 4])).shape == (3, 2, 4)
    assert g.get_concrete_function(anything) is g.get_concrete_function(anything)


def test_another_shape_in_eager_code_and_in_a_function():
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant([1.0]))
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="Can not cast"):
        tf.function(lambda: concrete(tf.constant([1.0, 2.0])))()


def test_a_method_of_an_object_that_is_gone():
    class Model(tf.Module):
        @tf.function(input_signature=[SPEC, SPEC])
        def add(self, *args):
            return tf.add(*args)

        @tf.function
        def scale(self, x):
            return x * self.factor

    assert float(Model().add.get_concrete_function()(-12.0, 3.0)) == -9.0
    with pytest.raises(AttributeError, match="is gone"):
        Model().scale(tf.constant(1.0))


def test_the_function_that_makes_the_variables():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(2.0))
        return made[0] * x

    f.get_initialization_function(tf.constant(1.0))()
    assert (len(made), float(made[0]), float(f(tf.constant(3.0)))) == (1, 2.0, 6.0)
    assert f.experimental_get_tracing_count() == 2  # once more, as the first made a variable
    with pytest.raises(RuntimeError, match="after the function has been used"):
        f.get_initialization_function(tf.constant(1.0))


# -- sparse tensors and rows


def test_sparse_tensors_are_arguments_and_results():
    traces = []

    @tf.function
    def f(given, dense):
        traces.append(given["s"].shape)
        s = given["s"]
        return tf.sparse.sparse_dense_matmul(s, dense), tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)

    v = tf.Variable([1.0, 2.0])
    dense = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(2):
        with tf.GradientTape() as tape:
            product, twice = f({"s": tf.SparseTensor([[0, 1], [2, 0]], v, [3, 2])}, dense)
            loss = tf.reduce_sum(product**2) + tf.reduce_sum(twice.values)
    assert (len(traces), traces[0]) == (1, (3, 2))
    assert product.numpy().tolist() == [[3.0, 4.0], [0.0, 0.0], [2.0, 4.0]]
    assert tf.sparse.to_dense(twice).numpy().tolist() == [[0.0, 2.0], [0.0, 0.0], [4.0, 0.0]]
    assert tape.gradient(loss, v).numpy().tolist() == [52.0, 22.0]


def test_a_dense_shape_is_part_of_the_signature():
    f = tf.function(lambda s: tf.sparse.to_dense(s))
    shapes = [tuple(f(tf.SparseTensor([[0, 1]], [1.0], extents)).shape) for extents in ([1, 2], [2, 2])]
    assert shapes == [(1, 2), (2, 2)]
    rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 1]), tf.constant([4, 1]))
    result = tf.function(lambda x: x)(rows)
    assert (result.values.numpy().tolist(), result.dense_shape.numpy().tolist()) == ([[1.0], [2.0]], [4, 1])


def test_a_nest_of_composites_expands():
    s = tf.SparseTensor([[0, 1]], [1.0], [1, 2])
    assert len(tf.nest.flatten({"s": s}, expand_composites=True)) == 3
    twice = tf.nest.map_structure(lambda x: x * 2, s, expand_composites=True)
    assert (twice.values.numpy().tolist(), twice.shape) == ([2.0], (2, 4))
    Pair = collections.namedtuple("Pair", "a b")
    assert tf.nest.flatten(Pair(s, 1)) == [s, 1]


def test_the_graph_of_a_function():
    v, captured = tf.Variable(2.0, name="v"), tf.constant([1.0, 2.0])

    @tf.function
    def f(x, y=3):
        return {"a": tf.nn.relu(x) * v + captured, "b": x + y}

    concrete = f.get_concrete_function(SPEC)
    graph = concrete.graph
    assert concrete.name.startswith(b"__inference_f_") and graph.name == "f"
    assert [type(v) for v in (concrete.variables, graph.variables, graph.trainable_variables)] == [tuple] * 3
    assert [v.name for v in graph.variables] == ["v:0"]
    assert [x.name for x in graph.inputs[:1]] == ["x:0"] and len(graph.inputs) == len(graph.captures) + 1 == 3
    assert graph.external_captures[0] is v and len(graph.internal_captures) == 2
    assert [x.name for x in graph.outputs] == ["Identity:0", "Identity_1:0"]
    assert sorted(graph.structured_outputs) == ["a", "b"]
    assert graph.structured_input_signature == ((tf.TensorSpec([], tf.float32, name="x"), 3), {})
    assert {"Placeholder", "Relu", "Mul", "AddV2", "Identity"} <= {op.type for op in graph.get_operations()}
    assert graph.get_operation_by_name("Relu").type == "Relu"
    assert graph.get_tensor_by_name("Relu:0") == graph.get_operation_by_name("Relu").outputs[0]
    with pytest.raises(ValueError, match="looks like an Operation name"):
        graph.get_tensor_by_name("Relu")
    with pytest.raises(KeyError, match="refers to a Tensor which does not exist"):
        graph.get_tensor_by_name("Relu:7")
    with pytest.raises(KeyError, match="not in the graph of f"):
        graph.get_operation_by_name("Tanh")
    assert "Relu" in str(graph)


def test_extents_that_follow_from_open_ones_are_open():
    @tf.function
    def f(x, y):
        return x * 2.0, tf.reduce_sum(x, 1), tf.matmul(y, tf.ones([3, 4])), tf.ones([5])

    concrete = f.get_concrete_function(tf.TensorSpec([None, 2]), tf.TensorSpec([None, 3]))
    assert [spec.shape.as_list() for spec in concrete.outputs] == [[None, 2], [None], [None, 4], [5]]
    assert [shape.as_list() for shape in concrete.output_shapes] == [[None, 2], [None], [None, 4], [5]]


def test_a_function_that_is_made_again_and_again_is_warned_of_and_one_that_others_call_is_not(caplog):
    def made(step):
        return tf.function(lambda x: x)(step)

    called = tf.function(lambda x: x + 1)
    calls = tf.function(lambda x: called(x) * 2)
    with caplog.at_level(logging.WARNING, "gradtape"):
        for step in range(4):
            called(step), calls(step + 4), made(step)
        assert not caplog.records
        made(4)
    assert "5 out of the last 5 calls" in caplog.records[0].getMessage()


def test_what_follows_from_an_open_rank_has_an_unknown_shape():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None, 3])])
    def several(a, b):
        return tf.reduce_sum(a), b, a + 1.0, tf.reshape(b, [-1]), tf.zeros([3])

    found = several.get_concrete_function()
    assert [str(shape) for shape in found.output_shapes] == ["()", "(None, 3)", "<unknown>", "(None,)", "(3,)"]
    assert found.inference_fn(tf.ones([2]), tf.ones([1, 3]))[0].numpy() == 2.0


def test_results_of_a_function_that_needs_values_have_the_shapes_of_a_graph():
    """The shapes are TensorFlow's; the function itself runs op by op."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def f(x):
        kept = tf.boolean_mask(x, x[:, 0] > 0.0)
        return {"kept": kept, "where": tf.where(x > 0.0), "sum": tf.reduce_sum(kept, 0)}, tf.unique(x[:, 0])[0]

    concrete = f.get_concrete_function()
    shapes = {"kept": [None, 4], "where": [None, 2], "sum": [4]}, [None]
    assert tf.nest.map_structure(tf.TensorShape.as_list, concrete.output_shapes) == shapes
    assert concrete.output_dtypes == ({"kept": tf.float32, "where": tf.int64, "sum": tf.float32}, tf.float32)
    assert concrete(tf.constant([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 0.0, 0.0]]))[0]["sum"].numpy().tolist() == [1, 2, 3, 4]
