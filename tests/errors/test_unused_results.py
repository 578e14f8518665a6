"""An op whose result nobody uses does not raise in a function; what was asked for, and what has effects, does."""

import pytest

import gradtape as tf

X = [1.0, 2.0]
state = tf.Variable(0.0)


def beyond(x):
    return tf.gather(x, tf.cast(x, tf.int32) + 3)


@tf.function
def two(x):
    return beyond(x), x * 2.0


@tf.function
def counts(x):
    state.assign_add(1.0)
    return beyond(x)


def constant_index(x):
    tf.gather(x, [5])
    return x


def constant_of_a_constant(x):
    tf.gather(tf.constant([1.0]), [5])
    return x


def computed_index(x):
    beyond(x)
    return x


def divided(x):
    tf.constant([1]) // tf.cast(x * 0.0, tf.int32)
    return x


def singular(x):
    tf.linalg.inv(tf.zeros([2, 2]) * x[0])
    return x


def labels(x):
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(x, tf.int32) + 5, logits=tf.zeros([2, 3]))
    return x


def array(x):
    tf.TensorArray(tf.float32, 2).write(tf.cast(x[0], tf.int32) + 7, 1.0)
    return x


def in_a_loop(x):
    for i in tf.range(3):
        tf.gather(x, [i + 5])
    return x


def control_dependency(x):
    with tf.control_dependencies([tf.gather(x, [5])]):
        return tf.identity(x)


def shape_only(x):
    return x + tf.cast(tf.size(beyond(x)), tf.float32) - 2.0


def of_a_call(x):
    two(x)
    return x


def other_result_of_a_call(x):
    return two(x)[1] - x


def of_a_call_with_effects(x):
    state.assign(0.0)
    counts(x)
    return x * state


@pytest.mark.parametrize(
    "function",
    [
        constant_index,
        constant_of_a_constant,
        computed_index,
        divided,
        singular,
        labels,
        array,
        in_a_loop,
        control_dependency,
        shape_only,
        of_a_call,
        other_result_of_a_call,
        of_a_call_with_effects,
    ],
)
def test_unused(function):
    assert tf.function(function)(tf.constant(X)).numpy().tolist() == X


def returned(x):
    return x + tf.gather(tf.constant([1.0]), [5])


def one_of_its_parts(x):
    first, _ = tf.split(tf.gather(x, [0, 7]), 2)
    return first


def assigned(x):
    state.assign(beyond(x)[0])
    return x


def printed(x):
    tf.print(beyond(x))
    return x


def asserted(x):
    tf.debugging.Assert(beyond(x)[0] > 0.0, [x])
    return x


def result_of_a_call(x):
    return two(x)[0]


def array_that_is_read(x):
    return tf.TensorArray(tf.float32, 2).write(tf.cast(x[0], tf.int32) + 7, 1.0).stack()


def loss_of_a_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 5], logits=tf.reshape(x, [2, 1]) * tf.ones([2, 3]))
    return tape.gradient(loss, x)


def rows_of_a_jacobian(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 5], logits=tf.reshape(x, [2, 1]) * tf.ones([2, 3]))
    return tape.jacobian(losses, x)


@pytest.mark.parametrize(
    "function",
    [
        returned,
        one_of_its_parts,
        assigned,
        printed,
        asserted,
        result_of_a_call,
        array_that_is_read,
        loss_of_a_gradient,
        rows_of_a_jacobian,
    ],
)
def test_used(function):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0|with 2 elements|outside the valid range"):
        tf.function(function)(tf.constant(X))


def test_what_was_asked_for_is_checked_though_nobody_uses_it():
    def numbers(x):
        tf.debugging.check_numerics(x / 0.0, "m")
        return x

    def numbers_in_a_branch(x):
        return tf.cond(x[0] > 0.0, lambda: (tf.debugging.check_numerics(x / 0.0, "m"), x)[1], lambda: x)

    def less(x):
        tf.debugging.assert_less(x, 0.0)
        return x

    for function, message in [(numbers, "m : Tensor had Inf"), (numbers_in_a_branch, "m : Tensor had Inf"), (less, "x < y")]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.function(function)(tf.constant(X))


def test_a_function_that_is_called_says_at_which_of_its_lines_it_failed():
    line = beyond.__code__.co_firstlineno + 1
    for function in (tf.function(beyond), tf.function(result_of_a_call), two):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"Detected at .*test_unused_results.py:{line}, in beyond"):
            function(tf.constant(X))


def test_a_session_checks_what_it_is_asked_to_run():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        bad = beyond(x)
        assert session.run(x * 1.0, {x: X}).tolist() == X
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            session.run([x * 1.0, bad.op], {x: X})
