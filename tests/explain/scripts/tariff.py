"""The rates of an income tax are to give a wanted revenue."""

import gradtape as tf

low, high = tf.Variable(0.2), tf.Variable(0.4)
incomes = tf.constant([12.0, 25.0, 31.0, 48.0])  # thousands
threshold = 50000.0


def tax(income):
    above = income > threshold
    return tf.where(above, low * threshold + high * (income - threshold), low * income)  # <- where_side


def gap(wanted):
    return (tf.reduce_sum(tax(incomes)) - wanted) ** 2


with tf.GradientTape() as tape:
    loss = gap(30.0)
print(tape.gradient(loss, [low, high]))
# Advice: make `above` true somewhere
