"""A hidden layer whose units are all inactive."""

import gradtape as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(4, bias_initializer=tf.keras.initializers.Constant(-50.0))
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        h = tf.nn.relu(self.hidden(x))  # <- dead_relu
        return self.out(h)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        grads = tape.gradient(loss, self.hidden.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.hidden.trainable_variables, strict=True))
        return {"loss": loss}


model = Net()
model.compile("sgd")
model.fit(tf.ones([4, 2]), tf.ones([4, 1]), epochs=1, verbose=0)
# Advice: tf.nn.leaky_relu
