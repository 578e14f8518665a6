"""What datasets give: elements, specs, cardinalities. Every expected value is what TensorFlow 2.21 gives."""

import collections
import os

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset
Point = collections.namedtuple("Point", "b a")
INFINITE, UNKNOWN = tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY


def plain(value):
    """NumPy values as Python's, in the same nest, so that they can be compared."""
    if isinstance(value, dict):
        return type(value)((k, plain(v)) for k, v in value.items())
    if isinstance(value, tuple):
        items = [plain(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value if value is None or isinstance(value, bytes) else value.tolist()


def elements(dataset):
    return [plain(element) for element in dataset.as_numpy_iterator()]


def of(count, value):
    return D.from_tensors(value).repeat(count)


def ones(lengths):
    return D.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))


ELEMENTS = {
    "range": (lambda: D.range(3), [0, 1, 2]),
    "range with step": (lambda: D.range(5, 0, -2), [5, 3, 1]),
    "empty range": (lambda: D.range(5, 2), []),
    "range of floats": (lambda: D.range(2, output_type=tf.float32), [0.0, 1.0]),
    "counter": (lambda: D.counter(2, 3).take(3), [2, 5, 8]),
    "from_tensors": (lambda: D.from_tensors([1, 2]), [[1, 2]]),
    "lists are values": (lambda: D.from_tensors(([1, 2], {"a": [3.0]})), [([1, 2], {"a": [3.0]})]),
    "strings": (lambda: D.from_tensors("a"), [b"a"]),
    "slices": (lambda: D.from_tensor_slices([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "slices of tensors": (lambda: D.from_tensor_slices(tf.constant([1.5, 2.5])), [1.5, 2.5]),
    "slices of a list of tensors": (lambda: D.from_tensor_slices([tf.constant([1]), tf.constant([2])]), [[1], [2]]),
    "slices of a dict": (lambda: D.from_tensor_slices({"b": [1, 2], "a": [3, 4]}), [{"b": 1, "a": 3}, {"b": 2, "a": 4}]),
    "slices of a namedtuple": (lambda: D.from_tensor_slices(Point([1, 2], [3, 4])), [Point(1, 3), Point(2, 4)]),
    "map": (lambda: D.range(3).map(lambda x: x * 2), [0, 2, 4]),
    "map of a tuple": (lambda: D.from_tensors((1, (2, 3))).map(lambda a, b: a + b[0] + b[1]), [6]),
    "map of a dict": (lambda: D.from_tensors({"a": 1}).map(lambda d: d["a"]), [1]),
    "map of a namedtuple": (lambda: D.from_tensors(Point(1, 2)).map(lambda p: p.a), [2]),
    "map to a list": (lambda: D.range(2).map(lambda x: [x, x + 1]), [(0, 1), (1, 2)]),
    "map to a nested list": (lambda: D.range(2).map(lambda x: (x, [x, x])), [(0, [0, 0]), (1, [1, 1])]),
    "map to a number": (lambda: D.range(1).map(lambda x: 1), [1]),
    "map to None": (lambda: D.range(1).map(lambda x: (x, None)), [(0, None)]),
    "map with Python control flow": (lambda: D.range(4).map(lambda x: x if x % 2 == 0 else -x), [0, -1, 2, -3]),
    "map in threads": (lambda: D.range(9).map(lambda x: x * x, num_parallel_calls=3), [i * i for i in range(9)]),
    "map, autotuned": (lambda: D.range(3).map(lambda x: x, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False), [0, 1, 2]),
    "batch": (lambda: D.range(5).batch(2), [[0, 1], [2, 3], [4]]),
    "batch, remainder dropped": (lambda: D.range(5).batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
    "batch of batches": (lambda: D.range(4).batch(2).batch(2), [[[0, 1], [2, 3]]]),
    "batch of nests": (
        lambda: D.from_tensor_slices({"x": np.eye(2), "y": ([1, 2],)}).batch(2),
        [{"x": [[1.0, 0.0], [0.0, 1.0]], "y": ([1, 2],)}],
    ),
    "batch after map": (lambda: D.range(3).map(lambda x: (x, [x, x])).batch(2), [([0, 1], [[0, 0], [1, 1]]), ([2], [[2, 2]])]),
    "batch with None": (lambda: of(2, (1, None)).batch(2), [([1, 1], None)]),
    "unbatch": (lambda: D.from_tensors(([1, 2], [[3], [4]])).unbatch(), [(1, [3]), (2, [4])]),
    "batch and unbatch": (lambda: D.range(5).batch(2).unbatch(), [0, 1, 2, 3, 4]),
    "padded_batch": (lambda: ones([1, 2, 3]).padded_batch(2), [[[1, 0], [2, 2]], [[3, 3, 3]]]),
    "padded to a shape": (lambda: ones([1, 2]).padded_batch(2, 4, padding_values=-1), [[[1, -1, -1, -1], [2, 2, -1, -1]]]),
    "padded nests": (
        lambda: ones([1, 2]).map(lambda x: (x, tf.ones([2]))).padded_batch(2, ([None], [3]), (9, 7.0), True),
        [([[1, 9], [2, 2]], [[1.0, 1.0, 7.0], [1.0, 1.0, 7.0]])],
    ),
    "padded strings": (lambda: D.from_tensor_slices([["a", "b"]]).padded_batch(1, padded_shapes=[3]), [[[b"a", b"b", b""]]]),
    "padded scalars": (lambda: D.range(3).padded_batch(2), [[0, 1], [2]]),
    "repeat": (lambda: D.range(2).repeat(2), [0, 1, 0, 1]),
    "repeat for ever": (lambda: D.range(2).repeat().take(5), [0, 1, 0, 1, 0]),
    "repeat of nothing": (lambda: D.range(0).repeat(), []),
    "take": (lambda: D.range(5).take(2), [0, 1]),
    "take all": (lambda: D.range(3).take(-2), [0, 1, 2]),
    "take a tensor": (lambda: D.range(3).take(tf.constant(2, tf.int64)), [0, 1]),
    "skip": (lambda: D.range(5).skip(3), [3, 4]),
    "skip all": (lambda: D.range(3).skip(-1), []),
    "skip too many": (lambda: D.range(3).skip(7), []),
    "shard": (lambda: D.range(7).shard(3, 1), [1, 4]),
    "filter": (lambda: D.from_tensor_slices(([1, 2, 3], [4, 5, 6])).filter(lambda a, b: a != 2), [(1, 4), (3, 6)]),
    "filter in Python": (lambda: D.range(4).filter(lambda x: tf.py_function(lambda a: a > 1, [x], tf.bool)), [2, 3]),
    "take_while": (lambda: D.range(5).take_while(lambda x: x < 3), [0, 1, 2]),
    "enumerate": (lambda: D.range(3, 5).enumerate(5), [(5, 3), (6, 4)]),
    "zip": (lambda: D.zip(D.range(3), D.range(3, 5)), [(0, 3), (1, 4)]),
    "zip of a tuple": (lambda: D.zip((D.range(2), D.range(2))), [(0, 0), (1, 1)]),
    "zip of a nest": (lambda: D.zip({"a": D.range(1), "b": (D.range(1), D.range(1))}), [{"a": 0, "b": (0, 0)}]),
    "zip of nests": (lambda: D.zip(D.from_tensors({"y": 1, "x": (2, 3)}), D.range(1)), [({"y": 1, "x": (2, 3)}, 0)]),
    "concatenate": (lambda: D.range(2).concatenate(D.range(5, 7)), [0, 1, 5, 6]),
    "flat_map": (lambda: D.range(4).flat_map(lambda x: D.range(x)), [0, 0, 1, 0, 1, 2]),
    "flat_map to slices": (lambda: D.range(2).flat_map(lambda x: D.from_tensor_slices([x, x + 1])), [0, 1, 1, 2]),
    "interleave in blocks": (
        lambda: D.range(1, 4).interleave(lambda x: of(3, x), cycle_length=2, block_length=2),
        [1, 1, 2, 2, 1, 2, 3, 3, 3],
    ),
    "interleave, growing": (lambda: D.range(5).interleave(lambda x: of(int(x), x), 3, 1), [1, 2, 3, 2, 3, 4, 3, 4, 4, 4]),
    "interleave, shrinking": (
        lambda: D.range(5).interleave(lambda x: of(5 - int(x), x), cycle_length=3, block_length=2),
        [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 0, 3, 3, 4],
    ),
    "scan": (lambda: D.range(4).scan(np.int64(0), lambda s, x: (s + x, (s, x))), [(0, 0), (0, 1), (1, 2), (3, 3)]),
    "unique": (lambda: D.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique(), [1, 37, 2]),
    "unique vectors": (lambda: D.from_tensor_slices([[1, 2], [1, 2], [2, 1]]).unique(), [[1, 2], [2, 1]]),
    "window and batch": (lambda: D.range(4).window(3, 1, 1, True).flat_map(lambda w: w.batch(3)), [[0, 1, 2], [1, 2, 3]]),
    "window of a dict": (
        lambda: D.from_tensor_slices({"a": [1, 2, 3], "b": [4, 5, 6]})
        .window(2)
        .flat_map(lambda d: D.zip((d["a"].batch(2), d["b"].batch(2)))),
        [([1, 2], [4, 5]), ([3], [6])],
    ),
    "apply": (lambda: D.range(2).apply(lambda d: d.repeat(2)), [0, 1, 0, 1]),
    "choose": (
        lambda: D.choose_from_datasets([D.range(3), D.range(10, 15)], D.from_tensor_slices(np.array([0, 1, 1, 0]))),
        [0, 10, 11, 1],
    ),
    "sample of one": (lambda: D.sample_from_datasets([D.range(3), D.range(9, 12)], weights=[1.0, 0.0], seed=1), [0, 1, 2]),
    "prefetch": (lambda: D.range(3).prefetch(2), [0, 1, 2]),
    "prefetch, autotuned": (lambda: D.range(3).batch(2).prefetch(tf.data.AUTOTUNE), [[0, 1], [2]]),
    "prefetch none": (lambda: D.range(3).prefetch(0), [0, 1, 2]),
    "cache": (lambda: D.range(2).cache().repeat(2), [0, 1, 0, 1]),
    "options": (lambda: D.range(2).with_options(tf.data.Options()), [0, 1]),
    "generator": (lambda: D.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec((), tf.int32)), [1, 2]),
    "generator by type": (lambda: D.from_generator(lambda: iter([1, [2, 3]]), tf.int32), [1, [2, 3]]),
    "generator with arguments": (
        lambda: D.from_generator(lambda n, m: (i + int(m) for i in range(n)), tf.int64, args=(3, 2)),
        [2, 3, 4],
    ),
    "generator of dicts": (
        lambda: D.from_generator(
            lambda: iter([{"a": 1, "b": [1.0, 2]}]),
            output_signature={"a": tf.TensorSpec((), tf.int32), "b": tf.TensorSpec((None,), tf.float32)},
        ),
        [{"a": 1, "b": [1.0, 2.0]}],
    ),
    "generator, cast": (lambda: D.from_generator(lambda: iter([1.5]), output_signature=tf.TensorSpec((), tf.int32)), [1]),
    "generator, tuple as a vector": (
        lambda: D.from_generator(lambda: iter([(1, 2)]), output_signature=tf.TensorSpec((2,), tf.int32)),
        [[1, 2]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("make, expected", ELEMENTS.values(), ids=ELEMENTS)
def test_elements(make, expected):
    dataset = make()
    assert elements(dataset) == expected
    assert elements(dataset) == expected  # a dataset can be gone through again
    specs = tf.nest.flatten(dataset.element_spec)
    for element in dataset.as_numpy_iterator():
        for leaf, spec in zip(tf.nest.flatten(element), specs, strict=True):
            assert leaf is None or spec.is_compatible_with(tf.constant(leaf))
    if dataset.cardinality() >= 0:
        assert len(dataset) == len(expected)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ((3, 2, 1), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]),
        ((3, 1, 2, True), [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
        ((2, 3), [[0, 1], [3, 4], [6]]),
        ((3, 2, 2), [[0, 2, 4], [2, 4, 6], [4, 6], [6]]),
        ((2,), [[0, 1], [2, 3], [4, 5], [6]]),
    ],
)
def test_windows(arguments, expected):
    windows = D.range(7).window(*arguments)
    assert [elements(window) for window in windows] == expected
    assert len(windows) == len(expected)


def spec(*shape, dtype="int64"):
    return tf.TensorSpec(shape, dtype)


SPECS = [
    (lambda: D.range(5), spec()),
    (lambda: D.from_tensors(([1, 2], {"a": 1.0})), (spec(2, dtype="int32"), {"a": spec(dtype="float32")})),
    (lambda: D.range(5).batch(2), spec(None)),
    (lambda: D.range(5).batch(2, True), spec(2)),
    (lambda: D.range(6).batch(4).unbatch(), spec()),
    (lambda: D.range(3).enumerate(), (spec(), spec())),
    (lambda: D.from_tensors([1, 2]).concatenate(D.from_tensors([1, 2, 3])), spec(None, dtype="int32")),
    (lambda: D.range(3).map(lambda x: (x, [x, x])), (spec(), spec(2))),
    (lambda: D.range(3).map(lambda x: {"a": tf.cast(x, tf.float32)}), {"a": spec(dtype="float32")}),
    (lambda: D.range(3).map(lambda x: "a"), spec(dtype="string")),
    (lambda: D.range(3).batch(2).map(lambda x: tf.stack([x, x])), spec(2, None)),
    (lambda: D.range(3).flat_map(lambda x: D.from_tensors((x, 1.0))), (spec(), spec(dtype="float32"))),
    (lambda: D.range(3).interleave(lambda x: D.from_tensors({"a": x})), {"a": spec()}),
    (lambda: ones([1, 2]).padded_batch(2), spec(None, None, dtype="int32")),
    (lambda: ones([1, 2]).padded_batch(2, padded_shapes=[5]), spec(None, 5, dtype="int32")),
    (lambda: D.range(3).window(2), tf.data.DatasetSpec(spec())),
    (lambda: D.range(3).window(2).flat_map(lambda w: w.batch(2)), spec(None)),
    (lambda: D.from_generator(lambda: iter([1]), tf.int32), tf.TensorSpec(None, tf.int32)),
    (lambda: D.from_generator(iter, (tf.int32, tf.float32), ((), (2,))), (spec(dtype="int32"), spec(2, dtype="float32"))),
    (lambda: D.range(3).scan(np.int64(0), lambda s, x: (s, (s, 1.0))), (spec(), spec(dtype="float32"))),
    # What depends on values has the shape that a graph states; these are TensorFlow's.
    (lambda: D.range(3).map(lambda x: tf.where(tf.range(4, dtype=tf.int64) > x)), spec(None, 1)),
    (lambda: D.range(3).map(lambda x: (tf.range(x), tf.zeros([5, 3])[:x])), (spec(None), spec(None, 3, dtype="float32"))),
    (lambda: D.range(3).map(lambda x: tf.cond(x > 1, lambda: tf.zeros([2]), lambda: tf.zeros([3]))), spec(None, dtype="float32")),
    (lambda: through_python(), tf.TensorSpec(None, tf.float32)),
    (lambda: through_python().map(lambda x: tf.reshape(x, [3, 1])), spec(3, 1, dtype="float32")),
    (lambda: through_python().map(lambda x: (tf.ensure_shape(x, [3]), x[0])), (spec(3, dtype="float32"), tf.TensorSpec(None))),
    (lambda: through_python([3]).batch(2), spec(None, 3, dtype="float32")),
    (lambda: through_python().batch(2).unbatch(), tf.TensorSpec(None, tf.float32)),
    (lambda: D.range(3).flat_map(lambda x: D.from_tensors(tf.boolean_mask([1, 2], [x > 0, x > 1]))), spec(None, dtype="int32")),
    (lambda: ones([1, 2]).flat_map(lambda x: D.from_tensor_slices(x).batch(2)), spec(None, dtype="int32")),
]  # fmt: skip


def through_python(stated=None):
    def of_element(x):
        made = tf.py_function(lambda a: tf.cast(tf.fill([3], a), tf.float32), [x], tf.float32)
        made.set_shape(stated)
        return made

    return D.range(6).map(of_element)


@pytest.mark.parametrize("make, expected", SPECS)
def test_element_spec(make, expected):
    dataset = make()
    assert dataset.element_spec == expected
    assert iter(dataset).element_spec == expected


def stated(x, *shape):
    x.set_shape(shape)
    return x


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: stated(x, None, 2, None), spec(None, 2, 19, dtype="float32")),
        (lambda x: stated(x[:, 0:1], None, 1, None), spec(None, 1, 19, dtype="float32")),
        (lambda x: stated(x[:, 1:], None, 1, None), spec(None, 1, 19, dtype="float32")),
        (lambda x: stated(x, 5, 7, 19), spec(5, 7, 19, dtype="float32")),
        (lambda x: tf.ensure_shape(x, [None, 7, 19]), spec(None, 7, 19, dtype="float32")),
        (lambda x: tf.reduce_sum(stated(x, 5, None, 19), 1), spec(5, 19, dtype="float32")),
    ],
)
def test_a_function_states_extents_that_are_not_known(function, expected):
    open_ = D.from_generator(lambda: iter(()), output_signature=spec(None, None, 19, dtype="float32"))
    assert open_.map(function).element_spec == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tf.reshape(x, [-1, 60]), [None, 60]),
        (lambda x: tf.reshape(x, [tf.shape(x)[0], 60]), [None, 60]),
        (lambda x: x[:, 1:], [None, 5, 10]),
        (lambda x: x[:2], [None, 6, 10]),
        (lambda x: tf.transpose(x, [1, 0, 2]), [6, None, 10]),
        (lambda x: tf.one_hot(tf.range(tf.shape(x)[0]), 4), [None, 4]),
        (lambda x: x @ tf.transpose(x, [0, 2, 1]), [None, 6, 6]),
        (lambda x: tf.ensure_shape(x, [3, 6, 10]), [3, 6, 10]),
        (lambda x: tf.image.resize(x[..., None], [12, 20]), [None, 12, 20, 1]),
        (lambda x: tf.cond(tf.shape(x)[0] > 2, lambda: x[:2], lambda: x), [None, 6, 10]),
    ],
)
def test_extents_that_do_not_follow_from_open_ones_are_known(function, expected):
    batches = D.from_tensor_slices(np.ones((7, 6, 10), np.float32)).batch(3)
    assert batches.map(function).element_spec.shape.as_list() == expected


