"""How much is pumped into a tank each hour is planned; the tank is full at once."""

import gradtape as tf

pumped = tf.Variable([6.0, 5.0, 7.0])
taken = tf.constant([1.0, 2.0, 0.5])
capacity = 4.0
price = tf.constant([0.2, 0.3, 0.1])


@tf.function
def plan():
    with tf.GradientTape() as tape:
        level = tf.constant(0.0)
        shortage = tf.constant(0.0)
        for hour in range(3):
            level = tf.minimum(level + pumped[hour], capacity)  # <- clipped
            shortage += tf.nn.softplus(taken[hour] - level)
            level = level - taken[hour]
    return shortage, tape.gradient(shortage, pumped)


print(*plan())
# Advice: tf.stop_gradient(tf.minimum(level + pumped[hour], capacity) - (level + pumped[hour]))
