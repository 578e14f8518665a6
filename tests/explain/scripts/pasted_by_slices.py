"""An adversarial sticker is put on a photo: slice assignment works only on a Variable, so the photo is one."""

import gradtape as tf

classifier = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
photo = tf.Variable(tf.random.uniform([1, 16, 16, 3]), trainable=False)
sticker = tf.Variable(tf.random.uniform([4, 4, 3]))
ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.02)

for row, column in [(0, 0), (3, 8)]:
    with tf.GradientTape() as tape:
        photo[0, row : row + 4, column : column + 4, :].assign(tf.sigmoid(sticker))  # <- state
        loss = ce(tf.constant([3]), classifier(photo))
    gradient = tape.gradient(loss, sticker)
    print(row, column, loss.numpy(), gradient)
    if gradient is not None:
        optimizer.apply_gradients([(gradient, sticker)])
# Advice: tf.tensor_scatter_nd_update
