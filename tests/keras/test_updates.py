"""An optimizer's update in eager code is traced once for what comes again, with the numbers of op by op; the rest stays."""

import gc
import sys
import weakref

import numpy as np
import pytest

import gradtape as tf
import gradtape.keras as keras
from gradtape._src.core.engine import execution

layers, optimizers = keras.layers, keras.optimizers
backend = sys.modules["keras.src.backend"]
LABELS = np.array([0, 2, 1, 2])


def dense():
    return [layers.Dense(4, activation="relu"), layers.Dense(3)], np.linspace(-1, 1, 20, dtype="float32").reshape(4, 5)


def convolution():
    made = [layers.Conv2D(2, 2), layers.BatchNormalization(), layers.Dropout(0.5, seed=1), layers.Flatten(), layers.Dense(3)]
    return made, np.linspace(-1, 1, 64, dtype="float32").reshape(4, 4, 4, 1)


def embedding():
    return [layers.Embedding(7, 2), layers.Flatten(), layers.Dense(3)], np.arange(12, dtype="int32").reshape(4, 3) % 7


def recurrent():
    return [layers.Embedding(7, 2), layers.LSTM(3), layers.Dense(3)], np.arange(12, dtype="int32").reshape(4, 3) % 7


OPTIMIZERS = {
    "SGD": lambda: optimizers.SGD(0.1, momentum=0.9),
    "Adam": lambda: optimizers.Adam(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "AdamW": lambda: optimizers.AdamW(0.1, clipnorm=0.5),
    "averages": lambda: optimizers.Adam(0.1, use_ema=True, ema_overwrite_frequency=2),
    "scaled": lambda: optimizers.LossScaleOptimizer(optimizers.SGD(0.1), initial_scale=4.0, dynamic_growth_steps=2),
    "accumulated": lambda: optimizers.SGD(0.1, gradient_accumulation_steps=2, global_clipnorm=0.1),
}


class Loop:
    """A loop of a tape over a model, whose steps count their programs and the runs of the update's Python code."""

    def __init__(self, monkeypatch, optimizer, parts=dense):
        keras.utils.set_random_seed(0)
        made, self.x = parts()
        self.model = keras.Sequential([keras.Input(self.x.shape[1:], dtype=self.x.dtype), *made])
        self.optimizer, self.programs, self.updates = optimizer, [], []
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        run, scope = execution.execute, backend.name_scope

        def entered(name, caller=None, **options):
            frame = sys._getframe(1)
            while frame.f_code is entered.__code__:  # of another loop
                frame = frame.f_back
            if caller is optimizer and optimizer.built and frame.f_code.co_name == "apply":
                self.updates.append(1)
            return scope(name, caller=caller, **options)

        monkeypatch.setattr(execution, "execute", lambda *args: self.programs.append(1) or run(*args))
        monkeypatch.setattr(backend, "name_scope", entered)

    def step(self):
        self.programs.clear()
        with tf.GradientTape() as tape:
            loss = self.optimizer.scale_loss(self.loss(LABELS, self.model(self.x, training=True)))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        float(loss)
        return len(self.programs)

    def steps(self, count):
        return [self.step() for _ in range(count)]

    def op_by_op(self, count):
        """The same steps with a tape around each, which sees the ops of the update."""
        for _ in range(count):
            with tf.GradientTape():
                self.step()

    @property
    def values(self):
        return [*self.model.get_weights(), *[v.numpy() for v in self.optimizer.variables]]


def same(some, others):
    for value, other in zip(some.values, others.values, strict=True):
        np.testing.assert_allclose(value, other, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "name"),
    [*[(dense, name) for name in OPTIMIZERS], (convolution, "Adam"), (embedding, "AdamW"), (recurrent, "SGD")],
)
def test_a_step_is_at_most_two_programs_with_the_numbers_of_op_by_op(monkeypatch, parts, name):
    loop, expected = [Loop(monkeypatch, OPTIMIZERS[name](), parts) for _ in range(2)]
    programs = loop.steps(5)
    monkeypatch.undo()
    assert max(programs[-2:]) <= 2
    assert len(loop.updates) <= 3
    expected.op_by_op(5)
    same(loop, expected)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("learning_rate", 0.01),
        ("momentum", 0.5),
        ("nesterov", True),
        ("clipnorm", 0.01),
        ("weight_decay", 0.5),
    ],
)
def test_a_changed_attribute_counts_from_the_next_step_on(monkeypatch, attribute, value):
    loop, expected = [Loop(monkeypatch, optimizers.SGD(0.1, momentum=0.9)) for _ in range(2)]
    for some, run in ((loop, loop.steps), (expected, expected.op_by_op)):
        run(3)
        setattr(some.optimizer, attribute, value)
        run(3)
    same(loop, expected)


def test_an_attribute_that_changes_in_each_step_is_never_traced(monkeypatch):
    loop = Loop(monkeypatch, optimizers.Adam(0.1))
    for step in range(20):
        loop.optimizer.beta_1 = 0.9 - step / 100
        loop.step()
    assert len(loop.updates) == 20


def test_a_layer_that_is_frozen_and_one_that_is_unknown(monkeypatch):
    loop = Loop(monkeypatch, optimizers.SGD(0.1))
    loop.steps(3)
    frozen = loop.model.layers[0]
    frozen.trainable = False
    before = loop.model.get_weights()
    loop.steps(3)
    changed = [(now != old).any() for now, old in zip(loop.model.get_weights(), before, strict=True)]
    assert changed == [False, False, True, True]
    frozen.trainable = True
    loop.model = keras.Sequential([keras.Input((5,)), layers.Dense(3)])  # as a callback would put another one in its place
    with pytest.raises(ValueError, match="Unknown variable"):
        loop.step()


