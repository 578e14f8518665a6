"""`SparseTensor` as an object, and which gradients are IndexedSlices."""

import numpy as np
import pytest

import gradtape as tf

PLACES = [[0, 0], [1, 2]]


def matrix(values=(1.0, 2.0)):
    return tf.SparseTensor(PLACES, list(values), [3, 4])


def test_parts():
    x = matrix()
    assert x.shape == tf.TensorShape([3, 4])
    assert x.get_shape().as_list() == [3, 4]
    assert x.dtype == tf.float32
    assert (x.indices.dtype, x.dense_shape.dtype) == (tf.int64, tf.int64)
    np.testing.assert_array_equal(x.indices, PLACES)
    np.testing.assert_array_equal(x.dense_shape, [3, 4])
    np.testing.assert_array_equal(x.values, [1, 2])


def test_prints_its_parts():
    assert repr(matrix()) == (
        "SparseTensor(indices=tf.Tensor(\n[[0 0]\n [1 2]], shape=(2, 2), dtype=int64), "
        "values=tf.Tensor([1. 2.], shape=(2,), dtype=float32), "
        "dense_shape=tf.Tensor([3 4], shape=(2,), dtype=int64))"
    )


def test_from_value():
    x = matrix()
    assert tf.SparseTensor.from_value(x) is x

    class Parts:
        indices, values, dense_shape = PLACES, [3, 4], (3, 4)

    np.testing.assert_array_equal(tf.sparse.to_dense(tf.SparseTensor.from_value(Parts()))[:2, ::2], [[3, 0], [0, 4]])


def test_numbers_take_the_dtype_of_the_values():
    x = tf.SparseTensor(PLACES, np.array([1.0, 2.0]), [3, 4])
    assert (x * 2).dtype == tf.float64
    np.testing.assert_array_equal((x * np.full((3, 4), 3.0, "float32")).values, [3, 6])


def test_cast_keeps_the_places():
    x = tf.SparseTensor([[0, 1], [1, 0]], [1.5, -2.5], [2, 2])
    y = tf.cast(x, tf.int32)
    assert (y.dtype, y.values.numpy().tolist(), y.indices is x.indices) == (tf.int32, [1, -2], True)


def test_is_no_tensor_for_what_wants_one():
    with pytest.raises(ValueError, match=r"Attempt to convert a value .SparseTensor"):
        tf.reduce_sum(matrix())


def test_gradients_go_to_both_sides():
    """TensorFlow's numbers."""
    values, dense = tf.constant([1.0, 2.0]), tf.reshape(tf.range(8.0), [4, 2])
    with tf.GradientTape() as tape:
        tape.watch([values, dense])
        product = tf.sparse.sparse_dense_matmul(tf.SparseTensor(PLACES, values, [3, 4]), dense)
        y = product * tf.reshape(tf.range(6.0), [3, 2])
    to_values, to_dense = tape.gradient(y, [values, dense])
    np.testing.assert_allclose(to_values, [1, 23])
    np.testing.assert_allclose(to_dense, [[0, 1], [0, 0], [4, 6], [0, 0]])


