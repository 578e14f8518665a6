"""Programs whose answer is more than a line and a code: the fix says what to write. `ADVICE` holds a part of each."""

import asyncio
import dataclasses
import math
import os
import tempfile

import numpy as np
from scipy.spatial.distance import cdist

import gradtape as tf

ADVICE = {}


def advises(words):
    """Note a part of what the cause and the fix say."""

    def noted(function):
        ADVICE[function.__name__] = words
        return function

    return noted


class Nets:
    def __init__(self):
        self.online, self.target = dense(), dense()


def dense():
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 2))
    return layer


@advises("call `nets.online` there, in the place of `nets.target`")
def one_of_two_that_a_function_made():
    nets, x = Nets(), tf.ones([3, 2])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(nets.target(x))  # <- wrong_object
    kernel = nets.online.kernel
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


@advises("it is used in `action = actor(state)`")
def a_result_that_goes_nowhere():
    actor, critic = dense(), dense()
    state, taken = tf.ones([3, 2]), tf.zeros([3, 2])
    with tf.GradientTape() as tape:
        action = actor(state)
        loss = -tf.reduce_mean(critic(taken))  # <- unused
    assert action is not None
    return tape.gradient(loss, actor.kernel), tf.autodiff.explain(loss, actor.kernel)


@advises("`z + tf.stop_gradient(q - z)`")
def a_straight_through_estimator_that_stops_all():
    w = tf.Variable(1.3)
    with tf.GradientTape() as tape:
        z = w * 2.0
        q = tf.round(z)
        loss = tf.stop_gradient(z + (q - z)) ** 2  # <- stopped
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`turned = tf.cos(angle) * 2.0`")
def a_function_of_pythons_math():
    angle = tf.Variable(0.3)
    with tf.GradientTape() as tape:
        turned = math.cos(angle) * 2.0  # <- left_library
        loss = tf.constant(turned) ** 2
    return tape.gradient(loss, angle), tf.autodiff.explain(loss, angle)


@advises("`tf.stack(values)`")
def an_array_that_is_filled():
    w, filled = tf.Variable([1.0, 2.0]), np.zeros(2, "float32")
    with tf.GradientTape() as tape:
        for i in range(2):
            filled[i] = w[i] * 2.0  # <- left_library
        loss = tf.reduce_sum(tf.square(filled))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("takes ragged rows")
def rows_as_lists():
    w = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        rows = tf.RaggedTensor.from_row_lengths(w * 2.0, [1, 2])
        means = tf.constant([sum(row) / len(row) for row in rows.to_list()])  # <- left_library
        loss = tf.reduce_sum(means**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("keep the metric beside it")
def a_metric_as_the_loss():
    w, mean = tf.Variable(2.0), tf.keras.metrics.Mean()
    with tf.GradientTape() as tape:
        mean.update_state(w * 3.0)  # <- state
        loss = mean.result()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("the first one")
def labels_and_predictions_exchanged():
    w, labels = tf.Variable([0.5, 0.1]), tf.constant([[1.0, 0.0], [0.0, 1.0]])
    with tf.GradientTape() as tape:
        shares = w * 1.0
        loss = tf.keras.losses.sparse_categorical_crossentropy(shares, labels)  # <- not_floating
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("its second derivative is 0")
def a_second_derivative_of_a_relu():
    x, w = tf.constant([[0.5, 1.0]]), tf.Variable([[1.0, -2.0], [0.5, 3.0]])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.relu(x @ w))  # <- piecewise_constant
        slope = tape.gradient(y, x)
    return outer.gradient(slope, x), tf.autodiff.explain(slope, x)


