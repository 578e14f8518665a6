"""`IndexedSlices`: the sparse gradient of what was gathered from the rows of a variable."""

import pytest

import gradtape as tf
from tests.agreement import agree


@pytest.fixture
def table():
    """A variable of three rows."""
    return tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def parts(slices):
    assert isinstance(slices, tf.IndexedSlices)
    return [slices.values, slices.indices, slices.dense_shape]


# Where they come from


@pytest.mark.parametrize("lookup", [tf.gather, tf.nn.embedding_lookup])
@pytest.mark.parametrize(
    "indices, rows",
    [([2, 0, 2], [2, 0, 2]), ([[2, 0], [2, 1]], [2, 0, 2, 1]), ([1], [1]), (1, [1])],
)
def test_gathered_rows(table, lookup, indices, rows):
    with tf.GradientTape() as tape:
        y = lookup(table, indices)
    gradient = tape.gradient(y, table)
    agree(parts(gradient), [[[1.0, 1.0]] * len(rows), rows, [3, 2]])
    assert gradient.dtype == gradient.values.dtype == tf.float32
    assert gradient.indices.dtype == gradient.dense_shape.dtype == tf.int32
    assert gradient.shape == (3, 2)


def test_values_carry_the_gradient_of_each_row(table):
    with tf.GradientTape() as tape:
        y = tf.gather(table, [2, 0, 2]) * [[1.0], [10.0], [100.0]]
    gradient = tape.gradient(y, table)
    agree(parts(gradient), [[[1.0, 1.0], [10.0, 10.0], [100.0, 100.0]], [2, 0, 2], [3, 2]])
    agree(gradient, [[10.0, 10.0], [0.0, 0.0], [101.0, 101.0]])


@pytest.mark.parametrize(
    "read", [tf.identity, tf.Variable.read_value, tf.convert_to_tensor, lambda table: tf.cast(tf.identity(table), tf.float64)]
)
def test_they_pass_through_reads_and_casts(table, read):
    with tf.GradientTape() as tape:
        y = tf.gather(read(table), [2, 0])
    agree(parts(tape.gradient(y, table)), [[[1.0, 1.0]] * 2, [2, 0], [3, 2]])


def test_indices_keep_their_dtype(table):
    with tf.GradientTape() as tape:
        y = tf.gather(table, tf.constant([1], tf.int64))
    assert tape.gradient(y, table).indices.dtype == tf.int64


def test_two_gathers_are_joined(table):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [0])) + 2.0 * tf.reduce_sum(tf.gather(table, [0, 1]))
    agree(tape.gradient(y, table), [[3.0, 3.0], [2.0, 2.0], [0.0, 0.0]])


def test_a_watched_tensor_and_an_intermediate_one():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * 2.0
        y = tf.gather(x, [0, 0])
        w = tf.gather(z, [1, 1])
    agree(parts(tape.gradient(y, x)), [[1.0, 1.0], [0, 0], [3]])
    agree(parts(tape.gradient(w, z)), [[1.0, 1.0], [1, 1], [3]])


@pytest.mark.parametrize(
    "function, dense",
    [
        (lambda v: tf.reduce_sum(tf.gather(v, [0])) + tf.reduce_sum(v**2), [[3.0, 5.0], [6.0, 8.0], [10.0, 12.0]]),
        (lambda v: tf.gather(v * 2.0, [0]), [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]),
        (lambda v: tf.gather(v, [1, 1], axis=1), [[0.0, 2.0], [0.0, 2.0], [0.0, 2.0]]),
        (lambda v: v[1], [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]),
        (lambda v: [tf.gather(v, [0, 1]), v], [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]),
    ],
)
def test_with_a_dense_path_the_gradient_is_dense(table, function, dense):
    with tf.GradientTape() as tape:
        y = function(table)
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.Tensor)
    agree(gradient, dense)


def test_no_rows(table):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, tf.zeros([0], tf.int32)))
    gradient = tape.gradient(y, table)
    assert gradient.values.shape == (0, 2)
    agree(gradient, [[0.0, 0.0]] * 3)


def test_unconnected_rows_are_dense_zeros(table):
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        _ = tf.gather(table, [0])
        y = x * 2.0
    agree(tape.gradient(y, table, unconnected_gradients="zero"), [[0.0, 0.0]] * 3)


@pytest.mark.parametrize(
    "repeats, axis, expected",
    [
        ([1, 3, 0], 0, [[1.0, 1.0], [3.0, 3.0], [0.0, 0.0]]),
        ([1, 2], 1, [[1.0, 2.0]] * 3),
        ([0, 1, 2, 1, 1, 1], None, [[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]]),
    ],
)
def test_repeated_entries_have_a_dense_gradient(table, repeats, axis, expected):
    with tf.GradientTape() as tape:
        y = tf.repeat(table, repeats, axis)
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.Tensor)
    agree(gradient, expected)