def test_a_function_sees_open_extents_as_none():
    seen = []
    D.range(5).batch(2).map(lambda x: seen.append(x.shape.as_list()) or x)
    assert seen == [[None]]


def test_a_shape_that_cannot_be_is_an_error_where_extents_are_known():
    with pytest.raises(ValueError, match="is not compatible with supplied shape"):
        D.from_tensors(np.zeros((4, 19), "float32")).map(lambda x: stated(x, 5, 19))


@pytest.mark.better
def test_a_function_that_needs_values_is_asked_with_the_first_element():
    called = []

    def half(x):
        called.append(x.numpy())
        return np.float32(x.numpy() / 2)

    dataset = D.range(4, 9).map(half)
    assert not called
    assert dataset.element_spec == spec(dtype="float32")
    assert called == [4]


@pytest.mark.parametrize("lengths, count, expected", [([0, 2, 0, 1], 4, [0, 1, 0]), ([1, 0, 2], None, [0]), ([0, 2], None, [])])
def test_repeated_passes_without_elements(lengths, count, expected):
    passes = iter(lengths)
    dataset = D.from_generator(lambda: iter(range(next(passes))), output_signature=spec())
    assert [int(x) for x in dataset.repeat(count)] == expected


@pytest.mark.parametrize("calls, cycle", [(None, 4), (tf.data.AUTOTUNE, 2), (3, 3), (9, 4)])
def test_the_default_cycle_of_interleave(monkeypatch, calls, cycle):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)

    def interleaved(cycle_length):
        return [int(x) for x in D.range(6).interleave(lambda x: D.range(x, x + 3), cycle_length, num_parallel_calls=calls)]

    if calls == 9:
        with pytest.raises(tf.errors.InvalidArgumentError, match="less than or equal to cycle_length, 4, received 9"):
            interleaved(None)
    else:
        assert interleaved(None) == interleaved(cycle) != interleaved(cycle + 1)


