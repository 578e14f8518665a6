"""`tf.data.experimental`, as scripts from before TensorFlow 2.4 use it. What is expected is what TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gradtape as tf

D, E = tf.data.Dataset, tf.data.experimental
RANGE = D.range


def values(dataset):
    return [
        tf.nest.map_structure(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, e)
        for e in dataset.as_numpy_iterator()
    ]


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [
        (E.map_and_batch(lambda x: x * 2, 4, drop_remainder=True), [[0, 2, 4, 6]]),
        (E.map_and_batch(lambda x: x * 2, 4, num_parallel_batches=2), [[0, 2, 4, 6], [8, 10]]),
        (E.enumerate_dataset(3), [(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5)]),
        (E.take_while(lambda x: x < 2), [0, 1]),
        (E.scan(np.int64(0), lambda s, x: (s + x, s + x)), [0, 1, 3, 6, 10, 15]),
        (E.group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), 3), [[0, 2, 4], [1, 3, 5]]),
        (E.copy_to_device("/gpu:0"), [0, 1, 2, 3, 4, 5]),
        (E.prefetch_to_device("/gpu:0"), [0, 1, 2, 3, 4, 5]),
        (E.ignore_errors(), [0, 1, 2, 3, 4, 5]),
        (E.unique(), [0, 1, 2, 3, 4, 5]),
        (E.assert_cardinality(6), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_what_is_applied(transformation, expected):
    assert values(RANGE(6).apply(transformation)) == expected


def test_batches_are_taken_apart_and_shuffled():
    assert values(RANGE(5).batch(2).apply(E.unbatch())) == [0, 1, 2, 3, 4]
    twice = values(RANGE(5).apply(E.shuffle_and_repeat(5, 2, seed=1)))
    assert sorted(twice[:5]) == sorted(twice[5:]) == [0, 1, 2, 3, 4] and twice[:5] != twice[5:]


def test_datasets_that_take_turns():
    interleave = E.parallel_interleave(lambda x: RANGE(x, x + 3), cycle_length=2, block_length=2)
    assert values(RANGE(3).apply(interleave)) == [0, 1, 1, 2, 2, 3, 2, 3, 4]
    choices = D.from_tensor_slices(np.array([0, 0, 0, 1, 1]))
    assert values(E.choose_from_datasets([RANGE(2), RANGE(10, 12)], choices)) == [0, 1, 10, 11]
    assert values(E.sample_from_datasets([RANGE(2), RANGE(10, 12)], [1.0, 0.0]).take(2)) == [0, 1]


def test_the_number_of_elements_is_stated():
    assert len(RANGE(5).apply(E.assert_cardinality(6))) == 6
    for expected, message in (
        (6, "expected to contain 6 elements but contained only 5"),
        (3, "but contained at least 4 elements"),
    ):
        with pytest.raises(tf.errors.FailedPreconditionError, match=message):
            list(RANGE(5).apply(E.assert_cardinality(expected)))


def test_lists_of_elements():
    assert values(E.from_list([(1, "a"), (2, "b")])) == [(1, b"a"), (2, b"b")]
    assert values(E.from_list([[1], [1, 2]])) == [[1], [1, 2]]
    with pytest.raises(ValueError, match="`elements` should not be empty"):
        E.from_list([])
    with pytest.raises(TypeError, match="must be a list"):
        E.from_list(3)


def test_one_element():
    assert int(E.at(RANGE(10), 3)) == 3
    with pytest.raises(tf.errors.OutOfRangeError, match="Index out of range"):
        E.at(RANGE(3), 3)
    assert E.get_single_element(RANGE(3).batch(3)).numpy().tolist() == [0, 1, 2]


def test_structures():
    scalar = tf.TensorSpec([], tf.int64)
    assert E.get_structure(iter(RANGE(3))) == E.RandomDataset(seed=1).element_spec == E.Counter(3).element_spec == scalar
    with pytest.raises(TypeError, match=r"must be a `tf.data.Dataset` or tf.data.Iterator object, but got <class 'int'>"):
        E.get_structure(3)
    assert E.RandomDataset(seed=1).cardinality() == tf.data.INFINITE_CARDINALITY


def test_elements_of_zeros_at_the_end():
    rows = D.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
    padded = rows.apply(E.pad_to_cardinality(3))
    assert padded.element_spec["valid"] == tf.TensorSpec([], tf.bool) and len(padded) == 3
    assert [(e["x"], e["valid"]) for e in values(padded)] == [(1, True), (2, True), (0, False)]
    for dataset, count, message in ((RANGE(3), 4, "to be a dictionary"), (rows, 1, r"target cardinality \(1\)")):
        with pytest.raises(ValueError, match=message):
            dataset.apply(E.pad_to_cardinality(count))
    with pytest.raises(ValueError, match="must have a known cardinality"):
        rows.filter(lambda row: row["x"] > 1).apply(E.pad_to_cardinality(4))


def test_files(tmp_path):
    E.save(RANGE(3), str(tmp_path / "saved"))
    assert values(E.load(str(tmp_path / "saved"))) == [0, 1, 2]
    E.TFRecordWriter(str(tmp_path / "records")).write(D.from_tensor_slices(["p", "q"]))
    assert values(tf.data.TFRecordDataset(str(tmp_path / "records"))) == [b"p", b"q"]
    with pytest.raises(TypeError, match=r"produces scalar `tf.string` elements"):
        E.TFRecordWriter(str(tmp_path / "records")).write(RANGE(3))
    with pytest.raises(TypeError, match=r"Expected a `tf.data.Dataset`"):
        E.TFRecordWriter(str(tmp_path / "records")).write([b"p"])
