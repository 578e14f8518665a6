"""Programs that compute with another object than the one that is asked for: a target network, a copy, a restored variable."""

import tempfile

import gradtape as tf


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def __call__(self, x):
        return tf.tanh(x @ self.w)


def network(units=2):
    model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
    model.build((None, 2))
    return model


class Agent:
    def __init__(self):
        self.online, self.target = network(), network()
        self.target.set_weights(self.online.get_weights())


def the_target_network_is_trained():
    agent, state, action = Agent(), tf.ones([2, 2]), tf.constant([0, 1])
    wanted = 1.0 + 0.9 * tf.reduce_max(agent.target(state), axis=1)
    with tf.GradientTape() as tape:
        value = tf.gather(agent.target(state), action, axis=1, batch_dims=1)  # <- wrong_object
        loss = tf.reduce_mean((wanted - value) ** 2)
    sources = agent.online.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_target_that_follows_slowly():
    online, target, x = Net(), Net(), tf.ones([3, 2])
    for slow, fast in zip(target.trainable_variables, online.trainable_variables, strict=True):
        slow.assign(0.9 * slow + 0.1 * fast)
    with tf.GradientTape() as tape:
        wanted = tf.stop_gradient(target(x))
        loss = tf.reduce_mean((target(x) - wanted - 1.0) ** 2)  # <- wrong_object
    return tape.gradient(loss, online.w), tf.autodiff.explain(loss, online.w)


def a_mean_of_the_weights():
    mean, model, x = network(), network(), tf.ones([3, 2])
    pairs = zip(mean.get_weights(), model.get_weights(), strict=True)
    mean.set_weights([0.9 * m + 0.1 * w for m, w in pairs])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(mean(x) ** 2)  # <- wrong_object
    sources = model.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def the_first_critic_twice():
    first, second, x = Net(), Net(), tf.ones([3, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((first(x) - 1.0) ** 2)
        loss += tf.reduce_mean((first(x) - 1.0) ** 2)  # <- wrong_object
    sources = [first.w, second.w]
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_variable_that_was_read_from_a_file():
    trained, restored = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(w=trained).save(f"{folder}/saved")
        tf.train.Checkpoint(w=restored).restore(path)  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(restored * 2.0)
    return tape.gradient(loss, trained), tf.autodiff.explain(loss, trained)


class Stack:
    def __init__(self):
        self.layers = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def a_layer_of_a_list_that_was_replaced():
    stack, x = Stack(), tf.ones([3, 2])
    stack(x)
    sources = [v for layer in stack.layers for v in layer.trainable_variables]
    stack.layers[-1] = tf.keras.layers.Dense(1)  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(stack(x) ** 2)
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_function_that_was_traced_before():
    parameters = [tf.Variable(1.0)]

    @tf.function
    def scaled(x):
        return parameters[0] * x

    scaled(tf.constant(1.0))
    parameters[0] = tf.Variable(5.0)  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = scaled(tf.constant(2.0))
    return tape.gradient(loss, parameters[0]), tf.autodiff.explain(loss, parameters[0])


def a_new_head():
    given = tf.keras.Input((2,))
    body = tf.keras.layers.Dense(3)(given)
    before = tf.keras.Model(given, tf.keras.layers.Dense(4)(body))
    tuned = tf.keras.Model(given, tf.keras.layers.Dense(2)(body))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tuned(tf.ones([3, 2])) ** 2)  # <- unused
    sources = before.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def a_network_that_was_not_called():
    encoder, decoder, x = network(), network(5), tf.ones([3, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(encoder(x) ** 2)  # <- unused
    sources = encoder.trainable_variables + decoder.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def loss_of(scores):
    return tf.reduce_mean(tf.nn.softplus(-scores))


def a_loss_of_the_wrong_scores():
    generator, critic = Net(), Net()
    with tf.GradientTape() as tape:
        made = critic(generator(tf.ones([2, 2])))
        real = critic(tf.zeros([2, 2]))
        loss = loss_of(real)  # <- unused
    assert made is not None
    return tape.gradient(loss, generator.w), tf.autodiff.explain(loss, generator.w)


def a_default_that_holds_the_first_model():
    model = network()

    def loss_of(x, net=model):  # <- wrong_object
        return tf.reduce_mean(net(x) ** 2)

    model = network()
    with tf.GradientTape() as tape:
        loss = loss_of(tf.ones([3, 2]))
    sources = model.trainable_variables
    return tape.gradient(loss, sources), tf.autodiff.explain(loss, sources)


def columns_beside_the_points():
    points = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    x = points[:, :1]
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(points**2)  # <- unused
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)
