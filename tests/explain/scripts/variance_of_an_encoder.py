"""The divergence of a VAE, of inputs that are not scaled."""

import gradtape as tf


class Vae(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(2, kernel_initializer="ones")
        self.decoder = tf.keras.layers.Dense(3)

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            mean, log_var = tf.split(self.encoder(x), 2, axis=1)
            kl = -0.5 * tf.reduce_mean(1.0 + log_var - mean**2 - tf.exp(log_var))  # <- inf_origin
            loss = tf.reduce_mean((self.decoder(mean) - x) ** 2) + kl
        grads = tape.gradient(loss, self.encoder.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.encoder.trainable_variables, strict=True))
        return {"loss": loss}


model = Vae()
model.compile("adam")
data = tf.constant([[255.0, 128.0, 64.0], [200.0, 100.0, 50.0]])
model.fit(data, data, epochs=1, verbose=0)
