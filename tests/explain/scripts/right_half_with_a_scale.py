"""Half precision with a scaled loss, and the scale taken out of the gradients again."""

import gradtape as tf

w = tf.Variable(tf.random.normal([4, 2]))
x, y = tf.random.normal([8, 4]), tf.random.normal([8, 2])
scale = 1024.0
for _ in range(2):
    with tf.GradientTape() as tape:
        half = tf.cast(w, tf.float16)
        out = tf.matmul(tf.cast(x, tf.float16), half)
        loss = tf.reduce_mean((tf.cast(out, tf.float32) - y) ** 2)
        scaled = loss * scale
    gradient = tape.gradient(scaled, w) / scale
    w.assign_sub(0.05 * gradient)
    print(float(loss), bool(tf.reduce_all(tf.math.is_finite(gradient))))
