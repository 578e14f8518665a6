"""`tf.RaggedTensor` in eager code, with TensorFlow's answers."""

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
Ragged = tf.RaggedTensor


@pytest.fixture(scope="module")
def rows():
    return tf.ragged.constant([[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]])


@pytest.fixture(scope="module")
def nested():
    return tf.ragged.constant([[[1.0, 2.0], []], [[3.0]]])


def listed(x):
    return x.to_list() if isinstance(x, Ragged) else x.numpy().tolist()


def test_printed(rows, nested):
    assert str(rows) == repr(rows) == "<tf.RaggedTensor [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]]>"
    assert repr(nested) == "<tf.RaggedTensor [[[1.0, 2.0], []], [[3.0]]]>"
    assert repr(tf.ragged.constant([[1], [2.5]])) == "<tf.RaggedTensor [[1.0],\n [2.5]]>"
    assert repr(tf.ragged.constant([[]])) == "<tf.RaggedTensor [[]]>"
    assert repr(tf.ragged.constant([["a"], ["b", "cc"]])) == "<tf.RaggedTensor [[b'a'], [b'b', b'cc']]>"


def test_shapes_and_parts(rows, nested):
    assert (str(rows.shape), str(nested.shape), rows.dtype, nested.ragged_rank) == ("(4, None)", "(2, None, None)", tf.int32, 2)
    parts = {
        "row_splits": [0, 4, 6, 9, 10],
        "row_lengths": [4, 2, 3, 1],
        "row_starts": [0, 4, 6, 9],
        "row_limits": [4, 6, 9, 10],
        "value_rowids": [0, 0, 0, 0, 1, 1, 2, 2, 2, 3],
        "nrows": 4,
        "bounding_shape": [4, 4],
    }
    for name, expected in parts.items():
        part = getattr(rows, name)
        part = part() if callable(part) else part
        assert (part.dtype, listed(part)) == (tf.int64, expected)
    assert [listed(s) for s in nested.nested_row_splits] == [[0, 2, 3], [0, 2, 2, 3]]
    assert (listed(nested.flat_values), listed(nested.row_lengths(axis=2))) == ([1.0, 2.0, 3.0], [[2, 0], [1]])
    assert nested.bounding_shape(out_type=tf.int32).dtype == tf.int32
    array = rows.numpy()
    assert (array.dtype, array[1].dtype, array[1].tolist()) == (object, np.int32, [4, 5])


@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda v: Ragged.from_row_splits(v, [0, 2, 2, 4]), [[3, 1], [], [4, 1]]),
        (lambda v: Ragged.from_row_lengths(v, [2, 0, 2]), [[3, 1], [], [4, 1]]),
        (lambda v: Ragged.from_row_starts(v, [0, 2, 2]), [[3, 1], [], [4, 1]]),
        (lambda v: Ragged.from_row_limits(v, [2, 2, 4]), [[3, 1], [], [4, 1]]),
        (lambda v: Ragged.from_value_rowids(v, [0, 0, 2, 2]), [[3, 1], [], [4, 1]]),
        (lambda v: Ragged.from_value_rowids(v, [0, 0, 2, 2], nrows=5), [[3, 1], [], [4, 1], [], []]),
        (lambda v: Ragged.from_nested_row_splits(v, [[0, 1, 2], [0, 2, 4]]), [[[3, 1]], [[4, 1]]]),
        (lambda v: Ragged.from_nested_row_lengths(v, [[1, 1], [2, 2]]), [[[3, 1]], [[4, 1]]]),
        (lambda v: tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1), [[[1, 2]], [[3, 4], [5, 6]]]),
        (lambda v: tf.ragged.constant([1, 2]), [1, 2]),
    ],
)
def test_ways_to_make_one(made, expected):
    assert listed(made([3, 1, 4, 1])) == expected


def test_dtypes_of_splits():
    assert Ragged.from_row_splits([3, 1], tf.constant([0, 1, 2], tf.int32)).row_splits.dtype == tf.int32
    assert tf.ragged.constant([[1], [2]], dtype=tf.int64, row_splits_dtype=tf.int32).row_lengths().dtype == tf.int32


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            lambda: Ragged.from_row_splits([3, 1, 4], [0, 2]),
            Invalid,
            "do not form a valid RaggedTensor\n.*take 2 values; there are 3",
        ),
        (lambda: Ragged.from_row_splits([3, 1], [1, 2]), Invalid, "valid RaggedTensor:zero"),
        (lambda: Ragged.from_row_splits([3, 1], [0, 3, 2]), Invalid, "valid RaggedTensor:monotonic"),
        (lambda: Ragged.from_row_lengths([3, 1], [3, -1]), Invalid, "valid RaggedTensor:monotonic"),
        (lambda: Ragged.from_value_rowids([3, 1], [1, 0]), Invalid, "do not form a valid RowPartition"),
        (lambda: Ragged.from_row_splits(3, [0]), ValueError, "at least one axis"),
        (lambda: Ragged.from_row_splits([3], [0.0, 1.0]), ValueError, "int32 or int64 vector; got float64"),
        (lambda: Ragged([3], None), ValueError, "RaggedTensor constructor is private"),
        (lambda: tf.ragged.constant([[1], 2]), ValueError, "all scalar values must have the same nesting depth"),
        (lambda: bool(tf.ragged.constant([[1]])), TypeError, "may not be used as a boolean"),
        (lambda: hash(tf.ragged.constant([[1]])), TypeError, "unhashable"),
        (lambda: tf.ragged.constant([[1]])[1], IndexError, "Row key 1 out of bounds"),
        (lambda: tf.ragged.constant([[1]])[:, 0], ValueError, "Cannot index into an inner ragged dimension"),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("call", [tf.convert_to_tensor, tf.argmax, tf.sort, tf.linalg.inv])
