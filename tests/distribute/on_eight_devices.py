"""A step of a model on eight devices, and the collectives that XLA put into its program, from the dump in the folder DUMP.

Prints a JSON object: for each strategy the bytes of its parameters, and the number and the bytes of each kind of collective.
"""

import json
import math
import os
import re
from pathlib import Path

import numpy as np

import gradtape as tf

keras = tf.keras
KINDS = "all-reduce all-gather reduce-scatter all-to-all collective-permute".split()
X = np.random.default_rng(0).normal(size=(64, 256)).astype("f")


def collectives(program):
    """The number and the bytes of each kind of collective in the text of a compiled program."""
    found = {}
    for line in program.splitlines():
        call = re.search(rf"= (.*?) ({'|'.join(KINDS)})(-start)?\(", line)
        if call is not None:
            sizes = [math.prod(map(int, filter(None, shape.split(",")))) for shape in re.findall(r"f32\[([\d,]*)\]", call[1])]
            count, total = found.get(call[2], (0, 0))
            found[call[2]] = count + 1, total + 4 * sum(sizes)
    return found


def trained(strategy):
    """Three steps under a strategy; the bytes of the parameters, and the collectives of the step's program."""
    with strategy.scope():
        hidden = [keras.layers.Dense(256, "relu") for _ in range(4)]
        model = keras.Sequential([keras.layers.Input((256,)), *hidden, keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    data = tf.data.Dataset.from_tensors((X, X.sum(1, keepdims=True)))
    for _ in range(3):
        for batch in strategy.experimental_distribute_dataset(data):
            strategy.run(step, args=batch)
    found = []
    for file in list(Path(os.environ["DUMP"]).glob("*after_optimizations.txt")):
        found.append(collectives(file.read_text("utf-8")))
        file.unlink()
    largest = max(found, key=lambda kinds: sum(size for _, size in kinds.values()))
    return {"parameters": sum(4 * math.prod(v.shape) for v in model.trainable_variables), **largest}


strategies = tf.distribute.MirroredStrategy(), tf.distribute.FullyShardedStrategy()
print(json.dumps({type(strategy).__name__: trained(strategy) for strategy in strategies}))
