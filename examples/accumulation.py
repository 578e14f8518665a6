"""Gradient accumulation in mixed precision: float16 layers, float32 weights, a scaled loss, one update for four batches.

`fit` does it with two options. The loop below it shows the same by hand, with a scale that adapts itself: the scaled loss
keeps small gradients from vanishing in float16, and a step whose gradients overflowed is left out.
"""

import gradtape as tf
from examples.command import command
from examples.data import digits

keras = tf.keras
ACCUMULATED, BATCH = 4, 16


def make_model():
    return keras.Sequential(
        [
            keras.Input([8, 8, 1]),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu", dtype="mixed_float16"),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )


def by_fit(x, y, epochs):
    """The losses of `fit` with an optimizer that accumulates and scales."""
    model = make_model()
    inner = keras.optimizers.Adam(3e-3, gradient_accumulation_steps=ACCUMULATED)
    optimizer = keras.mixed_precision.LossScaleOptimizer(inner)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model.fit(x, y, epochs=epochs, batch_size=BATCH, verbose=0).history["loss"]


def by_hand(x, y, epochs):
    """The losses of a loop that adds up the gradients of four batches before each update."""
    model = make_model()
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(3e-3))
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    sums = [tf.Variable(tf.zeros_like(weight), trainable=False) for weight in model.trainable_variables]
    losses = []
    for _ in range(epochs):
        for first in range(0, len(x) - ACCUMULATED * BATCH + 1, ACCUMULATED * BATCH):
            for part in range(first, first + ACCUMULATED * BATCH, BATCH):
                with tf.GradientTape() as tape:
                    loss = cross_entropy(y[part : part + BATCH], model(x[part : part + BATCH], training=True))
                    scaled = optimizer.scale_loss(loss / ACCUMULATED)
                for total, gradient in zip(sums, tape.gradient(scaled, model.trainable_variables), strict=True):
                    total.assign_add(gradient)
            optimizer.apply_gradients(zip(sums, model.trainable_variables, strict=True))  # takes the scale off again
            for total in sums:
                total.assign(tf.zeros_like(total))
            losses.append(loss)
    return [float(loss) for loss in losses]


def main(epochs: int = 5, rows: int = 1437, seed: int = 0):
    """Train in mixed precision with accumulated gradients, by `fit` and by hand."""
    (x, y), _ = digits(rows)
    results = {}
    for train in (by_fit, by_hand):
        keras.utils.set_random_seed(seed)
        losses = results[train.__name__] = train(x, y, epochs)
        print(f"{train.__name__}: loss {losses[0]:.3f} → {losses[-1]:.3f}")
    return results


if __name__ == "__main__":
    command(main)