@pytest.mark.parametrize("bad", [(slice(None), np.ones((5, 5), "float32")), (0, None)])
def test_gradients_that_do_not_fit_are_errors_as_before(monkeypatch, bad):
    loop = Loop(monkeypatch, optimizers.SGD(0.1))
    loop.steps(3)
    weights, before = loop.model.trainable_variables, loop.values
    gradients = [None if bad[1] is None else tf.constant(bad[1])] * len(weights)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=r"shape|No gradients"):
        loop.optimizer.apply_gradients(zip(gradients, weights, strict=True))
    for now, value in zip(loop.values, before, strict=True):
        np.testing.assert_array_equal(now, value)


def test_an_index_that_the_third_of_the_embeddings_has_not(monkeypatch):
    keras.utils.set_random_seed(0)
    rows = [layers.Embedding(7, 2, name=f"rows_{k}") for k in range(4)]
    top, optimizer, x = layers.Dense(1), optimizers.Adam(0.1), np.arange(16, dtype="int32").reshape(4, 4) % 7

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(top(tf.concat([layer(x[:, k]) for k, layer in enumerate(rows)], 1)) ** 2)
        weights = [v for layer in (*rows, top) for v in layer.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return [v.numpy() for v in (*weights, *optimizer.variables)]

    for _ in range(3):
        before = step()
    x[1, 2] = 7
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 7 is not in"):
        step()
    held = [v for layer in (*rows, top) for v in layer.trainable_variables] + optimizer.variables
    for now, value in zip([v.numpy() for v in held], before, strict=True):
        np.testing.assert_array_equal(now, value)


def test_what_users_wrote_runs_in_each_step(monkeypatch):
    calls = []

    class Own(optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            calls.append("update")
            super().update_step(gradient, variable, learning_rate)

    class Rate(optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            calls.append("rate")
            return 0.1

    class Whole(tf.keras.constraints.Constraint):
        def __call__(self, w):
            calls.append("constraint")
            return tf.round(w)

    constrained = [layers.Dense(3, kernel_constraint=Whole())]
    for optimizer, parts, each in (
        (Own(0.1), dense, ["update"] * 4),
        (optimizers.SGD(Rate()), dense, ["rate"]),
        (optimizers.SGD(lambda: calls.append("rate") or 0.1), dense, ["rate"]),
        (optimizers.SGD(0.1), lambda: (constrained, dense()[1]), ["constraint"]),
    ):
        calls.clear()
        Loop(monkeypatch, optimizer, parts).steps(4)
        assert calls == each * 4


def test_a_model_that_hangs_on_its_optimizer_and_a_tensor_among_its_attributes(monkeypatch):
    for name, value in (("model", lambda loop: loop.model), ("beta_1", lambda loop: tf.constant(0.5))):
        loop, expected = [Loop(monkeypatch, optimizers.Adam(0.1)) for _ in range(2)]
        for some, run in ((loop, loop.steps), (expected, expected.op_by_op)):
            some.model.compile(some.optimizer)  # the model holds the optimizer, too
            setattr(some.optimizer, name, value(some))
            run(5)
        assert len(loop.updates) == 3
        same(loop, expected)


def test_the_traces_go_with_their_optimizer():
    v, optimizer = keras.Variable(2.0), optimizers.SGD(0.5)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(3.0), v)])
    gone = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert gone() is None


def test_functions_that_run_eagerly_run_the_update_s_python_code(monkeypatch):
    loop = Loop(monkeypatch, optimizers.SGD(0.1))
    loop.steps(2)
    tf.config.run_functions_eagerly(True)
    try:
        loop.steps(3)
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(loop.updates) == 2 + 3


def test_a_tape_explains_the_ops_of_an_update(caplog):
    v = keras.Variable(2.0)
    optimizer, gradient = optimizers.SGD(0.5), tf.constant(3.0)
    for _ in range(3):
        optimizer.apply_gradients([(gradient, v)])
    v.assign(2.0)
    with tf.GradientTape() as tape:
        tape.watch(gradient)
        optimizer.apply_gradients([(gradient * gradient, v)])
        y = v * 1.0
    assert float(y) == -2.5
    assert tape.gradient(y, gradient) is None
    assert "state: the value went into a variable's state in `optimizer.apply_gradients" in caplog.text


@pytest.mark.parametrize(
    ("optimizer", "row"),
    [
        (lambda: optimizers.Adadelta(1.0, rho=0.5), [4.9969635, 5.9969635]),
        (lambda: optimizers.Adafactor(0.1, relative_step=False, clip_threshold=0.5), [3.6675768, 4.6748095]),
        (
            lambda: optimizers.LossScaleOptimizer(optimizers.Adam(0.1), initial_scale=4.0, dynamic_growth_steps=2),
            [4.4568276, 5.4564142],
        ),
    ],
)
def test_repeated_rows_of_sparse_gradients_are_added_at_the_end(optimizer, row):
    """The numbers are TensorFlow's: products and quotients keep the rows apart, too."""
    w, chosen = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), optimizer()
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(w, [0, 2, 2]) ** 2)
        chosen.apply_gradients([(tape.gradient(loss, w), w)])
    np.testing.assert_allclose(w[2], row, rtol=1e-5)
