"""The loss is scaled behind the tape."""

import gradtape as tf

model = tf.keras.layers.Dense(1)
model.build([None, 2])
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    scaled = optimizer.scale_loss(loss)  # <- outside_tape
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))


train_step(tf.ones([3, 2]), tf.ones([3, 1]))
