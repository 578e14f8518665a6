"""Domain adaptation with a reversed gradient whose strength is to be learned as well."""

import gradtape as tf


@tf.custom_gradient
def reversed_gradient(x, strength):
    def grad(upstream):
        return -strength * upstream, None

    return tf.identity(x), grad


class Adapted(tf.Module):
    def __init__(self):
        self.features = tf.Variable(tf.random.normal([4, 4]))
        self.strength = tf.Variable(0.3)
        self.domain = tf.Variable(tf.random.normal([4, 1]))

    def domain_logits(self, x):
        hidden = tf.tanh(x @ self.features)
        return reversed_gradient(hidden, self.strength) @ self.domain  # <- not_differentiable


model = Adapted()
x, domain = tf.random.normal([6, 4]), tf.ones([6, 1])
with tf.GradientTape() as tape:
    logits = model.domain_logits(x)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(domain, logits))
print(tape.gradient(loss, model.trainable_variables))
# Advice: return a gradient from its grad function
