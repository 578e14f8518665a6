"""`tf.nest`: structures of lists, tuples, dictionaries and named tuples."""

import collections
import contextlib
import dataclasses
import types

import numpy as np
import pytest

import gradtape as tf

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "structure, expected",
    [
        (5, [5]),
        (None, [None]),
        ("ab", ["ab"]),
        ([], []),
        ({}, []),
        ([1, [2, (3,)], []], [1, 2, 3]),
        ({"b": 1, "a": [2, (3, 4)], "c": None}, [2, 3, 4, 1, None]),
        (collections.defaultdict(int, {"b": 1, "a": 2}), [2, 1]),
        (Point(1, [2]), [1, 2]),
        (Point([1], Point(2, 3)), [1, 2, 3]),
        ({1, 2}, [{1, 2}]),
    ],
    ids=repr,
)
def test_flatten(structure, expected):
    flat = tf.nest.flatten(structure)
    assert type(flat) is list
    assert flat == expected


@pytest.mark.parametrize(
    "leaf", [tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0]), np.ones(2)], ids=["tensor", "variable", "array"]
)
def test_arrays_are_leaves(leaf):
    assert tf.nest.flatten(leaf)[0] is leaf
    assert tf.nest.flatten({"x": (leaf,)})[0] is leaf
    assert not tf.nest.is_nested(leaf)


@pytest.mark.better
def test_keys_of_several_types():
    assert tf.nest.flatten({"b": 1, 2: 3, "a": 4}) == [3, 4, 1]


def test_an_ordered_dictionary_is_sorted_and_keeps_its_order():
    ordered = collections.OrderedDict([("z", 1), ("a", collections.OrderedDict([("k", 2), ("b", 3)]))])
    assert tf.nest.flatten(["first", {"x": ordered}]) == ["first", 3, 2, 1]
    packed = tf.nest.pack_sequence_as(ordered, [10, 20, 30])
    assert repr(packed) == repr(collections.OrderedDict([("z", 30), ("a", collections.OrderedDict([("k", 20), ("b", 10)]))]))


class Attrs:
    """A class as the package attrs makes it."""

    __attrs_attrs__ = (types.SimpleNamespace(name="b"), types.SimpleNamespace(name="_a"))

    def __init__(self, b, a):
        self.b, self._a = b, a


class NoAttrs:
    __attrs_attrs__ = ()


def test_a_class_of_attrs_is_a_structure_in_the_order_of_its_attributes():
    assert tf.nest.flatten(Attrs(1, [2, NoAttrs()])) == [1, 2]
    doubled = tf.nest.map_structure(lambda x: 2 * x, Attrs(1, [2, NoAttrs()]))
    assert (doubled.b, doubled._a[0], type(doubled._a[1])) == (2, 4, NoAttrs)
    x, event = tf.function(lambda x: (x + 1.0, Attrs(x, NoAttrs())))(tf.constant(1.0))
    assert (x.numpy(), event.b.numpy(), type(event._a)) == (2.0, 1.0, NoAttrs)


class Row(list):
    pass


class Named(dict):
    pass


@pytest.mark.parametrize(
    "structure, flat",
    [(Row([1, (2,)]), [1, 2]), (Named(b=1, a=2), [2, 1]), (types.MappingProxyType({"b": 1, "a": 2}), [2, 1])],
)
def test_derived_containers_are_structures(structure, flat):
    assert tf.nest.is_nested(structure) and tf.nest.flatten(structure) == flat
    same = tf.nest.map_structure(lambda leaf: leaf, structure)
    assert same == structure and type(same) is type(structure)


def test_views_and_ranges_are_structures():
    assert tf.nest.flatten({"b": 1}.values()) == [1] and tf.nest.flatten(range(2)) == [0, 1]
    assert tf.nest.map_structure(lambda leaf: leaf + 1, {"b": 1}.values()) == [2]


def test_gradients_of_a_derived_list():
    weights = Row([tf.Variable(2.0), tf.Variable(3.0)])
    with tf.GradientTape() as tape:
        y = weights[0] * weights[1]
    assert [float(dw) for dw in tape.gradient(y, weights)] == [3.0, 2.0]


def test_namedtuples_of_one_name_and_fields_are_of_one_type():
    first, second = (collections.namedtuple("Pair", "left right")(1, 2) for _ in range(2))
    tf.nest.assert_same_structure(first, second)


