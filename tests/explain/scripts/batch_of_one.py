"""A batch normalization in training, of a batch of one."""

import gradtape as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(4)
        self.norm = tf.keras.layers.BatchNormalization()
        self.out = tf.keras.layers.Dense(1)

    def call(self, x, training=False):
        h = self.norm(self.dense(x), training=training)  # <- cancelled
        return self.out(tf.nn.tanh(h))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        grads = tape.gradient(loss, self.dense.trainable_variables)
        return {"loss": loss, "norm": tf.linalg.global_norm(grads)}


net = Net()
net.compile()
net.fit(tf.constant([[0.3, -0.2, 0.7]]), tf.constant([[1.0]]), batch_size=1, epochs=1, verbose=0)
# Advice: more than one element