KEEPS = lambda x: True  # noqa: E731
CARDINALITIES = [
    (lambda d: d.repeat(), INFINITE),
    (lambda d: d.repeat(3), 15),
    (lambda d: d.filter(KEEPS), UNKNOWN),
    (lambda d: d.take(3), 3),
    (lambda d: d.take(-1), 5),
    (lambda d: d.skip(3), 2),
    (lambda d: d.skip(-1), 0),
    (lambda d: d.skip(9), 0),
    (lambda d: d.shard(3, 0), 2),
    (lambda d: d.shard(3, 2), 1),
    (lambda d: D.zip((d, D.range(3))), 3),
    (lambda d: d.concatenate(D.range(4)), 9),
    (lambda d: d.flat_map(lambda x: D.range(3)), UNKNOWN),
    (lambda d: d.interleave(lambda x: D.range(3)), UNKNOWN),
    (lambda d: d.repeat().interleave(lambda x: D.range(3), num_parallel_calls=1), INFINITE),
    (lambda d: d.repeat().bucket_by_sequence_length(lambda x: 1, [3], [1, 1]), INFINITE),
    (lambda d: d.bucket_by_sequence_length(lambda x: 1, [3], [1, 1]), UNKNOWN),
    (lambda d: d.ignore_errors(), UNKNOWN),
    (lambda d: d.window(2), 3),
    (lambda d: d.window(2, drop_remainder=True), 2),
    (lambda d: d.shuffle(3), 5),
    (lambda d: d.prefetch(2), 5),
    (lambda d: d.cache(), 5),
    (lambda d: D.range(0).repeat(), 0),
    (lambda d: d.repeat(0), 0),
    (lambda d: d.take_while(KEEPS), UNKNOWN),
    (lambda d: d.scan(np.int64(0), lambda s, x: (s, x)), 5),
    (lambda d: d.unique(), UNKNOWN),
    (lambda d: d.repeat().take(7), 7),
    (lambda d: d.filter(KEEPS).repeat(), INFINITE),
    (lambda d: d.filter(KEEPS).take(3), UNKNOWN),
    (lambda d: d.filter(KEEPS).skip(0), UNKNOWN),
    (lambda d: d.filter(KEEPS).repeat(0), 0),
    (lambda d: d.padded_batch(2), 3),
    (lambda d: d.enumerate(), 5),
    (lambda d: d.map(lambda x: x), 5),
    (lambda d: d.repeat().batch(3), INFINITE),
    (lambda d: d.batch(2).batch(2), 2),
    (lambda d: d.batch(2, drop_remainder=True), 2),
    (lambda d: d.batch(3).unbatch(), UNKNOWN),
    (lambda d: d.batch(2, True).unbatch(), 4),
    (lambda d: d.repeat().shard(2, 0), INFINITE),
    (lambda d: d.repeat().skip(-1), INFINITE),
    (lambda d: d.concatenate(d.repeat()), INFINITE),
    (lambda d: d.concatenate(d.filter(KEEPS)), UNKNOWN),
    (lambda d: D.zip((d, d.repeat())), 5),
    (lambda d: D.zip((d, d.filter(KEEPS))), UNKNOWN),
    (lambda d: D.counter(), INFINITE),
]


