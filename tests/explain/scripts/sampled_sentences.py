"""A generator of words whose samples go to a discriminator."""

import gradtape as tf

table = tf.random.normal([6, 4], seed=7)
cell = tf.keras.layers.GRUCell(5)
to_logits = tf.keras.layers.Dense(6)
discriminator = tf.keras.layers.Dense(1)
cell.build((3, 4)), to_logits.build((3, 5)), discriminator.build((3, 4))


@tf.function
def generator_step(start):
    with tf.GradientTape() as tape:
        words = tf.TensorArray(tf.float32, size=4)
        word, state = start, tf.zeros([3, 5])
        for t in tf.range(4):
            out, state = cell(word, [state])
            if isinstance(state, list):
                state = state[0]
            token = tf.random.categorical(to_logits(out), 1)[:, 0]  # <- not_differentiable
            word = tf.gather(table, token)
            words = words.write(t, word)
        scores = discriminator(tf.reduce_mean(words.stack(), axis=0))
        loss = -tf.reduce_mean(scores)
    return tape.gradient(loss, to_logits.trainable_variables)


generator_step(tf.zeros([3, 4]))
# Advice: a soft sample
