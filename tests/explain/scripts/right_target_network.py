"""A target network that follows slowly, outside of the tape."""

import gradtape as tf


def network():
    return tf.keras.Sequential(
        [tf.keras.layers.Input([3]), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(2)]
    )


online, target = network(), network()
target.set_weights(online.get_weights())
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train(states, actions, rewards, following):
    goal = rewards + 0.9 * tf.reduce_max(target(following), axis=1)
    with tf.GradientTape() as tape:
        chosen = tf.gather(online(states), actions, batch_dims=1)
        loss = tf.reduce_mean((tf.stop_gradient(goal) - chosen) ** 2)
    gradients = tape.gradient(loss, online.trainable_variables)
    optimizer.apply_gradients(zip(gradients, online.trainable_variables, strict=True))
    for slow, fast in zip(target.variables, online.variables, strict=True):
        slow.assign(0.99 * slow + 0.01 * fast)
    return loss


train(tf.random.normal([4, 3], seed=7), tf.constant([0, 1, 1, 0]), tf.ones([4]), tf.random.normal([4, 3], seed=8))