def test_sparse_gradient_of_segments():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for sparse_gradient, kind in ((False, tf.Tensor), (True, tf.IndexedSlices)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sparse.segment_mean(x, [0, 2, 0, 2], [0, 0, 0, 2], sparse_gradient=sparse_gradient)
            y = y * [[1.0], [2.0], [3.0]]
        dx = tape.gradient(y, x)
        assert isinstance(dx, kind)
        np.testing.assert_allclose(tf.convert_to_tensor(dx), [[0.6666667, 0.6666667], [0, 0], [3.3333333, 3.3333333]], rtol=1e-6)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_lookups_send_slices_to_a_table(weights):
    places = [[0, 0], [0, 1], [2, 0]]
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    weights = None if weights is None else tf.SparseTensor(places, weights, [4, 2])
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup_sparse(table, tf.SparseTensor(places, [1, 0, 2], [4, 2]), weights, combiner="sum")
    dx = tape.gradient(y, table)
    assert isinstance(dx, tf.IndexedSlices)
    np.testing.assert_array_equal(dx.indices, [1, 0, 2])
    np.testing.assert_allclose(dx.values[:, 0], [1, 1, 1] if weights is None else [1, 2, 0.5])


def test_tables_in_parts():
    """The rows of each part are looked up there, and its gradient has them in the order of the ids."""
    parts = [tf.Variable([[1.0], [2.0]]), tf.Variable([[3.0], [4.0]])]
    lookup = tf.compat.v1.nn.embedding_lookup
    for strategy, values, places in (
        ("div", [[1], [4], [2], [1]], ([0, 1, 0], [1])),
        ("mod", [[1], [4], [3], [1]], ([0, 0], [1, 0])),
    ):
        with tf.GradientTape() as tape:
            y = lookup(parts, [[0, 3], [1, 0]], strategy)
        np.testing.assert_array_equal(tf.reshape(y, [4, 1]), values)
        for slices, rows in zip(tape.gradient(y, parts), places, strict=True):
            np.testing.assert_array_equal(slices.indices, rows)
            np.testing.assert_array_equal(slices.values, np.ones((len(rows), 1)))
    assert tf.nn.embedding_lookup([tf.ones([2, 3]), tf.zeros([1, 3])], [2, 1])[:, 0].numpy().tolist() == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions\[1\] = 2 is not in \[0, 2\)"):
        tf.nn.embedding_lookup(parts, [0, 4])


def test_nothing_runs_but_what_sparse_ids_need():
    """Making and using sparse tensors leaves the step that is being recorded alone."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]) * 2.0
    y = tf.sparse.sparse_dense_matmul(matrix(), x) + tf.sparse.reduce_sum(matrix())
    z = tf.nn.embedding_lookup_sparse(x, tf.SparseTensor(PLACES, [1, 0], [3, 4]), None)
    assert x.node.value is None
    np.testing.assert_allclose(y[0], [5.0, 7.0])
    np.testing.assert_allclose(z[1], [2.0, 4.0])


def test_bools():
    yes = tf.SparseTensor([[0, 1]], [True], [2, 2])
    assert tf.sparse.to_dense(yes).numpy().tolist() == [[False, True], [False, False]]
    assert tf.sparse.from_dense([[True, False]]).indices.numpy().tolist() == [[0, 0]]
    with pytest.raises(TypeError, match="Neither a SparseTensor nor SparseTensorValue"):
        tf.SparseTensor.from_value(3)


def test_shape_size_and_rank():
    sparse = tf.sparse.from_dense([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])

    def asked(x):
        return tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, tf.int64), tf.size(x, tf.int64)

    slices = tf.IndexedSlices(tf.ones([1, 3]), tf.constant([0]), tf.constant([2, 3]))
    for found in (asked(sparse), tf.function(asked)(sparse), asked(slices)):
        assert [x.numpy().tolist() for x in found] == [[2, 3], 6, 2, [2, 3], 6]
        assert [x.dtype.name for x in found] == ["int32", "int32", "int32", "int64", "int64"]
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.sparse_placeholder(tf.float32)
        found = session.run(asked(fed)[:3], {fed: v1.SparseTensorValue([[0, 0]], [1.0], [3, 4])})
    assert [x.tolist() for x in found] == [[3, 4], 12, 2]
    with pytest.raises(ValueError, match="dense_shape"):
        tf.shape(tf.IndexedSlices(tf.ones([1, 3]), tf.constant([0])))


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [0, 1, 1, 0, 2]),
        ({"axis": -1}, [[0, 1, 0, 0, 0], [0, 0, 0, 0, 2], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]),
        ({"axis": -1, "binary_output": True}, [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]),
        ({"axis": -1, "maxlength": 2}, [[0, 1], [0, 0], [0, 0], [0, 0]]),
        ({"minlength": 6}, [0, 1, 1, 0, 2, 0]),
        ({"weights": [1.0, 0.5, 0.25, 2.0]}, [0.0, 1.0, 2.0, 0.0, 0.75]),
    ],
)
def test_what_is_stored_is_counted(options, expected):
    places, shape = [[0, 3], [1, 1], [1, 7], [2, 0]], [4, 10]
    if "weights" in options:
        options = options | {"weights": tf.SparseTensor(places, options["weights"], shape)}
    assert tf.math.bincount(tf.SparseTensor(places, [1, 4, 4, 2], shape), **options).numpy().tolist() == expected


def test_weights_of_what_is_stored_are_stored_alike():
    with pytest.raises(ValueError, match="Argument `weights` must be a SparseTensor if `values` is a SparseTensor"):
        tf.math.bincount(tf.SparseTensor([[0, 3]], [1], [4, 10]), weights=tf.ones([1]))


VALUE = tf.compat.v1.SparseTensorValue(np.array(PLACES), np.array([1.0, 2.0], np.float32), [3, 4])
TAKE_VALUES = {
    "to_dense": tf.sparse.to_dense,
    "in a function": tf.function(tf.sparse.to_dense),
    "reduce_sum": lambda x: tf.sparse.reduce_sum(x, 1),
    "matmul": lambda x: tf.sparse.sparse_dense_matmul(x, tf.ones([4, 1])),
    "add": lambda x: tf.sparse.add(x, x).values,
    "concat": lambda x: tf.sparse.concat(0, [x, x]).indices,
    "edit_distance": lambda x: tf.edit_distance(x, x),
}


@pytest.mark.parametrize("name", TAKE_VALUES)
def test_a_value_stands_for_a_sparse_tensor(name):
    function = TAKE_VALUES[name]
    np.testing.assert_array_equal(function(VALUE), function(matrix()))


@pytest.mark.parametrize("x", [matrix(), tf.ragged.constant([[1.0], []])], ids=["sparse", "ragged"])
def test_a_dtype_is_asserted(x):
    tf.debugging.assert_type(x, tf.float32)
    with pytest.raises(TypeError, match=r"tensor must be of type tf\.int32; got tf\.float32"):
        tf.debugging.assert_type(x, tf.int32)


@pytest.mark.parametrize("in_function", [False, True])
def test_a_tensor_or_variable_times_a_sparse_one_is_sparse(in_function):
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    dense = tf.constant([[1.0, 10.0], [100.0, 1000.0]])
    times = tf.function(lambda a, b: a * b) if in_function else lambda a, b: a * b
    for left, expected in [(dense, [20.0, 300.0]), (dense[0], [20.0, 3.0]), (tf.Variable(dense), [20.0, 300.0])]:
        product = times(left, sparse)
        assert isinstance(product, tf.SparseTensor)
        assert product.values.numpy().tolist() == expected
    with tf.GradientTape() as tape:
        tape.watch(dense)
        y = tf.reduce_sum(times(dense, sparse).values)
    assert tape.gradient(y, dense).numpy().tolist() == [[0.0, 2.0], [3.0, 0.0]]
