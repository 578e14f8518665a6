"""A layer keeps its weights as a SparseTensor that is made once."""

import gradtape as tf


class Sparse(tf.Module):
    def __init__(self, indices, shape):
        super().__init__()
        self.weights = tf.Variable([0.5, -0.3, 0.8])
        self.kernel = tf.sparse.SparseTensor(indices, tf.convert_to_tensor(self.weights), shape)  # <- wrong_object

    def __call__(self, x):
        return tf.sparse.sparse_dense_matmul(self.kernel, x)


layer = Sparse([[0, 0], [1, 2], [2, 1]], [3, 3])
x = tf.ones([3, 2])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(layer(x) - 1.0))
print(tape.gradient(loss, layer.weights))
# Advice: inside the tape use layer.weights itself
