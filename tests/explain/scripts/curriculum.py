"""A curriculum in a function: the loss of long sequences comes in later."""

import gradtape as tf


class Summarizer(tf.Module):
    def __init__(self):
        self.short = tf.Variable(tf.random.normal([3, 1]))
        self.long = tf.Variable(tf.random.normal([3, 1]))


model = Summarizer()
difficulty = tf.Variable(0.1, trainable=False)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ model.short - y) ** 2)
        if difficulty > 0.5:  # <- branch_not_taken
            loss += tf.reduce_mean((tf.cumsum(x) @ model.long - y) ** 2)
    return loss, tape.gradient(loss, [model.short, model.long])


print(train_step(tf.random.normal([4, 3]), tf.random.normal([4, 1])))
# Advice: make `difficulty > 0.5` come out the other way