@pytest.mark.parametrize("change, expected", CARDINALITIES)
def test_cardinality(change, expected):
    dataset = change(D.range(5))
    assert dataset.cardinality().dtype == tf.int64
    assert dataset.cardinality().numpy() == expected
    assert tf.data.experimental.cardinality(dataset).numpy() == expected
    if expected == UNKNOWN:
        with pytest.raises(TypeError, match=r"The dataset length is unknown\."):
            len(dataset)
    elif expected == INFINITE:
        with pytest.raises(TypeError, match=r"The dataset is infinite\."):
            len(dataset)
    else:
        assert len(dataset) == expected
    assert dataset  # even an empty dataset is true


class TestReduce:
    @pytest.mark.parametrize(
        "dataset, start, function, expected",
        [
            (lambda: D.range(5), np.int64(0), lambda s, x: s + x, 10),
            (lambda: D.range(5), (0, 1.0), lambda s, x: (s[0] + 1, s[1] * 2.0), (5, 32.0)),
            (lambda: D.from_tensor_slices(([1, 2], [3, 4])), 0, lambda s, e: s + e[0] * e[1], 11),
            (lambda: D.range(3), np.zeros(0, np.int64), lambda s, x: tf.concat([s, [x]], 0), [0, 1, 2]),
            (lambda: D.range(0), 7, lambda s, x: s, 7),
        ],
    )
    def test_gives_the_last_state(self, dataset, start, function, expected):
        result = dataset().reduce(start, function)
        assert all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(result))
        assert plain(tf.nest.map_structure(lambda t: t.numpy(), result)) == expected


