"""What takes a variable takes one of Keras's, one of a strategy and what an assignment returns: programs that users wrote."""

import pytest

import gradtape as tf
from tests.values.kinds import KINDS, NUMBERS

STANDING = ["keras variable", "what assign returns", "variable under a strategy"]


@pytest.fixture
def model():
    tf.keras.utils.set_random_seed(0)
    return tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])


@pytest.mark.parametrize("gradients", [tf.gradients, tf.compat.v1.gradients])
@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_gradients_by_the_weights_of_a_model(model, gradients, unconnected):
    @tf.function
    def step(x):
        loss = tf.reduce_mean(model(x) ** 2)
        return gradients(loss, model.trainable_variables, unconnected_gradients=unconnected)

    kernel, bias = step(tf.ones([2, 3]))
    assert [*kernel.numpy().ravel(), *bias.numpy()] == pytest.approx([0.8017] * 4, abs=1e-4)


def test_nothing_that_has_a_gradient_is_reported_as_missing(model, caplog):
    step = tf.function(lambda x: tf.gradients(tf.reduce_mean(model(x) ** 2), model.trainable_variables))
    step(tf.ones([2, 3]))
    assert "The gradient is None" not in caplog.text


def test_a_weight_is_the_argument_of_a_custom_gradient_in_fit():
    @tf.custom_gradient
    def straight(w):
        return tf.sign(w), lambda dy: dy

    class Quantized(tf.keras.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(shape[-1], 2))

        def call(self, x):
            return x @ straight(self.kernel)

    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([Quantized(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = tf.random.normal([16, 3], seed=1)
    history = model.fit(x, x[:, :1], epochs=2, verbose=0, shuffle=False).history
    assert history["loss"] == pytest.approx([0.9499433, 0.8256416], abs=1e-5)


@pytest.mark.parametrize("kind", STANDING)
@pytest.mark.parametrize("name", ["GradientDescentOptimizer", "AdagradOptimizer", "MomentumOptimizer"])
def test_optimizers_of_tensorflow_1(kind, name):
    options = (0.5, 0.9) if name == "MomentumOptimizer" else (0.5,)
    results = []
    for make in (KINDS[kind], KINDS["variable"]):
        v, optimizer = make(tf), getattr(tf.compat.v1.train, name)(*options)
        for _ in range(2):
            optimizer.apply_gradients([(tf.constant([0.5, 0.5]), v)])
        results.append(tf.identity(v).numpy().tolist())
    assert results[0] == results[1] != NUMBERS


@pytest.mark.parametrize("make", [lambda: tf.Variable([1.0]), lambda: tf.keras.Variable([1.0])])
def test_an_optimizer_of_keras_knows_a_variable_by_what_stands_for_it(make):
    v, optimizer = make(), tf.keras.optimizers.SGD(0.1)
    optimizer.apply_gradients([(tf.ones(1), v)])
    held = v.value if isinstance(v, tf.keras.Variable) else v.assign([2.0])
    optimizer.apply_gradients([(tf.ones(1), held)])
    assert v.numpy() == pytest.approx([0.8] if isinstance(v, tf.keras.Variable) else [1.9])


@pytest.mark.parametrize("kind", STANDING)
def test_functions_of_gradtapes_own(kind):
    x = KINDS[kind](tf)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(x * x)
    assert tf.autodiff.explain(loss, x).code == "connected"
    assert tape.gradient(loss, x).numpy().tolist() == [2.0, 4.0]
    assert tape.gradient(x, x).numpy().tolist() == [1.0, 1.0]
