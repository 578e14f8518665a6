"""`tf.xla.experimental`: TensorFlow's structures of results, and its errors."""

import pytest

import gradtape as tf

compiled = tf.xla.experimental.compile


def test_the_structure_of_results():
    assert [x.numpy() for x in compiled(lambda x: x + 1.0, [1.0])] == [2.0]
    assert [x.numpy() for x in compiled(lambda: 3)] == [3]
    both = compiled(lambda x: (x, x * 2.0), [1.0])
    assert type(both) is list and [x.numpy() for x in both] == [1.0, 2.0]
    assert type(compiled(lambda x: (x, [x]), [1.0])) is tuple
    first, named = compiled(lambda x: (x, {"a": x * 2.0}), [1.0])
    assert first.numpy() == 1.0 and named["a"].numpy() == 2.0
    assert {name: x.numpy() for name, x in compiled(lambda: {"a": 1.0, "b": 2}).items()} == {"a": 1.0, "b": 2}
    assert compiled(lambda: None) is None
    with pytest.raises(TypeError, match=r"inputs must be a list, received 3\.0"):
        compiled(lambda x: x, 3.0)


def test_in_a_function_with_a_gradient():
    @tf.function
    def cube(x):
        with tf.xla.experimental.jit_scope():
            return compiled(lambda x: x**3, [x])[0]

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = cube(x)
    assert y.numpy() == 8.0 and tape.gradient(y, x).numpy() == 12.0


def test_a_scope_in_eager_code():
    with pytest.raises(RuntimeError, match="jit_scope is not supported when eager execution is enabled"):
        tf.xla.experimental.jit_scope()
