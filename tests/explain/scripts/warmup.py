"""A term of the loss that begins later."""

import gradtape as tf

w, penalty = tf.Variable([1.0, 2.0]), tf.Variable(0.1)


def regularized(loss, step):
    if step < 3:  # <- branch_not_taken
        return loss
    return loss + penalty * tf.reduce_sum(w**2)


optimizer = tf.keras.optimizers.SGD(0.01)
for step in range(5):
    with tf.GradientTape() as tape:
        loss = regularized(tf.reduce_sum((w - 1.0) ** 2), step)
    gradients = tape.gradient(loss, [w, penalty])
    if gradients[1] is not None:
        optimizer.apply_gradients(zip(gradients, [w, penalty], strict=True))
# Advice: make `step < 3` false there
