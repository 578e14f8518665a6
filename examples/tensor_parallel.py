"""A transformer on a mesh of devices (`keras.distribution.ModelParallel`): one axis splits batches, the other weights.

On one CPU, told to be four devices: XLA_FLAGS=--xla_force_host_platform_device_count=4 python -m examples.tensor_parallel
"""

import math

import jax
import numpy as np

import gradtape as tf
from examples.command import command

keras = tf.keras
WIDTH, HEADS, LENGTH, TOKENS = 32, 4, 16, 24

# Heads and hidden units are split, as in Megatron-LM (arXiv:1909.08053, section 3): of a pair of products the first is split
# along its columns, the second along its rows, and one sum over the devices joins what the second gives.
SPLIT = {
    r".*/(query|key|value)/kernel": (None, "model", None),
    r".*/(query|key|value)/bias": ("model", None),
    r".*/attention_output/kernel": ("model", None, None),
    r"up/kernel": (None, "model"),
    r"up/bias": ("model",),
    r"down/kernel": ("model", None),
}


def make_model():
    """A block of attention and two dense layers, which predicts the next token."""
    tokens = keras.Input([LENGTH], dtype="int32")
    x = keras.layers.Embedding(TOKENS, WIDTH)(tokens)
    attention = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS, name="attention")
    x = keras.layers.LayerNormalization()(x + attention(x, x, use_causal_mask=True))
    hidden = keras.layers.Dense(4 * WIDTH, "gelu", name="up")(x)
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(WIDTH, name="down")(hidden))
    model = keras.Model(tokens, keras.layers.Dense(TOKENS)(x))
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def main(steps: int = 60, seed: int = 0):
    """Learn to count in steps of three. Returns the loss of each epoch, and the share of the weights that each device holds."""
    keras.utils.set_random_seed(seed)
    names = keras.distribution.list_devices()
    split = 2 if len(names) % 2 == 0 else 1
    mesh = keras.distribution.DeviceMesh((len(names) // split, split), ["batch", "model"], names)
    layouts = keras.distribution.LayoutMap(mesh)
    for path, axes in SPLIT.items():
        layouts[path] = axes
    begin = np.random.default_rng(seed).integers(TOKENS, size=[8 * steps, 1])
    text = (begin + 3 * np.arange(LENGTH + 1)) % TOKENS
    with keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
        model = make_model()
        history = model.fit(text[:, :-1], text[:, 1:], batch_size=16, epochs=2, verbose=0)
    arrays = [jax.numpy.asarray(v.value.read_value()) for v in model.weights]
    held = sum(math.prod(array.sharding.shard_shape(array.shape)) for array in arrays)
    losses, share = history.history["loss"], held / sum(array.size for array in arrays)
    print(f"{len(names)} devices, a mesh of {mesh.shape}: losses {losses}, {share:.0%} of the weights on each")
    return losses, share


if __name__ == "__main__":
    command(main)
