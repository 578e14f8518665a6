"""The expert that a router likes best is called, by a Python index."""

import gradtape as tf

router = tf.keras.layers.Dense(3)
experts = [tf.keras.layers.Dense(2) for _ in range(3)]
for expert in experts:
    expert.build((None, 4))
x, y = tf.random.normal([1, 4], seed=2), tf.ones([1, 2])
with tf.GradientTape() as tape:
    scores = router(x)[0]
    best = int(tf.argmax(scores))  # <- not_differentiable
    loss = tf.reduce_mean((experts[best](x) - y) ** 2)
print(tape.gradient(loss, router.trainable_variables))
# Advice: weights that follow it smoothly
