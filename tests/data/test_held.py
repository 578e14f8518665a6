"""Datasets, TensorArrays and Optionals as elements. Every expected value is what TensorFlow 2.21 gives."""

import pytest

import gradtape as tf

D, Optional = tf.data.Dataset, tf.experimental.Optional
NUMBER = tf.TensorSpec([], tf.int64)


def values(dataset):
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def whole(dataset):
    return dataset.flat_map(lambda inner: inner)


@pytest.mark.parametrize(
    "dataset, shape, expected",
    [
        (D.from_tensors(D.range(3)), [], [0, 1, 2]),
        (D.from_tensor_slices([D.range(2), D.range(1)]), [], [0, 1, 0]),
        (D.from_tensors([D.range(2), D.range(1)]).flat_map(D.from_tensor_slices), [], [0, 1, 0]),
        (D.range(3).map(D.from_tensors).batch(2).map(lambda x: x).unbatch(), [], [0, 1, 2]),
        (D.range(5).map(D.from_tensors).batch(2).batch(2).unbatch().unbatch(), [], [0, 1, 2, 3, 4]),
        (D.range(3).map(lambda i: (i, D.from_tensors(i))).batch(2).unbatch().map(lambda i, x: x), [], [0, 1, 2]),
    ],
)
def test_datasets(dataset, shape, expected):
    assert dataset.element_spec == tf.data.DatasetSpec(NUMBER, shape)
    assert values(whole(dataset)) == expected


def test_batches_of_datasets_have_a_shape():
    one = D.range(10).map(D.from_tensors)
    assert one.batch(5).element_spec == tf.data.DatasetSpec(NUMBER, [None])
    assert one.batch(5, drop_remainder=True).map(lambda x: x).element_spec == tf.data.DatasetSpec(NUMBER, [5])
    assert D.from_tensors([D.range(2), D.range(1)]).element_spec == tf.data.DatasetSpec(NUMBER, [2])


def counted(i):
    i = tf.cast(i, tf.int32)
    return tf.TensorArray(tf.int32, element_shape=(), size=i).unstack(tf.range(i))


def test_tensor_arrays():
    arrays = D.range(4).map(counted)
    assert arrays.element_spec.value_type is tf.TensorArray
    assert [x.stack().numpy().tolist() for x in arrays.map(lambda x: x.identity())] == [[], [0], [0, 1], [0, 1, 2]]
    doubled = arrays.map(lambda x: x.stack() * 2)
    assert doubled.element_spec == tf.TensorSpec([None], tf.int32)
    assert values(doubled) == [[], [0], [0, 2], [0, 2, 4]]
    (only,) = D.from_tensors(tf.TensorArray(tf.float32, element_shape=(), size=2).unstack([1.0, 2.0]))
    assert only.stack().numpy().tolist() == [1.0, 2.0]


def test_a_state_of_scan_that_is_a_tensor_array_is_not_changed_by_a_write():
    start = tf.TensorArray(tf.int64, size=0, element_shape=[], dynamic_size=True).write(0, -1)
    dataset = D.range(3).scan(start, lambda array, x: (array.write(array.size(), x), array.stack()))
    assert values(dataset) == values(dataset) == [[-1], [-1, 0], [-1, 0, 1]]


def test_optionals():
    held = D.range(3).map(Optional.from_value)
    assert held.element_spec == tf.OptionalSpec(NUMBER)
    assert [int(x.get_value()) for x in held.cache()] == [0, 1, 2]
    assert held.map(lambda x: x.get_value() + 1).element_spec == NUMBER
    assert values(held.map(lambda x: x.get_value() + 1)) == [1, 2, 3]
    assert held.reduce(tf.constant(0, tf.int64), lambda total, x: total + x.get_value()) == 3
    inner = D.range(3).map(lambda i: Optional.from_value((i, D.range(i))))
    assert values(inner.flat_map(lambda x: x.get_value()[1])) == [0, 0, 1]
    assert values(D.from_tensors(Optional.empty(NUMBER)).map(lambda x: x.has_value())) == [False]


def test_each_call_of_a_function_takes_its_own_elements():
    count = tf.Variable(3)

    @tf.function
    def single():
        count.assign_add(1)
        return D.range(1).map(lambda i: count + 1).get_single_element()

    @tf.function
    def total():
        count.assign_add(1)
        return D.range(2).map(lambda i: count).reduce(0, lambda total, x: total + x)

    assert [int(single()), int(single()), int(total()), int(total())] == [5, 6, 12, 14]


def test_a_function_may_return_a_dataset():
    @tf.function
    def doubled(dataset):
        return tf.constant(1), dataset.map(lambda x: x * 2)

    one, dataset = doubled(D.range(3))
    assert one == 1 and values(dataset) == [0, 2, 4]

    @tf.function
    def total(start):
        for x in doubled(D.range(3))[1]:
            start += x
        return start

    assert total(tf.constant(1, tf.int64)) == 7


def test_an_iterator_of_arrays_goes_on_from_where_it_was_saved():
    dataset = D.range(5).shuffle(5, seed=3)
    iterator = dataset.as_numpy_iterator()
    iterator.next()
    state, rest = iterator.save(), list(iterator)
    other = dataset.as_numpy_iterator()
    other.restore(state)
    assert list(other) == rest and state.dtype == tf.string


def test_rows_of_rows_of_ragged_tensors_are_scalars():
    rows = D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []]))
    assert rows.unbatch().element_spec == tf.TensorSpec([], tf.int32)
    assert values(rows.unbatch()) == values(rows.batch(2).unbatch().unbatch()) == [1, 2, 3]


def test_a_dataset_may_be_asserted_to_have_no_end():
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    assert values(D.range(2).repeat().apply(endless).take(3)) == [0, 1, 0]
    with pytest.raises(tf.errors.FailedPreconditionError, match="an infinite number of elements but contained only 2 elements"):
        list(D.range(2).apply(endless))
