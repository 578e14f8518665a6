"""A call that is an error where programs are compiled is the same error where they run on the host: class, text and line."""

import re
import traceback

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.programs.op import ops
from tests.errors.test_at_once import DEPENDS_ON_VALUES, pending_zeros

AVAILABLE = re.compile(r"and [\d.]+ of the device's")
LARGE = np.arange(1 << 21, dtype=np.float32)[:, None]

CALLS = {name: call for name, (call, _) in DEPENDS_ON_VALUES.items()} | {
    "labels of a step": lambda zero: tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 3]), zero),
    "product that does not fit": lambda zero: tf.matmul(LARGE + zero[0], LARGE, transpose_b=True),  # 16 TiB
    "loop whose trip is bad": lambda zero: tf.while_loop(
        lambda i: i < 3, lambda i: [i + tf.gather([1, 2], i + tf.cast(zero[0], tf.int32) + 1)], [0]
    ),
    "branch that is bad": lambda zero: tf.cond(
        zero[0] < 1.0, lambda: 7 // tf.cast(zero, tf.int32), lambda: tf.cast(zero, tf.int32)
    ),
}


def outcome(wrap, call):
    """Return the class, text and lines in this file of the error of a call, or what it gives."""

    def compute(zero):
        return [zero, *[x for x in tf.nest.flatten(call(zero)) if tf.is_tensor(x)]]

    try:
        return [(x.dtype, x.shape) for x in map(np.asarray, wrap(compute)(pending_zeros()))]
    except tf.errors.OpError as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        return type(error), AVAILABLE.sub("", str(error)), lines


@pytest.fixture
def compiled_too():
    """Return a function that gives the outcomes of a call on the host, and compiled."""

    def both(wrap, call):
        tf.config.clear_cache()
        tf.config.compile_early(False)
        on_host = outcome(wrap, call)
        tf.config.clear_cache()
        tf.config.compile_early()
        return on_host, outcome(wrap, call)

    yield both
    tf.config.compile_early(False)
    tf.config.clear_cache()


@pytest.mark.parametrize("wrap", [pytest.param(lambda f: f, id="eager"), pytest.param(tf.function, id="function")])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_error_is_the_same(call, wrap, compiled_too):
    on_host, compiled = compiled_too(wrap, call)
    assert on_host == compiled


CASTS = [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19, 300.0, -1.0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool", "float16"])
def test_a_cast_of_what_does_not_fit_is_the_same(dtype, compiled_too):
    x, given = tf.constant(CASTS), []
    compiled_too(lambda f: f, lambda zero: given.append(np.asarray(tf.cast(x, dtype))) or zero)
    np.testing.assert_array_equal(*given)


def test_an_interrupt_between_two_ops_on_the_host_leaves_variables_whole(request):
    """A step is interrupted before each of its ops in turn: either all of its variables have moved on, or none."""
    a, b = tf.Variable(np.zeros(4, np.float32)), tf.Variable(np.zeros(4, np.float32))

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(a) * 2.0) + tf.reduce_sum(tf.sin(b) * 2.0)
        for variable, gradient in zip([a, b], tape.gradient(loss, [a, b]), strict=True):
            variable.assign_add(gradient)
        return a.numpy()

    left = 0

    def interrupted_at(kernel):
        def run(*arguments, **attributes):
            nonlocal left
            left -= 1
            if not left:
                raise KeyboardInterrupt("between two ops")
            return kernel(*arguments, **attributes)

        return run

    step()
    hosted = {op: op.kernel for op in ops.values() if op.hosted}
    for op, kernel in hosted.items():
        object.__setattr__(op, "kernel", interrupted_at(kernel))  # an op itself refuses
    request.addfinalizer(lambda: [object.__setattr__(op, "kernel", kernel) for op, kernel in hosted.items()])
    step()
    count, interrupted = -left, 0
    for number in range(1, count + 1):
        left = number
        try:
            step()
        except KeyboardInterrupt:
            interrupted += 1
        left = 0
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert count > 4 and interrupted == count