# What they are


@pytest.fixture
def slices():
    """Row 0 of a 3 × 2 tensor, twice."""
    return tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0, 0]), tf.constant([3, 2]))


def test_repeated_rows_are_summed(slices):
    dense = tf.convert_to_tensor(slices)
    assert isinstance(dense, tf.Tensor)
    agree(dense, [[4.0, 6.0], [0.0, 0.0], [0.0, 0.0]])


def test_as_parts_of_a_list(slices):
    agree(tf.stack([slices, slices])[1], tf.convert_to_tensor(slices))
    with pytest.raises(ValueError, match="Tensor conversion requested dtype float64"):
        tf.convert_to_tensor(slices, tf.float64)


def test_without_a_dense_shape_the_shape_is_unknown():
    assert tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])).shape.rank is None


def test_without_a_dense_shape_there_is_no_tensor():
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([0]))
    assert slices.dense_shape is None
    with pytest.raises(ValueError, match=r"Tensor conversion requested for IndexedSlices .*without dense_shape"):
        tf.convert_to_tensor(slices)


def test_kind(slices):
    assert tf.is_tensor(slices)
    assert not isinstance(slices, tf.Tensor)
    assert tf.nest.flatten([slices, (slices,)]) == [slices, slices]


def test_printing(slices):
    assert str(slices) == (
        "IndexedSlices(indices=tf.Tensor([0 0], shape=(2,), dtype=int32), values=tf.Tensor(\n[[1. 2.]\n [3. 4.]], "
        "shape=(2, 2), dtype=float32), dense_shape=tf.Tensor([3 2], shape=(2,), dtype=int32))"
    )


@pytest.mark.parametrize(
    "operate, dense",
    [
        (tf.square, [[16.0, 36.0], [0.0, 0.0], [0.0, 0.0]]),
        (tf.reduce_sum, 10.0),
        (lambda slices: tf.constant(2.0) * slices, [[8.0, 12.0], [0.0, 0.0], [0.0, 0.0]]),
        (lambda slices: tf.add_n([slices, tf.ones([3, 2])]), [[5.0, 7.0], [1.0, 1.0], [1.0, 1.0]]),
        (lambda slices: -slices, [[-4.0, -6.0], [0.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_ops_take_them(slices, operate, dense):
    agree(operate(slices), dense)


def test_negated_slices_stay_sparse(slices):
    agree(parts(-slices), [[[-1.0, -2.0], [-3.0, -4.0]], [0, 0], [3, 2]])


def test_arithmetic_with_numbers_is_refused(slices):
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = slices * 2.0


# What takes them


@pytest.mark.parametrize("update", ["assign_sub", "scatter_sub"])
def test_variables_take_them(slices, update):
    v = tf.Variable(tf.zeros([3, 2]))
    getattr(v, update)(slices)
    agree(v, [[-4.0, -6.0], [0.0, 0.0], [0.0, 0.0]])


def test_clipping_keeps_them_sparse(slices):
    (clipped,), norm = tf.clip_by_global_norm([slices], 1.0)
    agree(norm, 5.477226)  # of the values as they are, not of their sum
    agree(parts(clipped)[0], [[0.1825742, 0.3651484], [0.5477226, 0.7302967]])


def test_second_derivative_through_values(table):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.gather(table, [0, 0]) ** 3)
        first = inner.gradient(y, table)
        total = tf.reduce_sum(first.values)
    agree(parts(first), [[[3.0, 12.0], [3.0, 12.0]], [0, 0], [3, 2]])
    agree(outer.gradient(total, table), [[12.0, 24.0], [0.0, 0.0], [0.0, 0.0]])


def test_second_derivative_of_the_dense_form(table):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.gather(table, [0, 0]) ** 3)
        first = tf.convert_to_tensor(inner.gradient(y, table))
    agree(first, [[6.0, 24.0], [0.0, 0.0], [0.0, 0.0]])
    agree(outer.gradient(first, table), [[12.0, 24.0], [0.0, 0.0], [0.0, 0.0]])


def test_jacobian_is_dense(table):
    with tf.GradientTape() as tape:
        y = tf.gather(table, [2, 0])
    jacobian = tape.jacobian(y, table)
    assert jacobian.shape == (2, 2, 3, 2)
    agree(jacobian[0], [[[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])


def test_training_an_embedding(table):
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 2, 0]) ** 2)
        losses.append(float(loss))
        gradient = tape.gradient(loss, table)
        table.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))
    assert losses == pytest.approx([71.0, 42.64, 26.2816], rel=1e-5)
    agree(table, [[0.216, 0.432], [3.0, 4.0], [2.56, 3.072]])


