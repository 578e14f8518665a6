"""The response to a dose by Hill; one dose is 0, and the exponent is learned."""

import gradtape as tf

exponent, half = tf.Variable(1.5), tf.Variable(2.0)
doses, responses = tf.constant([0.0, 1.0, 2.0, 8.0]), tf.constant([0.0, 0.2, 0.5, 0.9])


def response(dose):
    raised = dose**exponent
    return raised / (half**exponent + raised)


def step(optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((response(doses) - responses) ** 2)
    gradients = tape.gradient(loss, [exponent, half])
    optimizer.apply_gradients(zip(gradients, [exponent, half], strict=True))
    return loss


optimizer = tf.keras.optimizers.Adam(0.01)
print([step(optimizer) for _ in range(3)])
