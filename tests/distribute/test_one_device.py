"""`tf.distribute` on one device, where TensorFlow has one replica, too: its answers, recorded from TensorFlow 2.21."""

import doctest
import importlib

import numpy as np
import pytest

import gradtape as tf

distribute = tf.distribute
SUM, MEAN = distribute.ReduceOp.SUM, distribute.ReduceOp.MEAN
DEFAULT = distribute.get_strategy()


@pytest.fixture(scope="module")
def strategy():
    return distribute.MirroredStrategy(["CPU:0"])


@pytest.mark.parametrize("module", ["context", "datasets", "strategy", "values", "variables"])
def test_examples(module, count):
    failed, ran = doctest.testmod(importlib.import_module(f"gradtape._src.distribute.{module}"), extraglobs={"tf": tf, "np": np})
    assert not failed
    count("examples of docstrings run", ran)


def around():
    context = distribute.get_replica_context()
    return distribute.has_strategy(), distribute.in_cross_replica_context(), context is None


def test_where_code_runs(strategy):
    assert around() == (False, False, False)
    with strategy.scope() as entered:
        assert entered is distribute.get_strategy() is strategy
        assert around() == (True, True, True)
        assert strategy.run(around) == (True, False, False)
        with strategy.scope():
            assert around() == (True, True, True)
    assert strategy.run(around) == (True, False, False)
    assert strategy.run(lambda: distribute.get_replica_context().merge_call(lambda given: (given is strategy, *around()))) == (
        True, True, True, True,
    )  # fmt: skip
    with DEFAULT.scope():
        assert around() == (False, False, False)
    assert DEFAULT.run(around) == (False, False, False)
    distribute.experimental_set_strategy(strategy)
    assert around() == (True, True, True)
    distribute.experimental_set_strategy(None)
    assert around() == (False, False, False)


def test_a_scope_that_is_only_entered_stays_open():
    strategy = distribute.OneDeviceStrategy("/cpu:0")
    scope = strategy.scope().__enter__()
    assert distribute.get_strategy() is scope is strategy
    strategy._scopes[-1].__exit__(None, None, None)
    assert not distribute.has_strategy()


def test_a_replica(strategy):
    def seen(x):
        context = distribute.get_replica_context()
        assert context.strategy is strategy and context.num_replicas_in_sync == 1
        assert not strategy.extended._in_multi_worker_mode()
        assert context.replica_id_in_sync_group.dtype == tf.int32 and int(context.replica_id_in_sync_group) == 0
        assert context.devices == strategy.extended.worker_devices == ("/job:localhost/replica:0/task:0/device:CPU:0",)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = [context.all_reduce("SUM", x * x), context.all_gather(3.0 * x, 0)]
        return tape.gradient(y, x), context.all_reduce(MEAN, {"a": x})["a"]

    gradient, same = strategy.run(seen, args=(tf.constant([1.0, 2.0]),))
    assert gradient.numpy().tolist() == [5, 7] and same.numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    "op, value, axis, expected",
    [
        ("SUM", 3.0, None, np.float32(3)),
        (SUM, [1.0, 2.0], None, [1.0, 2.0]),
        ("mean", {"a": 3.0}, None, {"a": 3.0}),
        ("SUM", [2.0, 4.0], 0, np.float32(6)),
        (MEAN, [2.0, 4.0], 0, np.float32(3)),
        ("MEAN", [1, 2], 0, np.float64(1.5)),
        ("MEAN", [[1.0, 1.0], [3.0, 5.0]], -1, np.float32([1, 4])),
        ("max", 1.0, None, ValueError),
        ("SUM", None, None, ValueError),
        ("SUM", [1.0], 5, ValueError),
        ("MEAN", 3.0, 0, ValueError),
        ("SUM", [1.0], [0], TypeError),
    ],
)
def test_reduce(strategy, op, value, axis, expected):
    if isinstance(expected, type):
        with pytest.raises(expected):
            strategy.reduce(op, value, axis)
        return
    result = strategy.reduce(op, value, axis)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert result.dtype == expected.dtype
        result, expected = result.numpy().tolist(), expected.tolist()
    assert result == expected


def other_strategy():
    with distribute.OneDeviceStrategy("/cpu:0").scope():
        pass


def in_scope(strategy, call):
    with strategy.scope():
        return call()


WRONG_PLACES = {
    "reduce": lambda s: s.run(lambda: s.reduce("SUM", 1.0, None)),
    "run": lambda s: s.run(lambda: s.run(lambda: 1)),
    "gather": lambda s: s.run(lambda: s.gather(tf.ones(2), 0)),
    "scope": lambda s: s.run(lambda: in_scope(s, int)),
    "mixed scopes": lambda s: in_scope(s, other_strategy),
    "mixed run": lambda s: in_scope(s, lambda: distribute.OneDeviceStrategy("/cpu:0").run(int)),
    "default": lambda s: in_scope(s, lambda: in_scope(DEFAULT, int)),
    "average loss": lambda s: in_scope(s, lambda: tf.nn.compute_average_loss([1.0])),
    "regularization": lambda s: in_scope(s, lambda: tf.nn.scale_regularization_loss(1.0)),
}


@pytest.mark.parametrize("call", WRONG_PLACES.values(), ids=WRONG_PLACES)
def test_what_is_called_in_the_wrong_place_is_a_RuntimeError(strategy, call):
    with pytest.raises(RuntimeError, match=r"(?i)cross[- ]replica context|Mixing different|Must not nest"):
        call(strategy)
    assert not distribute.has_strategy()


