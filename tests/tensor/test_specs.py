"""Specs, types for `isinstance`, and where code runs: as TensorFlow 2.21 has them."""

import itertools
import pickle
import time

import numpy as np
import pytest

import gradtape as tf

NEW_SPECS = [
    (lambda: tf.constant([1.0, 2.0]), "TensorSpec(shape=(2,), dtype=tf.float32, name=None)"),
    (lambda: 1.5, "TensorSpec(shape=(), dtype=tf.float32, name=None)"),
    (lambda: [1, 2], "TensorSpec(shape=(2,), dtype=tf.int32, name=None)"),
    (lambda: np.ones(3), "TensorSpec(shape=(3,), dtype=tf.float64, name=None)"),
    (lambda: None, "NoneTensorSpec()"),
    (lambda: tf.Variable([1.0, 2.0]), "VariableSpec(shape=(2,), dtype=tf.float32, trainable=True, alias_id=None)"),
    (lambda: tf.Variable(1, trainable=False), "VariableSpec(shape=(), dtype=tf.int32, trainable=False, alias_id=None)"),
    (
        lambda: tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 1])),
        "IndexedSlicesSpec(TensorShape([None, 3]), tf.float32, tf.int32, None, TensorShape([2]))",
    ),
    (lambda: tf.sparse.from_dense([[1.0, 0.0]]), "SparseTensorSpec(TensorShape([1, 2]), tf.float32)"),
    (lambda: tf.TensorArray(tf.float32, 3), "TensorArraySpec(TensorShape(None), tf.float32, False, True)"),
    (lambda: tf.data.Dataset.range(3), "DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))"),
    (lambda: tf.experimental.Optional.from_value(1), "OptionalSpec(TensorSpec(shape=(), dtype=tf.int32, name=None),)"),
]


def test_the_spec_of_a_sparse_tensor():
    sparse = tf.sparse.from_dense([[0.0, 1.0]])
    assert tf.SparseTensorSpec.from_value(sparse) == tf.type_spec_from_value(sparse)
    with pytest.raises(TypeError, match="Expected SparseTensor"):
        tf.SparseTensorSpec.from_value([0.0, 1.0])


@pytest.mark.parametrize("value, text", NEW_SPECS)
def test_the_spec_of_a_value(value, text):
    spec = tf.type_spec_from_value(value())
    assert repr(spec) == text
    assert isinstance(spec, tf.TypeSpec) and spec == tf.type_spec_from_value(value())
    assert pickle.loads(pickle.dumps(spec)) == spec and hash(pickle.loads(pickle.dumps(spec))) == hash(spec)


def test_the_spec_of_a_dataset():
    dataset = tf.data.Dataset.range(3)
    assert tf.data.DatasetSpec.from_value(dataset) == tf.type_spec_from_value(dataset)


def test_what_has_no_spec():
    with pytest.raises(TypeError, match=r"Could not build a TypeSpec for <object object.*> of unsupported type <class 'object'>"):
        tf.type_spec_from_value(object())
    with pytest.raises(TypeError, match="Can't instantiate abstract class TypeSpec"):
        tf.TypeSpec()