class TestIterators:
    def test_elements_are_tensors_in_the_nest_that_the_user_made(self):
        ((first, second),) = D.from_tensors((Point(1, 2.0), {"k": "a"}))
        assert isinstance(first, Point) and isinstance(first.a, tf.Tensor) and first.a.dtype == tf.float32
        assert second["k"].dtype == tf.string

    def test_numpy_elements_are_the_users_own(self):
        source = np.arange(3)
        dataset = D.from_tensor_slices([source])
        source[0] = 9  # the dataset holds a copy
        first = next(dataset.as_numpy_iterator())
        first[1] = 7  # and gives copies
        assert elements(dataset) == [[0, 1, 2]]
        assert type(D.range(1).as_numpy_iterator().next()) is np.int64

    def test_ends_in_stop_iteration_or_out_of_range(self):
        iterator = iter(D.range(1))
        assert iterator.get_next().numpy() == 0
        for _ in range(2):
            assert next(iterator, "the end") == "the end"
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                iterator.get_next()

    def test_iterators_are_independent(self):
        dataset = D.range(3)
        assert [(int(a), int(b)) for a in dataset for b in dataset] == [(a, b) for a in range(3) for b in range(3)]

    def test_single_element(self):
        assert D.range(4, 5).get_single_element().numpy() == 4

    def test_printing(self):
        spec = "TensorSpec(shape=(), dtype=tf.int64, name=None)"
        assert repr(D.range(3)) == f"<_RangeDataset element_spec={spec}>"
        assert repr(D.range(3).map(lambda x: x)) == f"<_MapDataset element_spec={spec}>"
        assert repr(D.range(3).window(2)) == f"<_WindowDataset element_spec=DatasetSpec({spec}, TensorShape([]))>"


