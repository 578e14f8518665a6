"""The kinds of value: each a function that makes one, by the name that the tables and the record have for it."""

import functools

import numpy as np

NUMBERS = [1.0, 2.0]


@functools.cache
def mirrored(tf):
    """One strategy for the whole run, as each one has threads of its own."""
    return tf.distribute.MirroredStrategy(["CPU:0"])


def under_a_strategy(tf):
    with mirrored(tf).scope():
        return tf.Variable(NUMBERS)


def of_a_scope(use_resource):
    def make(tf):
        scope = tf.compat.v1.variable_scope("scope", reuse=tf.compat.v1.AUTO_REUSE)
        with scope:
            initializer = tf.compat.v1.constant_initializer(NUMBERS)
            return tf.compat.v1.get_variable("v", [2], initializer=initializer, use_resource=use_resource)

    return make


def dataset(tf):
    return tf.data.Dataset.from_tensor_slices(NUMBERS)


KINDS = {
    "tensor": lambda tf: tf.constant(NUMBERS),
    "variable": lambda tf: tf.Variable(NUMBERS),
    "keras variable": lambda tf: tf.keras.Variable(NUMBERS),
    "what assign returns": lambda tf: tf.Variable([0.0, 0.0]).assign(NUMBERS),
    "resource variable": of_a_scope(True),
    "reference variable": of_a_scope(False),
    "variable under a strategy": under_a_strategy,
    "array": lambda tf: np.array(NUMBERS, np.float32),
    "array scalar": lambda tf: np.float32(2.0),
    "number": lambda tf: 2.0,
    "list": lambda tf: list(NUMBERS),
    "list of tensors": lambda tf: [tf.constant(1.0), tf.constant(2.0)],
    "slices": lambda tf: tf.IndexedSlices(tf.constant(NUMBERS), tf.constant([0, 1]), tf.constant([2])),
    "ragged": lambda tf: tf.RaggedTensor.from_row_lengths([1.0, 2.0, 3.0], [2, 1]),
    "sparse": lambda tf: tf.SparseTensor([[0], [1]], NUMBERS, [2]),
    "dataset": dataset,
    "iterator": lambda tf: iter(dataset(tf)),
    "optional": lambda tf: tf.experimental.Optional.from_value(tf.constant(NUMBERS)),
    "spec": lambda tf: tf.TensorSpec([2], tf.float32),
    "None": lambda tf: None,
}
GRAPH_ONLY = {"resource variable", "reference variable"}
VARIABLES = [
    "variable",
    "keras variable",
    "what assign returns",
    "resource variable",
    "reference variable",
    "variable under a strategy",
]