def test_losses_in_and_across_the_replica(strategy):
    assert float(in_scope(strategy, lambda: tf.nn.compute_average_loss([1.0, 2.0, 3.0], global_batch_size=6))) == 1
    assert float(strategy.run(lambda: tf.nn.compute_average_loss([1.0, 2.0]))) == 1.5
    assert float(strategy.run(lambda: tf.nn.scale_regularization_loss(2.0))) == 2


@pytest.mark.parametrize(
    "devices, error", [("/cpu:0", ValueError), (["foo"], ValueError), (["/cpu:0", "/device:CPU:0"], AssertionError)]
)
def test_names_of_devices(devices, error):
    with pytest.raises(error):
        distribute.MirroredStrategy(devices)


def test_devices_that_are_not_there_are_passed_over():
    strategy = distribute.MirroredStrategy(["/gpu:17", "/gpu:18"], distribute.HierarchicalCopyAllReduce(num_packs=2))
    assert float(strategy.run(lambda: tf.constant(1.0) + 1)) == 2


def test_calls(strategy):
    with pytest.raises(TypeError, match="not callable"):
        strategy.run(1)
    with pytest.raises(ValueError, match="positional args must be a list or tuple"):
        strategy.run(abs, 1)
    assert strategy.run(lambda x, y: (x, y), [1], {"y": [2, (3, "a")]}, distribute.RunOptions()) == (1, [2, (3, "a")])
    assert strategy.experimental_local_results((1, 2)) == strategy.unwrap((1, 2)) == ((1, 2),)
    values = strategy.experimental_distribute_values_from_function(lambda c: tf.constant(4.0) + c.replica_id_in_sync_group)
    assert isinstance(values, distribute.DistributedValues) and len(values.values) == 1
    assert float(strategy.run(lambda x: x + 1, args=(values,))) == 5 and float(strategy.reduce("SUM", values, None)) == 4
    with pytest.raises(TypeError, match="unsupported operand"):
        values + 1


def test_variables_are_as_without_a_strategy(strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
    assert type(v) is type(tf.Variable(1.0)) and strategy.extended.variable_created_in_scope(v)
    with strategy.scope():
        strategy.extended.update(v, lambda v, x: v.assign_add(x), args=([1.0, 1.0],))
    assert v.numpy().tolist() == [2, 3]
    assert strategy.run(lambda: v.assign_add([3.0, 4.0])).numpy().tolist() == [5, 7]


def test_datasets(strategy):
    dataset = tf.data.Dataset.range(6).batch(4)
    distributed = strategy.experimental_distribute_dataset(dataset, distribute.InputOptions())
    assert isinstance(distributed, distribute.DistributedDataset) and int(distributed.cardinality) == 2
    assert distributed.element_spec == dataset.element_spec
    assert [x.numpy().tolist() for x in distributed] == [[0, 1, 2, 3], [4, 5]]
    iterator = iter(distributed)
    assert isinstance(iterator, distribute.DistributedIterator)
    assert next(iterator).numpy().tolist() == [0, 1, 2, 3] and iterator.get_next_as_optional().has_value()
    assert not iterator.get_next_as_optional().has_value()
    assert next(iterator, None) is None
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(TypeError, match="has no len"):
        len(distributed)
    with pytest.raises(AttributeError, match="can be distributed"):
        strategy.experimental_distribute_dataset([1, 2])
    assert distribute.get_strategy().experimental_distribute_dataset(dataset) is dataset

    def made(context):
        assert str(context) == "tf.distribute.InputContext(input pipeline id 0, total: 1)"
        return tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(2))

    assert [x.numpy().tolist() for x in strategy.distribute_datasets_from_function(made)] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="is not divisible by"):
        distribute.InputContext(3, 1, 6).get_per_replica_batch_size(4)


def test_values_of_a_replica_as_text(strategy):
    made = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(1.0))
    assert repr(made) == "PerReplica:{\n  0: <tf.Tensor: shape=(), dtype=float32, numpy=1.0>\n}"
    assert str(made) == "PerReplica:{\n  0: tf.Tensor(1.0, shape=(), dtype=float32)\n}"


def test_functions_transform_what_run_runs(strategy):
    @tf.function
    def total(x):
        def step(x):
            if tf.reduce_sum(x) > 1.0:
                return x * 2.0
            else:
                return x * 3.0

        return strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=0)

    assert float(total(tf.ones(3))) == 6 and float(total(tf.zeros(3) + 0.25)) == 2.25

    @tf.function
    def doubled(iterator):
        return strategy.run(lambda x: x * 2, args=(next(iterator),))

    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(2)))
    assert [doubled(iterator).numpy().tolist() for _ in range(2)] == [[0, 2], [4]]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        doubled(iterator)


def test_a_model_made_in_a_scope_trains_in_the_replica(strategy):
    keras = tf.keras
    seen = []

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="zeros")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            seen.append((distribute.get_strategy(), *around()))
            return super().train_step(data)

    with strategy.scope():
        model = Model()
        model.compile(keras.optimizers.SGD(0.5), "mse")
    dataset = tf.data.Dataset.from_tensors((np.ones((4, 2), "f"), np.ones((4, 1), "f")))
    model.fit(strategy.experimental_distribute_dataset(dataset), epochs=1, verbose=0)
    assert model.distribute_strategy is strategy and set(seen) == {(strategy, True, False, False)}
    np.testing.assert_allclose(model.dense.kernel, [[1.0], [1.0]])
    assert Model().distribute_strategy is DEFAULT
