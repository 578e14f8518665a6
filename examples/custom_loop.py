"""A training loop from scratch: a dataset, a tape, an optimizer and metrics, with nothing of `fit`."""

import gradtape as tf
from examples.command import command
from examples.data import digits

keras = tf.keras


def make_model():
    return keras.Sequential(
        [
            keras.Input([8, 8, 1]),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10),
        ]
    )


def main(epochs: int = 6, rows: int = 1437, seed: int = 0):
    """Train a small convolutional net on digits in a loop written by hand."""
    keras.utils.set_random_seed(seed)
    train, (x_test, y_test) = digits(rows)
    batches = tf.data.Dataset.from_tensor_slices(train).shuffle(rows, seed=seed).batch(64, drop_remainder=True)
    model = make_model()
    optimizer = keras.optimizers.Adam(3e-3)
    loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    train_loss, train_accuracy = keras.metrics.Mean(), keras.metrics.SparseCategoricalAccuracy()
    test_accuracy = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            scores = model(x, training=True)
            loss = loss_function(y, scores)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
        train_loss.update_state(loss)
        train_accuracy.update_state(y, scores)

    losses = []
    for epoch in range(epochs):
        for x, y in batches:
            train_step(x, y)
        test_accuracy.update_state(y_test, model(x_test, training=False))
        losses.append(float(train_loss.result()))
        accuracy = float(test_accuracy.result())
        print(
            f"epoch {epoch + 1}: loss {losses[-1]:.3f}, accuracy {float(train_accuracy.result()):.3f}; "
            f"on digits it has not seen {accuracy:.3f}"
        )
        for metric in (train_loss, train_accuracy, test_accuracy):
            metric.reset_state()
    return losses, accuracy


if __name__ == "__main__":
    command(main)
