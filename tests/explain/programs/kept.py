"""What is kept from one step to the next: values that are computed once, and tensors in the place of Variables."""

import collections
import functools
import shutil
import tempfile

import gradtape as tf


class Encoder:
    def __init__(self):
        self.w, self.features, self.by_size = tf.Variable([[1.0, 2.0], [0.5, -1.0]]), None, {}

    def encode(self, x):
        return tf.tanh(x @ self.w)


def features_kept_since_a_look_at_the_loss():
    class Net(Encoder):
        def encode(self, x):
            if self.features is None:
                self.features = tf.tanh(x @ self.w)  # <- outside_tape
            return self.features

        def loss(self, x):
            return tf.reduce_mean(self.encode(x) ** 2)

    net, x = Net(), tf.ones([3, 2])
    assert float(net.loss(x)) > 0.0
    with tf.GradientTape() as tape:
        loss = net.loss(x)
    return tape.gradient(loss, net.w), tf.autodiff.explain(loss, net.w)


def features_kept_since_the_last_step():
    class Net(Encoder):
        def loss(self, x):
            if not hasattr(self, "hidden"):
                self.hidden = self.encode(x)  # <- other_tape
            return tf.reduce_mean(self.hidden**2)

        def encode(self, x):
            projected = x @ self.w
            return tf.tanh(projected)

    net, x = Net(), tf.ones([3, 2])
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = net.loss(x)
        gradient = tape.gradient(loss, net.w)
    return gradient, tf.autodiff.explain(loss, net.w)


def features_kept_by_size():
    class Net(Encoder):
        def for_size(self, x):
            if len(x) in self.by_size:
                return self.by_size[len(x)]
            found = tf.tanh(x @ self.w)  # <- outside_tape
            self.by_size[len(x)] = found
            return found

    net, x = Net(), tf.ones([3, 2])
    before = tf.reduce_mean(net.for_size(x))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net.for_size(x) ** 2)
    assert float(before) != float(loss)
    return tape.gradient(loss, net.w), tf.autodiff.explain(loss, net.w)


def a_function_with_a_cache():
    w = tf.Variable([1.0, 2.0, 3.0])

    @functools.cache
    def spectrum(n):
        frequencies = tf.linspace(0.0, 1.0, n)
        return tf.reduce_sum(tf.sin(frequencies[:, None] * w[None, :]), 1)  # <- other_tape

    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(spectrum(5) ** 2)
        gradient = tape.gradient(loss, w)
    return gradient, tf.autodiff.explain(loss, w)


def a_step_that_returns_a_list():
    def stepped(parameters, gradients):
        return [p - 0.1 * g for p, g in zip(parameters, gradients, strict=True)]

    parameters = [tf.Variable([[1.0], [2.0]]), tf.Variable([0.5])]
    for step in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.ones([4, 2]) @ parameters[0] + parameters[1]) ** 2)
        gradients = tape.gradient(loss, parameters)
        diagnosis = tf.autodiff.explain(loss, parameters)
        if step == 0:
            parameters = stepped(parameters, gradients)  # <- rebound
    return gradients, diagnosis


def a_step_that_returns_a_dict():
    def stepped(parameters, gradients):
        new = {}
        for name in parameters:
            new[name] = parameters[name] - 0.1 * gradients[name]
        return new

    parameters = {"w": tf.Variable([2.0, 1.0])}
    for step in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(parameters["w"] ** 2)
        gradients = tape.gradient(loss, parameters)
        diagnosis = tf.autodiff.explain(loss, parameters["w"])
        if step == 0:
            parameters = stepped(parameters, gradients)  # <- rebound
    return gradients["w"], diagnosis


def a_step_that_returns_a_tuple_with_momentum():
    State = collections.namedtuple("State", "w momentum")

    def stepped(state, gradient):
        momentum = 0.9 * state.momentum + gradient
        return State(state.w - 0.1 * momentum, momentum)

    state = State(tf.Variable([1.0, 2.0]), tf.zeros([2]))
    for step in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(state.w**2)
        gradient = tape.gradient(loss, state.w)
        diagnosis = tf.autodiff.explain(loss, state.w)
        if step == 0:
            state = stepped(state, gradient)  # <- rebound
    return gradient, diagnosis


