"""SparseTensors as elements: what TensorFlow 2.21 gives."""

import numpy as np
import pytest

import gradtape as tf

D = tf.data.Dataset
FEATURES = {"s": tf.io.VarLenFeature(tf.int64), "y": tf.io.FixedLenFeature([], tf.float32)}


def matrix():
    return tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])


def examples():
    for count in (2, 0, 3):
        feature = {
            "s": tf.train.Feature(int64_list=tf.train.Int64List(value=range(count))),
            "y": tf.train.Feature(float_list=tf.train.FloatList(value=[count])),
        }
        yield tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def dense(dataset, **options):
    return [tf.sparse.to_dense(element, **options).numpy().tolist() for element in dataset]


def test_one_sparse_tensor():
    whole = D.from_tensors(matrix())
    assert whole.element_spec == tf.SparseTensorSpec([3, 4], tf.int32)
    (found,) = whole
    assert isinstance(found, tf.SparseTensor) and found.shape == [3, 4]
    assert dense(whole) == [[[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]]
    assert [array.tolist() for array in whole.as_numpy_iterator()] == dense(whole)


def test_its_rows_and_batches_of_them():
    rows = D.from_tensor_slices(matrix())
    assert rows.element_spec == tf.SparseTensorSpec([4], tf.int32)
    assert dense(rows) == [[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    batches = rows.batch(2)
    assert batches.element_spec == tf.SparseTensorSpec([None, 4], tf.int32)
    assert dense(batches) == [[[1, 0, 0, 0], [0, 0, 2, 0]], [[0, 0, 0, 0]]]
    assert batches.map(tf.sparse.to_dense).element_spec == tf.TensorSpec([None, 4], tf.int32)


def test_arrays_of_different_lengths_are_rows():
    vectors = D.from_tensor_slices([1, 0, 3]).map(lambda n: tf.fill([n], n))
    batches = vectors.sparse_batch(2, [4])
    assert batches.element_spec == tf.SparseTensorSpec([None, 4], tf.int32) and len(batches) == 2
    assert dense(batches) == [[[1, 0, 0, 0], [0, 0, 0, 0]], [[3, 3, 3, 0]]]
    assert dense(vectors.apply(tf.data.experimental.dense_to_sparse_batch(2, [None]))) == [[[1], [0]], [[3, 3, 3]]]
    (zeros,) = D.from_tensors([0, 1]).sparse_batch(1, [2])  # each entry is stored
    assert zeros.indices.numpy().tolist() == [[0, 0], [0, 1]]


def test_beside_arrays():
    both = D.from_tensor_slices(({"a": matrix()}, np.arange(3)))
    assert both.element_spec == ({"a": tf.SparseTensorSpec([4], tf.int32)}, tf.TensorSpec([], tf.int64))
    assert [int(number) for _, number in both] == [0, 1, 2]
    with pytest.raises(ValueError, match="all components must have the same length"):
        D.from_tensor_slices((matrix(), np.arange(2)))


def test_features_of_any_number():
    parsed = D.from_tensor_slices(list(examples())).map(lambda record: tf.io.parse_single_example(record, FEATURES))
    assert parsed.element_spec == {"s": tf.SparseTensorSpec([None], tf.int64), "y": tf.TensorSpec([], tf.float32)}
    assert dense(parsed.map(lambda found: found["s"])) == [[0, 1], [], [0, 1, 2]]
    (batch,) = parsed.batch(3)
    assert dense([batch["s"]], default_value=-1) == [[[0, 1, -1], [-1, -1, -1], [0, 1, 2]]]
    batched = D.from_tensor_slices(list(examples())).batch(2).map(lambda records: tf.io.parse_example(records, FEATURES))
    assert batched.element_spec["s"] == tf.SparseTensorSpec([None, None], tf.int64)
    assert dense(found["s"] for found in batched) == [[[0, 1], [0, 0]], [[0, 1, 2]]]


def test_what_is_done_to_elements():
    rows = D.from_tensor_slices(matrix())
    assert len(list(rows.shuffle(3).repeat(2).prefetch(1))) == 6
    assert dense(rows.filter(lambda row: tf.sparse.reduce_sum(row) > 1)) == [[0, 0, 2, 0]]
    assert dense(rows.concatenate(rows).cache().skip(4)) == [[0, 0, 2, 0], [0, 0, 0, 0]]
    assert int(rows.reduce(0, lambda total, row: total + tf.sparse.reduce_sum(row))) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="SparseTensors of different ranks"):
        list(D.from_tensors(matrix()).map(tf.sparse.to_dense).map(tf.sparse.from_dense).concatenate(rows).batch(2))


def test_words():
    words = tf.SparseTensor([[0, 1], [1, 0]], ["b", "a"], [2, 2])
    assert [array.tolist() for array in D.from_tensors(words).as_numpy_iterator()] == [[[b"", b"b"], [b"a", b""]]]


def test_a_value_stands_for_a_sparse_tensor():
    value = tf.compat.v1.SparseTensorValue([[0, 0], [1, 2]], [1, 2], [3, 4])
    rows = [[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    assert D.from_tensors((value, 1)).element_spec[0] == tf.SparseTensorSpec([3, 4], tf.int32)
    assert dense(D.from_tensor_slices(value)) == rows
    assert dense(D.range(1).map(lambda i: tf.compat.v1.SparseTensorValue([[i]], [5], [3]))) == [[5, 0, 0]]
    assert [dense(window) for window in D.from_tensors(value).repeat(3).window(2)] == [[rows, rows], [rows]]