def test_functions_of_tensors_say_what_to_do(call, rows):
    with pytest.raises(ValueError, match=r"A RaggedTensor was given to a function that takes tensors only. Take to_tensor\(\)"):
        call(rows)


@pytest.mark.parametrize("values", [[[1.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[[1.0]], [[2.0], []]]])
def test_numpy_takes_one_as_an_object(values):
    x = tf.ragged.constant(values)
    array = np.array(x)
    assert (array.shape, array.dtype, array.item() is x) == ((), object, True)
    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        np.asarray(x, "float64")


def test_an_empty_list_has_as_many_ragged_axes_as_it_is_deep():
    assert isinstance(tf.ragged.constant([], tf.float32, ragged_rank=1), Ragged)
    assert tf.ragged.constant([], ragged_rank=2).shape == [0, None, None]
    assert tf.ragged.constant([[], []], ragged_rank=3).shape == [2, None, None, None]
    with pytest.raises(ValueError, match="ragged_rank=2 must be between 0 and 1"):
        tf.ragged.constant([[1]], ragged_rank=2)


@pytest.mark.parametrize(
    "key, expected",
    [
        (0, [0, 1, 2, 3]),
        (-1, [9]),
        (slice(1, 3), [[4, 5], [6, 7, 8]]),
        (slice(None, None, 2), [[0, 1, 2, 3], [6, 7, 8]]),
        ((1, 0), 4),
        (..., [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]]),
        ((slice(None), slice(None, 2)), [[0, 1], [4, 5], [6, 7], [9]]),
    ],
)
def test_rows(key, expected, rows):
    assert listed(rows[key]) == expected


def test_rows_of_rows(nested):
    assert (listed(nested[0]), listed(nested[0, 0]), listed(nested[::-1])) == (
        [[1.0, 2.0], []],
        [1.0, 2.0],
        [[[3.0]], [[1.0, 2.0], []]],
    )
    assert listed(nested[:, :, 1:]) == [[[2.0], []], [[]]]
    assert [listed(row) for row in nested] == [[[1.0, 2.0], []], [[3.0]]]


def test_dense(rows, nested):
    assert listed(rows.to_tensor(-1)) == [[0, 1, 2, 3], [4, 5, -1, -1], [6, 7, 8, -1], [9, -1, -1, -1]]
    assert listed(rows.to_tensor(shape=[None, 2])) == [[0, 1], [4, 5], [6, 7], [9, 0]]
    assert listed(rows.to_tensor(shape=[1, 5])) == [[0, 1, 2, 3, 0]]
    assert listed(nested.to_tensor()) == [[[1.0, 2.0], [0.0, 0.0]], [[3.0, 0.0], [0.0, 0.0]]]
    assert tf.ragged.constant([[], []]).to_tensor().shape == [2, 0]
    inner = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert (str(inner.shape), listed(inner.to_tensor(7))) == ("(2, None, 2)", [[[1, 2], [7, 7]], [[3, 4], [5, 6]]])


def test_gradients_go_to_the_values():
    values = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        made = Ragged.from_row_lengths(values, [2, 1])
        made = made.with_flat_values(made.flat_values**2)
        loss = tf.reduce_sum(made.to_tensor() * [[1.0, 10.0], [100.0, 1000.0]]) + tf.reduce_sum(made[0])
    assert listed(tape.gradient(loss, values)) == [4.0, 44.0, 600.0]


