"""Distillation that begins after some epochs."""

import gradtape as tf

student, projector = tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)
student.build([None, 4])
projector.build([None, 3])


class Trainer:
    def __init__(self, distill_from):
        self.distill_from = distill_from

    def loss(self, x, epoch):
        h = student(x)
        loss = tf.reduce_mean(h**2)
        if epoch >= self.distill_from:  # <- branch_not_taken
            loss += tf.reduce_mean((projector(h) - 1.0) ** 2)
        return loss


trainer = Trainer(5)
with tf.GradientTape() as tape:
    loss = trainer.loss(tf.ones([2, 4]), 0)
tape.gradient(loss, student.trainable_variables + projector.trainable_variables)
# Advice: until then
