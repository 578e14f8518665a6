"""What a type checker knows of a user's program; `make types` checks it, and test_types.py runs it."""

from typing import Any, assert_type

import gradtape as tf

x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
v = tf.Variable([[1.0], [2.0]])

assert_type(x, tf.Tensor)
assert_type(v, tf.Variable)
assert_type(x + 1.0, tf.Tensor)
assert_type(v * 2.0, tf.Tensor)
assert_type(x @ x, tf.Tensor)

results = [
    assert_type(tf.reduce_sum(x), tf.Tensor),
    assert_type(tf.matmul(x, v), tf.Tensor),
    assert_type(tf.sin(x), tf.Tensor),
    assert_type(tf.nn.relu(x), tf.Tensor),
    assert_type(tf.nn.softmax(x), tf.Tensor),
    assert_type(tf.concat([x, x], 0), tf.Tensor),
    assert_type(tf.stack([x, x]), tf.Tensor),
    assert_type(tf.reshape(x, [4]), tf.Tensor),
    assert_type(tf.where(x > 2.0, x, 0.0), tf.Tensor),
    assert_type(tf.gather(x, 0), tf.Tensor),
    assert_type(tf.zeros([2]), tf.Tensor),
    assert_type(tf.random.normal([2]), tf.Tensor),
    assert_type(tf.linalg.inv(x), tf.Tensor),
    assert_type(tf.argmax(x), tf.Tensor),
    assert_type(tf.einsum("ij,jk->ik", x, x), tf.Tensor),
]

with tf.GradientTape(persistent=True) as tape:
    y = tf.reduce_sum(tf.matmul(x, v))
assert_type(tape, tf.GradientTape)
assert_type(tape.gradient(y, v), tf.Tensor | Any)  # or IndexedSlices, or None
assert_type(tape.gradient(y, [v, v]), list[tf.Tensor | Any])
assert_type(tape.gradient(y, {"a": v}), dict[str, tf.Tensor | Any])
assert_type(tf.autodiff.explain(y, v), tf.autodiff.Diagnosis)
assert_type(tf.autodiff.explain_nan(y, v), tf.autodiff.Diagnosis)
