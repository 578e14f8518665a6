"""Two players of a matrix game are trained by the sum of what they lose."""

import gradtape as tf

payoff = tf.constant([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
row_logits = tf.Variable([0.2, -0.1, 0.4])
column_logits = tf.Variable([0.5, 0.1, -0.3])


def play():
    p, q = tf.nn.softmax(row_logits), tf.nn.softmax(column_logits)
    row_wins = tf.tensordot(p, tf.linalg.matvec(payoff, q), 1)
    column_wins = -tf.tensordot(p, tf.linalg.matvec(payoff, q), 1)
    return -row_wins, -column_wins


optimizer = tf.keras.optimizers.SGD(0.5)
for _ in range(2):
    with tf.GradientTape() as tape:
        row_loss, column_loss = play()
        loss = row_loss + column_loss  # <- cancelled
    gradients = tape.gradient(loss, [row_logits, column_logits])
    print(float(loss), gradients)
    optimizer.apply_gradients(zip(gradients, [row_logits, column_logits], strict=True))
# Advice: check the signs
