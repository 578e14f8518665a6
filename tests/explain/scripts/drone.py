"""A drone adjusts its controller while it flies. The second step says None."""

import gradtape as tf


class Controller:
    def __init__(self):
        self.gain = tf.Variable(0.3)
        self.damping = tf.Variable(0.1)

    def thrust(self, height, speed):
        return self.gain * (10.0 - height) - self.damping * speed

    def adjust(self, gradients, rate=0.01):
        self.gain = self.gain - rate * gradients[0]  # <- rebound
        self.damping = self.damping - rate * gradients[1]


controller = Controller()
height, speed = tf.constant(0.0), tf.constant(1.0)
for step in range(3):
    with tf.GradientTape() as tape:
        thrust = controller.thrust(height, speed)
        new_speed = speed + 0.1 * thrust
        new_height = height + 0.1 * new_speed
        cost = (new_height - 10.0) ** 2
    gradients = tape.gradient(cost, [controller.gain, controller.damping])
    print(step, gradients)
    if gradients[0] is None:
        break
    controller.adjust(gradients)
    height, speed = new_height, new_speed
# Fix: self.gain.assign(
