"""Keras's models and optimizers in `tf.train.Checkpoint`: the names are those that TensorFlow 2.21 lists for Keras 3.15."""

import numpy as np
import pytest

import gradtape as tf

keras = tf.keras
L = keras.layers


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.Dense(2)
        self.scale = tf.Variable(1.0)
        self.shift = self.add_weight(name="shift", shape=(1,), initializer="zeros")
        self.loss_tracker = keras.metrics.Mean()

    def call(self, x):
        return self.first(x) * self.scale + self.shift


class Listed(keras.Model):
    """What lies in lists and dicts, and the states of random numbers, TensorFlow does not save at all."""

    def __init__(self):
        super().__init__()
        self.stack, self.table = [L.Dense(1)], {"a": L.Dense(1, use_bias=False)}
        self.mask = L.Dropout(0.5)

    def build(self, shape):
        self.stack[0].build(shape)
        self.table["a"].build(shape)


def built(layer, shape=(None, 3)):
    layer.build(shape)
    return layer


def sequential():
    return built(keras.Sequential([L.Dense(2), L.BatchNormalization(), L.ReLU(), L.Dense(1)]))


def functional():
    inputs = keras.Input((3,))
    return keras.Model(inputs, L.Dense(1)(L.Dense(2)(inputs)))


def net():
    model = Net()
    model.first.build((None, 3))
    return model


def optimizer(kind, **settings):
    made = kind(0.5, **settings)
    made.build([keras.Variable([[1.0]]), keras.Variable([1.0])])
    return made


def names(prefix):
    return [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(prefix)][1:]


def fill(variables, first=1.0):
    for i, variable in enumerate(variables):
        variable.assign(np.full(variable.shape, first + i))


def values(owner):
    return [float(np.ravel(variable)[0]) for variable in owner.variables]


SGD, Nadam = keras.optimizers.SGD, keras.optimizers.Nadam
SLOTS = "o/_iterations o/_learning_rate o/_trainable_variables/0 o/_trainable_variables/1"
NAMES = {
    "dense": (lambda: built(L.Dense(1)), "o/_kernel o/bias"),
    "not built": (lambda: L.Dense(1), ""),
    "sequential": (
        sequential,
        "o/_functional/_operations/1/_kernel o/_functional/_operations/1/bias o/_functional/_operations/2/beta "
        "o/_functional/_operations/2/gamma o/_functional/_operations/2/moving_mean o/_functional/_operations/2/moving_variance "
        "o/_functional/_operations/4/_kernel o/_functional/_operations/4/bias",
    ),
    "functional": (functional, "o/_operations/1/_kernel o/_operations/1/bias o/_operations/2/_kernel o/_operations/2/bias"),
    "subclass": (net, "o/first/_kernel o/first/bias o/scale o/shift"),
    "attention": (
        lambda: built(L.Bidirectional(L.GRU(1, use_bias=False)), (None, 2, 3)),
        "o/backward_layer/cell/kernel o/backward_layer/cell/recurrent_kernel o/backward_layer/cell/seed_generator "
        "o/forward_layer/cell/kernel o/forward_layer/cell/recurrent_kernel o/forward_layer/cell/seed_generator",
    ),
    "listed": (lambda: built(Listed()), "o/mask/seed_generator o/stack/0/_kernel o/stack/0/bias o/table/a/_kernel"),
    "SGD": (lambda: optimizer(SGD, momentum=0.9), f"{SLOTS} o/_variables/2 o/_variables/3"),
    "Nadam": (
        lambda: optimizer(Nadam),
        f"{SLOTS} o/_u_product o/_variables/2 o/_variables/3 o/_variables/4 o/_variables/5",
    ),
    "schedule": (lambda: SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)), "o/_iterations"),
}


@pytest.mark.parametrize("make, expected", NAMES.values(), ids=NAMES)
def test_names(make, expected, tmp_path):
    assert names(tf.train.Checkpoint(o=make()).write(tmp_path / "ck")) == expected.split()


KINDS = ["sequential", "subclass", "layer"]


def test_the_same_attributes_anywhere_are_the_same_variables(tmp_path):
    model = net()
    fill(model.variables[:-2])
    path = tf.train.Checkpoint(model=model, step=tf.Variable(3)).write(tmp_path / "ck")
    module = tf.Module()
    module.first = tf.Module()
    module.first._kernel, module.first.bias = tf.Variable(tf.zeros([3, 2])), tf.Variable(tf.zeros([2]))
    status = tf.train.Checkpoint(model=module).read(path).assert_existing_objects_matched()
    assert [float(v.numpy().ravel()[0]) for v in module.variables] == [float(np.ravel(v)[0]) for v in model.first.variables]
    with pytest.raises(AssertionError, match="Unresolved object"):
        status.assert_consumed()
    alone = built(L.Dense(2))
    tf.train.Checkpoint(model=tf.train.Checkpoint(first=alone)).read(path).expect_partial()
    assert values(alone) == values(model.first)


@pytest.mark.parametrize("kind", [lambda: keras.Sequential([L.Dense(2), L.Dense(1)]), Net, lambda: L.Dense(2)], ids=KINDS)
@pytest.mark.parametrize("call", [lambda model, x: model(x), lambda model, x: tf.function(model)(x)], ids=["eager", "function"])
def test_layers_that_are_built_later(kind, call, tmp_path):
    model = kind()
    model(tf.ones([1, 3]))
    fill(model.weights, 2.0)
    path = tf.train.Checkpoint(model).write(tmp_path / "ck")
    later = kind()
    status = tf.train.Checkpoint(later).read(path)
    with pytest.raises(AssertionError, match="Unresolved object"):
        status.assert_consumed()
    np.testing.assert_array_equal(call(later, tf.ones([1, 3])), model(tf.ones([1, 3])))
    status.assert_consumed()
    fill(later.weights, 7.0)  # it was restored once
    assert [float(np.ravel(w)[0]) for w in later.weights] == [7.0 + i for i in range(len(later.weights))]


def test_slots_that_are_made_later(tmp_path):
    model, rule = functional(), SGD(0.25, momentum=0.9)
    rule.build(model.trainable_variables)
    fill(model.variables)
    fill(rule.variables[2:], 11.0)
    whole = tf.train.Checkpoint(model=model, rule=rule).save(tmp_path / "whole")
    alone = tf.train.Checkpoint(rule=rule).save(tmp_path / "alone")
    again, later = functional(), SGD(0.5, momentum=0.9)
    status = tf.train.Checkpoint(model=again, rule=later).restore(whole)
    with pytest.raises(AssertionError, match=r"rule/_variables/2"):
        status.assert_consumed()
    later.build(again.trainable_variables)
    status.assert_consumed()
    assert values(later) == [0.0, 0.25, 11.0, 12.0, 13.0, 14.0] and values(again) == values(model)
    other, last = functional(), SGD(0.5, momentum=0.9)
    fill(other.variables, 30.0)
    status = tf.train.Checkpoint(rule=last).restore(alone)
    last.build(other.trainable_variables)
    assert values(last) == values(later) and values(other) == [30.0, 31.0, 32.0, 33.0]  # what it trains is not its own
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()
