"""Loop shapes: training and other loops as people write them. Each entry is a function that makes `step(i)`."""

import numpy as np

import gradtape as tf


def _weights(*shapes):
    random = np.random.default_rng(0)
    return [tf.Variable((random.normal(size=shape) * 0.3).astype(np.float32)) for shape in shapes]


def _data(rows=64, columns=4):
    random = np.random.default_rng(1)
    return random.normal(size=(rows, columns)).astype(np.float32)


def _loss(x, w1, w2):
    return tf.reduce_mean(tf.square(tf.tanh(x @ w1) @ w2))


def training(look=None):
    """A training step; `look` says how often the loss is printed."""

    def make():
        w1, w2 = _weights((4, 5), (5, 1))
        x = tf.constant(_data(8))

        def step(i):
            with tf.GradientTape() as tape:
                loss = _loss(x, w1, w2)
            for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
                w.assign_sub(0.1 * g)
            if look and i % look == 0:
                str(loss)

        return step

    return make


def loss_printed_in_the_tape():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as tape:
            loss = _loss(x, w1, w2)
            float(loss)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def gan():
    g1, g2, d1, d2 = _weights((3, 4), (4, 4), (4, 5), (5, 1))
    real, noise = tf.constant(_data(8)), tf.constant(_data(8, 3))

    def step(i):
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            fake = tf.tanh(noise @ g1) @ g2
            on_fake, on_real = _loss(fake, d1, d2), _loss(real, d1, d2)
            generator_loss, discriminator_loss = -on_fake, on_fake - on_real
        for w, g in zip((g1, g2), generator_tape.gradient(generator_loss, (g1, g2)), strict=True):
            w.assign_sub(0.1 * g)
        for w, g in zip((d1, d2), discriminator_tape.gradient(discriminator_loss, (d1, d2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def accumulation():
    w1, w2 = _weights((4, 5), (5, 1))
    sums = [tf.Variable(tf.zeros_like(w)) for w in (w1, w2)]
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as tape:
            loss = _loss(x, w1, w2)
        for s, g in zip(sums, tape.gradient(loss, (w1, w2)), strict=True):
            s.assign_add(g)
        if i % 4 == 3:
            for w, s in zip((w1, w2), sums, strict=True):
                w.assign_sub(0.1 * s / 4.0)
                s.assign(tf.zeros_like(s))

    return step


def evaluation_between_epochs():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as tape:
            loss = _loss(x, w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)
        if i % 10 == 9:
            total = 0.0
            for _ in range(3):
                total += float(_loss(x, w1, w2))

    return step


def predictions_collected():
    w1, w2 = _weights((4, 5), (5, 1))
    x = _data(64)
    collected = []

    def step(i):
        start = i % 8 * 8
        collected.append(tf.tanh(tf.constant(x[start : start + 8]) @ w1) @ w2)
        if len(collected) == 8:
            np.concatenate([p.numpy() for p in collected])
            collected.clear()

    return step


def carried_scalars():
    state = [tf.constant(1.0), tf.constant(0.5)]

    def step(i):
        a, b = state
        state[0] = a * 0.9 + b
        state[1] = b - 0.1 * a

    return step


def counters_and_schedules():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        rate = 0.1 / (1 + 0.01 * i)
        with tf.GradientTape() as tape:
            loss = _loss(x, w1, w2) * (1.0 + i)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(rate * g / (1 - 0.9 ** (i + 1)))

    return step


def sliced_data():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(64))

    def step(i):
        i = i % 8
        with tf.GradientTape() as tape:
            loss = _loss(x[i * 8 : (i + 1) * 8], w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def smaller_last_batch():
    w1, w2 = _weights((4, 5), (5, 1))
    x = _data(30)

    def step(i):
        start = i % 4 * 8
        with tf.GradientTape() as tape:
            loss = _loss(tf.constant(x[start : start + 8]), w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def varying_batches():
    w1, w2 = _weights((4, 5), (5, 1))
    x = _data(64)

    def step(i):
        with tf.GradientTape() as tape:
            loss = _loss(tf.constant(x[: 1 + i % 5]), w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def persistent_tape():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape(persistent=True) as tape:
            hidden = tf.tanh(x @ w1)
            first, second = tf.reduce_mean(hidden @ w2), tf.reduce_mean(tf.square(hidden))
        g1 = tape.gradient(first, (w1, w2))
        g2 = tape.gradient(second, w1)
        w1.assign_sub(0.1 * (g1[0] + g2))
        w2.assign_sub(0.1 * g1[1])

    return step


def tape_never_closed():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        tape = tf.GradientTape()
        tape.__enter__()
        loss = _loss(x, w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def exception_in_mid_step():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        try:
            with tf.GradientTape() as tape:
                loss = _loss(x, w1, w2)
                if i % 3 == 2:
                    raise RuntimeError("in mid-step")
            for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
                w.assign_sub(0.1 * g)
        except RuntimeError:
            pass

    return step


def growing_list():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))
    losses = []

    def step(i):
        with tf.GradientTape() as tape:
            loss = _loss(x, w1, w2)
        for w, g in zip((w1, w2), tape.gradient(loss, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)
        losses.append(loss)

    return step


def nested_tapes():
    w1, w2 = _weights((4, 5), (5, 1))
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                out = tf.reduce_sum(tf.tanh(x @ w1) @ w2)
            penalty = tf.reduce_mean(tf.square(inner.gradient(out, x)))
        for w, g in zip((w1, w2), outer.gradient(penalty, (w1, w2)), strict=True):
            w.assign_sub(0.1 * g)

    return step


def many_small_layers():
    weights = _weights(*[(4, 4)] * 40)
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as tape:
            h = x
            for w in weights:
                h = tf.tanh(h @ w + 0.1)
            loss = tf.reduce_mean(h)
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.1 * g)

    return step


def no_tape():
    state = [tf.constant(np.eye(3, dtype=np.float32))]

    def step(i):
        x = state[0]
        for _ in range(5):
            x = tf.tanh(x @ x + 0.1)
        state[0] = x

    return step


def long_tape():
    """One tape over a long unrolled recurrence: longer than a program may grow."""
    w, u = _weights((4, 4), (4, 4))
    x = tf.constant(_data(8))

    def step(i):
        with tf.GradientTape() as tape:
            h = tf.zeros((8, 4))
            for _ in range(70):
                h = tf.tanh(x @ w + h @ u)
            loss = tf.reduce_mean(h)
        for v, g in zip((w, u), tape.gradient(loss, (w, u)), strict=True):
            v.assign_sub(0.1 * g)

    return step


# name: (loop, programs compiled at the most, nodes pending at the most, steps until nothing is compiled any more)
# The step's maker; programs compiled; most nodes pending; runs on the host before all is compiled, and the steps that takes.
LOOPS = {
    "training": (training(), 1, 40, 85, 86),
    "training, loss printed each step": (training(1), 1, 40, 80, 80),
    "training, loss printed every 100": (training(100), 1, 40, 80, 81),
    "loss printed in the tape": (loss_printed_in_the_tape, 2, 40, 271, 186),
    "gan": (gan, 1, 80, 53, 54),
    "accumulation": (accumulation, 2, 60, 164, 281),
    "evaluation between epochs": (evaluation_between_epochs, 3, 60, 342, 930),
    "predictions collected": (predictions_collected, 1, 64, 68, 544),
    "carried scalars": (carried_scalars, 1, 256, 50, 849),
    "counters and schedules": (counters_and_schedules, 1, 60, 78, 79),
    "sliced data": (sliced_data, 1, 40, 83, 84),
    "smaller last batch": (smaller_last_batch, 2, 40, 170, 341),
    "varying batches": (varying_batches, 5, 40, 425, 426),
    "persistent tape": (persistent_tape, 1, 80, 70, 71),
    "tape never closed": (tape_never_closed, 1, 40, 85, 86),
    "exception in mid-step": (exception_in_mid_step, 1, 40, 85, 128),
    "growing list": (growing_list, 1, 40, 80, 81),
    "nested tapes": (nested_tapes, 1, 60, 62, 63),
    "many small layers": (many_small_layers, 1, 256, 42, 43),
    "no tape": (no_tape, 4, 256, 193, 1069),
    "long tape": (long_tape, 2, 256, 79, 40),
}
