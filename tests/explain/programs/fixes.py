"""Programs as users ask about them, whose fix can be typed: `ADVICE` holds a part of each answer."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import gradtape as tf

ADVICE = {}


def advises(words):
    """Note a part of what the cause and the fix say."""

    def noted(function):
        ADVICE[function.__name__] = words
        return function

    return noted


class Policy(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([2, 2]))

    def __call__(self, state):
        return tf.nn.softmax(state @ self.w)


@advises("open the tape before the loop in line 34, and let the loop run in its `with` block")
def probabilities_that_were_kept_of_an_episode():
    policy, taken = Policy(), []
    for state in np.eye(2, dtype=np.float32):
        p = policy(state[None])  # <- outside_tape
        action = np.argmax(p.numpy()[0] / p.numpy()[0].sum())
        taken.append(p[0, action])
    returns = np.cumsum([1.0, 1.0])[::-1].astype("float32")
    with tf.GradientTape() as tape:
        loss = -tf.reduce_sum(tf.math.log(tf.stack(taken)) * returns)
    return tape.gradient(loss, policy.w), tf.autodiff.explain(loss, policy.w)


@advises("open tape before the loop in line 47, and leave out the tape in it")
def a_tape_for_each_batch():
    w, x, losses = tf.Variable(1.0), tf.ones([4]), []
    for k in range(2):
        with tf.GradientTape() as tape:
            losses.append(tf.reduce_mean((w * x[2 * k : 2 * k + 2] - 3.0) ** 2))  # <- other_tape
    with tf.GradientTape() as tape:
        loss = tf.add_n(losses)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("ran before the tape opened")
def a_function_that_was_called_before_the_tape():
    w = tf.Variable(1.0)
    forward = tf.function(lambda x: tf.reduce_sum(w * x))
    y = forward(tf.ones([3]))  # <- outside_tape
    with tf.GradientTape() as tape:
        loss = (y - 2.0) ** 2
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("move `first = inner.gradient(y, x)` into the `with` block of outer")
def an_inner_gradient_behind_the_outer_tape():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x**3
    first = inner.gradient(y, x)  # <- other_tape
    return outer.gradient(first, x), tf.autodiff.explain(first, x)


@advises("`loss = tf.keras.losses.SparseCategoricalCrossentropy()(labels, scores)`")
def an_accuracy_for_a_loss():
    layer, accuracy = tf.keras.layers.Dense(3), tf.keras.metrics.SparseCategoricalAccuracy()
    labels = tf.constant([0, 1])
    with tf.GradientTape() as tape:
        scores = layer(tf.ones([2, 2]))
        loss = accuracy(labels, scores)  # <- state
    return tape.gradient(loss, layer.kernel), tf.autodiff.explain(loss, layer.kernel)


@advises("`y, _ = fast.stateless_call(values, fast.non_trainable_variables, x)`")
def a_step_that_is_assigned_to_another_model():
    slow, fast = [tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)]) for _ in range(2)]
    with tf.GradientTape() as tape:
        for old, new in zip(slow.trainable_variables, fast.trainable_variables, strict=True):
            new.assign(old * 0.9)  # <- state
        loss = tf.reduce_sum(fast(tf.ones([1, 2])))
    kernel = slow.trainable_variables[0]
    return tape.gradient(loss, kernel), tf.autodiff.explain(loss, kernel)


@advises("take `norm.trainable_variables` as sources")
def a_moving_mean():
    norm = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.BatchNormalization()])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(norm(tf.ones([3, 2])))  # <- not_trainable
    gradients = tape.gradient(loss, norm.variables)
    return gradients[2], tf.autodiff.explain(loss, norm.variables[2])


@advises("stop the difference only: `x * 2.0 + tf.stop_gradient(tf.round(x) - x * 2.0)`")
def a_straight_through_that_stops_all():
    x = tf.Variable([0.3, 1.7])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.stop_gradient(x * 2.0 + (tf.round(x) - x * 2.0)))  # <- stopped
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


@advises("`[scaled(each) for each in [1.0, 2.0]]`, in the place of `pool.map(scaled, [1.0, 2.0])`")
def a_pool_of_threads():
    w = tf.Variable(2.0)

    def scaled(x):
        return w * x  # <- other_thread

    with tf.GradientTape() as tape, ThreadPoolExecutor(1) as pool:
        loss = tf.add_n(list(pool.map(scaled, [1.0, 2.0])))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`work(3.0)`, in the place of `threading.Thread(target=work, args=(3.0,))`")
def a_thread_of_its_own():
    w, results = tf.Variable(2.0), []

    def work(x):
        results.append(w * x)  # <- other_thread

    with tf.GradientTape() as tape:
        thread = threading.Thread(target=work, args=(3.0,))
        thread.start()
        thread.join()
        loss = results[0] ** 2
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("write `array = h`, and below ")
def an_array_and_what_is_done_with_it():
    w = tf.Variable([[1.0, 2.0], [3.0, 5.0]])
    with tf.GradientTape() as tape:
        h = w * 2.0
        array = h.numpy()  # <- left_library
        array = np.matmul((array - array.mean(axis=0)).T, array)
        loss = tf.reduce_sum(array)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("change the Variable instead: `self.w.assign(self.w - 0.1 * 2.0)`")
def a_new_variable_for_each_step():
    class Scaled:
        def __init__(self):
            self.w = tf.Variable(1.0)
            self.variables = [self.w]

        def step(self):
            with tf.GradientTape() as tape:
                loss = self.w**2
            dw = tape.gradient(loss, self.variables)
            found = tf.autodiff.explain(loss, self.variables)
            self.w = tf.Variable(self.w - 0.1 * 2.0)  # <- rebound
            return dw, found

    scaled = Scaled()
    scaled.step()
    return scaled.step()


@advises("or move `sparse = tf.SparseTensor([[0], [2]], values, [3])` into its `with` block")
def a_sparse_tensor_from_before():
    values = tf.Variable([1.0, 2.0])
    sparse = tf.SparseTensor([[0], [2]], values, [3])  # <- wrong_object
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sparse.to_dense(sparse) ** 2)
    return tape.gradient(loss, values), tf.autodiff.explain(loss, values)


@advises("call `lambda x: x * w` under the tape, on what the Dataset gives")
def a_weight_in_the_map_of_a_dataset():
    w = tf.Variable(2.0)
    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * w)  # <- left_library
    for x in data:
        with tf.GradientTape() as tape:
            loss = x**2
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("`loss_of` never uses its argument scores")
def a_loss_of_the_labels_alone():
    w = tf.Variable(2.0)

    def loss_of(labels, scores):
        return tf.reduce_mean((labels - tf.reduce_mean(labels)) ** 2)

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant([1.0, 3.0]), w * tf.ones([2]))  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("call the embedding by itself under the tape, watch what it gives")
def words_that_an_embedding_looks_up():
    model = tf.keras.Sequential([tf.keras.layers.Embedding(5, 2), tf.keras.layers.Dense(1)])
    words = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(words)
        scores = model(words)  # <- not_floating
    return tape.gradient(scores, words), tf.autodiff.explain(scores, words)


@advises("`image + tf.stop_gradient(tf.image.adjust_jpeg_quality(image, 50) - image)`")
def an_image_as_jpeg():
    image = tf.Variable(tf.ones([4, 4, 3]) * 0.5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.image.adjust_jpeg_quality(image, 50))  # <- not_differentiable
    return tape.gradient(loss, image), tf.autodiff.explain(loss, image)


@advises("a Python value stays what it was when the function was traced")
def a_python_number_in_a_function():
    w, rates = tf.Variable(2.0), {"now": 0.0}

    @tf.function
    def scaled(x):
        return w * x * rates["now"]  # <- zero_factor

    scaled(tf.constant(1.0))
    rates["now"] = 5.0
    with tf.GradientTape(persistent=True) as tape:
        loss = scaled(tf.constant(3.0)) + 1.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


@advises("the value left the library through .numpy()")
def a_copy_under_the_tape_beside_a_target_from_before():
    image, scale = tf.Variable([1.0, 2.0]), tf.constant(3.0)
    target = image * scale
    with tf.GradientTape() as tape:
        copied = tf.constant(image.numpy())  # <- left_library
        loss = tf.reduce_sum((copied * scale - target) ** 2)
    return tape.gradient(loss, image), tf.autodiff.explain(loss, image)


@advises("what comes of that goes no further")
def a_state_that_is_begun_again():
    first = tf.zeros([2])
    with tf.GradientTape() as tape:
        tape.watch(first)
        state = tf.tanh(first + 1.0)
        state = tf.zeros_like(state)
        loss = tf.reduce_sum(state + 1.0)  # <- unused
    return tape.gradient(loss, first), tf.autodiff.explain(loss, first)


@advises("write `chosen = tf.stack([scores[i, a] for i, a in enumerate([1, 0])])`")
def an_array_of_tensors():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        scores = w * 2.0
        chosen = np.array([scores[i, a] for i, a in enumerate([1, 0])])  # <- left_library
        loss = tf.reduce_sum(chosen)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)
