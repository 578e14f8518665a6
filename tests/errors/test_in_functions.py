"""What is wrong with shapes is an InvalidArgumentError in eager code, and a ValueError too while a function is traced.

What is wrong with dtypes is an InvalidArgumentError, and a TypeError too while a function is traced.
"""

import pickle

import pytest

import gradtape as tf

WRONG = [
    (lambda: tf.ones([2, 3]) @ tf.ones([4, 2]), "Matrix size-incompatible"),
    (lambda: tf.reshape(tf.ones([3]), [7]), r"\[3\] cannot be reshaped to \[7\]"),
    (lambda: tf.concat([tf.ones([2, 2]), tf.ones([3, 3])], 0), "Dimension"),
]


@pytest.mark.parametrize("call, message", WRONG)
def test_in_eager_code(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        call()
    assert not isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kind", [ValueError, tf.errors.InvalidArgumentError])
@pytest.mark.parametrize("call, message", WRONG)
def test_in_a_function(call, message, kind):
    with pytest.raises(kind, match=message):
        tf.function(call)()


DTYPES = [
    (lambda: tf.constant(1) + tf.constant(1.0), "expected to be a int32 tensor but is a float"),
    (lambda: tf.concat([tf.constant([1]), tf.constant([1.0])], 0), "expected to be a int32 tensor"),
    (lambda: tf.sin(tf.constant(1)), "'T' of int32"),
    (lambda: tf.sort([True, False]), "'T' of bool"),
    (lambda: tf.gather([1, 2], [0.0]), "'Tindices' of float"),
    (lambda: tf.one_hot([0.0], 2), "'TI' of float"),
]


@pytest.mark.parametrize("call, message", DTYPES)
def test_a_wrong_dtype(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        call()
    assert not isinstance(caught.value, TypeError)
    for kind in (TypeError, tf.errors.InvalidArgumentError):
        with pytest.raises(kind, match=message):
            tf.function(call)()
    with tf.Graph().as_default(), pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("call", [lambda x: x + 1.5, lambda x: x + [1.5, 2.5]])
def test_a_number_beside_a_tensor_of_integers(call):
    message = "expected to be a int32 tensor but is a float"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call(tf.constant(3))
    with pytest.raises(TypeError, match=message) as caught:
        tf.function(call)(tf.constant(3))
    assert type(caught.value).__name__ == "TypeError"


def test_caught_in_the_function_itself():
    @tf.function
    def flat_or_itself(x):
        try:
            return tf.reshape(x, [7])
        except ValueError:
            return x

    assert flat_or_itself(tf.ones([3])).shape == [3]


def test_what_depends_on_values_is_no_value_error():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"out of range|not in") as caught:
        tf.function(lambda: tf.gather([1.0, 2.0], 7))()
    assert not isinstance(caught.value, ValueError)


def test_an_error_reads_as_tensorflows_class_and_travels_between_processes():
    def raised(call):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"size-incompatible|expected to be") as found:
            call()
        return found.value

    x = tf.ones([2, 3])
    errors = [raised(lambda: x @ x), raised(tf.function(lambda: x @ x)), raised(tf.function(lambda: x + tf.ones([3], tf.int32)))]
    assert [type(error).__name__ for error in errors] == ["InvalidArgumentError", "ValueError", "TypeError"]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (tf.errors.InvalidArgumentError, str(error))
