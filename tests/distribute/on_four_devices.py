"""What holds on four devices, as functions `check_*`. `test_several_devices.py` runs them all in one process, which has four.

Prints a JSON object: the name of each check, and its traceback or null.
"""

import shutil
import tempfile
import warnings
from unittest import mock

import jax
import numpy as np

import gradtape as tf
from examples import tensor_parallel
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import node_of
from gradtape._src.distribute import sharding
from tests.distribute.checks import report

keras = tf.keras
distribution = keras.distribution

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 8)).astype("f"), RNG.normal(size=(20, 4)).astype("f")  # batches of 8: the last one is not whole


def array(value):
    return engine.value(node_of(value))


def shards(value):
    """The shapes of what each device holds."""
    return [shard.data.shape for shard in array(value).addressable_shards]


def devices(value):
    held = array(value)
    return [0] if isinstance(held, np.ndarray) else sorted(device.id for device in held.devices())


def close(got, wanted):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), got, wanted)


def trained():
    """A model after two epochs, and what `fit`, `evaluate` and `predict` gave."""
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(8, "relu", name="a"), keras.layers.Dropout(0.2), keras.layers.Dense(4, name="b")]
    model = keras.Sequential([keras.layers.Input((8,)), *layers])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
    history = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    return model, (history, model.evaluate(X, Y, batch_size=8, verbose=0), model.predict(X, batch_size=8, verbose=0))


ON_ONE = trained()[1]


def check_data_parallel():
    with distribution.DataParallel().scope():
        model, results = trained()
        batch = model._laid_out(X[:8])
        rest = model._laid_out(X[16:19])
    close(results, ON_ONE)
    variables = [*model.variables, *model.optimizer.variables, *model.metrics_variables]
    assert len(variables) > 10
    for variable in variables:
        assert shards(variable.value) == [tuple(variable.shape)] * 4, variable.path
    assert shards(batch) == [(2, 8)] * 4 and shards(rest) == [(3, 8)] * 4


def check_model_parallel():
    mesh = distribution.DeviceMesh((2, 2), ["batch", "model"], distribution.list_devices())
    layouts = distribution.LayoutMap(mesh)
    layouts[".*/a/kernel"] = (None, "model")
    layouts[".*/b/kernel"] = ("model", None)
    layouts[".*/a/output"] = ("batch", "model")
    with distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
        model, results = trained()
        hidden = model.layers[0](model._laid_out(X[:8]))
    close(results, ON_ONE)
    a, b = model.layers[0], model.layers[2]
    assert shards(a.kernel.value) == [(8, 4)] * 4 and shards(b.kernel.value) == [(4, 4)] * 4
    assert shards(a.bias.value) == [(8,)] * 4
    slots = {v.path.split("_", 1)[1]: v for v in model.optimizer.variables if "momentum" in v.path}
    assert sorted(shards(v.value)[0] for v in slots.values()) == [(4,), (4, 4), (8,), (8, 4)]
    assert shards(hidden) == [(4, 4)] * 4
    with tempfile.TemporaryDirectory() as folder:
        kept = np.array(a.kernel.value)
        model.save_weights(f"{folder}/w.weights.h5")
        a.kernel.assign(np.zeros((8, 8), "f"))
        assert shards(a.kernel.value) == [(8, 4)] * 4
        model.load_weights(f"{folder}/w.weights.h5")
    np.testing.assert_array_equal(a.kernel.value, kept)
    assert shards(a.kernel.value) == [(8, 4)] * 4


def check_a_transformer_on_a_mesh():
    """Batches and weights split two ways each: the losses of one device, and half of the split weights on each."""
    losses, share = tensor_parallel.main(steps=20)
    with mock.patch.object(distribution, "list_devices", return_value=["cpu:0"]):
        wanted, whole = tensor_parallel.main(steps=20)
    assert whole == 1 and share < 0.6
    close(losses, wanted)


