"""FaceNet: the loss stays exactly at the margin, 0.2, and nothing moves."""

import gradtape as tf

embedding = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(6, activation="relu"),
        tf.keras.layers.Dense(4, kernel_initializer="zeros", bias_initializer="ones"),
    ]
)


def triplet_loss(anchor, positive, negative, margin=0.2):
    near = tf.reduce_sum(tf.square(anchor - positive), axis=-1)
    far = tf.reduce_sum(tf.square(anchor - negative), axis=-1)
    return tf.reduce_mean(tf.maximum(near - far + margin, 0.0))


anchors, positives, negatives = (tf.random.normal([5, 3]) for _ in range(3))
with tf.GradientTape() as tape:
    loss = triplet_loss(embedding(anchors), embedding(positives), embedding(negatives))  # <- zero_factor
gradients = tape.gradient(loss, embedding.trainable_variables)
print(float(loss), [float(tf.reduce_sum(tf.abs(g))) for g in gradients])
# Advice: start embedding.layers[1].kernel
