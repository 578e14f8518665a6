"""A classifier of coffee beans with a batch normalization; the step asks for all variables."""

import gradtape as tf

layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(6), layers.BatchNormalization(), layers.Dense(3)])
beans, kinds = tf.random.normal([12, 4]), tf.constant([0, 1, 2] * 4)
losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model(beans)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = losses(y, model(x, training=False))  # <- not_trainable
    return loss, tape.gradient(loss, model.variables)


loss, gradients = step(beans, kinds)
for variable, gradient in zip(model.variables, gradients, strict=True):
    print(variable.name, gradient is None)
# Fix: in zip(model.trainable_variables