@pytest.mark.better
def test_dataclasses_are_structures():
    @dataclasses.dataclass
    class Pair:
        left: object
        right: object

    pair = Pair(1, {"b": 2, "a": 3})
    assert tf.nest.flatten(pair) == [1, 3, 2]
    assert tf.nest.map_structure(lambda leaf: leaf * 10, pair) == Pair(10, {"b": 20, "a": 30})


def test_composites_are_expanded_on_demand():
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), tf.constant([3]))
    assert tf.nest.flatten(slices) == [slices]
    values, indices, dense_shape = tf.nest.flatten([slices], expand_composites=True)
    assert values is slices.values
    (packed,) = tf.nest.pack_sequence_as([slices], [values + 1.0, indices, dense_shape], expand_composites=True)
    assert packed.values.numpy().tolist() == [2.0]


class TestMapStructure:
    @pytest.mark.parametrize(
        "structure, expected",
        [
            (3, 6),
            ([], []),
            ([1, (2, 3)], [2, (4, 6)]),
            ({"b": 1, "a": [2]}, {"b": 2, "a": [4]}),
            (Point(1, (2,)), Point(2, (4,))),
        ],
        ids=repr,
    )
    def test_keeps_the_structure(self, structure, expected):
        result = tf.nest.map_structure(lambda leaf: leaf * 2, structure)
        assert result == expected
        assert type(result) is type(expected)

    @pytest.mark.parametrize(
        "mapping",
        [
            {"b": 1, "a": 2},
            collections.OrderedDict([("z", 1), ("a", 2)]),
            collections.defaultdict(int, {"b": 1, "a": 2}),
        ],
        ids=lambda mapping: type(mapping).__name__,
    )
    def test_keeps_the_order_of_keys(self, mapping):
        result = tf.nest.map_structure(lambda leaf: leaf, mapping)
        assert list(result.items()) == list(mapping.items())
        assert type(result) is type(mapping)

    def test_leaves_are_visited_in_the_order_of_sorted_keys(self):
        seen = []
        tf.nest.map_structure(seen.append, {"b": 1, "a": [2, 3]})
        assert seen == [2, 3, 1]

    def test_several_structures(self):
        result = tf.nest.map_structure(
            lambda a, b, c: a + b + c, {"x": 1, "y": [2]}, {"x": 10, "y": [20]}, {"y": [200], "x": 100}
        )
        assert result == {"x": 111, "y": [222]}

    def test_tensors(self):
        result = tf.nest.map_structure(lambda x, y: x + y, [tf.constant(1.0)], [tf.Variable(2.0)])
        assert result[0].numpy() == 3.0

    def test_kinds_of_dictionaries_match_by_key(self):
        ordered = collections.OrderedDict([("z", 1), ("a", 2)])
        result = tf.nest.map_structure(lambda a, b: (a, b), {"a": 10, "z": 20}, ordered)
        assert result == {"a": (10, 2), "z": (20, 1)}

    def test_types_may_differ_when_not_checked(self):
        assert tf.nest.map_structure(lambda a, b: a + b, [1], (2,), check_types=False) == [3]

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda: tf.nest.map_structure(lambda a: a), ValueError, "Must provide at least one structure"),
            (lambda: tf.nest.map_structure(3, [1]), TypeError, "func must be callable"),
            (lambda: tf.nest.map_structure(max, [1], [1, 2]), ValueError, "don't have the same nested structure"),
            (lambda: tf.nest.map_structure(max, [1], 1), ValueError, "don't have the same nested structure"),
            (lambda: tf.nest.map_structure(max, [1], (1,)), TypeError, "don't have the same nested structure"),
        ],
        ids=["none", "not callable", "length", "leaf", "type"],
    )
    def test_errors(self, call, error, message):
        with pytest.raises(error, match=message):
            call()


