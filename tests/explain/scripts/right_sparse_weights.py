"""A sparse matrix is made of its weights in the tape."""

import gradtape as tf

weights = tf.Variable([0.5, -0.3, 0.8])
with tf.GradientTape() as tape:
    kernel = tf.sparse.SparseTensor([[0, 0], [1, 2], [2, 1]], tf.convert_to_tensor(weights), [3, 3])
    loss = tf.reduce_mean((tf.sparse.sparse_dense_matmul(kernel, tf.ones([3, 2])) - 1.0) ** 2)
print(tape.gradient(loss, weights))
