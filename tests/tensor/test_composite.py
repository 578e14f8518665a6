"""Composite tensors of a user's own: nests look into them, functions and loops take them, and their specs compare."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.declarations import spec
from gradtape._src.core.tensors import shallow_nest


class PairSpec(tf.TypeSpec):
    value_type = property(lambda self: Pair)

    def __init__(self, x, y, label):
        self.x, self.y, self.label = x, y, label

    def _serialize(self):
        return self.x, self.y, self.label

    _component_specs = property(lambda self: {"x": self.x, "y": self.y})

    def _to_components(self, value):
        return {"x": value.x, "y": value.y}

    def _from_components(self, components):
        return Pair(components["x"], components["y"], self.label)


class Pair(tf.__internal__.CompositeTensor):
    def __init__(self, x, y, label):
        self.x, self.y, self.label = tf.convert_to_tensor(x), tf.convert_to_tensor(y), label

    @property
    def _type_spec(self):
        return PairSpec(tf.type_spec_from_value(self.x), tf.type_spec_from_value(self.y), self.label)


def test_nests_look_into_one():
    pair = Pair(1.0, 2.0, "a")
    assert tf.nest.flatten([pair]) == [pair]
    assert [float(x) for x in tf.nest.flatten([pair], expand_composites=True)] == [1.0, 2.0]
    twice = tf.nest.map_structure(lambda x: x * 2.0, pair, expand_composites=True)
    assert (type(twice), float(twice.y), twice.label) == (Pair, 4.0, "a")


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_a_loop_carries_one(run):
    @run
    def summed(pair):
        _, pair = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, Pair(p.x + p.y, p.y, p.label)), (0, pair))
        return pair

    result = summed(Pair(1.0, 2.0, "b"))
    assert (float(result.x), result.label) == (7.0, "b")


def test_a_tape_differentiates_to_one():
    pair = Pair(3.0, 2.0, "c")
    with tf.GradientTape() as tape:
        tape.watch(pair)
        y = pair.x * pair.y
    assert float(tape.gradient(y, pair.x)) == 2.0


def test_specs_compare_and_widen():
    one, two = Pair([1.0], 2.0, "a")._type_spec, Pair([1.0, 2.0], 2.0, "a")._type_spec
    wide = one.most_specific_common_supertype([two])
    assert wide.x == tf.TensorSpec([None]) and wide.label == "a"
    assert (
        one.is_subtype_of(wide)
        and not wide.is_subtype_of(one)
        and one != two
        and hash(one) == hash(Pair([1.0], 2.0, "a")._type_spec)
    )
    assert one.most_specific_common_supertype([Pair([1.0], 2.0, "b")._type_spec]) is None
    assert wide.is_compatible_with(Pair([1.0], 2.0, "a")) and not one.is_compatible_with(two)
    with pytest.raises(ValueError, match="No TypeSpec is compatible"):
        one.most_specific_compatible_type(Pair([1.0], 2.0, "b")._type_spec)


class LineSpec(spec.BatchableTypeSpec):
    value_type = property(lambda self: Line)

    def __init__(self, slope, start):
        self.slope, self.start = slope, start

    def _serialize(self):
        return self.slope, self.start

    _component_specs = property(lambda self: (self.slope, self.start))

    def _to_components(self, value):
        return value.slope, value.start

    def _from_components(self, components):
        assert self.slope.is_compatible_with(components[0])
        return Line(*components)

    def _batch(self, size):
        return LineSpec(self.slope._batch(size), self.start._batch(size))

    def _unbatch(self):
        return LineSpec(self.slope._unbatch(), self.start._unbatch())


class Line(tf.__internal__.CompositeTensor):
    def __init__(self, slope, start):
        self.slope, self.start = slope, start

    def __call__(self, x):
        return self.slope * x + self.start

    @property
    def _type_spec(self):
        return LineSpec(*[tf.type_spec_from_value(tf.convert_to_tensor(x)) for x in (self.slope, self.start)])

    def _convert_variables_to_tensors(self):
        return Line(tf.convert_to_tensor(self.slope), tf.convert_to_tensor(self.start))


def test_rows_of_one_are_such_objects_and_results_a_batch():
    slope = tf.Variable([1.0, 2.0])
    lines, of_floats = Line(slope, tf.constant([3.0, 4.0])), LineSpec(tf.TensorSpec([]), tf.TensorSpec([]))
    with tf.GradientTape() as tape:
        y = tf.vectorized_map(lambda line: line(10.0), lines)
    assert y.numpy().tolist() == [13.0, 24.0] and tape.gradient(y, slope).numpy().tolist() == [10.0, 10.0]
    assert tf.map_fn(lambda line: line(10.0), lines, fn_output_signature=tf.float32).numpy().tolist() == [13.0, 24.0]
    for swapped in (
        tf.vectorized_map(lambda line: Line(line.start, line.slope), lines),
        tf.map_fn(lambda line: Line(line.start, line.slope), lines),
        tf.map_fn(lambda x: Line(x + 2.0, x), lines.slope.value(), fn_output_signature=of_floats),
    ):
        assert swapped.slope.numpy().tolist() == [3.0, 4.0] and swapped.start.numpy().tolist() == [1.0, 2.0]
    empty = tf.map_fn(lambda x: Line(x, x), tf.zeros([0]), fn_output_signature=of_floats)
    assert isinstance(empty, Line) and empty.slope.shape == [0]


def test_classes_of_specs_have_names():
    class Named(tf.TypeSpec):
        pass

    assert spec.register("tests.Named")(Named) is Named and spec.by_name["tests.Named"] is Named
    with pytest.raises(ValueError, match="already been registered"):
        spec.register("tests.Named")(type("Other", (tf.TypeSpec,), {}))
    with pytest.raises(ValueError, match="must have the form"):
        spec.register("Named")


def test_nests_up_to_another():
    up_to = shallow_nest.map_structure_up_to
    assert up_to({"a": 0, "b": 0}, lambda x, y: (x, y), {"a": [1, 2], "b": 3}, {"a": 4, "b": [5]}) == {
        "a": ([1, 2], 4),
        "b": (3, [5]),
    }
    assert up_to(None, lambda x: x, [1, 2]) == [1, 2]
    assert shallow_nest.flatten_up_to([0, [0]], (1, [[2]]), check_types=False) == [1, [2]]
    assert shallow_nest.flatten_with_tuple_paths({"a": [1, 2]}) == [(("a", 0), 1), (("a", 1), 2)]
    assert shallow_nest.flatten_with_joined_string_paths({"a": [1]}) == [("a/0", 1)]
    assert shallow_nest.map_structure_with_tuple_paths(lambda path, x: (path, x), [7]) == [((0,), 7)]
    stop = shallow_nest.get_traverse_shallow_structure(lambda x: not isinstance(x, tuple), [1, (2, 3)])
    assert stop == [True, False]
    assert shallow_nest.list_to_tuple([1, [2]]) == (1, (2,))


@pytest.mark.parametrize(
    ("shallow", "deep", "error", "said"),
    [
        ([0], 1, TypeError, "input must also be a sequence"),
        ([0], (1,), TypeError, "same sequence type"),
        ([0], [1, 2], ValueError, "same sequence length"),
        ({"a": 0}, {"b": 1}, ValueError, "same keys"),
    ],
)
def test_structures_that_do_not_fit(shallow, deep, error, said):
    with pytest.raises(error, match=said):
        shallow_nest.assert_shallow_structure(shallow, deep)


def test_shapes_of_numpys_numbers():
    assert tf.TensorShape(np.int32(3)) == tf.TensorShape(np.array(3)) == tf.TensorShape([3])
    assert tf.convert_to_tensor(tf.TensorShape([])).dtype == tf.int32


def test_a_static_value_may_be_written_to():
    @tf.function
    def f():
        value = tf.get_static_value(tf.constant([1, 2]) + 1)
        value += 1
        return tf.constant(value)

    assert f().numpy().tolist() == [3, 4]


def test_dtype_of_what_is_made_of_tensors():
    operator = tf.linalg.LinearOperatorDiag([1.0])
    assert tf.debugging.assert_same_float_dtype([operator, tf.constant(1.0)]) == tf.float32
