"""A graph network with learned weights of its edges, by a sparse matrix."""

import gradtape as tf

edges = tf.constant([[0, 1], [1, 2], [2, 0]], tf.int64)
weights = tf.Variable([0.5, 0.2, 0.9])
kernel = tf.Variable(tf.random.normal([4, 2]))


def propagate(nodes):
    adjacency = tf.sparse.SparseTensor(edges, tf.nn.softplus(weights), [3, 3])
    return tf.sparse.sparse_dense_matmul(adjacency, nodes @ kernel)


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(propagate(tf.random.normal([3, 4])) ** 2)
print(tape.gradient(loss, [weights, kernel]))
