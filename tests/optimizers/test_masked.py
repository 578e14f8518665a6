"""MaskedUpdate: each element moves as if it had an optimizer of its own, which runs in the steps in which it is let through."""

import numpy as np
import pytest

import gradtape as tf

v1 = tf.compat.v1.train
WANTED = np.array([0.5, -1.0, 2.0, 3.0], "float32")
MASKS = np.array(
    [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 0]], dtype=bool
)  # fmt: skip


def variable_of_tensorflow(value):
    return tf.Variable(value)


def variable_of_keras(value):
    return tf.keras.Variable(value)


def value(variable):
    return np.asarray(variable.value() if isinstance(variable, tf.Variable) else variable.value)


OPTIMIZERS = {
    "v1 gradient descent": (variable_of_tensorflow, lambda: v1.GradientDescentOptimizer(0.1)),
    "v1 momentum": (variable_of_tensorflow, lambda: v1.MomentumOptimizer(0.1, 0.9)),
    "v1 Adam": (variable_of_tensorflow, lambda: v1.AdamOptimizer(0.1)),
    "v1 RMSProp": (variable_of_tensorflow, lambda: v1.RMSPropOptimizer(0.1, momentum=0.5, centered=True)),
    "v1 Ftrl": (variable_of_tensorflow, lambda: v1.FtrlOptimizer(0.1)),
    "SGD": (variable_of_keras, lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)),
    "Adam": (variable_of_keras, lambda: tf.keras.optimizers.Adam(0.1, amsgrad=True)),
    "AdamW": (variable_of_keras, lambda: tf.keras.optimizers.AdamW(0.1, weight_decay=0.05)),
    "RMSprop": (variable_of_keras, lambda: tf.keras.optimizers.RMSprop(0.1, momentum=0.5)),
    "Adagrad": (variable_of_keras, lambda: tf.keras.optimizers.Adagrad(0.1)),
    "Adamax": (variable_of_keras, lambda: tf.keras.optimizers.Adamax(0.1)),
    "Nadam": (variable_of_keras, lambda: tf.keras.optimizers.Nadam(0.1)),
}


def gradient(values, wanted):
    return 4.0 * (values - wanted) ** 3


def alone(make_variable, make_optimizer, element):
    """One element with an optimizer of its own."""
    variable, optimizer = make_variable(np.ones(1, "float32")), make_optimizer()
    for mask in MASKS:
        if mask[element]:
            optimizer.apply_gradients([(tf.constant(gradient(value(variable), WANTED[element])), variable)])
    return value(variable)[0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_element_moves_as_with_an_optimizer_of_its_own(name, count):
    make_variable, make_optimizer = OPTIMIZERS[name]
    variable, optimizer = make_variable(np.ones(4, "float32")), tf.optimizers.MaskedUpdate(make_optimizer())
    for mask in MASKS:
        before = value(variable)
        optimizer.apply_gradients([(tf.constant(gradient(before, WANTED)), variable)], masks=[mask])
        np.testing.assert_array_equal(value(variable)[~mask], before[~mask])  # to the bit
    expected = [alone(make_variable, make_optimizer, element) for element in range(4)]
    np.testing.assert_allclose(value(variable), expected, rtol=2e-6)
    np.testing.assert_array_equal(optimizer.steps(variable), MASKS.sum(0))
    assert value(variable)[3] == 1.0
    count("elements under masks beside optimizers of their own", 4)


def test_adam_moves_an_element_whose_gradient_became_0_and_a_mask_holds_it():
    """The four elements of the semantics: gradient 0 always, 0 from now on, never 0, and never 0 but frozen."""
    first, then = tf.constant([0.0, 1.0, 1.0, 1.0]), tf.constant([0.0, 0.0, 1.0, 1.0])
    x = tf.Variable(tf.zeros([4]))
    adam = v1.AdamOptimizer(0.1)
    adam.apply_gradients([(first, x)])
    after_one = x.numpy()
    adam.apply_gradients([(then, x)])
    assert x.numpy()[0] == 0.0 and x.numpy()[1] < after_one[1]  # Adam's momentum moves the second one on
    y = tf.Variable(tf.zeros([4]))
    masked = tf.optimizers.MaskedUpdate(v1.AdamOptimizer(0.1))
    masked.apply_gradients([(first, y)], masks=[None])
    np.testing.assert_array_equal(y.numpy(), after_one)
    slots = {name: masked.optimizer.get_slot(y, name).numpy() for name in ("m", "v")}
    masked.apply_gradients([(then, y)], masks=[[True, False, True, False]])
    assert y.numpy()[1] == after_one[1] and y.numpy()[3] == after_one[3]
    assert y.numpy()[2] == x.numpy()[2]
    for name, before in slots.items():
        now = masked.optimizer.get_slot(y, name).numpy()
        assert now[1] == before[1] and now[3] == before[3] and now[2] != before[2]


def test_a_whole_variable_is_frozen_by_one_boolean():
    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    optimizer = tf.optimizers.MaskedUpdate(v1.MomentumOptimizer(0.1, 0.9))
    for frozen in (True, False):
        optimizer.apply_gradients([(tf.ones([2]), a), (tf.ones([]), b)], masks=[True, not frozen])
    np.testing.assert_allclose(a.numpy(), [1.0 - 0.1 - 0.19, 2.0 - 0.1 - 0.19], rtol=1e-6)
    assert float(b) == pytest.approx(2.9)


def test_masks_that_change_inside_of_a_function():
    x, y = tf.Variable(tf.ones([4])), tf.Variable(tf.ones([4]))
    inside, outside = [tf.optimizers.MaskedUpdate(v1.AdamOptimizer(0.1)) for _ in range(2)]

    @tf.function
    def step(mask):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x - WANTED) ** 4)
        inside.apply_gradients([(tape.gradient(loss, x), x)], masks=[mask])

    for mask in MASKS:
        step(tf.constant(mask))
        outside.apply_gradients([(gradient(y.value(), WANTED), y)], masks=[mask])
    np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-5)
    assert step.experimental_get_tracing_count() <= 2


