"""An angular margin whose cosine is clipped to 1 itself."""

import gradtape as tf

weights = tf.Variable([[1.0, 0.0], [0.0, 1.0]])


class ArcFace(tf.keras.losses.Loss):
    def call(self, y_true, cosine):
        angle = tf.acos(tf.clip_by_value(cosine, -1.0, 1.0))  # <- nan_origin
        logits = 4.0 * tf.cos(angle + 0.2 * y_true)
        return tf.nn.softmax_cross_entropy_with_logits(y_true, logits)


features = tf.math.l2_normalize(tf.constant([[3.0, 0.0], [1.0, 2.0]]), 1)
with tf.GradientTape() as tape:
    loss = ArcFace()(tf.one_hot([0, 1], 2), features @ tf.math.l2_normalize(weights, 0))
print(tape.gradient(loss, weights))
# Fix: 1 - 1e-06
