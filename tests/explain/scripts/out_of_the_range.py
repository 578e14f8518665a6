"""Weights beyond the range of a simulated quantization."""

import gradtape as tf

w = tf.Variable([[3.0], [-2.5]])
with tf.GradientTape() as tape:
    quantized = tf.quantization.fake_quant_with_min_max_args(w, min=-1.0, max=1.0)  # <- clipped
    loss = tf.reduce_mean((tf.ones([4, 2]) @ quantized - 0.5) ** 2)
print(tape.gradient(loss, w))
# Advice: widen the bounds
