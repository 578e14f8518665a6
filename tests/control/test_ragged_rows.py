"""`map_fn` over sparse and ragged tensors, and loops over them, with TensorFlow's answers."""

import numpy as np
import pytest

import gradtape as tf

SPARSE = ([[0, 0], [2, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 2])  # a row without elements, and one out of order


def test_rows_of_a_sparse_tensor():
    sparse, dense = tf.SparseTensor(*SPARSE), tf.constant([1.0, 2.0, 3.0])
    assert tf.map_fn(tf.sparse.reduce_sum, sparse, fn_output_signature=tf.float32).numpy().tolist() == [1.0, 0.0, 5.0]
    total = tf.map_fn(lambda row: row[0] + tf.sparse.reduce_sum(row[1]), (dense, sparse), fn_output_signature=tf.float32)
    assert total.numpy().tolist() == [2.0, 2.0, 8.0]
    doubled = tf.map_fn(lambda row: row * 2.0, sparse)
    assert isinstance(doubled, tf.SparseTensor) and doubled.shape == [3, 2]
    assert sorted(doubled.values.numpy()) == [2.0, 4.0, 6.0]


def test_results_that_are_sparse():
    spec = tf.SparseTensorSpec([2], tf.float32)
    made = tf.map_fn(lambda x: tf.sparse.from_dense([x, 0.0]), tf.constant([1.0, 2.0]), fn_output_signature=spec)
    assert made.indices.numpy().tolist() == [[0, 0], [1, 0]]
    assert (made.values.numpy().tolist(), made.dense_shape.numpy().tolist()) == ([1.0, 2.0], [2, 2])


def test_rows_of_a_ragged_tensor():
    ragged = tf.ragged.constant([[1.0], [], [1.0, 2.0]])
    assert tf.map_fn(tf.reduce_sum, ragged, fn_output_signature=tf.float32).numpy().tolist() == [1.0, 0.0, 3.0]
    assert tf.map_fn(lambda row: row * 2.0, ragged).to_list() == [[2.0], [], [2.0, 4.0]]


RAGGED = tf.RaggedTensorSpec


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_results_that_are_ragged(wrap):
    def ranges(x):
        return tf.map_fn(tf.range, x, fn_output_signature=RAGGED([None], tf.int32))

    assert wrap(ranges)(tf.constant([3, 0, 2])).to_list() == [[0, 1, 2], [], [0, 1]]


def test_ragged_results_in_a_nest_and_with_ragged_rows():
    count = tf.constant([1, 2])
    pair = tf.map_fn(lambda x: (x, tf.range(x)), count, fn_output_signature=(tf.int32, RAGGED([None], np.int32)))
    assert pair[0].numpy().tolist() == [1, 2] and pair[1].to_list() == [[0], [0, 1]]
    deep = tf.map_fn(tf.ragged.range, count, fn_output_signature=RAGGED([None, None], tf.int32))
    assert (deep.to_list(), deep.ragged_rank) == ([[[0]], [[0, 1]]], 2)
    rows = tf.ragged.constant([[1, 2], [3]])
    cast = tf.map_fn(lambda row: tf.cast(row, tf.float32), rows, fn_output_signature=RAGGED([None], tf.float32))
    assert cast.to_list() == [[1.0, 2.0], [3.0]]
    matrices = tf.map_fn(lambda x: tf.ones([x, 2]), count, fn_output_signature=RAGGED([None, 2], tf.float32, ragged_rank=0))
    assert (matrices.ragged_rank, matrices.shape.as_list()) == (1, [2, None, 2])


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: tf.function(f, autograph=False)])
def test_the_gradient_goes_to_the_values(wrap):
    values = tf.Variable(SPARSE[1])

    def squares():
        sparse = tf.SparseTensor(SPARSE[0], values, SPARSE[2])
        return tf.map_fn(lambda row: tf.sparse.reduce_sum(row) ** 2, sparse, fn_output_signature=tf.float32)

    with tf.GradientTape() as tape:
        y = wrap(squares)()
    assert y.numpy().tolist() == [1.0, 0.0, 25.0]
    assert tf.convert_to_tensor(tape.gradient(y, values)).numpy().tolist() == [2.0, 10.0, 10.0]


def test_bad_calls():
    sparse = tf.SparseTensor(*SPARSE)
    with pytest.raises(ValueError, match=r"elems have different numbers of rows: \[2, 3\]"):
        tf.map_fn(lambda row: row[0], (tf.zeros([2]), sparse), fn_output_signature=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="fn returned float32 where int32 was expected"):
        tf.map_fn(tf.sparse.reduce_sum, sparse, fn_output_signature=tf.int32)
    with pytest.raises((TypeError, ValueError), match="structure"):
        tf.map_fn(tf.sparse.reduce_sum, sparse)
    with pytest.raises(tf.errors.InvalidArgumentError, match="without rows"):
        tf.map_fn(tf.sparse.reduce_sum, tf.sparse.from_dense(tf.zeros([0, 2])), fn_output_signature=tf.float32)
    with pytest.raises(ValueError, match="expected `fn` to return a RaggedTensorSpec"):
        tf.map_fn(lambda x: tf.ones([x]), tf.constant([1, 2]), fn_output_signature=RAGGED([None], tf.int32))


def added(x):
    return x + 1.0


def longer(x):
    return tf.concat([x, x], axis=1)


def more_rows(x):
    return tf.concat([x, x], axis=0)


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (added, [[3.0, 4.0], [5.0]]),
        (longer, [[1.0, 2.0] * 4, [3.0] * 4]),
        (more_rows, [[1.0, 2.0], [3.0]] * 4),
    ],
)
def test_a_loop_variable_may_be_ragged(run, step, expected):
    @run
    def loop(x):
        invariants = [tf.TensorShape([]), tf.RaggedTensorSpec([None, None], tf.float32)]
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: [i + 1, step(x)], [tf.constant(0), x], invariants)[1]

    assert loop(tf.ragged.constant([[1.0, 2.0], [3.0]])).to_list() == expected


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_a_gradient_through_a_loop_over_a_ragged_tensor(run):
    @run
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x.flat_values)
            squared = tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * x], [tf.constant(0), x])[1]
            loss = tf.reduce_sum(squared.flat_values)
        return tape.gradient(loss, x.flat_values)

    assert gradient(tf.ragged.constant([[1.0, 2.0], [3.0]])).numpy().tolist() == [8.0, 1024.0, 17496.0]


def test_a_ragged_tensor_of_a_graph_is_printed():
    with tf.Graph().as_default():
        x = tf.ragged.constant([[1, 2], [3]])
        assert repr(tf.concat([x, x], axis=1)).startswith("tf.RaggedTensor(values=<tf.Tensor ")
