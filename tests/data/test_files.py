"""`Dataset.save`, `load` and `rebatch`. The files are TensorFlow's."""

from collections import namedtuple

import numpy as np
import pytest

import gradtape as tf

Pair = namedtuple("Pair", "x y")
RANGE = tf.data.Dataset.range

# What TensorFlow saved: {"a": [1.0, 1.0], "b": ("x", 1)} and the same with "y" and 2.
SPEC = (
    b"\xaa\x03.\n\x10\n\x01a\x12\x0b\x8a\x02\x08\x12\x04\x12\x02\x08\x02\x18\x01\n\x1a\n\x01b\x12\x15\xa2\x03\x12\n\x07\x8a\x02\x04"
    b"\x12\x00\x18\x07\n\x07\x8a\x02\x04\x12\x00\x18\x03"
)
METADATA = b"\x12\x1415599404302707791509\x18\xa4\xac\xd9\xe4\xa3\x9d\x98\x03 \x02*\x03\x01\x07\x030\x02\xc0>\x01"
RECORDS = (
    b'\x12\x00\x00\x00\x00\x00\x00\x00$\x1fd%\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x80?\xc7\xdfzw\x08\x00\x00'
    b'\x00\x00\x00\x00\x00\xff\x86$\x0f\x08\x07\x12\x00"\x02\x01xH\xfa\xaeq\n\x00\x00\x00\x00\x00\x00\x00\xae\xa3\xbf:\x08\x03\x12\x00'
    b'"\x04\x01\x00\x00\x00\x94~d0\x12\x00\x00\x00\x00\x00\x00\x00$\x1fd%\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00'
    b'\x80?\xc7\xdfzw\x08\x00\x00\x00\x00\x00\x00\x00\xff\x86$\x0f\x08\x07\x12\x00"\x02\x01y\x7f\xd6\xaek\n\x00\x00\x00\x00\x00\x00'
    b'\x00\xae\xa3\xbf:\x08\x03\x12\x00"\x04\x02\x00\x00\x00\xd1B\x16B'
)


@pytest.fixture
def theirs(tmp_path):
    shard = tmp_path / "15599404302707791509" / "00000000.shard"
    shard.mkdir(parents=True)
    (shard / "00000000.snapshot").write_bytes(RECORDS)
    (tmp_path / "dataset_spec.pb").write_bytes(SPEC)
    (tmp_path / "snapshot.metadata").write_bytes(METADATA)
    return tmp_path


def load(path, **options):
    return tf.data.Dataset.load(str(path), **options)


def test_what_tensorflow_saved_is_loaded(theirs):
    dataset = load(theirs)
    assert dataset.element_spec == {
        "a": tf.TensorSpec([2], tf.float32),
        "b": (tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.int32)),
    }
    assert len(dataset) == 2
    assert [(e["a"].tolist(), e["b"]) for e in dataset.as_numpy_iterator()] == [([1, 1], (b"x", 1)), ([1, 1], (b"y", 2))]


def test_what_is_saved_has_tensorflows_bytes(tmp_path):
    dataset = tf.data.Dataset.from_tensor_slices(
        {"a": np.ones((2, 2), np.float32), "b": (["x", "y"], np.array([1, 2], np.int32))}
    )
    dataset.save(str(tmp_path))
    (run,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert (run / "00000000.shard" / "00000000.snapshot").read_bytes() == RECORDS
    assert (tmp_path / "dataset_spec.pb").read_bytes() == SPEC
    assert len((tmp_path / "snapshot.metadata").read_bytes()) in range(len(METADATA) - 3, len(METADATA) + 1)


@pytest.mark.parametrize(
    "dataset, options",
    [
        (RANGE(5).batch(2), {"compression": "GZIP"}),
        (tf.data.Dataset.from_tensors(Pair(1, [2.0])), {}),
        (tf.data.Dataset.from_tensors(([b"", b"x" * 300], True)), {}),
        (RANGE(0), {}),
    ],
)
def test_elements_come_back(dataset, options, tmp_path):
    dataset.save(tmp_path, **options)
    loaded = load(tmp_path, **options)
    assert [repr(e) for e in loaded.as_numpy_iterator()] == [repr(e) for e in dataset.as_numpy_iterator()]
    assert len(loaded) == len(dataset)


def test_shards(tmp_path):
    RANGE(6).save(str(tmp_path), shard_func=lambda x: x % 2)
    one_by_one = load(tmp_path, reader_func=lambda shards: shards.flat_map(lambda shard: shard))
    assert [int(x) for x in one_by_one] == [0, 2, 4, 1, 3, 5]
    assert sorted(int(x) for x in load(tmp_path)) == [0, 1, 2, 3, 4, 5]


def test_a_save_that_fails_leaves_what_was_there(tmp_path):
    RANGE(3).save(str(tmp_path))

    def failing(x):
        tf.debugging.assert_less(x, tf.constant(2, tf.int64))
        return x * 10

    with pytest.raises(tf.errors.InvalidArgumentError, match="on element 2"):
        RANGE(5).map(failing).save(str(tmp_path))
    assert [int(x) for x in load(tmp_path)] == [0, 1, 2]
    RANGE(7, 9).save(str(tmp_path))
    assert [int(x) for x in load(tmp_path)] == [7, 8]


def test_nothing_saved(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"tf.data snapshot element_spec file not found: .*/dataset_spec.pb"):
        load(tmp_path / "nope")


DAMAGED = [
    ("dataset_spec.pb", b"junk", "is damaged: it is no StructuredValue"),
    ("dataset_spec.pb", b"", "has what gradtape's datasets do not have: nothing"),
    ("dataset_spec.pb", b"\x8a\x02\x04\x12\x00\x18\x64", "of a dtype that gradtape does not have"),
    ("snapshot.metadata", b"junk", "is damaged: it is no SnapshotMetadataRecord"),
    ("snapshot.metadata", b"\x12\x05../..\x20\x02\xc0>\x01", "is not complete, or of another version"),
    ("15599404302707791509/00000000.shard/00000000.snapshot", RECORDS[:-8], "truncated record at"),
    ("15599404302707791509/00000000.shard/00000000.snapshot", RECORDS[:34], "ends in the middle of an element"),
]


@pytest.mark.parametrize("file, data, message", DAMAGED)
def test_damage_is_a_data_loss(file, data, message, theirs):
    (theirs / file).write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match=message):
        list(load(theirs))


