"""Steel is elastic up to its limit, then it hardens; all strains that were measured are small."""

import gradtape as tf


class Steel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.modulus = self.add_weight(name="modulus", shape=(), initializer=tf.keras.initializers.Constant(200.0))
        self.hardening = self.add_weight(name="hardening", shape=(), initializer=tf.keras.initializers.Constant(10.0))

    def call(self, strain):
        limit = 0.002
        elastic = self.modulus * strain
        hardened = self.modulus * limit + self.hardening * (strain - limit)
        return tf.where(strain < limit, elastic, hardened)  # <- where_side


steel = Steel()
strains = tf.constant([[0.0002], [0.0005], [0.0011]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((steel(strains) - 190.0 * strains) ** 2)
print(tape.gradient(loss, steel.trainable_variables))
# Advice: make `strain < limit` false somewhere
