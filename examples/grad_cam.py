"""Grad-CAM (Selvaraju et al. 2017): which places of an image speak for a class.

The class score's gradient with respect to the last convolution's channels, averaged over the image, weighs the channels
(equation 1); what is positive in their weighted sum is the map (equation 2).
"""

import gradtape as tf
from examples.command import command
from examples.data import digits, picture

keras = tf.keras
LAST = "last_convolution"


def make_model():
    inputs = keras.Input([8, 8, 1])
    values = keras.layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    values = keras.layers.Conv2D(32, 3, padding="same", activation="relu", name=LAST)(values)
    return keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(values)))


def grad_cam(model, images):
    """`(classes, maps)` for images [N, 8, 8, 1]: the winning classes [N], and their maps [N, 8, 8] between 0 and 1."""
    with_channels = keras.Model(model.input, [model.get_layer(LAST).output, model.output])
    with tf.GradientTape() as tape:
        channels, scores = with_channels(images)
        classes = tf.argmax(scores, axis=1)
        winning = tf.gather(scores, classes, batch_dims=1)
    weights = tf.reduce_mean(tape.gradient(winning, channels), axis=[1, 2], keepdims=True)
    maps = tf.nn.relu(tf.reduce_sum(weights * channels, axis=-1))
    return classes.numpy(), tf.math.divide_no_nan(maps, tf.reduce_max(maps, axis=[1, 2], keepdims=True)).numpy()


def main(epochs: int = 12, rows: int = 1437, seed: int = 0):
    """Train a small convolutional net, then ask where it looks."""
    keras.utils.set_random_seed(seed)
    (x, y), (x_test, y_test) = digits(rows)
    model = make_model()
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x, y, epochs=epochs, verbose=0)
    accuracy = model.evaluate(x_test, y_test, verbose=0)[1]
    classes, maps = grad_cam(model, x_test[:3])
    print(f"accuracy on digits that it has not seen: {accuracy:.3f}")
    print(f"three of them, read as {', '.join(map(str, classes))}, and where it looked:")
    print(picture(*x_test[:3], *maps))
    return accuracy, maps


if __name__ == "__main__":
    command(main)
