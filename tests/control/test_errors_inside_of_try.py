"""An `if` on a tensor that cannot be compiled raises where it stands, so that a `try` around it sees that. As in TensorFlow."""

import pytest

import gradtape as tf


def passed_over(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            return x
    except ValueError:
        pass
    return None


def none_in_the_other_branch(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            return x
        else:
            return None
    except ValueError:
        pass
    return None


def returned_by_the_handler(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            return x
    except ValueError:
        return x * 7.0
    return None


def of_another_function(x):
    def inner(x):
        if tf.reduce_sum(x) > 5.0:
            return x

    try:
        return inner(x)
    except ValueError:
        pass
    return x * 5.0


def unbound(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            y = x
    except ValueError:
        y = x * 3.0
    return y


def dtypes(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            y = x
        else:
            y = tf.cast(x, tf.int32)
    except TypeError:
        y = x - 1.0
    return y


def raised_by_the_user(x):
    try:
        if tf.reduce_sum(x) > 5.0:
            raise ValueError
    except ValueError:
        return x * 9.0
    return x


@pytest.mark.parametrize(
    "function, expected",
    [
        (passed_over, None),
        (none_in_the_other_branch, None),
        (returned_by_the_handler, [7.0]),
        (of_another_function, [5.0]),
        (unbound, [3.0]),
        (dtypes, [0.0]),
        (raised_by_the_user, [9.0]),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_the_try_around_it_sees_the_error(function, expected):
    result = tf.function(function)(tf.ones([1]))
    assert (result if result is None else result.numpy().tolist()) == expected


def test_without_a_handler_it_is_raised():
    @tf.function
    def first(x):
        try:
            if tf.reduce_sum(x) > 5.0:
                return x
        finally:
            pass
        return None

    with pytest.raises(ValueError, match="the else branch must also have a return statement"):
        first(tf.ones([1]))


def test_one_that_can_be_compiled_gives_the_result_of_python():
    """TensorFlow raises inside of the `try`, too, and gives what the handler goes on to: 2, twice."""

    @tf.function
    def either(x):
        try:
            if tf.reduce_sum(x) > 5.0:
                return x
        except ValueError:
            pass
        return x * 2.0

    assert [either(tf.constant(x)).numpy() for x in (1.0, 6.0)] == [2.0, 6.0]


def test_what_is_traced_twice_is_recorded_once():
    v = tf.Variable(0.0)

    @tf.function
    def counted(x):
        v.assign_add(1.0)
        try:
            if tf.reduce_sum(x) > 5.0:
                return x
        except ValueError:
            pass
        return None

    assert counted(tf.ones([1])) is None
    assert v.numpy() == 1.0
