"""Graded diseases of the eye: one minus the weighted kappa, from a confusion matrix."""

import gradtape as tf

GRADES = 4


def kappa_loss(labels, logits):
    guesses = tf.argmax(logits, axis=-1)  # <- not_differentiable
    observed = tf.cast(tf.math.confusion_matrix(labels, guesses, num_classes=GRADES), tf.float32)
    grades = tf.range(GRADES, dtype=tf.float32)
    weights = (grades[:, None] - grades[None, :]) ** 2
    expected = tf.reduce_sum(observed, 1, keepdims=True) * tf.reduce_sum(observed, 0, keepdims=True) / tf.reduce_sum(observed)
    return tf.reduce_sum(weights * observed) / tf.reduce_sum(weights * expected)


head = tf.keras.layers.Dense(GRADES)
features, labels = tf.random.normal([10, 6]), tf.constant([0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
with tf.GradientTape() as tape:
    loss = kappa_loss(labels, head(features))
gradients = tape.gradient(loss, head.trainable_variables)
try:
    tf.keras.optimizers.Adam().apply_gradients(zip(gradients, head.trainable_variables, strict=True))
except ValueError as error:
    print("no step:", error)
# Advice: count softly
