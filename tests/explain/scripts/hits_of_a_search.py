"""A search engine is trained by Keras's top-k accuracy, since that is what we report."""

import gradtape as tf

tower = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(4)])
queries, documents = tf.random.normal([6, 5]), tf.random.normal([6, 5])
optimizer = tf.keras.optimizers.Adam()
tower(queries)


def in_batch(queries, documents):
    scores = tf.matmul(tower(queries), tower(documents), transpose_b=True)
    truth = tf.range(tf.shape(scores)[0])
    hits = tf.keras.metrics.sparse_top_k_categorical_accuracy(truth, scores, k=3)  # <- not_differentiable
    return -tf.reduce_mean(tf.cast(hits, tf.float32))


with tf.GradientTape() as tape:
    loss = in_batch(queries, documents)
print(tape.gradient(loss, tower.trainable_variables))
# Advice: a hit rate only counts
