"""Pictures and captions: the scale of the logits is learned, and is not to exceed 100."""

import gradtape as tf


class Similarity(tf.keras.layers.Layer):
    def build(self, shape):
        self.log_scale = self.add_weight(name="log_scale", shape=(), initializer=tf.keras.initializers.Constant(5.0))

    def call(self, pictures, captions):
        scale = tf.minimum(tf.exp(self.log_scale), 100.0)  # <- clipped
        return scale * tf.matmul(tf.nn.l2_normalize(pictures, axis=1), tf.nn.l2_normalize(captions, axis=1), transpose_b=True)


similarity = Similarity()
pictures, captions = tf.random.normal([4, 8]), tf.random.normal([4, 8])
similarity(pictures, captions)


@tf.function
def step(pictures, captions):
    with tf.GradientTape() as tape:
        logits = similarity(pictures, captions)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.range(4), logits=logits))
    return tape.gradient(loss, similarity.log_scale)


print(step(pictures, captions))
# Advice: start tf.exp(self.log_scale) inside of them
