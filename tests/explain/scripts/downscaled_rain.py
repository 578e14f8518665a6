"""A network that refines maps of rain; the penalties of its layers are added to the loss."""

import gradtape as tf

layers, penalty = tf.keras.layers, tf.keras.regularizers.L2(0.01)
net = tf.keras.Sequential(
    [layers.Conv2DTranspose(2, 2, strides=2, kernel_regularizer=penalty), layers.Conv2D(1, 1, kernel_regularizer=penalty)]
)
optimizer = tf.keras.optimizers.Adam()
coarse, fine = tf.random.uniform([2, 4, 4, 1]), tf.random.uniform([2, 8, 8, 1])

for _ in range(2):
    with tf.GradientTape() as tape:
        refined = net(coarse, training=True)
        loss = tf.reduce_mean(tf.abs(refined - fine))
    loss += sum(net.losses)  # <- outside_tape
    gradients = tape.gradient(loss, net.trainable_variables)
    print([gradient is None for gradient in gradients])
