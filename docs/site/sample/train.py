"""A network that does not learn: two of its gradients are missing, and one is zero."""

import tensorflow as tf

tf.random.set_seed(0)
x = tf.random.normal([64, 4])
y = tf.reduce_sum(x, axis=1, keepdims=True)

w1 = tf.Variable(0.5 * tf.random.normal([4, 16]))
w2 = tf.Variable(0.5 * tf.random.normal([16, 1]))
scale = tf.Variable(1.0)
bias = tf.Variable(-200.0)

for step in range(5):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.round(x @ w1))
        gate = tf.sigmoid(bias)
        loss = tf.reduce_mean((scale.numpy() * (hidden @ w2) + gate - y) ** 2)
    gradients = tape.gradient(loss, [w1, w2, scale, bias])
    print(step, float(loss), [g is not None for g in gradients])
