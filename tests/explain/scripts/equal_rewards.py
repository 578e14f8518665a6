"""All rewards are equal, so that no advantage is left."""

import gradtape as tf

policy = tf.keras.layers.Dense(2)
policy.build([None, 3])


@tf.function
def step(states, actions, rewards):
    with tf.GradientTape() as tape:
        log_p = tf.nn.log_softmax(policy(states))
        chosen = tf.gather(log_p, actions, batch_dims=1)
        advantage = (rewards - tf.reduce_mean(rewards)) / (tf.math.reduce_std(rewards) + 1e-8)
        loss = -tf.reduce_mean(chosen * advantage)  # <- zero_factor
    return tape.gradient(loss, policy.trainable_variables)


step(tf.ones([4, 3]), tf.constant([0, 1, 1, 0]), tf.ones([4]))
# Advice: give advantage other values
