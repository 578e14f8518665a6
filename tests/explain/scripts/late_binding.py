"""Losses of an ensemble by lambdas, all of which see the last member."""

import gradtape as tf

members = [tf.keras.layers.Dense(1) for _ in range(3)]
x, y = tf.random.normal([5, 2], seed=4), tf.zeros([5, 1])
for member in members:
    member.build((None, 2))
losses = []
for member in members:
    losses.append(lambda: tf.reduce_mean((member(x) - y) ** 2))  # <- wrong_object  # noqa: B023, PERF401
with tf.GradientTape(persistent=True) as tape:
    values = [loss() for loss in losses]
for member, value in zip(members, values, strict=True):
    print(tape.gradient(value, member.trainable_variables))
# Fix: lambda member=member
