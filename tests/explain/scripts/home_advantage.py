"""Ratings of teams with a home advantage, which was given to both teams by mistake."""

import gradtape as tf

ratings = tf.Variable(tf.random.normal([4]))
advantage = tf.Variable(0.3)
home, away = tf.constant([0, 1, 2]), tf.constant([3, 2, 0])
won = tf.constant([1.0, 0.0, 1.0])


def strength(team):
    return tf.gather(ratings, team) + advantage


def log_loss():
    difference = strength(home) - strength(away)  # <- cancelled
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(won, difference))


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = log_loss()
    return tape.gradient(loss, [ratings, advantage])


print(train_step())
# Advice: leave advantage out
