"""What the op test table cannot say of element-wise ops: slices, what is structure, what stays a broadcast."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff.backward import Entry, active_nodes, reverse
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.program import leaf
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.values.aval import aval

ROWS = [[3.0, 4.0], [0.0, 0.5]]


def slices(values=ROWS):
    return tf.IndexedSlices(tf.constant(values), tf.constant([0, 2]), tf.constant([4, 2]))


class TestIndexedSlices:
    """Some functions keep slices as slices; all others take them for the dense tensor."""

    @pytest.mark.parametrize(
        "function, expected",
        [
            (lambda s: tf.scalar_mul(2, s), [[6.0, 8.0], [0.0, 1.0]]),
            (lambda s: tf.cast(s, tf.int32), [[3, 4], [0, 0]]),
            (lambda s: tf.clip_by_value(s, 1.0, 3.0), [[3.0, 3.0], [1.0, 1.0]]),
            (lambda s: tf.clip_by_norm(s, 1.0, axes=[1]), [[0.6, 0.8], [0.0, 0.5]]),
            (lambda s: tf.clip_by_global_norm([None, s], 0.5)[0][1], np.array(ROWS) * 0.5 / np.sqrt(25.25)),
            (lambda s: -s, [[-3.0, -4.0], [0.0, -0.5]]),
        ],
        ids=["scalar_mul", "cast", "clip_by_value", "clip_by_norm", "clip_by_global_norm", "neg"],
    )
    def test_stay(self, function, expected):
        result = function(slices())
        assert isinstance(result, tf.IndexedSlices)
        np.testing.assert_allclose(result.values.numpy(), expected, rtol=1e-6)
        assert result.indices.numpy().tolist() == [0, 2]
        assert result.dense_shape.numpy().tolist() == [4, 2]

    @pytest.mark.parametrize(
        "function, expected",
        [
            (tf.square, [[9.0, 16.0], [0.0, 0.0], [0.0, 0.25], [0.0, 0.0]]),
            (lambda s: tf.add_n([s, s]), [[6.0, 8.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
            (lambda s: tf.ones([4, 2]) + s, [[4.0, 5.0], [1.0, 1.0], [1.0, 1.5], [1.0, 1.0]]),
        ],
        ids=["square", "add_n", "add"],
    )
    def test_become_dense(self, function, expected):
        result = function(slices())
        assert isinstance(result, tf.Tensor)
        assert result.numpy().tolist() == expected

    def test_global_norm(self):
        assert tf.linalg.global_norm([slices(), tf.constant([1.0])]).numpy() == pytest.approx(np.sqrt(26.25))


def keys_of(function):
    """What a call records: ops, attributes and references, which make the fingerprint of a program."""
    engine.flush()
    result = function()
    keys = [node.key for node in engine.local.trace.nodes]
    assert result is not None
    return keys


class TestStructure:
    """Operands are leaves, so that a number that changes from step to step makes no new program. Exponents are structure."""

    x = tf.constant([1.0, 2.0])

    @pytest.mark.parametrize(
        "function",
        [
            lambda x, n: x + n,
            lambda x, n: n - x,
            lambda x, n: x * n,
            lambda x, n: x / n,
            lambda x, n: n / x,
            lambda x, n: x // n,
            lambda x, n: tf.maximum(x, n),
            lambda x, n: tf.clip_by_value(x, 0.0, n),
            lambda x, n: x > n,
            lambda x, n: x == n,
            lambda x, n: n**x,
            lambda x, n: x ** (20.5 + n),
            lambda x, n: tf.pow(x, 0.3 + n),
        ],
    )
    def test_numbers_are_leaves(self, function):
        assert keys_of(lambda: function(self.x, 0.25)) == keys_of(lambda: function(self.x, 0.125))

    def test_a_number_is_the_same_program_as_an_int(self):
        assert keys_of(lambda: self.x + 1) == keys_of(lambda: self.x + 0.5)

    def test_common_exponents_are_structure(self):
        assert keys_of(lambda: self.x**2) == keys_of(lambda: self.x**2.0)
        assert keys_of(lambda: self.x**2) != keys_of(lambda: self.x**3)

    def test_exponents_that_count_steps_make_few_programs(self):
        decay = tf.Variable(0.9)
        programs = {tuple(keys_of(lambda step=step: tf.pow(decay, step))) for step in range(1000)}
        assert len(programs) <= 18
        assert tf.pow(decay, 500).numpy() == pytest.approx(0.9**500)


class TestBroadcasts:
    """A mean sends one number backwards; what scales it or changes its sign sends one number on."""

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: -x,
            lambda x: x + tf.ones([4]),
            lambda x: 1.0 - x,
            lambda x: 2.0 * x,
            lambda x: x * tf.constant(3.0),
            lambda x: x / 2.0,
            lambda x: tf.cast(x, tf.float64),
            lambda x: -(1.0 - x / 4.0) * 2.0 - tf.ones([4]),
        ],
    )
    def test_stay(self, function):
        with tracing.inner() as trace:
            x = EagerTensor(leaf(aval((4,), np.dtype("f4")), None))
            y = tf.reduce_mean(function(x))
            entries = [Entry(node, node.inputs) for node in trace.nodes]
            cotangents = reverse(entries, active_nodes(entries, {x.node: 0}), {y.node: tf.ones([], y.dtype)})
        node = cotangents[x.node].node
        assert node.op.type == "BroadcastTo"
        assert node.inputs[0].aval.size == 1


def test_gradients_do_not_overflow_before_they_meet_a_small_upstream_gradient():
    """Half precision, with TensorFlow's numbers: `x ** y` and its logarithm are too large together."""
    x, y = tf.constant([6.0, 2.0], tf.float16), tf.constant([6.0, 3.0], tf.float16)
    for upstream, expected in ((0.0, 0.0), (1e-3, 83.7)):
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = x**y
        found = tape.gradient(z, y, output_gradients=tf.constant([upstream, 1.0], tf.float16))
        np.testing.assert_allclose(found, [expected, 5.547], rtol=1e-3)
    x = tf.constant([300.0, -300.0, 1.0], tf.float16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = tf.asinh(x)
    np.testing.assert_allclose(tape.gradient(z, x), [0.003328, 0.003328, 0.707], rtol=1e-3)
