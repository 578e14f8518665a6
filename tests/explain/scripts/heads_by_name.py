"""Three tasks and one trunk. The head for the depth has no gradient."""

import gradtape as tf


class Scene(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = tf.keras.layers.Dense(8, activation="relu")
        self.heads = {
            "class": tf.keras.layers.Dense(3),
            "depth": tf.keras.layers.Dense(1),
            "normal": tf.keras.layers.Dense(2),
        }
        self.depth_head = self.heads["depth"]

    def call(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


scene = Scene()
x = tf.random.normal([4, 5])
targets = {"class": tf.random.normal([4, 3]), "normal": tf.random.normal([4, 2])}
weights = {"class": 1.0, "depth": 0.5, "normal": 0.1}
with tf.GradientTape() as tape:
    outputs = scene(x)
    loss = tf.constant(0.0)
    for name, target in targets.items():
        loss += weights[name] * tf.reduce_mean((outputs[name] - target) ** 2)  # <- unused
print(tape.gradient(loss, scene.depth_head.trainable_variables))
# Advice: compute loss from what that gives