def check_keys_of_a_layout_map_that_match_nothing():
    mesh = distribution.DeviceMesh((2, 2), ["batch", "model"], distribution.list_devices())
    layouts = distribution.LayoutMap(mesh)
    layouts["a/kernel"] = (None, "model")  # not the whole path
    layouts[".*/b/kernel"] = ("model", None)
    layouts[".*/b/output"] = ("batch", "model")
    parallel = distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch")
    with parallel.scope(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trained()
    told = [str(w.message) for w in caught if "LayoutMap" in str(w.message)]
    assert len(told) == 1 and "keys ['a/kernel'] match no variable" in told[0] and "/a/kernel'" in told[0], told
    assert [w.filename for w in caught if "LayoutMap" in str(w.message)] == [__file__]


def check_fit_in_the_scope_of_a_strategy():
    with tf.distribute.MirroredStrategy().scope():
        model, results = trained()
    close(results, ON_ONE)
    assert all(devices(v.value) == [0, 1, 2, 3] for v in [*model.variables, *model.optimizer.variables])
    assert shards(model._laid_out(X[:8])) == [(2, 8)] * 4


def held_by_each(variables):
    """The part of all bytes that the device with most of them holds."""
    on = dict.fromkeys(range(4), 0)
    for variable in variables:
        for shard in array(variable.value).addressable_shards:
            on[shard.device.id] += shard.data.nbytes
    return max(on.values()) / sum(array(variable.value).nbytes for variable in variables)


def check_fully_sharded():
    """100 steps of Adam: the numbers of one device, and a quarter of the bytes on each."""

    def trained_wide():
        keras.utils.set_random_seed(3)
        layers = [keras.layers.Dense(512, "tanh"), keras.layers.Dense(512, "tanh"), keras.layers.Dense(4)]
        model = keras.Sequential([keras.layers.Input((8,)), *layers])
        model.compile("adam", "mse")
        history = model.fit(X[:16], Y[:16], batch_size=8, epochs=50, shuffle=False, verbose=0).history
        return model, (history, model.predict(X, verbose=0))

    alone = trained_wide()[1]
    with tf.distribute.FullyShardedStrategy(min_bytes=1024).scope():
        model, results = trained_wide()
    close(results, alone)
    assert shards(model.layers[1].kernel.value) == [(128, 512)] * 4 and shards(model.layers[0].kernel.value) == [(8, 128)] * 4
    assert held_by_each([*model.variables, *model.optimizer.variables]) <= 0.25 * 1.1
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m.keras")
        again = keras.models.load_model(f"{folder}/m.keras")
        np.testing.assert_array_equal(again.layers[1].kernel, model.layers[1].kernel)


def check_large_variables_are_made_in_parts():
    made, put = [], sharding.put
    sharding.put = lambda value, wanted: made.append([s.data.shape for s in value.addressable_shards]) or put(value, wanted)
    try:
        with tf.distribute.FullyShardedStrategy().scope():
            v = tf.Variable(lambda: tf.random.normal([1024, 512]))
            keras.layers.Dense(512).build((None, 1024))
        mesh = distribution.DeviceMesh((1, 4), ["batch", "model"], distribution.list_devices())
        layouts = distribution.LayoutMap(mesh)
        layouts[".*kernel"] = (None, "model")
        with distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
            keras.layers.Dense(512).build((None, 1024))
    finally:
        sharding.put = put
    assert made[0] == made[1] == [(256, 512)] * 4, made
    assert made[3] == [(1024, 128)] * 4, made
    v.assign_add(tf.ones([1024, 512]))
    assert shards(v) == [(256, 512)] * 4
    with tf.distribute.FullyShardedStrategy(min_bytes=0).scope():
        odd, number = tf.Variable(np.ones((3, 7), "f")), tf.Variable(1.0)
    assert shards(odd) == [(3, 7)] * 4 and shards(number) == [()] * 4  # cannot be divided


def check_checkpoints_in_parts():
    """A variable in parts is read in parts; the file loads on one device, too, and a file of one device loads in parts."""
    options = tf.train.CheckpointOptions(experimental_sharding_callback=tf.train.experimental.ShardByTaskPolicy())
    with tf.distribute.FullyShardedStrategy(min_bytes=0).scope():
        v = tf.Variable(tf.range(8.0))
    alone, folder = tf.Variable(tf.zeros([8])), tempfile.mkdtemp()
    path = tf.train.Checkpoint(v=v).save(f"{folder}/ck", options)
    tf.train.Checkpoint(v=alone).restore(path).assert_consumed()
    np.testing.assert_array_equal(alone, np.arange(8))
    v.assign(tf.zeros([8]))
    tf.train.Checkpoint(v=v).restore(path).assert_consumed()
    np.testing.assert_array_equal(v, np.arange(8))
    assert shards(v) == [(2,)] * 4
    whole = tf.train.Checkpoint(v=tf.Variable(tf.ones([8]))).write(f"{folder}/whole")
    tf.train.Checkpoint(v=v).read(whole)
    assert shards(v) == [(2,)] * 4 and float(tf.reduce_sum(v)) == 8
    shutil.rmtree(folder)


def stepped(strategy, compiled):
    """The losses of a loop with a tape, and the variable after it."""
    with strategy.scope():
        w = tf.Variable(tf.reshape(tf.range(32.0) / 32, [8, 4]))

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_sum(tf.abs(tf.tanh(x @ w) - y), 1))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    def train(batch):
        return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)

    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(8))
    train = tf.function(train) if compiled else train
    return [train(batch).numpy() for batch in dataset], w, list(dataset)


def check_loops_with_a_tape():
    wanted, w, _ = stepped(tf.distribute.get_strategy(), False)
    assert devices(w) == [0]
    for compiled in (False, True):
        losses, v, batches = stepped(tf.distribute.FullyShardedStrategy(min_bytes=None), compiled)
        close((losses, v.numpy()), (wanted, w.numpy()))
        assert shards(v) == [(8, 4)] * 4
        assert [shards(x) for x, _ in batches] == [[(2, 8)] * 4, [(2, 8)] * 4, [(1, 8)] * 4]