class TestOptions:
    def test_take_tensorflows_names(self):
        options = tf.data.Options()
        assert options.deterministic is None
        options.experimental_deterministic = False
        options.threading.private_threadpool_size = 2
        options.experimental_optimization.map_parallelization = True
        options.autotune.enabled = False
        dataset = D.range(3).with_options(options)
        assert dataset.options().deterministic is False
        assert dataset.batch(2).options().threading.private_threadpool_size == 2

    def test_later_options_go_over_earlier_ones(self):
        first, second = tf.data.Options(), tf.data.Options()
        first.deterministic, first.threading.max_intra_op_parallelism = True, 1
        second.threading.private_threadpool_size = 4
        merged = D.range(3).with_options(first).with_options(second).options()
        assert merged.deterministic is True
        assert (merged.threading.max_intra_op_parallelism, merged.threading.private_threadpool_size) == (1, 4)

    def test_an_unknown_name_is_an_error(self):
        with pytest.raises(AttributeError, match="Cannot set the property nonsense on Options; it has autotune"):
            tf.data.Options().nonsense = 3
        with pytest.raises(AttributeError, match="ThreadingOptions has no option 'size'; it has max_intra_op_parallelism"):
            _ = tf.data.Options().threading.size


def test_ordered_dictionaries_keep_their_order_and_match_by_key():
    spec = collections.OrderedDict([("b", tf.TensorSpec([None], tf.int64)), ("a", tf.TensorSpec([], tf.float32))])
    rows = [collections.OrderedDict([("b", [1]), ("a", 0.5)]), {"a": 1.5, "b": [2, 2]}]
    dataset = tf.data.Dataset.from_generator(lambda: iter(rows), output_signature=spec)
    batch = next(
        iter(dataset.padded_batch(2, collections.OrderedDict([("b", [3]), ("a", [])]), {"a": 0.0, "b": tf.constant(7, tf.int64)}))
    )
    assert list(batch) == ["b", "a"] and batch["a"].numpy().tolist() == [0.5, 1.5]
    assert batch["b"].numpy().tolist() == [[1, 7, 7], [2, 2, 7]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not match the expected structure"):
        list(tf.data.Dataset.from_generator(lambda: iter([{"a": 1.0, "c": [1]}]), output_signature=spec))


def halved(x):
    if x % 2 == 0:
        return x // 2
    return -x


def summed(x):
    total = tf.zeros_like(x)
    while total < x:
        total += 2
    return total


def slope(x):
    y = tf.cast(x, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = tf.sin(y) * y
    return tape.gradient(z, y)


INT64 = tf.TensorSpec((), tf.int64)


@pytest.mark.parametrize(
    ("derive", "spec"),
    [
        (lambda d: d.map(halved), INT64),
        (lambda d: d.map(summed), INT64),
        (lambda d: d.map(halved).map(slope), tf.TensorSpec((), tf.float32)),
        (lambda d: d.filter(lambda x: halved(x) > 0).map(halved), INT64),
        (lambda d: d.flat_map(lambda x: tf.data.Dataset.range(x % 4)), INT64),
        (lambda d: d.flat_map(lambda x: tf.data.Dataset.from_tensors((x, [x, x]))), (INT64, tf.TensorSpec([2], tf.int64))),
        (lambda d: d.flat_map(lambda x: tf.data.Dataset.from_tensor_slices([[x, x]]).repeat(x)), tf.TensorSpec([2], tf.int64)),
        (lambda d: d.flat_map(lambda x: tf.data.Dataset.range(9).skip(x).batch(x + 1)), tf.TensorSpec([None], tf.int64)),
        (lambda d: d.interleave(lambda x: tf.data.Dataset.from_tensors(x).map(halved), cycle_length=2), INT64),
    ],
)
def test_without_elements_the_spec_is_known_all_the_same(derive, spec):
    """It is TensorFlow's."""
    empty = derive(tf.data.Dataset.range(0))
    assert empty.element_spec == spec
    assert list(empty) == []


def of_two_shapes(x):
    if x > 2:
        return tf.ones([3, x])
    return tf.zeros([4, x])


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: tf.fill([x, 3], x), [None, 3]),
        (tf.range, [None]),
        (lambda x: tf.zeros([x, x + 1, 2]), [None, None, 2]),
        (lambda x: tf.reshape(tf.range(x * 6), [-1, 3]), [None, 3]),
        (of_two_shapes, [None, None]),
        (lambda x: tf.tile([[1, 2]], [x, 1]), [None, 2]),
        (lambda x: tf.random.normal([x, 5]), [None, 5]),
    ],
)
def test_a_shape_that_is_made_of_an_element_is_known_in_part(function, shape):
    """The shapes are TensorFlow's."""
    assert tf.data.Dataset.range(1, 4).map(function).element_spec.shape.as_list() == shape


