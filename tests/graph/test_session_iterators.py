"""Iterators of TensorFlow 1: `get_next()` in a graph, with the numbers of TensorFlow 2.21."""

import contextlib
import threading

import numpy as np
import pytest

import gradtape.compat.v1 as tf


def test_one_shot(session):
    x = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2).map(lambda n: n * 2)).get_next()
    assert (x.dtype, x.shape) == (tf.int64, ())
    assert [session.run(x * 10 + x), session.run(x)] == [0, 2]
    for _ in range(2):
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            session.run(x)
    with tf.Session() as other:
        assert other.run(x) == 0


def test_fed_datasets(session):
    features, labels = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).map(lambda x, y: (x * 2, y + 1)).batch(2)
    iterator = dataset.make_initializable_iterator()
    x, y = iterator.get_next()
    assert (x.shape.as_list(), y.shape.as_list()) == ([None, 2], [None])
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
        session.run(x)
    for count in (3, 1):
        rows = np.arange(2.0 * count).reshape(count, 2)
        session.run(iterator.initializer, {features: rows, labels: range(count)})
        got = [session.run([x, y]) for _ in range(0, count, 2)]
        np.testing.assert_array_equal(np.concatenate([a for a, _ in got]), 2 * rows)
        np.testing.assert_array_equal(np.concatenate([b for _, b in got]), np.arange(count) + 1)


def test_a_batch_size_that_is_fed_and_shuffling(session):
    size = tf.placeholder(tf.int64, [])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(4).shuffle(9).batch(size))
    x = iterator.get_next()
    session.run(iterator.initializer, {size: 4})
    assert sorted(session.run(x)) == [0, 1, 2, 3]
    session.run(iterator.initializer, {size: 3})
    assert session.run(x).shape == (3,)


def test_one_iterator_for_two_datasets(session):
    train, test = tf.data.Dataset.range(2), tf.data.Dataset.range(10, 12)
    iterator = tf.data.Iterator.from_structure(tf.data.get_output_types(train), tf.data.get_output_shapes(train))
    x = iterator.get_next()
    on_train, on_test = iterator.make_initializer(train), iterator.make_initializer(test)
    session.run(on_train)
    assert session.run(x) == 0
    session.run(on_test)
    assert [session.run(x), session.run(x)] == [10, 11]
    with pytest.raises(TypeError, match="Incompatible"):
        iterator.make_initializer(tf.data.Dataset.from_tensors(1.0))


def test_training_until_the_data_ends(session):
    points = np.linspace(0, 1, 8, dtype=np.float32).reshape(8, 1)
    dataset = tf.data.Dataset.from_tensor_slices((points, 3 * points + 1)).repeat(3).batch(4)
    x, y = tf.data.make_one_shot_iterator(dataset).get_next()
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    losses = []
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        while True:
            losses.append(session.run([loss, train])[0])
    assert len(losses) == 6
    np.testing.assert_allclose(losses[:2], [2.9285712, 11.039417], rtol=1e-5)


def test_eager_code_iterates():
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2))
    assert [int(iterator.get_next()), int(next(iterator))] == [0, 1]
    with pytest.raises(RuntimeError, match="eager execution"):
        tf.data.make_initializable_iterator(tf.data.Dataset.range(2))


def test_sparse_and_ragged_elements(session):
    numbers = tf.data.Dataset.range(1, 4)
    sparse = numbers.map(lambda i: tf.SparseTensor([[0, 0]], tf.expand_dims(i, 0), [1, 2])).make_one_shot_iterator().get_next()
    ragged = numbers.map(lambda i: tf.RaggedTensor.from_row_lengths(tf.range(i), [i, 0])).make_one_shot_iterator().get_next()
    assert sparse.indices.shape.as_list() == [None, 2] and ragged.shape.rank == 2
    found = session.run([sparse, ragged])
    assert [part.tolist() for part in found[0]] == [[[0, 0]], [1], [1, 2]] and found[1].to_list() == [[0], []]
    assert [x.tolist() for x in session.run([tf.sparse.to_dense(sparse), ragged.to_tensor()])] == [[[2, 0]], [[0, 1], [0, 0]]]


def test_a_dataset_of_a_sparse_placeholder(session):
    matrix = tf.sparse_placeholder(tf.int32, [2, 3])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors(matrix))
    element = iterator.get_next()
    session.run(iterator.initializer, {matrix: tf.SparseTensorValue([[0, 1]], [5], [2, 3])})
    assert [part.tolist() for part in session.run(element)] == [[[0, 1]], [5], [2, 3]]