def test_compatible_specs():
    sparse = tf.sparse.from_dense([[1.0, 0.0]])
    assert tf.SparseTensorSpec([None, 2]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([None, 3]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([None, 2], tf.float64).is_compatible_with(sparse)
    assert not tf.NoneTensorSpec().is_compatible_with(sparse)


def test_a_spec_of_a_users_own():
    class Point(tf.TypeSpec):
        def __init__(self, rank):
            self.rank = rank

        def _serialize(self):
            return (self.rank,)

    assert repr(Point(2)) == "Point(2,)" and Point(2) == Point(2) != Point(3)
    with pytest.raises(NotImplementedError, match="value_type"):
        _ = Point(2).value_type


def test_values_without_a_spec_of_their_own_are_compared_by_theirs():
    spec, values, rows = tf.IndexedSlicesSpec([None, 2]), tf.ones([1, 2]), tf.constant([3], tf.int64)
    assert spec.is_compatible_with(tf.IndexedSlices(values, rows))
    assert not spec.is_compatible_with(tf.IndexedSlices(values, tf.cast(rows, tf.int32)))
    assert not spec.is_compatible_with(tf.IndexedSlices(values, rows, tf.constant([5, 2], tf.int64)))
    assert not spec.is_compatible_with(tf.ones([5, 2]))
    assert tf.NoneTensorSpec().is_compatible_with(None)
    with pytest.raises(TypeError, match="Could not build a TypeSpec for <object"):
        spec.is_compatible_with(object())


def test_types():
    function = tf.function(lambda x: x)
    types = tf.types.experimental
    assert isinstance(function, types.GenericFunction) and isinstance(function, types.Callable)
    assert isinstance(function.get_concrete_function(1.0), types.ConcreteFunction)
    assert not isinstance(len, types.Callable)
    assert isinstance([1.0], types.TensorLike) and not isinstance({}, types.TensorLike)
    assert isinstance(np.int32(1), tf.compat.integral_types) and not isinstance("a", tf.compat.complex_types)


def test_inside_function():
    inside = []
    tf.function(lambda: inside.append(tf.inside_function()))()
    with tf.Graph().as_default():
        inside.append(tf.inside_function())
        tf.cond(tf.constant(True), lambda: inside.append(tf.inside_function()), lambda: None)
    assert [tf.inside_function(), *inside] == [False, True, False, True]


def test_names_of_tensorflow_1():
    assert tf.compat.v1.OpError is tf.errors.OpError and tf.compat.v1.FIFOQueue is tf.queue.FIFOQueue
    options = tf.autograph.experimental.Feature.EQUALITY_OPERATORS
    assert tf.function(lambda x: x + 1, experimental_autograph_options=options)(1).numpy() == 2


def test_name_scopes():
    with tf.name_scope("a") as scope, tf.name_scope("b"):
        assert tf.get_current_name_scope() == "a/b"
    assert tf.get_current_name_scope() == "" and scope == "a/"
    names = [tf.name_scope("a").name, tf.compat.v1.name_scope("a", "b").name, tf.compat.v1.name_scope(None, "b").name]
    assert names == ["a", "a", "b"]
    again = tf.name_scope("c/")
    with again, again:
        pass
    assert tf.get_current_name_scope() == ""


def test_functions_begin_without_the_name_scopes_around_their_calls():
    seen = []

    def note(x):
        seen.append(tf.get_current_name_scope())
        return x

    class Lazy(tf.Module):
        v = None

        @tf.function
        def __call__(self, x):
            note(x)
            with tf.name_scope("in"):
                if self.v is None:
                    self.v = tf.Variable(1.0, name="v")
                return tf.cond(x > 0.0, lambda: note(x), lambda: x) * self.v

    module = Lazy()
    with tf.name_scope("outer"):
        module(tf.constant(1.0))
        assert module.v.name == "in/v:0"
        list(tf.data.Dataset.range(1).map(note))
        assert tf.get_current_name_scope() == "outer"
    assert set(seen) == {"", "in"}  # TensorFlow says "in/cond" in the branch


def test_a_modules_name_scope_tells_that_it_was_initialized():
    class Forgetful(tf.Module):
        def __init__(self):
            assert not hasattr(self, "_name_scope")
            super().__init__()

    assert Forgetful()._name_scope.name == "forgetful/"


def test_no_gradient():
    tf.no_gradient("OpOfNobody")
    with pytest.raises(KeyError, match="Registering two gradient with name 'OpOfNobody'!"):
        tf.no_gradient("OpOfNobody")
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.no_gradient(3)
    x = tf.constant([1.0])
    with tf.gradient_override_map({"Sin": "OpOfNobody"}), tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)
    assert tape.gradient(y, x) is None


def test_the_clock_is_read_at_each_call(monkeypatch):
    monkeypatch.setattr(time, "time", map(float, itertools.count(1)).__next__)
    read = tf.function(tf.timestamp)
    values = [tf.timestamp(), read(), read()]
    assert [value.numpy() for value in values] == [1.0, 2.0, 3.0] and values[1].dtype == tf.float64


def test_the_logger():
    assert tf.get_logger().name == "gradtape"


def test_dates_and_paths(tmp_path):
    assert tf.compat.path_to_str(tmp_path) == str(tmp_path) and tf.compat.path_to_str("a") == "a"
    assert tf.compat.forward_compatible(2020, 1, 1) is True
    with tf.compat.forward_compatibility_horizon(2020, 1, 1):
        assert tf.compat.dimension_value(tf.TensorShape([3])[0]) == 3
