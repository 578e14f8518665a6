"""What of the array ops is structure and what an operand; what runs at once; which cotangents stay broadcasts."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution
from tests.ops.spy import recorded
from tests.ops.table import real

X = tf.constant(np.arange(60.0, dtype="float32").reshape(20, 3))
V = tf.Variable(X)

# Called with 3, 4 and 5: one compiled program each.
OPERANDS = {
    "an index": lambda i: X[i],
    "an index from the end": lambda i: X[-i, -1],
    "a slice": lambda i: X[i : i + 4],
    "strides": lambda i: X[i : i + 9 : 3, ::-1],
    "strides downwards": lambda i: X[i + 8 : i : -2],
    "tf.slice": lambda i: tf.slice(X, [i, 0], [5, 2]),
    "tf.strided_slice": lambda i: tf.strided_slice(X, [i], [i + 2]),
    "a slice of a variable": lambda i: V[2 * i : 2 * i + 3],
    "assignment to a slice": lambda i: V[i : i + 2].assign(tf.ones([2, 3])).read_value(),
    "roll": lambda i: tf.roll(X, i, axis=0),
    "fill": lambda i: tf.fill([2, 3], float(i)),
    "a pad value": lambda i: tf.pad(X, [[1, 0], [0, 0]], constant_values=float(i)),
    "one_hot values": lambda i: tf.one_hot([1, 0], 3, on_value=float(i)),
    "where with a number": lambda i: tf.where(X > 9.0, X, float(i)),
    "gather": lambda i: tf.gather(X, [i, 2 * i]),
    "gather_nd": lambda i: tf.gather_nd(X, [[i, 0], [i, 1]]),
    "scatter_nd": lambda i: tf.scatter_nd([[i], [0]], [1.0, 2.0], [9]),
    "a mask of as many": lambda i: tf.boolean_mask(X[:6], np.arange(6) != i),
}


def test_a_float_tensor_in_a_list_of_sizes_is_a_whole_number():
    assert tf.tile([[1.0]], [2, tf.constant(1.5)]).shape == (2, 1)
    assert tf.zeros([tf.constant(2.7), 3]).shape == tf.zeros([tf.constant(2.0, tf.float64), 3]).shape == (2, 3)
    assert tf.broadcast_to(1.0, [tf.constant(2.0)]).shape == (2,) and tf.zeros([tf.constant(True)]).shape == (1,)
    assert tf.reduce_sum([[1.0, 2.0]], axis=[tf.constant(1.0)]).numpy().tolist() == [3.0]
    for sizes in (tf.constant([1.0, 2.0]), [1.0, 2], [tf.constant([1.0])], [tf.constant(1j)], [tf.constant(np.nan)]):
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError), match=r"must be .*integer"):
            tf.zeros(sizes)


@pytest.mark.parametrize("call", OPERANDS.values(), ids=OPERANDS)
def test_is_one_program(call):
    for i in (3, 4):  # node by node, then compiled whole
        call(i).numpy()
    compiled = execution.counters.programs, execution.counters.kernels
    call(5).numpy()
    assert (execution.counters.programs, execution.counters.kernels) == compiled


class TestMasksAreReadAndDataIsNot:
    """The data stays in the pending program."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: tf.boolean_mask(x, [True, False, True]),
            lambda x: x[tf.constant([True, False, True])],
            lambda x: tf.dynamic_partition(x, [0, 1, 0], 2)[0],
            lambda x: tf.dynamic_stitch([[1, 0, 2]], [x]),
            lambda x: tf.repeat(x, [2, 0, 1], axis=0),
            lambda x: tf.gather(x, [2, 0]),
            lambda x: tf.tensor_scatter_nd_add(x, [[1]], [[1.0, 1.0]]),
        ],
    )
    def test_data(self, call):
        x = tf.constant(real(3, 2), tf.float32) * 2.0
        y = call(x)
        assert x.node.value is None
        assert y.node.value is None

    def test_mask(self):
        x = tf.constant(real(3, 2), tf.float32)
        mask = x[:, 0] > 0.0
        _ = tf.boolean_mask(x, mask)
        assert mask.node.value is not None


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda x: tf.transpose(x, [0, 2, 3, 1]), (2, 3, 4, 5)),
        (lambda x: tf.concat([x, x * 2.0], -1), (2, 4, 5, 3)),
        (lambda x: tf.stack([x, x * 2.0], 1), (2, 4, 3)),
    ],
    ids=["transpose", "concat", "stack"],
)
def test_a_broadcast_cotangent_stays_one(call, shape):
    """Nothing of the size of `x` is split, sliced or transposed on the way back from a mean over space."""
    x = tf.constant(real(*shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_mean(call(x), axis=[1, 2])
    with recorded() as seen:
        gradient = tape.gradient(y, x)
    assert gradient.shape == x.shape
    moved = [
        op.type for op, _, avals, _ in seen if op.type in ("SplitV", "Unpack", "Transpose") and avals[0].size >= x.node.aval.size
    ]
    assert moved == []


def test_a_broadcast_cotangent_is_summed_over_an_axis_that_it_has_itself():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x + tf.ones([2, 3]), 1) * [1.0, 10.0]  # the cotangent of the sum is a column
    assert tape.gradient(y, x).numpy().tolist() == [11.0] * 3


@pytest.mark.parametrize("start, stop, count", [(-2.0, 2.0, 21), (-1, 1, 7), (-0.3, 0.3, 31)])
def test_linspace_of_numbers_meets_0(start, stop, count):
    spaced = tf.linspace(start, stop, count).numpy()
    assert spaced[count // 2] == 0.0
    assert (spaced[0], spaced[-1]) == (spaced.dtype.type(start), spaced.dtype.type(stop))
    np.testing.assert_allclose(spaced, np.linspace(start, stop, count), rtol=1e-5)


@pytest.mark.parametrize(
    ("bounds", "dtype", "count", "last"),
    [
        ((-2.0, 1.0, 0.00375), tf.float32, 800, 0.9962499141693115),
        ((0.1, 2.8, 0.17), tf.float32, 16, 2.6499998569488525),
        ((-2.7, 1.3, 0.4), tf.float16, 10, 0.900390625),
        ((0.0, 1.0, 0.1), tf.bfloat16, 10, 0.90234375),
        ((-(2**31), 2**31 - 1, 2**30), tf.int32, 4, 2**30),
    ],
)
def test_a_range_is_counted_in_the_precision_of_its_bounds(bounds, dtype, count, last):
    """Both numbers are TensorFlow's."""
    numbers = tf.range(*[tf.constant(bound, dtype) for bound in bounds])
    assert (numbers.shape[0], float(numbers[-1])) == (count, last)


def test_a_first_gather_of_what_unique_found_takes_64_bits():
    found, _ = tf.unique(tf.constant([3.0, 1.0, 1.0, 2.0], tf.float64))
    gathered = tf.gather(found, tf.argsort(found))
    assert gathered.dtype == tf.float64
    np.testing.assert_array_equal(gathered, [1.0, 2.0, 3.0])


def test_batches_counted_from_the_end_count_the_axis_too():
    x = tf.reshape(tf.range(24), [2, 3, 4])
    found = tf.gather(x, [[0, 1], [1, 0]], batch_dims=-1)
    assert found.numpy().ravel().tolist() == [0, 1, 4, 5, 8, 9, 13, 12, 17, 16, 21, 20]


def test_no_classes_have_no_vectors():
    assert tf.one_hot([], 2).shape == (0, 2) and tf.one_hot([], 2).dtype == tf.float32


def test_arguments_are_checked_in_tensorflows_order():
    with pytest.raises(ValueError, match="Value of argument `mode` expected to be one of"):
        tf.pad([1], [1, 1], "EDGE")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"paddings must be a matrix with 2 columns: \[\]"):
        tf.pad([1], 1)
    with pytest.raises(TypeError, match=r"Argument `sparse_delta` must be a `tf\.IndexedSlices`"):
        tf.Variable([[1.0]]).batch_scatter_update(3.0)