def test_norms_that_are_clipped_are_those_of_what_moves():
    x, alone = [tf.keras.Variable(np.ones(n, "float32")) for n in (4, 2)]
    masked = tf.optimizers.MaskedUpdate(tf.keras.optimizers.SGD(0.1, global_clipnorm=1.0))
    masked.apply_gradients([(tf.constant([3.0, 4.0, 100.0, np.nan]), x)], masks=[[True, True, False, False]])
    tf.keras.optimizers.SGD(0.1, global_clipnorm=1.0).apply_gradients([(tf.constant([3.0, 4.0]), alone)])
    np.testing.assert_allclose(value(x), [*value(alone), 1.0, 1.0], rtol=1e-6)


def test_sparse_gradients_are_made_dense():
    table = tf.Variable(tf.ones([3, 2]))
    optimizer = tf.optimizers.MaskedUpdate(v1.GradientDescentOptimizer(0.5))
    slices = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 2]), tf.constant([3, 2]))
    optimizer.apply_gradients([(slices, table)], masks=[[[True, False], [True, True], [True, True]]])
    np.testing.assert_array_equal(table.numpy(), [[0.5, 1.0], [1.0, 1.0], [0.5, 0.5]])


def test_a_keras_model_trains_under_a_mask_that_changes():
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)])
    optimizer = tf.optimizers.MaskedUpdate(tf.keras.optimizers.Adam(0.05))
    x = tf.random.stateless_normal([32, 3], [1, 2])
    y = tf.reduce_sum(x, 1, keepdims=True)
    weights = model.trainable_weights
    start = [value(w) for w in weights]
    losses = []
    for step in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        masks = [step % 2 == 0, None, False, True]
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True), masks)
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    np.testing.assert_array_equal(value(weights[2]), start[2])
    assert [int(np.max(optimizer.steps(w))) for w in weights] == [10, 20, 0, 20]


X = tf.Variable([1.0, 2.0])
D = tf.ones([2])


@pytest.mark.parametrize(
    "pairs, masks, error, match",
    [
        ([(D, X)], [[1.0, 0.0]], TypeError, r"has dtype float32: a mask is boolean"),
        ([(D, X)], [[1, 0]], TypeError, r"has dtype int32: a mask is boolean"),
        ([(D, X)], [[True, False, True]], ValueError, r"mask of .* has shape \(3,\), the variable \(2,\)"),
        ([(D, X)], [], ValueError, r"0 entries for 1 variables"),
        ([(None, X)], [True], ValueError, r"No gradients provided for any variable"),
        ([(D, D)], [None], TypeError, r"pairs of a gradient and its variable, received <tf.Tensor"),
        ([(tf.ones([3]), X)], [True], ValueError, r"The gradient of .* has shape \(3,\)"),
    ],
)
def test_bad_masks(pairs, masks, error, match):
    with pytest.raises(error, match=match):
        tf.optimizers.MaskedUpdate(v1.GradientDescentOptimizer(0.1)).apply_gradients(pairs, masks)
    np.testing.assert_array_equal(X.numpy(), [1.0, 2.0])


def test_optimizers_that_cannot_be_masked():
    with pytest.raises(TypeError, match=r"takes an optimizer of Keras or of tf.compat.v1.train, received 3"):
        tf.optimizers.MaskedUpdate(3)
    x = tf.keras.Variable(np.ones((3, 3), "float32"))
    accumulating = tf.keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)
    with pytest.raises(ValueError, match=r"cannot wrap an optimizer with gradient_accumulation_steps"):
        tf.optimizers.MaskedUpdate(accumulating).apply_gradients([(tf.ones([3, 3]), x)], [True])
    with pytest.raises(ValueError, match=r"cannot wrap Adafactor: its moments"):  # it gave NaN for a vector
        tf.optimizers.MaskedUpdate(tf.keras.optimizers.Adafactor(0.1))
    with tf.compat.v1.Graph().as_default(), pytest.raises(RuntimeError, match=r"this is a graph of TensorFlow 1"):
        tf.optimizers.MaskedUpdate(v1.AdamOptimizer()).apply_gradients([(D, X)], [True])
