"""A Hessian's product whose inner gradient is taken when the outer tape is stopped."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])
v = tf.constant([1.0, 0.0])
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        loss = tf.reduce_sum(w**3)
    with outer.stop_recording():
        slope = inner.gradient(loss, w)  # <- recording_paused
    product = tf.reduce_sum(slope * v)
print(outer.gradient(product, w))