@advises("every margin is met")
def margins_that_are_met():
    w = tf.Variable([5.0, 5.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(tf.maximum(0.0, 1.0 - w))  # <- clipped
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("every margin is met")
def triplets_that_are_apart():
    w = tf.Variable([5.0, 5.0])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(tf.nn.relu(0.2 - w))  # <- dead_relu
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("multiplies by gates[0], which is 0 since `gates = [tf.Variable(0.0)]`")
def a_gate_that_starts_at_zero():
    w = tf.Variable([1.0, 2.0])
    gates = [tf.Variable(0.0)]
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(1.0 + gates[0] * tf.tanh(w))  # <- zero_factor
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("multiplies by reset, which is 0 since `reset = tf.constant(0.0)`")
def a_state_that_is_reset():
    w = tf.Variable([1.0, 2.0])
    reset = tf.constant(0.0)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(tf.tanh(reset * w))  # <- zero_factor
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("and `if self.features is None:` keeps what it gave")
def features_that_are_computed_once():
    class Net:
        def __init__(self):
            self.w, self.features = tf.Variable([1.0, 2.0]), None

        def loss(self):
            if self.features is None:
                self.features = tf.tanh(self.w)  # <- other_tape
            return tf.reduce_sum(self.features * 2.0)

    net = Net()
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = net.loss()
        gradient = tape.gradient(loss, net.w)
    return gradient, tf.autodiff.explain(loss, net.w)


@advises("compute it anew under each tape, without `cache[key]`")
def an_entry_that_was_missing():
    w, cache = tf.Variable([1.0, 2.0]), {}

    def codes(key):
        try:
            return cache[key]
        except KeyError:
            cache[key] = tf.tanh(w)  # <- other_tape
        return cache[key]

    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(codes("a") * 2.0)
        gradient = tape.gradient(loss, w)
    return gradient, tf.autodiff.explain(loss, w)


@advises("`for variable, new in zip(weights, stepped(weights)): variable.assign(new)`")
def a_step_that_returns_new_tensors():
    def stepped(weights):
        return [w - 0.1 * gradient for w in weights]

    weights = [tf.Variable([1.0, 2.0])]
    for step in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights[0] ** 2)
        gradient = tape.gradient(loss, weights[0])
        diagnosis = tf.autodiff.explain(loss, weights[0])
        if step == 0:
            weights = stepped(weights)  # <- rebound
    return gradient, diagnosis


@advises("open one tape around all of it")
def losses_of_several_tapes():
    w, total = tf.Variable([1.0, 2.0]), 0.0
    for k in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w - float(k)) ** 2)
        total += loss  # <- outside_tape
    return tape.gradient(total, w), tf.autodiff.explain(total, w)


@advises("a default is computed once, where the function is made")
def a_default_that_is_computed_before():
    w = tf.Variable([1.0, 2.0])

    def loss_of(x, penalty=tf.reduce_sum(w**2)):  # noqa: B008  # <- outside_tape
        return tf.reduce_sum(x) + penalty

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant([1.0]))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("the body of a class runs once, where the class is made")
def an_attribute_of_a_class():
    raw = tf.Variable([0.5])

    class Noise:
        sigma = tf.nn.softplus(raw)  # <- outside_tape

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(Noise.sigma * 2.0)
    return tape.gradient(loss, raw), tf.autodiff.explain(loss, raw)


