"""Thirteen Keras models, for the rows about first epochs and custom training loops."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.keras_fit import BATCH, CLASSES
from benchmarks.rows import fit_cnn, fit_lstm, fit_mlp, fit_transformer


@dataclass(frozen=True)
class Model:
    """A model: its description, its builder `build(keras)`, and its data: floats of `shape`, or integers below `tokens`."""

    title: str
    build: Callable[[Any], Any]
    shape: tuple[int, ...]
    tokens: int = 0
    per_pixel: bool = False  # the model returns a class for each pixel

    def data(self, count: int = BATCH) -> tuple[np.ndarray, np.ndarray]:
        """Return `count` examples, and their classes."""
        random = np.random.default_rng(1)
        shape = (count, *self.shape)
        x = random.integers(0, self.tokens, shape).astype("int32") if self.tokens else random.random(shape, "float32")
        return x, random.integers(0, CLASSES, shape[:3] if self.per_pixel else count)


def normed(layers, x, *convolutions, strides=1, activation="relu"):
    """Apply convolutions, each with batch norm and an activation."""
    for filters, size in convolutions:
        x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def resnet20(keras):
    layers = keras.layers
    given = layers.Input((32, 32, 3))
    x = normed(layers, given, (16, 3))
    for filters in (16, 32, 64):
        for block in range(3):
            strides = 2 if filters > 16 and not block else 1
            y = normed(layers, normed(layers, x, (filters, 3), strides=strides), (filters, 3), activation=None)
            x = normed(layers, x, (filters, 1), strides=strides, activation=None) if strides > 1 else x
            x = layers.Activation("relu")(layers.add([x, y]))
    return keras.Model(given, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


def inverted_residuals(keras):
    layers = keras.layers
    given = layers.Input((64, 64, 3))
    x = normed(layers, given, (16, 3), strides=2)
    for filters, strides in ((16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = normed(layers, x, (6 * x.shape[-1], 1), activation="relu6")
        y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Activation("relu6")(layers.BatchNormalization()(y))
        y = normed(layers, y, (filters, 1), activation=None)
        x = layers.add([x, y]) if x.shape == y.shape else y
    return keras.Model(given, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


def unet(keras):
    layers = keras.layers
    given = layers.Input((64, 64, 3))
    x, kept = given, []
    for filters in (16, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for filters in (32, 16):
        x = layers.concatenate([layers.Conv2DTranspose(filters, 2, strides=2)(x), kept.pop()])
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return keras.Model(given, layers.Conv2D(CLASSES, 1)(x))


def grus(keras):
    layers = keras.layers
    recurrent = [layers.Bidirectional(layers.GRU(32, return_sequences=more)) for more in (True, False)]
    body = [layers.Embedding(1000, 32, mask_zero=True), *recurrent, layers.Dense(CLASSES)]
    return keras.Sequential([layers.Input((40,), dtype="int32"), *body])


def signals(keras):
    layers = keras.layers
    body = []
    for filters in (16, 32, 64):
        body += [layers.Conv1D(filters, 5, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling1D(2)]
    return keras.Sequential([layers.Input((256, 4)), *body, layers.GlobalAveragePooling1D(), layers.Dense(CLASSES)])


def volumes(keras):
    layers = keras.layers
    body = [layers.Conv3D(8, 3, activation="relu"), layers.MaxPooling3D(), layers.Conv3D(16, 3, activation="relu")]
    return keras.Sequential([layers.Input((16, 16, 16, 1)), *body, layers.GlobalMaxPooling3D(), layers.Dense(CLASSES)])


def autoencoder(keras):
    layers = keras.layers
    options = {"strides": 2, "padding": "same", "activation": "relu"}
    down = [layers.Conv2D(filters, 3, **options) for filters in (16, 32)]
    up = [layers.Conv2DTranspose(filters, 3, **options) for filters in (32, 16)]
    return keras.Sequential([layers.Input((28, 28, 1)), *down, *up, layers.Conv2D(CLASSES, 3, padding="same")])


TABLES, WORDS = 20, 1000


def embeddings(keras):
    layers = keras.layers
    given = layers.Input((TABLES,), dtype="int32")
    x = layers.concatenate([layers.Embedding(WORDS, 8)(given[:, column]) for column in range(TABLES)])
    return keras.Model(given, layers.Dense(CLASSES)(layers.Dense(64, activation="relu")(x)))


def stem(keras):
    layers = keras.layers
    given = layers.Input((112, 112, 3))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(normed(layers, given, (64, 7), strides=2))
    y = normed(layers, normed(layers, x, (64, 3)), (64, 3), activation=None)
    x = layers.Activation("relu")(layers.add([x, y]))
    return keras.Model(given, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(x)))


MODELS = {
    "mlp": Model("MLP 64→128→128→10", fit_mlp.build, (64,)),
    "cnn": Model("small CNN on 8×8 digits", fit_cnn.build, (8, 8, 1)),
    "lstm": Model("LSTM of 64, 40 tokens", fit_lstm.build, (fit_lstm.LENGTH,), fit_lstm.TOKENS),
    "transformer": Model(
        "transformer, 4 layers, 32 tokens", fit_transformer.build, (fit_transformer.LENGTH,), fit_transformer.TOKENS
    ),
    "resnet20": Model("ResNet-20, 32 × 32", resnet20, (32, 32, 3)),
    "inverted": Model("inverted residuals, 64 × 64", inverted_residuals, (64, 64, 3)),
    "unet": Model("U-Net, 64 × 64", unet, (64, 64, 3), per_pixel=True),
    "grus": Model("two bidirectional GRUs, masked", grus, (40,), 1000),
    "signals": Model("three Conv1D with batch norm", signals, (256, 4)),
    "volumes": Model("two Conv3D with pooling", volumes, (16, 16, 16, 1)),
    "autoencoder": Model("convolutional autoencoder", autoencoder, (28, 28, 1), per_pixel=True),
    "embeddings": Model("20 embeddings of 1,000 × 8", embeddings, (TABLES,), WORDS),
    "stem": Model("7×7 stem, max pool, one block, 112 × 112", stem, (112, 112, 3)),
}