def test_strings_in_parts():
    assert repr(tf.strings.split(["a b", "c d e", ""])) == "<tf.RaggedTensor [[b'a', b'b'], [b'c', b'd', b'e'], []]>"
    assert listed(tf.strings.split([["a b", "c"], ["d", "e f"]])) == [[[b"a", b"b"], [b"c"]], [[b"d"], [b"e", b"f"]]]
    assert listed(tf.strings.bytes_split(["ab", "c"])) == [[b"a", b"b"], [b"c"]]
    codes, places = tf.strings.unicode_decode_with_offsets(["né", ""], "UTF-8")
    assert (listed(codes), listed(places), codes.dtype) == ([[110, 233], []], [[0, 1], []], tf.int32)
    assert listed(tf.strings.split(["a b", "c"]).to_tensor()) == [[b"a", b"b"], [b"c", b""]]
    in_function = tf.function(lambda s: tf.strings.split(s).to_tensor())
    assert listed(in_function(tf.constant(["a b", "c"]))) == [[b"a", b"b"], [b"c", b""]]


def test_the_arguments_of_a_function_are_shown_as_specs(tmp_path):
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(spec)
    assert concrete.structured_input_signature == ((spec,), {})
    assert concrete(tf.ragged.constant([[1.0], [2.0, 3.0]])).to_list() == [[2.0], [4.0, 6.0]]


def test_the_logarithm_of_a_sum_of_exponentials_of_rows():
    rows = tf.ragged.constant([[1.0, 2.0], [6.0], [3.0, 4.0, 500.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows.flat_values)
        found = tf.reduce_logsumexp(rows, axis=1)
    np.testing.assert_allclose(found, [2.3132617, 6.0, 500.0], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(found, rows).flat_values, [0.26894143, 0.7310586, 1, 0, 0, 1], atol=1e-6)
    assert float(tf.reduce_logsumexp(rows)) == 500.0
    gaps = tf.ragged.constant([[1.0, 2.0], [], [3.0, -np.inf]])
    np.testing.assert_allclose(tf.reduce_logsumexp(gaps, axis=-1, keepdims=True), [[2.3132617], [-np.inf], [3.0]], rtol=1e-6)


def test_rows_from_arrays_and_counted_floats():
    assert tf.ragged.constant([np.array([1, 2]), np.array([3])]).to_list() == [[1, 2], [3]]
    assert tf.ragged.range([0.5, 2.0]).dtype == tf.float32
    assert tf.ragged.range(tf.constant([2], tf.int64)).dtype == tf.int64


def test_a_list_of_indices_is_that_of_a_tensor(rows):
    assert int(rows[[0, 1]]) == 1


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda v: Ragged.from_uniform_row_length(v, 4), "uniform_row_length=4 times nrows=1 must equal nvals=6"),
        (lambda v: Ragged.from_uniform_row_length(v, 0), "uniform_row_length=0 times nrows=0 must equal nvals=6"),
        (lambda v: Ragged.from_value_rowids(v, [0, 0]), r"Shapes \(6,\) and \(2,\) are incompatible"),
    ],
)
def test_rows_that_do_not_take_all_values(make, match):
    with pytest.raises(ValueError, match=match):
        make(tf.range(6))


def test_versions_take_the_name_by_position():
    r = tf.ragged.constant([[1, 2], [3], [4, 5, 6], []])
    assert [part.to_list() for part in tf.split(r, 2, 0, None, "halves")] == [[[1, 2], [3]], [[4, 5, 6], []]]
    assert tf.gather(r, [0, 2], None, 0, 0, "rows").to_list() == [[1, 2], [4, 5, 6]]
    assert tf.cumsum(r, 1, False, True, "ends").to_list() == [[3, 2], [3], [15, 11, 6], []]
    assert tf.one_hot(r[:1], 3, 1, 0, -1, tf.int32, "codes").to_list() == [[[0, 1, 0], [0, 0, 1]]]


def test_reductions_of_rows_are_compiled():
    """One trace serves rows of all lengths and numbers; the numbers are TensorFlow's."""

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def f(r):
        with tf.GradientTape() as tape:
            tape.watch(r.flat_values)
            largest = tf.reduce_max(r, 1)
            mean = tf.math.divide_no_nan(tf.reduce_sum(r * r, 1), tf.cast(r.row_lengths(), tf.float32))
            loss = tf.reduce_sum(tf.where(largest > -10.0, largest, 0.0) * mean)
        return largest, mean, tape.gradient(loss, r.flat_values), r.value_rowids(), r.row_starts(), r.row_limits(), r.nrows()

    tf.config.require_compiled_functions()
    try:
        found = [listed(x) for x in f(tf.ragged.constant([[1.0, 2.0, 0.5], [], [3.0]]))]
        assert f(tf.ragged.constant([[1.0], [2.0, 3.0]]))[0].numpy().tolist() == [1.0, 3.0]
    finally:
        tf.config.require_compiled_functions(False)
    assert found[:2] == [[2.0, -3.4028234663852886e38, 3.0], [1.75, 0.0, 9.0]]
    np.testing.assert_allclose(found[2], [4 / 3, 53 / 12, 2 / 3, 27.0], rtol=1e-6)
    assert found[3:] == [[0, 0, 0, 2], [0, 3, 3], [3, 3, 4], 3]
