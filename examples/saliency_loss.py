"""Saliency inside the loss: a classifier is right for the right reasons (Ross, Hughes and Doshi-Velez 2017, equation 1).

In training a hint in the second channel gives the class away, in the test it lies. The inner tape finds how much the scores of
an LSTM depend on each input, and the loss forbids that they depend on the hint: so the outer tape differentiates a gradient
that went through the recurrent layer.
"""

import numpy as np

import gradtape as tf
from examples.command import command

keras = tf.keras
LENGTH, BATCH = 12, 64


def sequences(count: int, random: np.random.Generator, hint: float):
    """`(x, y)`: x [count, 12, 2] has a rising or falling first channel, and a second one that is `hint` times the class."""
    y = random.integers(2, size=count)
    sign = (2 * y - 1)[:, None]
    trend = sign * np.linspace(-1, 1, LENGTH) + 0.7 * random.standard_normal([count, LENGTH])
    given_away = hint * sign + random.standard_normal([count, LENGTH])
    return np.stack([trend, given_away], axis=-1).astype("float32"), y.astype("float32")[:, None]


def train(weight: float, steps: int, seed: int):
    """A classifier trained with this weight of the penalty: its accuracy where the hint lies, its first and last loss."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    model = keras.Sequential([keras.Input([LENGTH, 2]), keras.layers.LSTM(16), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam(1e-2)
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                scores = model(x, training=True)
            saliency = tf.square(inner.gradient(scores, x))
            # A share, as a net that saturates has small gradients everywhere and depends on the hint all the same.
            on_the_hint = tf.reduce_sum(saliency[..., 1]) / tf.reduce_sum(saliency)
            loss = cross_entropy(y, scores) + weight * on_the_hint
        gradients = outer.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [step(*map(tf.constant, sequences(BATCH, random, hint=1.0))) for _ in range(steps)]
    x, y = sequences(512, random, hint=-1.0)
    accuracy = float(np.mean((model(x).numpy() > 0) == (y > 0.5)))
    return accuracy, float(losses[0]), float(losses[-1])


def main(steps: int = 120, seed: int = 0):
    """Train an LSTM classifier without and with a penalty on the saliency of a misleading hint."""
    results = {}
    for weight in (0.0, 5.0):
        accuracy, first, last = results[weight] = train(weight, steps, seed)
        print(f"penalty × {weight}: loss {first:.3f} → {last:.3f}, accuracy where the hint lies {accuracy:.3f}")
    return results


if __name__ == "__main__":
    command(main)