@advises("keep what is written beside it")
def numbers_in_a_text_file():
    w = tf.Variable([1.0, 2.0])
    with tempfile.TemporaryDirectory() as folder, tf.GradientTape() as tape:
        path = os.path.join(folder, "features.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(str(x.numpy()) for x in tf.exp(w)))  # <- left_library
        with open(path, encoding="utf-8") as file:
            loss = tf.reduce_sum(tf.constant([float(x) for x in file.read().split(",")]))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises('since `data = tf.constant([1.0, float("nan")])`')
def data_with_a_nan():
    w = tf.Variable([1.0, 2.0])
    data = tf.constant([1.0, float("nan")])
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(w * data)  # <- nan_origin
    gradient = tape.gradient(loss, w)
    return tf.zeros_like(gradient), tf.autodiff.explain_nan(loss, w)


@advises("try smaller values")
def a_recurrence_that_grows():
    w = tf.Variable([[3.0, 2.0], [1.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        h = tf.ones([1, 2])
        for _ in range(80):
            h = h @ w  # <- inf_origin
        loss = tf.reduce_mean((h - 1.0) ** 2)
    gradient = tape.gradient(loss, w)
    return tf.zeros_like(gradient), tf.autodiff.explain_nan(loss, w)


@advises("read the generator under the tape, as by `list(…)`")
def a_generator_that_is_read_later():
    weights = [tf.Variable(1.0), tf.Variable(2.0)]
    with tf.GradientTape() as tape:
        parts = (w**2 for w in weights)  # <- outside_tape
    loss = tf.add_n(list(parts))
    return tape.gradient(loss, weights[0]), tf.autodiff.explain(loss, weights[0])


@advises("call `force` in the `with` block of tape")
def an_inner_gradient_of_a_function_outside():
    q, k = tf.Variable([1.0]), tf.Variable(2.0)

    def force(q):
        with tf.GradientTape() as inner:
            energy = 0.5 * k * tf.reduce_sum(q**2)
        return -inner.gradient(energy, q)  # <- other_tape

    f = force(q)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(f**2)
    return tape.gradient(loss, k), tf.autodiff.explain(loss, k)


@advises("`z = mean + deviation * tf.random.normal(tf.shape(mean))`")
def a_sample_of_numpys():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        mean, deviation = w * 2.0, tf.exp(w)
        z = np.random.normal(mean, deviation)  # <- left_library
        loss = tf.reduce_sum(tf.cast(z, tf.float32) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("tf.norm(a[:, None] - b[None], axis=-1) in the place of `cdist`")
def a_function_of_scipys():
    w = tf.Variable([[1.0, 2.0], [0.0, 1.0]])
    with tf.GradientTape() as tape:
        distances = cdist(w * 2.0, w)  # <- left_library
        loss = tf.reduce_sum(tf.constant(distances, tf.float32))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`total = tf.reduce_mean(w * 2.0, axis=0)`")
def a_method_of_an_array():
    w = tf.Variable([[1.0, 2.0], [0.0, 1.0]])
    with tf.GradientTape() as tape:
        total = (w * 2.0).numpy().mean(axis=0)  # <- left_library
        loss = tf.reduce_sum(tf.constant(total) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("let it run under the tape: what ran before is a constant")
def actions_of_a_replay_buffer():
    actor, critic, buffer = dense(), dense(), []
    buffer.append(actor(tf.ones([3, 2])).numpy())  # <- left_library
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(np.concatenate(buffer)))
    return tape.gradient(loss, actor.kernel), tf.autodiff.explain(loss, actor.kernel)


@advises("`advantage = wanted - value`")
def an_advantage_that_is_stopped():
    value, wanted = tf.Variable([1.0, 2.0]), tf.constant([2.0, 2.0])
    with tf.GradientTape() as tape:
        advantage = tf.stop_gradient(wanted - value)  # <- stopped
        loss = tf.reduce_mean(advantage**2)
    return tape.gradient(loss, value), tf.autodiff.explain(loss, value)


@advises("`y = tf.stop_gradient(hard - y) + y`")
def a_soft_choice_that_is_stopped():
    logits = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.nn.softmax(logits)
        hard = tf.one_hot(tf.argmax(y), 2)
        y = tf.stop_gradient(hard - y) + tf.stop_gradient(y)  # <- stopped
        loss = tf.reduce_sum(y * [1.0, 3.0])
    return tape.gradient(loss, logits), tf.autodiff.explain(loss, logits)


@advises("give q a loss of its own, `tf.reduce_mean((q - tf.stop_gradient(z)) ** 2)`")
def a_codebook_without_a_loss():
    book, z = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0, 1.0]])
    with tf.GradientTape() as tape:
        q = tf.gather(book, tf.argmin(tf.norm(z[:, None] - book, axis=-1), 1))
        q = z + tf.stop_gradient(q - z)  # <- stopped
        loss = tf.reduce_sum(q**2)
    return tape.gradient(loss, book), tf.autodiff.explain(loss, book)


@advises("or pass the gradient straight through: `z + tf.stop_gradient(q - z)`")
def rows_of_a_codebook():
    w, book = tf.Variable([[1.0, 1.0]]), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        z = tf.tanh(w)
        nearest = tf.argmin(tf.norm(z[:, None] - book, axis=-1), 1)  # <- not_differentiable
        loss = tf.reduce_sum(tf.gather(book, nearest) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`x + tf.stop_gradient(jpeg(x) - x)`")
def an_image_as_a_file():
    w = tf.Variable(tf.ones([8, 8, 3]) * 0.5)

    def jpeg(x):
        pixels = tf.cast(x * 255.0, tf.uint8)  # <- not_floating
        return tf.cast(tf.io.decode_jpeg(tf.io.encode_jpeg(pixels)), tf.float32)

    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(jpeg(w) ** 2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`tf.gather(scores, selected)`")
def boxes_that_are_kept():
    scores, boxes = tf.Variable([0.9, 0.8]), tf.constant([[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]])
    with tf.GradientTape() as tape:
        kept = tf.image.non_max_suppression(boxes, scores, 2)  # <- not_differentiable
        loss = tf.reduce_sum(tf.gather(boxes, kept))
    return tape.gradient(loss, scores), tf.autodiff.explain(loss, scores)


@advises("or a soft rank, `tf.reduce_sum(tf.sigmoid(scores[None] - scores[:, None]), 1)`")
def a_ranking():
    scores, gains = tf.Variable([0.9, 0.8, 0.1]), tf.constant([1.0, 0.0, 2.0])
    with tf.GradientTape() as tape:
        order = tf.argsort(scores)  # <- not_floating
        loss = -tf.reduce_sum(tf.gather(gains, order) * [1.0, 0.5, 0.2])
    return tape.gradient(loss, scores), tf.autodiff.explain(loss, scores)


@advises("a property, that runs under the tape")
def a_field_of_a_dataclass():
    @dataclasses.dataclass
    class Policy:
        log_scale: tf.Variable

        def __post_init__(self):
            self.scale = tf.exp(self.log_scale)  # <- outside_tape

    policy = Policy(tf.Variable(0.5))
    with tf.GradientTape() as tape:
        loss = policy.scale**2
    return tape.gradient(loss, policy.log_scale), tf.autodiff.explain(loss, policy.log_scale)


@advises("`loss_fn(y, model(x))`")
def an_evaluation_as_the_loss():
    model, x = dense_model(), np.ones([4, 2], np.float32)
    with tf.GradientTape() as tape:
        loss = tf.constant(model.evaluate(x, x, verbose=0))  # <- left_library
    kernel = model.trainable_variables[0]
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


def dense_model():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


@advises("tf.gather_nd(costs, tf.stack([rows, columns], -1))")
def an_assignment_of_scipys():
    w = tf.Variable([[0.2, 0.8], [0.9, 0.1]])
    with tf.GradientTape() as tape:
        costs = tf.abs(w - 1.0)
        rows, columns = np.array([0, 1]), np.array([1, 0])
        loss = tf.constant(costs.numpy()[rows, columns].sum())  # <- left_library
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`y0 + (u - x0) / (x1 - x0) * (y1 - y0)`")
def a_place_in_a_table():
    u, table = tf.Variable([0.4, 1.7]), tf.constant([1.0, 2.0, 0.5])
    with tf.GradientTape() as tape:
        i = tf.searchsorted([0.0, 1.0, 2.0], u)  # <- not_differentiable
        loss = tf.reduce_sum(tf.gather(table, i))
    return tape.gradient(loss, u), tf.autodiff.explain(loss, u)


@advises("keep the metric beside it")
def an_accuracy_metric_as_the_loss():
    w, right = tf.Variable([[1.0, 2.0], [3.0, 1.0]]), tf.keras.metrics.SparseCategoricalAccuracy()
    with tf.GradientTape() as tape:
        right.update_state([0, 1], tf.nn.softmax(w))  # <- state
        loss = 1.0 - right.result()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("await it under the tape")
def a_coroutine_that_was_awaited_before():
    w = tf.Variable(2.0)

    async def doubled():
        return w * 2.0  # <- outside_tape

    async def step():
        y = await doubled()
        with tf.GradientTape() as tape:
            loss = y * y
        return tape.gradient(loss, w), tf.autodiff.explain(loss, w)

    return asyncio.run(step())
