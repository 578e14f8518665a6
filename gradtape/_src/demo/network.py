"""The demo's model: a Keras one, as TensorFlow's users write them."""

import gradtape as tf


def network(seed: int, steps: int, rate: float):
    """Create two convolutions with max pools and two dense layers, 8×8 pixels in, 10 scores out, compiled for `steps` steps.

    The rate falls linearly to 0. `seed` decides the weights and the order of the batches.
    """
    tf.keras.utils.set_random_seed(seed)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )
    falling = tf.keras.optimizers.schedules.PolynomialDecay(rate, steps, end_learning_rate=0.0)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(falling, momentum=0.9),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model
