"""Hotels are ranked from pairs: the one that was booked against one that was not."""

import gradtape as tf

scorer = tf.keras.layers.Dense(1)
booked, passed = tf.random.normal([8, 5]), tf.random.normal([8, 5])
scorer(booked)


def pair_loss(booked, passed):
    difference = scorer(booked) - scorer(passed)  # <- cancelled
    return tf.reduce_mean(tf.nn.softplus(-difference))


@tf.function
def step(booked, passed):
    with tf.GradientTape() as tape:
        loss = pair_loss(booked, passed)
    return loss, tape.gradient(loss, scorer.trainable_variables)


loss, (kernel_slope, bias_slope) = step(booked, passed)
print(kernel_slope.numpy().ravel(), bias_slope)
# Advice: leave scorer.bias out