class TestPack:
    @pytest.mark.parametrize(
        "structure, flat, expected",
        [
            (0, [7], 7),
            ([], [], []),
            ([0, [0]], (1, 2), [1, [2]]),
            (("a", ["b"]), [1, 2], (1, [2])),
            ({"b": 0, "a": [0, (0, 0)]}, [1, 2, 3, 4], {"b": 4, "a": [1, (2, 3)]}),
            (Point(0, 0), [1, 2], Point(1, 2)),
            ([0, 0], [[1, 2], {"a": 3}], [[1, 2], {"a": 3}]),
        ],
        ids=repr,
    )
    def test_packs(self, structure, flat, expected):
        result = tf.nest.pack_sequence_as(structure, flat)
        assert result == expected
        assert type(result) is type(expected)

    @pytest.mark.parametrize(
        "structure, flat, error, message",
        [
            ([1, 2], [1], ValueError, "Structure had 2 atoms, but flat_sequence had 1 items"),
            ([1, 2], [1, 2, 3], ValueError, "Structure had 2 atoms, but flat_sequence had 3 items"),
            (1, [1, 2], ValueError, "The target structure is of type .*int"),
            ([1], 5, TypeError, "Attempted to pack value"),
        ],
        ids=["too few", "too many", "no structure", "no sequence"],
    )
    def test_errors(self, structure, flat, error, message):
        with pytest.raises(error, match=message):
            tf.nest.pack_sequence_as(structure, flat)

    def test_is_the_inverse_of_flatten(self):
        structure = {"b": [1, (2, Point(3, 4))], "a": {"c": 5}, "d": []}
        assert tf.nest.pack_sequence_as(structure, tf.nest.flatten(structure)) == structure


class TestSameStructure:
    @pytest.mark.parametrize(
        "left, right",
        [
            (1, "a"),
            ([1, (2,)], ["a", (None,)]),
            ({"a": 1, "b": 2}, {"b": 3, "a": 4}),
            (Point(1, 2), Point(3, 4)),
        ],
        ids=repr,
    )
    def test_same(self, left, right):
        assert tf.nest.assert_same_structure(left, right) is None

    @pytest.mark.parametrize(
        "left, right, error",
        [
            ([1, 2], [1], ValueError),
            ([1, [2]], [1, 2], ValueError),
            (1, [2], ValueError),
            ({"a": 1}, {"b": 1}, ValueError),
            ([1], (1,), TypeError),
            (Point(1, 2), (1, 2), TypeError),
            (Point(1, 2), collections.namedtuple("Point", "x z")(1, 2), TypeError),
            ({"a": 1}, [1], TypeError),
        ],
        ids=repr,
    )
    def test_different(self, left, right, error):
        with pytest.raises(error, match="The two structures don't have the same nested structure"):
            tf.nest.assert_same_structure(left, right)

    @pytest.mark.parametrize(
        "pair, error",
        [
            ("sparse ragged", ValueError),
            ("ragged sparse", ValueError),
            ("slices sparse", ValueError),
            ("sparse tensor", ValueError),
            ("tensor sparse", ValueError),
            ("sparse list", TypeError),
            ("sparse spec", None),
            ("spec sparse", None),
        ],
    )
    def test_composites(self, pair, error):
        values = {
            "sparse": tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]),
            "ragged": tf.ragged.constant([[1.0], [2.0, 3.0]]),
            "slices": tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])),
            "tensor": tf.ones([2]),
            "list": [1, 2, 3],
            "spec": tf.SparseTensorSpec([2, 2]),
        }
        first, second = (values[name] for name in pair.split())
        with contextlib.nullcontext() if error is None else pytest.raises(error, match=r"^The two structures don't have"):
            tf.nest.assert_same_structure(first, second, expand_composites=True)

    def test_types_are_not_checked_on_demand(self):
        tf.nest.assert_same_structure([1], (1,), check_types=False)
        tf.nest.assert_same_structure(Point(1, 2), {"x": 1, "other": 2}, check_types=False)

    def test_variables_of_an_eager_loop(self):
        start = (0, [tf.constant(1), tf.constant(2)])
        with pytest.raises(TypeError, match="don't have the same nested structure"):
            tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, (x[1], x[0])), start)
        assert [v.numpy() for v in tf.while_loop(lambda i, _: i < 1, lambda i, x: [i + 1, x[::-1]], start)[1]] == [2, 1]


@pytest.mark.parametrize(
    "value, nested",
    [
        ([1], True),
        ((), True),
        ({}, True),
        (Point(1, 2), True),
        (1, False),
        ("ab", False),
        (b"ab", False),
        (None, False),
        ({1}, False),
        (iter([]), False),
    ],
    ids=lambda value: repr(value).partition(" at ")[0],
)
def test_is_nested(value, nested):
    assert tf.nest.is_nested(value) is nested