PAIRS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (lambda x: D.from_tensor_slices(x).batch(3).get_single_element(), [None, 2], PAIRS),
        (lambda x: D.from_tensor_slices(x).filter(lambda r: r[0] > 1).batch(3).get_single_element(), [None, 2], PAIRS[1:]),
        (lambda x: next(iter(D.from_tensor_slices(x).batch(2))), [None, 2], PAIRS[:2]),
        (lambda x: iter(D.from_tensor_slices(x)).get_next_as_optional().get_value(), [2], PAIRS[0]),
        (lambda x: D.from_tensor_slices(x[1:]).reduce(x[0] + 1, lambda a, b: a * b), [2], [8.0, 30.0]),
        (
            lambda x: D.from_tensor_slices(x).reduce(np.zeros([0, 2]), lambda a, b: tf.concat([a, b[None]], 0)),
            [None, 2],
            PAIRS,
        ),
    ],
)
def test_a_function_that_looks_into_a_dataset(function, shape, expected):
    """One that it makes of its argument, or gets as one: a window."""
    mapped = D.from_tensors(PAIRS).map(function)
    assert mapped.element_spec == tf.TensorSpec(shape, tf.float64)
    (found,) = mapped.as_numpy_iterator()
    np.testing.assert_allclose(found, expected)


