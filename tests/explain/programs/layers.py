"""Breaks in layers, models and modules."""

import numpy as np

import gradtape as tf


def a_layer_that_ran_before_the_tape():
    layer, x = tf.keras.layers.Dense(2), tf.ones([3, 4])
    hidden = layer(x)  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(hidden**2)
    return tape.gradient(loss, layer.kernel), tf.autodiff.explain(loss, layer.kernel)


def each_layer_gets_the_input():  # TensorFlow issue 36880
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)

        def call(self, x):
            y = self.first(x)
            y = self.second(x)  # <- unused
            return y

    net = Net()
    with tf.GradientTape() as tape:
        y = net(tf.ones([3, 4]))
    return tape.gradient(y, net.first.kernel), tf.autodiff.explain(y, net.first.kernel)


def a_layer_that_is_never_called():
    layers = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(2)]
    layers[1].build([None, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layers[0](tf.ones([3, 4])))  # <- unused
    weights = [weight for layer in layers for weight in layer.trainable_variables]
    return tape.gradient(loss, weights), tf.autodiff.explain(loss, weights)


def predict_in_the_tape():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    x = np.ones((3, 2), np.float32)
    model(x)
    with tf.GradientTape() as tape:
        y = model.predict(x, verbose=0)  # <- left_library
        loss = tf.reduce_mean(tf.square(y - 1.0))
    kernel = model.trainable_variables[0]
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def a_layer_that_is_made_in_each_call():
    class Net(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def build(self, shape):
            self.dense.build(shape)

        def call(self, x):
            return tf.keras.layers.Dense(1)(x)  # <- wrong_object

    net, x = Net(), tf.ones([2, 3])
    net.build(x.shape)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net.call(x))
    return tape.gradient(loss, net.dense.kernel), tf.autodiff.explain(loss, net.dense.kernel)


def a_clone_of_the_model():
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, name="out")])
    twin = tf.keras.models.clone_model(model)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(twin(tf.ones([2, 3])))  # <- wrong_object
    kernel = model.trainable_variables[0]
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def a_metric_is_no_loss():
    layer, x, metric = tf.keras.layers.Dense(1), tf.ones([2, 2]), tf.keras.metrics.MeanSquaredError()
    layer(x)
    with tf.GradientTape() as tape:
        metric.update_state(tf.zeros([2, 1]), layer(x))  # <- state
        loss = metric.result()
    return tape.gradient(loss, layer.kernel), tf.autodiff.explain(loss, layer.kernel)


def an_activation_without_a_derivative():
    layer, x = tf.keras.layers.Dense(1, activation=tf.round), tf.ones([2, 2])
    layer(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x))  # <- not_differentiable
    return tape.gradient(loss, layer.kernel), tf.autodiff.explain(loss, layer.kernel)


def weights_in_a_list():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.weights = [tf.Variable(tf.ones([2, 2])) for _ in range(3)]

        def __call__(self, x):
            for w in self.weights[:2]:  # <- branch_not_taken
                x = tf.tanh(x @ w)
            return tf.reduce_sum(x)

    net = Net()
    with tf.GradientTape() as tape:
        loss = net(tf.ones([1, 2]))
    return tape.gradient(loss, net.weights), tf.autodiff.explain(loss, net.weights)


def a_variable_that_is_made_in_the_tape():
    def weight():
        return tf.Variable(tf.ones([2]))  # <- wrong_object

    w = weight()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weight() * 2.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_features_of_another_pass():  # TensorFlow issue 59652
    inner = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(3, name="features"), tf.keras.layers.Dense(2)])
    outer = tf.keras.Sequential([tf.keras.Input([4]), inner, tf.keras.layers.Dense(1)])
    extractor = tf.keras.Model(inner.inputs, inner.get_layer("features").output)
    x = tf.ones([1, 4])
    with tf.GradientTape() as tape:
        features = extractor(x)
        tape.watch(features)
        score = outer(x)  # <- unused
    return tape.gradient(score, features), tf.autodiff.explain(score, features)


def a_variable_that_a_module_has_replaced():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([3, 2]))

    net = Net()
    params = list(net.trainable_variables)
    net.w = tf.Variable(tf.zeros([3, 2]))  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.ones([4, 3]) @ net.w)
    return tape.gradient(loss, params), tf.autodiff.explain(loss, params)


def a_class_activation_map_of_two_models():
    image = tf.keras.Input([8, 8, 1])
    maps = tf.keras.layers.Conv2D(2, 3, activation="relu", name="maps")(image)
    model = tf.keras.Model(image, tf.keras.layers.Dense(3)(tf.keras.layers.GlobalAveragePooling2D()(maps)))
    inner = tf.keras.Model(model.inputs, model.get_layer("maps").output)
    x = tf.ones([1, 8, 8, 1])
    with tf.GradientTape() as tape:
        features = inner(x)
        tape.watch(features)
        scores = model(x)
        score = scores[:, 1]  # <- unused
    return tape.gradient(score, features), tf.autodiff.explain(score, features)