def check_loops_written_for_replicas():
    """The rows of the page's table, for a strategy with one replica."""
    strategy = tf.distribute.FullyShardedStrategy(min_bytes=None)
    assert len(strategy.extended.worker_devices) == 4 and strategy.num_replicas_in_sync == 1
    asked = []

    def rows(context):
        asked.append((context.num_input_pipelines, context.num_replicas_in_sync, context.get_per_replica_batch_size(64)))
        return tf.data.Dataset.range(64).batch(64)

    (batch,) = strategy.distribute_datasets_from_function(rows)
    assert asked == [(1, 1, 64)] and devices(batch) == [0, 1, 2, 3]
    with strategy.scope():
        calls = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)

    def step(x):
        calls.assign_add(1.0)
        context = tf.distribute.get_replica_context()
        assert int(context.replica_id_in_sync_group) == 0
        losses = tf.cast(x, tf.float32)
        return context.all_reduce("SUM", tf.reduce_mean(losses)), tf.nn.compute_average_loss(losses)

    summed, average = strategy.run(step, args=(batch,))
    assert calls.numpy() == 1 and summed.numpy() == average.numpy() == strategy.reduce("SUM", average, axis=None).numpy() == 31.5
    assert strategy.gather(batch, axis=0).numpy().tolist() == list(range(64))
    assert [float(x) for x in strategy.experimental_local_results(summed)] == [31.5]
    assert not hasattr(summed, "values")


def check_a_function_that_goes_through_a_distributed_dataset():
    strategy = tf.distribute.FullyShardedStrategy(["CPU:1", "CPU:3"], min_bytes=None)
    with strategy.scope():
        total = tf.Variable(0.0)

    @tf.function
    def run(dataset):
        for x in dataset:
            if tf.reduce_sum(x) > 0.0:
                total.assign_add(strategy.reduce("SUM", strategy.run(lambda x: x * x, args=(x,)), axis=0))

    rows = np.arange(-2, 6, dtype="f")
    run(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(3)))
    assert total.numpy() == sum(rows[3:] ** 2) and devices(total) == [1, 3]
    assert strategy.extended.worker_devices[1].endswith("CPU:3") and strategy.num_replicas_in_sync == 1


def check_a_variable_stays_laid_out():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        v = tf.Variable(np.zeros(8, "f"), name="v")
    split = strategy._extended._batch(tf.range(8.0))
    assert shards(split) == [(2,)] * 4
    v.assign(split * 2)
    assert shards(v) == [(8,)] * 4
    v.assign_add(np.ones(8, "f"))
    v.scatter_nd_update([[0]], [5.0])
    assert shards(v) == [(8,)] * 4
    np.testing.assert_array_equal(v.numpy(), [5, 3, 5, 7, 9, 11, 13, 15])
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=v).save(f"{folder}/c")
        v.assign(np.zeros(8, "f"))
        tf.train.Checkpoint(v=v).restore(path)
    assert shards(v) == [(8,)] * 4 and v.numpy()[1] == 3


def check_gradients_pass_a_layout():
    mesh = distribution.DeviceMesh((4,), ["batch"], distribution.list_devices())
    layout = distribution.TensorLayout(["batch"], mesh)
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = distribution.distribute_tensor(x**3, layout)
        gradient = tape.gradient(y, x)
    assert shards(y) == [(1,)] * 4
    np.testing.assert_allclose(gradient, 3 * x.numpy() ** 2)
    np.testing.assert_allclose(outer.jacobian(gradient, x), np.diag(6 * x.numpy()))


def check_one_device_of_several():
    strategy = tf.distribute.OneDeviceStrategy("/device:CPU:2")
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
    (batch,) = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors([3.0, 4.0]))
    result = strategy.run(lambda x: v * x, args=(batch,))
    assert devices(v) == devices(batch) == devices(result) == [2]
    np.testing.assert_array_equal(result, [3, 8])


def check_what_lies_elsewhere_is_brought_there():
    with tf.distribute.MirroredStrategy().scope():
        v = tf.Variable(tf.range(4.0))
    with tf.distribute.OneDeviceStrategy("CPU:3").scope():
        w = tf.Variable(2.0)
    foreign = tf.experimental.dlpack.from_dlpack(np.arange(4, dtype="f"))
    for _ in range(3):  # op by op, and compiled
        product = w * v * foreign
        np.testing.assert_array_equal(product, [0, 2, 8, 18])
    assert devices(product) == [0, 1, 2, 3] and devices(w) == [3]
    np.testing.assert_array_equal(tf.function(lambda x: w + x)(foreign), [2, 3, 4, 5])


if __name__ == "__main__":
    report(globals())
