"""A Variable whose name gets a tensor in a loop."""

import gradtape as tf

classifier = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def attack(image, label, steps=3, alpha=0.1):
    adv = tf.Variable(image)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = loss_object(label, classifier(adv))
        grad = tape.gradient(loss, adv)
        if grad is None:
            "no gradient"
            break
        adv = tf.clip_by_value(adv + alpha * tf.sign(grad), 0.0, 1.0)  # <- rebound
    return adv


attack(tf.ones([1, 2, 2]) * 0.5, tf.constant([1]))