def test_single_elements_and_their_number(session):
    numbers = tf.data.Dataset.range(5).filter(lambda x: x > 1)
    found = tf.data.experimental.at(tf.data.Dataset.range(5), 2), numbers.cardinality(), numbers.take(1).get_single_element()
    assert session.run(found) == (2, -2, 2)


def test_rows_of_ragged_tensors_and_choices_of_a_graph(session):
    rows = tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1], [2, 3]]) + 1, tf.constant([5, 6])))
    count = tf.constant(2, tf.int64)
    choices = tf.data.Dataset.choose_from_datasets([rows, rows], tf.data.Dataset.range(1).repeat(count))
    iterator = tf.data.make_initializable_iterator(choices.skip(1))
    assert tf.data.experimental.get_structure(iterator)[1] == tf.TensorSpec([], tf.int32)
    row, number = iterator.get_next()
    session.run(iterator.initializer)
    assert [part.tolist() for part in session.run([row, number])] == [[3, 4], 6]


def test_threads_share_an_iterator(session):
    element, taken = tf.data.Dataset.range(200).map(lambda x: x * 2).make_one_shot_iterator().get_next(), []

    def take():
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                taken.append(int(session.run(element)))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [*range(0, 400, 2)]


def test_sparse_placeholders(session):
    sparse = tf.sparse_placeholder(tf.float32)
    w = tf.constant([[1.0], [2.0], [3.0]])
    y = tf.sparse_tensor_dense_matmul(sparse, w)
    (gradient,) = tf.gradients(y, w)
    fed = tf.SparseTensorValue([[0, 0], [1, 2]], [1.0, 5.0], [2, 3])
    product, backward = session.run([y, gradient], {sparse: fed})
    np.testing.assert_array_equal(product, [[1.0], [15.0]])
    np.testing.assert_array_equal(backward, [[1.0], [0.0], [5.0]])


def test_sparse_to_dense_and_print(session, capsys):
    values = tf.constant([1.0, 2.0])
    dense = tf.sparse_to_dense([[0], [2]], [4], values, 7.0)
    shown = tf.Print(dense, [values], "values: ", first_n=1)
    (gradient,) = tf.gradients(shown * [1.0, 2.0, 3.0, 4.0], values)
    for _ in range(2):
        result, backward = session.run([shown, gradient])
    np.testing.assert_array_equal(result, [1.0, 7.0, 2.0, 7.0])
    np.testing.assert_array_equal(backward, [1.0, 3.0])
    assert capsys.readouterr().err == "values: [1 2]\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
        session.run(tf.sparse_to_dense([3, 1], [5], [1.0, 2.0]))


def test_functions_may_name_tensors_and_variables_of_the_graph(session):
    p, v = tf.placeholder(tf.int64, []), tf.get_variable("v", initializer=2.0)
    session.run(v.initializer)

    def shifted(x):
        def plus(y):
            return y + p

        return tf.cond(x > 1, lambda: plus(x), lambda: -p)

    dataset = tf.data.Dataset.range(4).map(shifted).filter(lambda x: x < p).map(lambda x: tf.cast(x, tf.float32) * v)
    iterator = tf.data.make_initializable_iterator(dataset)
    x = iterator.get_next()
    session.run(iterator.initializer, {p: 3})
    assert [session.run(x), session.run(x)] == [-6.0, -6.0]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        session.run(x)


def test_a_run_chooses_an_iterator_by_its_handle(session):
    handle = tf.placeholder(tf.string, [])
    x = tf.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([])).get_next()
    datasets = [tf.data.Dataset.range(5, 7), tf.data.Dataset.range(2), tf.data.Dataset.from_tensors(1.0)]
    iterators = [tf.data.make_one_shot_iterator(dataset) for dataset in datasets]
    first, second, other = session.run([iterator.string_handle() for iterator in iterators])
    assert [session.run(x, {handle: h}) for h in (first, second, first, second)] == [5, 0, 6, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        session.run(x, {handle: first})
    for wrong in (other, b"none"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible dataset elements|no handle of an iterator"):
            session.run(x, {handle: wrong})


def test_weights_of_a_graph(session):
    members = [tf.data.Dataset.from_tensors(number).repeat() for number in (1, 9)]
    drawn = tf.data.Dataset.sample_from_datasets(members, tf.constant([0.0, 1.0]))
    iterator = tf.data.make_initializable_iterator(drawn)
    element = iterator.get_next()
    session.run(iterator.initializer)
    assert [session.run(element) for _ in range(2)] == [9, 9]


def test_a_buffer_and_a_seed_that_are_fed(session):
    size, seed = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(5).shuffle(size, seed=seed))
    element = iterator.get_next()
    session.run(iterator.initializer, {size: 3, seed: 7})
    assert sorted(session.run(element) for _ in range(5)) == [*range(5)]
