"""`fit` with a training step of your own: mixup (Zhang et al. 2018, equation 1).

Each batch is mixed with itself in another order, `x = a·x₁ + (1 − a)·x₂`, and so are its labels.
"""

import gradtape as tf
from examples.command import command
from examples.data import digits

keras = tf.keras


class Mixup(keras.Model):
    """A model that trains on mixtures of pairs of rows and is tested on rows as they are."""

    def train_step(self, data):
        x, y = data
        count = tf.shape(x)[0]
        share = tf.random.uniform([count, 1], 0.5, 1.0)
        other = tf.random.shuffle(tf.range(count))
        mixed_x = share[..., None, None] * x + (1 - share[..., None, None]) * tf.gather(x, other)
        mixed_y = share * y + (1 - share) * tf.gather(y, other)
        with tf.GradientTape() as tape:
            predicted = self(mixed_x, training=True)
            loss = self.compute_loss(y=mixed_y, y_pred=predicted)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(mixed_y, predicted)
        return {metric.name: metric.result() for metric in self.metrics}


def main(epochs: int = 15, rows: int = 1437, seed: int = 0):
    """Train on mixtures of digits with an overridden `train_step`."""
    keras.utils.set_random_seed(seed)
    (x, y), (x_test, y_test) = digits(rows)
    inputs = keras.Input([8, 8, 1])
    values = keras.layers.Flatten()(inputs)
    values = keras.layers.Dense(128, activation="relu")(values)
    model = Mixup(inputs, keras.layers.Dense(10)(values))
    model.compile("adam", keras.losses.CategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(x, keras.utils.to_categorical(y, 10), epochs=epochs, verbose=0).history
    loss, accuracy = model.evaluate(x_test, keras.utils.to_categorical(y_test, 10), verbose=0)
    print(f"loss {history['loss'][0]:.3f} → {history['loss'][-1]:.3f} on mixtures")
    print(f"on {len(x_test)} digits it has not seen: loss {loss:.3f}, accuracy {accuracy:.3f}")
    return history["loss"], accuracy


if __name__ == "__main__":
    command(main)
