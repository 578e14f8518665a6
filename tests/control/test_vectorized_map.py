"""`vectorized_map` of what has no vectorised form: TensorFlow's `parallel_for` falls back to a loop, and so does this."""

import numpy as np
import pytest

import gradtape as tf

X = np.arange(9.0, dtype="f").reshape(3, 3)


@pytest.mark.parametrize("make", [lambda f: f, tf.function], ids=["eager", "function"])
def test_effects_run_row_by_row(make, capfd):
    def f(x):
        tf.print(x)
        tf.debugging.assert_less(x, 10)
        return x + tf.numpy_function(lambda y: y * 2, [x], tf.int32)

    result = make(lambda rows: tf.vectorized_map(f, rows))(tf.range(3))
    assert result.numpy().tolist() == [0, 3, 6]
    assert capfd.readouterr().err.split() == ["0", "1", "2"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        tf.vectorized_map(f, tf.range(9, 11)).numpy()
    with pytest.raises(ValueError, match="No pfor vectorization defined"):
        tf.vectorized_map(f, tf.range(3), fallback_to_while_loop=False)


def test_shapes_that_depend_on_values():
    """Rows of one shape are stacked, even if it had to be found by values; others are an error of the stack."""
    x = tf.constant(X)
    assert tf.vectorized_map(lambda i: x[i : i + 1], tf.range(3)).shape == (3, 1, 3)
    np.testing.assert_array_equal(tf.vectorized_map(lambda i: tf.slice(x, (i, 1), (1, 2)), tf.range(3)), X[:, None, 1:])
    np.testing.assert_array_equal(tf.vectorized_map(lambda r: tf.unique(r)[0], tf.constant([[1, 1], [2, 2]])), [[1], [2]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda r: tf.reduce_sum(tf.boolean_mask(r, r > 3.5)) ** 2, x)
    np.testing.assert_array_equal(tape.gradient(y, x), [[0, 0, 0], [0, 18, 18], [42, 42, 42]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Ss]hapes"):
        tf.vectorized_map(lambda i: tf.range(i), tf.range(3))
    with pytest.raises(ValueError, match="No pfor vectorization defined"):
        tf.vectorized_map(lambda i: tf.range(i), tf.range(3), fallback_to_while_loop=False)


def test_composite_results():
    """IndexedSlices become dense, sparse tensors get an axis, strings are stacked."""

    def f(i):
        slices = tf.IndexedSlices(tf.reshape(i, [1]), tf.reshape(i, [1]), tf.constant([3]))
        sparse = tf.SparseTensor(tf.cast([[i]], tf.int64), [i + 5], [3])
        return {"slices": slices, "sparse": sparse, "text": tf.constant("a"), "none": None}

    result = tf.vectorized_map(f, tf.range(3))
    np.testing.assert_array_equal(result["slices"], [[0, 0, 0], [0, 1, 0], [0, 0, 2]])
    np.testing.assert_array_equal(tf.sparse.to_dense(result["sparse"]), np.diag([5, 6, 7]))
    assert result["text"].numpy().tolist() == [b"a"] * 3
    assert result["none"] is None


def test_a_variable_is_made_once():
    made = []

    def f(z):
        if not made:
            made.append(tf.Variable(lambda: tf.ones((2, 3))))
        return tf.matmul(z, made[0] / 16)

    assert tf.vectorized_map(f, tf.ones((3, 2, 2))).numpy().tolist() == np.full((3, 2, 3), 0.125).tolist()
    with pytest.raises(ValueError, match=r"singleton tf\.Variables created on the first call"):
        tf.vectorized_map(lambda z: z * tf.Variable(1.0), tf.ones(3))


def test_one_row_is_shared_where_the_number_of_rows_is_open():
    rows, one, several = tf.TensorSpec([None]), tf.constant([3.0]), tf.constant([-2.0, 6.0, 9.0])
    both = tf.function(lambda a, b: tf.vectorized_map(sum, (a, b)), input_signature=[rows, rows])
    assert both(one, several).numpy().tolist() == both(several, one).numpy().tolist() == [1.0, 9.0, 12.0]
    assert both(several, several).numpy().tolist() == [-4.0, 12.0, 18.0]
    with_known = tf.function(lambda a: tf.vectorized_map(sum, (a, several)), input_signature=[rows])
    assert with_known(one).numpy().tolist() == [1.0, 9.0, 12.0]
    with tf.GradientTape() as tape:
        tape.watch([one, several])
        loss = tf.reduce_sum(both(one, several) ** 2)
    assert [d.numpy().tolist() for d in tape.gradient(loss, [one, several])] == [[44.0], [2.0, 18.0, 24.0]]
