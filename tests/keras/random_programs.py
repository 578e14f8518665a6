"""Keras's random numbers: initial weights, dropout, `keras.random`; those on TensorFlow are in random_numbers.json.

Where TensorFlow is installed, from the root of the repository: `KERAS_BACKEND=tensorflow python -m tests.keras.random_programs`.
"""

import json
import pathlib

import numpy as np

NUMBERS = pathlib.Path(__file__).with_name("random_numbers.json")
FIRST = 6  # numbers of each array that are kept, beside the sum


def weights(keras):
    """Layers of several kinds, after one seed."""
    layers = keras.layers
    made = [
        (layers.Dense(5), [2, 3]),
        (layers.Conv2D(4, 3), [1, 5, 5, 2]),
        (layers.Embedding(10, 3), [2, 4]),
        (layers.LSTM(3), [2, 4, 2]),
        (layers.Dense(700, kernel_initializer="he_normal"), [2, 3]),
        (layers.Dense(4, kernel_initializer="random_normal", bias_initializer="random_uniform"), [1, 3]),
        (layers.Dense(4, kernel_initializer="orthogonal"), [1, 4]),
        (layers.Dense(4, kernel_initializer=keras.initializers.TruncatedNormal(seed=3)), [1, 4]),
    ]
    for layer, shape in made:
        layer.build(shape)
    return [weight for layer, _ in made for weight in layer.get_weights()]


def dropout(keras):
    """Masks of layers with a seed and without, one call after the other."""
    x = np.ones((3, 4), "float32")
    drops = keras.layers.Dropout(0.4), keras.layers.Dropout(0.4, seed=5), keras.layers.SpatialDropout1D(0.5)
    noise = keras.layers.GaussianNoise(0.5)
    calls = [drop(x if drop is not drops[2] else x[None], training=True) for drop in (*drops, *drops)]
    return [*calls, noise(x, training=True), noise(x, training=True)]


def training(keras):
    """Shuffled fits of a network with dropout."""
    model = keras.Sequential([keras.Input([3]), keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x = np.cos(np.arange(24.0, dtype="float32")).reshape(8, 3)
    orders = False, True, "batch"
    losses = [model.fit(x, x.sum(1), 3, epochs=2, verbose=0, shuffle=order).history["loss"] for order in orders]
    return [np.array(losses), *model.get_weights()]


def functions(keras):
    """`keras.random`, with generators and with integers as seeds."""
    random, seed = keras.random, keras.random.SeedGenerator(3)
    x = np.arange(12.0, dtype="float32").reshape(3, 4)
    alpha = np.array([0.5, 2.0], "float32")
    return [
        random.normal([3], seed=seed),
        random.uniform([3], -0.1, 0.3, seed=seed),
        random.truncated_normal([5], 1.0, 2.0, seed=seed),
        random.randint([5], 0, 100, seed=seed),
        random.randint([3], 0, 100, "uint8", seed=seed),
        random.categorical(np.log(np.float32([[0.2, 0.8], [0.5, 0.5]])), 5, seed=seed),
        random.shuffle(x, seed=seed),
        random.shuffle(x, axis=1, seed=seed),
        random.gamma([3, 2], alpha, seed=seed),
        random.beta([3, 2], alpha, 1.5, seed=seed),
        random.binomial([3, 2], np.float32([5, 50]), np.float32([0.3, 0.4]), seed=seed),
        random.dropout(x + 1, 0.5, seed=seed),
        random.normal([2], seed=1337),
        random.normal([2], seed=2**31 + 5),
        random.normal([2]),
        keras.ops.image.elastic_transform(x[..., None], 2.0, 1.0, fill_mode="nearest", seed=seed),
    ]


PROGRAMS = {"weights": weights, "dropout": dropout, "training": training, "functions": functions}


def numbers_of(keras, program):
    """The results of a program after seed 42, each as dtype, shape, sum and the first few numbers."""
    keras.utils.set_random_seed(42)
    arrays = [keras.ops.convert_to_numpy(x) for x in program(keras)]
    return [[a.dtype.name, list(a.shape), float(a.sum(dtype="float64")), a.ravel()[:FIRST].tolist()] for a in arrays]


if __name__ == "__main__":
    import keras

    made = {name: numbers_of(keras, program) for name, program in PROGRAMS.items()}
    NUMBERS.write_text("{\n" + ",\n".join([f"{json.dumps(name)}: {json.dumps(made[name])}" for name in made]) + "\n}\n")
