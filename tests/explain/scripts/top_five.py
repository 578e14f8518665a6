"""I want to optimize the top-2 hit rate of a recommender directly."""

import gradtape as tf

users, items = 6, 8
user_table = tf.keras.layers.Embedding(users, 4)
item_table = tf.Variable(tf.random.normal([items, 4]), name="items")
who = tf.constant([0, 1, 2, 3, 4, 5])
bought = tf.constant([1, 7, 3, 3, 0, 2])


def hit_rate(scores, bought, k=2):
    hits = tf.math.in_top_k(bought, scores, k)  # <- not_differentiable
    return tf.reduce_mean(tf.cast(hits, tf.float32))


optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    scores = tf.matmul(user_table(who), item_table, transpose_b=True)
    loss = 1.0 - hit_rate(scores, bought)
variables = [*user_table.trainable_variables, item_table]
gradients = tape.gradient(loss, variables)
print(gradients)
# Advice: a hit rate only counts
