"""A recursive filter by tf.scan and a loop that writes into a TensorArray."""

import gradtape as tf

decay = tf.Variable(0.7)
gain = tf.Variable(1.2)


@tf.function
def filtered(x):
    smooth = tf.scan(lambda a, e: decay * a + (1.0 - decay) * e, x, initializer=tf.constant(0.0))
    out = tf.TensorArray(tf.float32, size=tf.shape(x)[0])

    def body(i, out):
        return i + 1, out.write(i, tf.maximum(gain * smooth[i], 0.1))

    return tf.while_loop(lambda i, out: i < tf.shape(x)[0], body, [0, out])[1].stack()


with tf.GradientTape() as tape:
    loss = tf.reduce_sum((filtered(tf.constant([1.0, 0.5, 2.0])) - 1.0) ** 2)
print(tape.gradient(loss, [decay, gain]))
