"""`tf.autograph.to_graph`, and functions wrapped before their first trace."""

import pytest

import gradtape as tf


def absolute(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


def test_statements_are_ops_in_a_function_that_transforms_nothing():
    graph = tf.autograph.to_graph(absolute)
    assert graph(tf.constant(-2)).numpy() == 2
    function = tf.function(graph, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int32))
    assert [function(tf.constant(value)).numpy() for value in (-3, 4)] == [3, 4]


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="Cannot apply autograph to a function that doesn't expose a __code__ object: 3"):
        tf.autograph.to_graph(3)
    with pytest.raises(ValueError, match="recursive must be True, received False"):
        tf.autograph.to_graph(absolute, recursive=False)


def test_a_method_is_wrapped_until_it_is_traced():
    class Model:
        @tf.function
        def call(self, x):
            return x + 1

    Model.call._decorate(lambda call: lambda *args: call(*args) * 2)
    model = Model()
    assert model.call(tf.constant(1.0)).numpy() == 4
    with pytest.raises(ValueError, match="Functions cannot be decorated after they have been traced"):
        model.call._decorate(lambda call: call)
