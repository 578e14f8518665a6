"""A Wasserstein GAN with gradient penalty (Gulrajani et al. 2017, algorithm 1): a gradient inside the loss.

The critic's gradient with respect to points between real and made ones shall have length 1. It is taken by an inner tape
inside of the outer one, which differentiates it once more.
"""

import numpy as np

import gradtape as tf
from examples.command import command

keras = tf.keras
NOISE, PENALTY, CRITIC_STEPS, BATCH = 2, 10.0, 5, 128


def ring(count: int, random: np.random.Generator) -> np.ndarray:
    """Points [count, 2] around eight places on the unit circle."""
    angle = 2 * np.pi * random.integers(8, size=count) / 8
    return (np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * random.standard_normal([count, 2])).astype("float32")


def distance_from_ring(points):
    """How far each of `points` [N, 2] is from the nearest of the eight places: [N]."""
    angle = 2 * np.pi * np.arange(8) / 8
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype("float32")
    return tf.reduce_min(tf.norm(points[:, None] - places, axis=2), axis=1)


def network(inputs: int, outputs: int):
    hidden = [keras.layers.Dense(64, activation="relu") for _ in range(2)]
    return keras.Sequential([keras.Input([inputs]), *hidden, keras.layers.Dense(outputs)])


def gradient_penalty(critic, real, made):
    """The mean of (|∂critic/∂x| − 1)² at points x on the lines between real and made ones."""
    share = tf.random.uniform([tf.shape(real)[0], 1])
    between = share * real + (1 - share) * made
    with tf.GradientTape() as tape:
        tape.watch(between)
        scores = critic(between)
    gradient = tape.gradient(scores, between)
    return tf.reduce_mean((tf.norm(gradient, axis=1) - 1) ** 2)


def main(steps: int = 400, seed: int = 0):
    """Learn eight clusters of points on a ring."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    generator, critic = network(NOISE, 2), network(2, 1)
    generator_optimizer = keras.optimizers.Adam(5e-4, beta_1=0.5, beta_2=0.9)
    critic_optimizer = keras.optimizers.Adam(2e-3, beta_1=0.5, beta_2=0.9)

    @tf.function
    def critic_step(real):
        made = generator(tf.random.normal([BATCH, NOISE]))
        with tf.GradientTape() as tape:
            distance = tf.reduce_mean(critic(real)) - tf.reduce_mean(critic(made))
            penalty = gradient_penalty(critic, real, made)
            loss = PENALTY * penalty - distance
        gradients = tape.gradient(loss, critic.trainable_variables)
        critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables, strict=True))
        return distance, penalty

    @tf.function
    def generator_step():
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(critic(generator(tf.random.normal([BATCH, NOISE]))))
        gradients = tape.gradient(loss, generator.trainable_variables)
        generator_optimizer.apply_gradients(zip(gradients, generator.trainable_variables, strict=True))

    def away():
        return float(tf.reduce_mean(distance_from_ring(generator(tf.random.normal([512, NOISE])))))

    before = away()
    for step in range(1, steps + 1):
        for _ in range(CRITIC_STEPS):
            distance, penalty = critic_step(ring(BATCH, random))
        generator_step()
        if step % max(1, steps // 5) == 0:
            print(f"step {step}: distance {float(distance):.3f}, penalty {float(penalty):.4f}, away from the ring {away():.3f}")
    return before, away(), float(penalty)


if __name__ == "__main__":
    command(main)