def test_arguments(theirs, tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch at component 0: expected int32 but got float32"):
        list(load(theirs, element_spec=tuple([tf.TensorSpec([], tf.int32)] * 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has elements of 3 tensors, element_spec has 1"):
        load(theirs, element_spec=tf.TensorSpec([], tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression must be None or 'GZIP', received 'SNAPPY'"):
        RANGE(3).save(str(tmp_path / "x"), compression="SNAPPY")
    with pytest.raises(TypeError, match=r"save\(\) takes datasets of tensors"):
        RANGE(3).window(2).save(str(tmp_path / "x"))
    with pytest.raises(ValueError, match="`shard_func` must return a scalar integer"):
        RANGE(3).save(str(tmp_path / "x"), shard_func=lambda x: tf.constant(0.5))
    with pytest.raises(tf.errors.UnimplementedError, match=r"save\(\) takes no checkpoint_args"):
        RANGE(3).save(str(tmp_path / "x"), checkpoint_args={"directory": "x"})


@pytest.mark.parametrize(
    "size, drop, expected, extent",
    [
        (3, False, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]], None),
        ([2, 1], False, [[0, 1], [2], [3, 4], [5], [6, 7], [8], [9]], None),
        ([2, 3], True, [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9]], None),
        (3, True, [[0, 1, 2], [3, 4, 5], [6, 7, 8]], 3),
        (20, False, [[*range(10)]], None),
    ],
)
def test_rebatch(size, drop, expected, extent):
    dataset = RANGE(10).batch(4).rebatch(size, drop_remainder=drop)
    assert dataset.element_spec == tf.TensorSpec([extent], tf.int64)
    assert [x.numpy().tolist() for x in dataset] == expected
    assert dataset.cardinality() == tf.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("size, extent", [(2, 2), ([4, 4], 4), (3, None), (8, None)])
def test_batches_of_a_known_size_divide_into_others(size, extent):
    assert RANGE(8).batch(4, drop_remainder=True).rebatch(size).element_spec.shape == [extent]


def test_rebatch_of_ragged_and_sparse_tensors_and_of_datasets():
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [], [4, 5, 6], [7]])).batch(2)
    assert [x.to_list() for x in rows.rebatch(3)] == [[[1], [2, 3], []], [[4, 5, 6], [7]]]
    assert [x.to_list() for x in rows.rebatch([1, 2], drop_remainder=True)] == [[[1]], [[2, 3], []], [[4, 5, 6]]]
    one = RANGE(5).map(lambda i: tf.SparseTensor([[0]], tf.expand_dims(i, 0), [2])).batch(2)
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in one.rebatch(3)] == [[[0, 0], [1, 0], [2, 0]], [[3, 0], [4, 0]]]
    windows = RANGE(5).window(2).batch(2).rebatch(3).unbatch().flat_map(lambda window: window)
    assert list(windows.as_numpy_iterator()) == [0, 1, 2, 3, 4]


def test_rebatch_of_nests_and_of_scalars():
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(5), np.arange(10).reshape(5, 2))).batch(3).rebatch(2)
    assert [(x.numpy().tolist(), y.shape[0]) for x, y in dataset] == [([0, 1], 2), ([2, 3], 2), ([4], 1)]
    with pytest.raises(ValueError, match="Expected dataset with rank of >= 1 but found a dataset with scalar elements"):
        RANGE(3).rebatch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Batch sizes must be greater than zero"):
        RANGE(3).batch(2).rebatch(0)
