"""An attack changes a copy of the picture, and the model is given the original."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])
picture = tf.random.uniform([1, 4, 4, 1], seed=2)
label = tf.constant([1])
perturbed = tf.Variable(picture)  # <- wrong_object
for _ in range(2):
    with tf.GradientTape() as tape:
        logits = model(picture)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits))
    gradient = tape.gradient(loss, perturbed)
# Advice: compute loss from perturbed