def test_a_function_that_looks_into_a_window():
    windows = D.from_tensor_slices(PAIRS).window(2)
    first = windows.map(lambda w: w.batch(2).get_single_element())
    sums = windows.map(lambda w: w.reduce(np.zeros(2), lambda a, b: a + b))
    assert [d.element_spec.shape.as_list() for d in (first, sums)] == [[None, 2], [2]]
    assert elements(first) == [PAIRS[:2].tolist(), PAIRS[2:].tolist()]
    assert elements(sums) == [[2.0, 4.0], [4.0, 5.0]]
    with pytest.raises(TypeError, match="element types for the new state must match"):
        windows.map(lambda w: w.reduce(0, lambda a, b: tf.reduce_sum(b)))


@pytest.mark.parametrize(
    ("made", "extents"),
    [
        (lambda x, n: tf.unique(x)[0], [None]),
        (lambda x, n: tf.boolean_mask(x, x > 1.0), [None]),
        (lambda x, n: tf.where(x > 1.0), [None, 1]),
        (lambda x, n: tf.zeros([n, 3]), [None, 3]),
        (lambda x, n: tf.image.resize(tf.zeros([4, 4, 1]), [n, 5]), [None, 5, 1]),
        (lambda x, n: tf.sequence_mask([1, n]), [2, None]),
        (lambda x, n: tf.strings.split("a b"), [None]),
        (lambda x, n: tf.stack(tf.dynamic_partition(x, [0, 0, n], 2)), [2, None]),
    ],
)
def test_an_op_whose_shape_depends_on_values_leaves_the_extents_of_the_others_known(made, extents):
    given = tf.data.Dataset.from_tensors(([1.0, 2.0, 1.0], 1, tf.io.encode_png(tf.zeros([4, 5, 3], tf.uint8))))
    mapped = given.map(lambda x, n, picture: (made(x, n), tf.image.resize(tf.io.decode_png(picture, channels=3), [8, 9])))
    assert [spec.shape.as_list() for spec in mapped.batch(2).element_spec] == [[None, *extents], [None, 8, 9, 3]]


def test_a_picture_beside_boxes_of_any_number_has_channels():
    features = tf.train.Features(feature={"boxes": tf.train.Feature(float_list=tf.train.FloatList(value=[0.1, 0.9]))})
    message = tf.train.Example(features=features).SerializeToString()

    def parse(message):
        boxes = tf.io.parse_single_example(message, {"boxes": tf.io.VarLenFeature(tf.float32)})["boxes"]
        picture = tf.io.decode_png(tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8)), channels=3)
        return boxes, tf.sparse.to_dense(boxes), picture

    sparse, *dense = tf.data.Dataset.from_tensors(message).map(parse).element_spec
    assert sparse == tf.SparseTensorSpec([None], tf.float32)
    assert [spec.shape.as_list() for spec in dense] == [[None], [None, None, 3]]
