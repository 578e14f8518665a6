"""Adversarial training of a text classifier: the word vectors are disturbed along their gradient."""

import gradtape as tf


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.words = tf.keras.layers.Embedding(50, 8)
        self.head = tf.keras.layers.Dense(2)

    def from_vectors(self, vectors):
        return self.head(tf.reduce_mean(vectors, axis=1))  # <- watched_late


model = Classifier()
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def disturbance(vectors, labels, size=0.1):
    with tf.GradientTape() as tape:
        logits = model.from_vectors(vectors)
        tape.watch(vectors)
        loss = loss_of(labels, logits)
    direction = tape.gradient(loss, vectors)
    return size * tf.math.l2_normalize(direction, axis=-1)


tokens, labels = tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant([0, 1])
print(disturbance(model.words(tokens), labels))
# Fix: tape.watch(vectors)
