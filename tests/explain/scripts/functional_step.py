"""The rates of an epidemic are fitted with functional updates, as one would in JAX."""

import gradtape as tf

observed = tf.constant([0.01, 0.014, 0.019, 0.026])


def simulate(params):
    susceptible, infected, path = tf.constant(0.99), tf.constant(0.01), []
    for _ in range(4):
        path.append(infected)
        new = params["contact"] * susceptible * infected
        susceptible, infected = susceptible - new, infected + new - params["recovery"] * infected
    return tf.stack(path)


def gradients_of(params):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((simulate(params) - observed) ** 2)
    return tape.gradient(loss, params)


params = {"contact": tf.Variable(0.5), "recovery": tf.Variable(0.2)}
for _ in range(3):
    gradients = gradients_of(params)
    params = tf.nest.map_structure(lambda p, g: p - 0.1 * g, params, gradients)  # <- rebound
print(params)
# Fix: .assign(new)