def bytes_that_are_read_again():
    w = tf.Variable([0.5, 1.5])
    with tf.GradientTape() as tape:
        data = tf.io.serialize_tensor(tf.exp(w))  # <- not_differentiable
        loss = tf.reduce_sum(tf.io.parse_tensor(data, tf.float32) * 2.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_file_that_is_read_again():
    w = tf.Variable([0.5, 1.5])

    def save(name, x):
        tf.io.write_file(name, tf.io.serialize_tensor(x))  # <- not_differentiable

    def load(name):
        return tf.io.parse_tensor(tf.io.read_file(name), tf.float32)

    with tf.GradientTape() as tape:
        save("ram://features", tf.exp(w))
        loss = tf.reduce_sum(load("ram://features"))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_module_that_is_loaded():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([1.0, 2.0])

        @tf.function(input_signature=[tf.TensorSpec([2])])
        def __call__(self, x):
            return tf.reduce_sum(self.w * x)

    net, folder = Net(), tempfile.mkdtemp()
    tf.saved_model.save(net, folder)
    loaded = tf.saved_model.load(folder)  # <- wrong_object
    shutil.rmtree(folder)
    with tf.GradientTape() as tape:
        loss = loaded(tf.constant([3.0, 4.0])) ** 2
    return tape.gradient(loss, net.w), tf.autodiff.explain(loss, net.w)


def an_example_that_is_parsed_again():
    w = tf.Variable([0.5, 1.5])
    spec = {"h": tf.io.FixedLenFeature([2], tf.float32)}
    with tf.GradientTape() as tape:
        values = tf.train.FloatList(value=tf.exp(w).numpy())  # <- left_library
        example = tf.train.Example(features=tf.train.Features(feature={"h": tf.train.Feature(float_list=values)}))
        loss = tf.reduce_sum(tf.io.parse_single_example(example.SerializeToString(), spec)["h"])
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def memory_that_is_taken_again():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        capsule = tf.experimental.dlpack.to_dlpack(w * 2.0)  # <- left_library
        loss = tf.reduce_sum(tf.experimental.dlpack.from_dlpack(capsule))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_image_that_is_encoded():
    image = tf.Variable(tf.fill([4, 4, 3], 0.5))

    def pixels(x):
        return tf.cast(x * 255.0, tf.uint8)  # <- not_floating

    with tf.GradientTape() as tape:
        data = tf.io.encode_png(pixels(image))
        loss = tf.reduce_mean(tf.cast(tf.io.decode_png(data), tf.float32))
    return tape.gradient(loss, image), tf.autodiff.explain(loss, image)


def weights_that_a_method_computed_when_the_object_was_made():
    class Normalized:
        def __init__(self):
            self.v = tf.Variable([[3.0, 4.0]])
            self.refresh()

        def refresh(self):
            self.w = self.v / tf.norm(self.v)  # <- outside_tape

        def __call__(self, x):
            return x @ tf.transpose(self.w)

    layer = Normalized()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.ones([1, 2])) ** 2)
    return tape.gradient(loss, layer.v), tf.autodiff.explain(loss, layer.v)


def a_rate_as_a_number():
    rate, w = tf.Variable(0.1), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        optimizer = tf.keras.optimizers.SGD(learning_rate=float(rate))  # <- left_library
        optimizer.apply_gradients([(tf.constant([1.0, 1.0]), w)])
        loss = tf.reduce_sum(w**2)
    return tape.gradient(loss, rate), tf.autodiff.explain(loss, rate)


def a_step_that_returns_weight_and_bias():
    x, y = tf.constant([1.0, 2.0]), tf.constant([2.0, 4.0])

    def step(w, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * w + b - y) ** 2)
        dw, db = tape.gradient(loss, [w, b])
        diagnosis = tf.autodiff.explain(loss, [w, b])
        if dw is None:
            return w, b, [dw, db], diagnosis
        return w - 0.1 * dw, b - 0.1 * db, [dw, db], diagnosis

    w, b = tf.Variable(1.0), tf.Variable(0.0)
    for _ in range(2):
        w, b, gradients, diagnosis = step(w, b)  # <- rebound
    return gradients, diagnosis