@pytest.mark.parametrize(
    "combiner, weights, values",
    [
        ("sum", None, [2.0, 1.0, 1.0]),
        ("mean", None, [1.5, 0.5, 1.0]),
        ("sqrtn", [1.0, 2.0, 3.0, 4.0], [1.4472136, 0.8944272, 1.0]),
    ],
)
def test_a_sparse_lookup_names_each_row_once(table, combiner, weights, values):
    places = [[0, 0], [0, 1], [1, 0], [2, 0]]
    weights = weights and tf.SparseTensor(places, weights, [3, 2])
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup_sparse(table, tf.SparseTensor(places, [1, 2, 1, 0], [3, 2]), weights, combiner)
    agree(parts(tape.gradient(y, table)), [[[v, v] for v in values], [1, 2, 0], [3, 2]])


# The order of rows from several lookups: that in which TensorFlow's pass visits them


def _loop(rows):
    total = 0.0
    for i in range(3):
        total = total + rows(i) * rows(i + 1)
    return total


@pytest.mark.parametrize(
    "function, indices",
    [
        (lambda rows: rows(1) + rows(2), [1, 2]),
        (lambda rows: rows(1) + rows(2) + rows(3), [3, 1, 2]),
        (lambda rows: rows(1) * (rows(2) + rows(3)), [1, 2, 3]),
        (lambda rows: tf.exp(rows(1)) * rows(2) - tf.sin(tf.cos(rows(3))), [2, 1, 3]),
        (lambda rows: tf.concat([rows(0), rows(1), rows(2)], 0), [0, 1, 2]),
        (_loop, [2, 3, 1, 2, 0, 1]),
        (lambda rows: [rows(1), rows(2), rows(0)], [0, 2, 1]),
        (lambda rows: [part * rows(3 + i) for i, part in enumerate(tf.split(rows(0, 1), 2))], [4, 3, 0, 1]),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_order_of_several_lookups(function, indices, wrap):
    table = tf.Variable(tf.ones([5, 2]))

    @wrap
    def gradient():
        with tf.GradientTape() as tape:
            y = function(lambda *i: tf.gather(table, list(i)))
        slices = tape.gradient(y, table)
        return slices.values, slices.indices

    assert gradient()[1].numpy().tolist() == indices


def test_watching_what_is_made_of_tensors():
    """A sparse tensor, or slices, are watched by their values; the values are the source."""
    sparse = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
    slices = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 1]), tf.constant([3]))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch({"a": sparse, "b": slices})
        y = tf.reduce_sum(tf.sparse.to_dense(sparse) * 3.0) + tf.reduce_sum(tf.convert_to_tensor(slices) * 2.0)
    assert [d.numpy().tolist() for d in tape.gradient(y, [sparse.values, slices.values])] == [[3.0, 3.0], [2.0, 2.0]]
    with pytest.raises(ValueError, match="Type SparseTensor is not supported as a gradient source or gradient target"):
        tape.gradient(y, sparse)
    with pytest.raises(ValueError, match=r"Passed in object 1\.0"):
        tf.GradientTape().watch(1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_slices_are_a_target_behind_the_tape_that_made_them(table, wrap):
    """The second derivatives of a lookup: made dense when they are asked for, they belong to the tape all the same."""

    @wrap
    def second(derivative):
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.gather(table, [0, 2, 0]) ** 3)
            slices = tape.gradient(y, table)
        return derivative(outer, slices)

    sums = [[12.0, 24.0], [0.0, 0.0], [30.0, 36.0]]
    agree(tf.convert_to_tensor(second(lambda tape, slices: tape.gradient(slices, table))), sums)
    jacobian = second(lambda tape, slices: tape.jacobian(slices, table))
    agree(tf.linalg.diag_part(tf.reshape(jacobian, [6, 6])), [x for row in sums for x in row])


def test_a_dataset_is_watched_with_a_warning(table, caplog):
    """As of any tensor that is no floating one; TensorFlow's words."""
    with tf.GradientTape() as tape:
        tape.watch([table, tf.data.Dataset.range(2)])
        y = table[0, 0] * 3.0
    assert tape.gradient(y, table)[0, 0].numpy() == 3.0
    assert "watched tensor must be floating (e.g. tf.float32), got tf.variant" in caplog.text
