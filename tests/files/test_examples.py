"""`tf.train.Example` and what parses it. Expected values are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

INVALID = tf.errors.InvalidArgumentError
Fixed, Steps, Var = tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature, tf.io.VarLenFeature


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def integers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def words(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def string(data):
    return np.array(data, object)


def example(**features):
    made = tf.train.Example(features=tf.train.Features(feature=features))
    return made.SerializeToString()


ONE = example(a=floats(1.0, 2.0), b=integers(3), c=words(b"x", b"yy"))
TWO = example(a=floats(5.0, 6.0), b=integers(), c=words())
THREE = example(a=floats(7.0))
BATCH = string([ONE, TWO, THREE])


def lists(value):
    if isinstance(value, tf.SparseTensor):
        return [lists(part) for part in (value.indices, value.values, value.dense_shape)]
    return value.numpy().tolist()


def test_the_bytes_are_tensorflows():
    theirs = (
        b"\n/\n\x11\n\x01a\x12\x0c\x12\n\n\x08\x00\x00\x80?\x00\x00\x00@\n\x0e\n\x01c\x12\t\n\x07\n\x01x\n\x02yy\n\n\n\x01b\x12\x05"
        b"\x1a\x03\n\x01\x03"
    )
    read = tf.train.Example.FromString(theirs)
    assert read == tf.train.Example.FromString(ONE)
    assert read.features.feature["c"].bytes_list.value == [b"x", b"yy"]
    assert read.features.feature["a"].WhichOneof("kind") == "float_list"
    assert tf.train.Example.DESCRIPTOR.full_name == "tensorflow.Example"
    assert len(theirs) == len(ONE)  # the order of a map is not defined


def test_fixed_features():
    parsed = tf.io.parse_example(BATCH[:2], {"a": Fixed([2], tf.float32), "z": Fixed((1, 1), tf.int64, -1)})
    assert lists(parsed["a"]) == [[1.0, 2.0], [5.0, 6.0]] and lists(parsed["z"]) == [[[-1]], [[-1]]]
    assert [t.dtype for t in parsed.values()] == [tf.float32, tf.int64]
    assert lists(tf.io.parse_example(string([ONE, THREE]), {"b": Fixed([], tf.int64, -1)})["b"]) == [3, -1]
    empty = tf.io.parse_example(tf.constant([], tf.string), {"a": Fixed([2], tf.float32), "c": Var(tf.string)})
    assert empty["a"].shape == (0, 2) and lists(empty["c"].dense_shape) == [0, 0]


def test_features_of_any_length():
    parsed = tf.io.parse_example(BATCH, {"c": Var(tf.string), "b": Var(tf.int64)})
    assert list(parsed) == ["b", "c"]
    assert lists(parsed["b"]) == [[[0, 0]], [3], [3, 1]]
    assert lists(parsed["c"]) == [[[0, 0], [0, 1]], [b"x", b"yy"], [3, 2]]


def test_sequence_features_are_filled_up():
    parsed = tf.io.parse_example(
        BATCH[:2], {"c": Steps([], tf.string, True), "b": Steps([], tf.int64, True, 9), "a": Steps([2], tf.float32, True)}
    )
    assert lists(parsed["c"]) == [[b"x", b"yy"], [b"", b""]]
    assert lists(parsed["b"]) == [[3], [9]]
    assert lists(parsed["a"]) == [[[1.0, 2.0]], [[5.0, 6.0]]]


def test_sparse_features_are_sorted():
    data = example(i=integers(3, 1), v=floats(1.0, 2.0))
    one = {"s": tf.io.SparseFeature("i", "v", tf.float32, 5)}
    assert lists(tf.io.parse_example([data, data], one)["s"]) == [[[0, 1], [0, 3], [1, 1], [1, 3]], [2.0, 1.0, 2.0, 1.0], [2, 5]]
    assert lists(tf.io.parse_single_example(data, one)["s"]) == [[[1], [3]], [2.0, 1.0], [5]]
    two = {"s": tf.io.SparseFeature(["i", "i"], "v", tf.float32, [5, 6])}
    assert lists(tf.io.parse_example([data], two)["s"]) == [[[0, 1, 1], [0, 3, 3]], [2.0, 1.0], [1, 5, 6]]
    outside = {"s": tf.io.SparseFeature("i", "v", tf.float32, 2)}  # as in TensorFlow, indices are not compared with the size
    assert lists(tf.io.parse_example([data], outside)["s"]) == [[[0, 1], [0, 3]], [2.0, 1.0], [1, 2]]


def test_a_single_example():
    spec = {"a": Fixed([2], tf.float32), "b": Fixed([], tf.int64), "c": Var(tf.string), "q": Steps([], tf.float32, True)}
    parsed = tf.io.parse_single_example(string(ONE), spec)
    assert list(parsed) == ["c", "a", "b", "q"]  # TensorFlow's order
    assert lists(parsed["a"]) == [1.0, 2.0] and lists(parsed["b"]) == 3 and lists(parsed["q"]) == []
    assert lists(parsed["c"]) == [[[0], [1]], [b"x", b"yy"], [2]]
    assert lists(tf.io.parse_example(string(ONE), {"a": Fixed([2], tf.float32)})["a"]) == [1.0, 2.0]
    assert lists(tf.io.parse_single_example(string(ONE), {"a": tf.io.RaggedFeature(tf.float32)})["a"]) == [1.0, 2.0]


def test_parsing_in_a_dataset_and_a_function(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "examples")) as writer:
        for number in range(4):
            writer.write(example(x=floats(number), label=integers(number % 2)))
    spec = {"x": Fixed([], tf.float32), "label": Fixed([], tf.int64)}
    dataset = tf.data.TFRecordDataset(str(tmp_path / "examples"))
    mapped = dataset.map(lambda record: tf.io.parse_single_example(record, spec)).batch(4)
    (first,) = mapped
    assert lists(first["x"]) == [0.0, 1.0, 2.0, 3.0] and lists(first["label"]) == [0, 1, 0, 1]
    (second,) = dataset.batch(4).map(tf.function(lambda records: tf.io.parse_example(records, spec)))
    assert lists(second["x"]) == lists(first["x"])


BAD = [
    ([THREE], {"b": Fixed([], tf.int64)}, r"Name: <unknown>, Feature: b \(data type: int64\) is required but could not be found"),
    (
        [TWO],
        {"b": Fixed([], tf.int64)},
        r"Key: b, Index: 0.  Number of int64 values != expected.  Values size: 0 but",
    ),
    ([ONE], {"a": Fixed([3], tf.float32)}, r"Number of float values != expected.  Values size: 2 but output shape: \[3\]"),
    ([ONE], {"a": Fixed([2], tf.int64)}, "Data types don't match. Data type: float but expected type: int64"),
    ([ONE], {"c": Var(tf.float32)}, "Data types don't match. Data type: string but expected type: float"),
    ([ONE], {"a": Steps([3], tf.float32, True)}, r"not a multiple of stride length. Saw 2 values but output shape is: \[\?,3\]"),
    ([ONE], {"a": Fixed([2], tf.float64)}, "float64 is not in the list of allowed values: float32, int64, string"),
    ([ONE], {"z": Fixed([2], tf.float32, [1.0, 2.0, 3.0])}, "tensor with 3 values, but the requested shape has 2"),
    ([b"junk"], {"a": Fixed([2], tf.float32)}, "Could not parse example input"),
    ([ONE[:-3]], {"a": Fixed([2], tf.float32)}, "Could not parse example input"),
    ([[ONE]], {"a": Fixed([2], tf.float32)}, r"Expected serialized to be a scalar or vector, got shape: \[1,1\]"),
]


@pytest.mark.parametrize("data, spec, message", BAD)
def test_what_does_not_fit_is_an_invalid_argument(data, spec, message):
    with pytest.raises(INVALID, match=message):
        tf.io.parse_example(string(data), spec)


WRONG = [
    ({}, "Argument `features` cannot be None or falsy"),
    ({"a": 3}, "Unsupported int 3 for key 'a'"),
    ({"a": Fixed(None, tf.float32)}, "Missing shape for feature a"),
    ({"a": Fixed([None], tf.float32)}, "First dimension of shape for feature a unknown. Consider using FixedLenSequenceFeature"),
    ({"c": Steps([], tf.string)}, "FixedLenSequenceFeature requires allow_missing to be True"),
]


@pytest.mark.parametrize("spec, message", WRONG)
def test_a_wrong_spec_is_a_value_error(spec, message):
    with pytest.raises(ValueError, match=message):
        tf.io.parse_example(string([ONE]), spec)


def test_ragged_features_of_a_batch():
    feature = tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64)
    found = tf.io.parse_example(string([ONE, example(), ONE]), {"a": feature, "b": tf.io.RaggedFeature(tf.int64, value_key="c0")})
    assert found["a"].to_list() == [[1.0, 2.0], [], [1.0, 2.0]] and found["a"].row_splits.dtype == tf.int64
    assert found["b"].to_list() == [[], [], []] and found["b"].row_splits.dtype == tf.int32
    with pytest.raises(tf.errors.UnimplementedError, match=r"Feature a: .* with partitions: parse the lengths"):
        tf.io.parse_example(string([ONE]), {"a": tf.io.RaggedFeature(tf.float32, partitions=[1])})


def sequence(context, **steps):
    made = {key: tf.train.FeatureList(feature=features) for key, features in steps.items()}
    lists_ = tf.train.FeatureLists(feature_list=made)
    return tf.train.SequenceExample(context=tf.train.Features(feature=context), feature_lists=lists_).SerializeToString()


LONG = sequence(
    {"len": integers(2)},
    tok=[integers(1), integers(2)],
    w=[words(b"a", b"b"), words()],
    v=[floats(1, 2), floats(3, 4), floats(5, 6)],
)
SHORT = sequence({"len": integers(1)}, tok=[integers(7)])


def test_a_single_sequence_example():
    steps = {"tok": Steps([], tf.int64), "w": Var(tf.string), "v": Steps([2], tf.float32)}
    context, found = tf.io.parse_single_sequence_example(string(LONG), {"len": Fixed([], tf.int64)}, steps)
    assert lists(context["len"]) == 2
    assert list(found) == ["w", "tok", "v"]
    assert lists(found["w"]) == [[[0, 0], [0, 1]], [b"a", b"b"], [2, 2]]
    assert lists(found["tok"]) == [1, 2] and lists(found["v"]) == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    missing = {"v": Steps([2], tf.float32, allow_missing=True), "w": Var(tf.string)}
    context, found = tf.io.parse_single_sequence_example(string(SHORT), {"zz": Var(tf.int64)}, missing)
    assert lists(context["zz"]) == [[], [], [0]] and found["v"].shape == (0, 2) and lists(found["w"]) == [[], [], [0, 0]]


def test_a_batch_of_sequence_examples():
    steps = {"tok": Steps([], tf.int64), "w": Var(tf.string), "v": Steps([2], tf.float32, allow_missing=True)}
    context, found, lengths = tf.io.parse_sequence_example(string([LONG, SHORT]), {"len": Fixed([], tf.int64)}, steps)
    assert lists(context["len"]) == [2, 1]
    assert lists(found["tok"]) == [[1, 2], [7, 0]]
    assert lists(found["v"]) == [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.0, 0.0]] * 3]
    assert lists(found["w"]) == [[[0, 0, 0], [0, 0, 1]], [b"a", b"b"], [2, 2, 2]]
    assert {key: lists(value) for key, value in lengths.items()} == {"tok": [2, 1], "v": [3, 0]}


@pytest.mark.parametrize(
    "steps, message",
    [
        ({"v": Steps([2], tf.float32)}, "Feature list 'v' is required but could not be found"),
        ({"tok": Steps([], tf.float32)}, "Feature list: tok, Index: 0.  Data types don't match. Expected type: float"),
        ({"tok": Steps([2], tf.int64)}, r"Number of values != expected.  values size: 1 but output shape: \[2\]"),
    ],
)
def test_steps_that_do_not_fit(steps, message):
    with pytest.raises(INVALID, match=message):
        tf.io.parse_single_sequence_example(string(SHORT), sequence_features=steps)


def test_sequences_without_features():
    with pytest.raises(ValueError, match="Both context_features and sequence_features are None"):
        tf.io.parse_single_sequence_example(string(LONG))


def test_json():
    text = '{"features": {"feature": {"a": {"floatList": {"value": [1.0, 2.0]}}}}}'
    decoded = tf.io.decode_json_example(text).numpy()
    assert lists(tf.io.parse_single_example(string(decoded), {"a": Fixed([2], tf.float32)})["a"]) == [1.0, 2.0]
    with pytest.raises(INVALID, match="Error while parsing JSON"):
        tf.io.decode_json_example("{")


def test_tensorflow_1_has_the_same_under_its_names():
    v1 = tf.compat.v1
    assert v1.FixedLenFeature is Fixed and v1.train.Example is tf.train.Example
    assert lists(v1.parse_example(string([ONE]), {"b": v1.FixedLenFeature([], tf.int64)})["b"]) == [3]
