"""A loss of the boxes that the suppression keeps."""

import gradtape as tf

head = tf.keras.layers.Dense(1, activation="sigmoid")
boxes = tf.constant([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.9, 1.0], [2.0, 2.0, 3.0, 3.0]])


@tf.function
def step(features):
    with tf.GradientTape() as tape:
        scores = head(features)[:, 0]
        kept = tf.image.non_max_suppression(boxes, scores, 2)  # <- not_differentiable
        loss = tf.reduce_mean(tf.gather(boxes, kept) ** 2)
    return tape.gradient(loss, head.trainable_variables)


step(tf.constant([[1.0, 2.0], [0.5, 1.0], [0.1, 0.2]]))
# Advice: the scores of the boxes that are kept
