"""Total variation of a picture that starts flat."""

import gradtape as tf

picture = tf.Variable(tf.fill([1, 6, 6, 1], 0.5))
optimizer = tf.keras.optimizers.Adam(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.image.total_variation(picture))  # <- stationary
grads = tape.gradient(loss, [picture])
# Advice: start from another
