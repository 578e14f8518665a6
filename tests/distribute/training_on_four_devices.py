"""Training in the replicas of a MirroredStrategy on up to four devices, as functions `check_*`: TensorFlow 2.21's answers."""

from unittest import mock

import numpy as np

import gradtape as tf
from gradtape._src.distribute import rounds
from tests.distribute.checks import report
from tests.distribute.replicas_on_four_devices import ON_READ, SUM, TWO, made, number

distribute = tf.distribute


def trained(strategy, optimizer, compiled):
    """The losses, the mean of the metric and the counters after each step, and the weights after six."""
    keras = tf.keras
    with strategy.scope():
        hidden = keras.layers.Dense(3, kernel_initializer="ones", use_bias=False)
        norm, last = keras.layers.BatchNormalization(momentum=0.5), keras.layers.Dense(1, kernel_initializer="ones")
        model = keras.Sequential([keras.layers.Input((2,)), hidden, norm, last])
        optimizer = getattr(keras.optimizers, optimizer)(0.1)
        optimizer.build(model.trainable_variables)
        mean, count, rows = keras.metrics.Mean(), tf.Variable(0), tf.Variable(0, aggregation=SUM)

    def step(x):
        with tf.GradientTape() as tape:
            each = tf.reduce_sum((model(x, training=True) - 1.0) ** 2, axis=1)
            loss = tf.nn.compute_average_loss(each, global_batch_size=8)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        mean.update_state(each)
        count.assign_add(1)
        rows.assign_add(tf.shape(x)[0])
        return loss

    def train(x):
        return strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None)

    train = tf.function(train) if compiled else train
    x = tf.reshape(tf.range(48.0), [24, 2]) % 7
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(8))
    counters = optimizer.iterations, count, rows
    found = [(train(b).numpy(), mean.result().numpy(), *[v.numpy() for v in counters]) for b in dataset]
    return found, [v.numpy().ravel().tolist() for v in model.variables]


LOSSES = {
    "Adam": [9.9991455, 6.300768, 3.837384],
    "SGD": [9.9977865, 0.54417205, 0.33846256],
    "RMSprop": [9.998425, 1.9680275, 1.0526475],
}
MEANS = {
    "Adam": [9.9991455, 8.149956, 6.7124324],
    "SGD": [9.9977865, 5.2709794, 3.626807],
    "RMSprop": [9.998425, 5.983226, 4.3397],
}
WEIGHTS = {  # one of each variable, behind the first kernel: its gradients are rounding errors
    "Adam": [0.70750934, 0.28103274, 4.4582634, 3.6082861, 0.70837265, 0.28543589],
    "SGD": [0.32970318, 0.27599284, 5.8746610, 2.7492838, 0.37384060, 0.39316514],
    "RMSprop": [0.51805389, 0.34554169, 4.4187126, 3.9335895, 0.52267760, 0.36425796],
}


def check_training():
    """Metrics, batch normalization, counters and optimizers of Keras in a loop of one's own."""
    for count, optimizer, compiled in [(2, "Adam", True), (4, "SGD", False), (3, "RMSprop", True)]:
        steps, weights = trained(distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)]), optimizer, compiled)
        losses, means, *counters = zip(*steps, strict=True)
        np.testing.assert_allclose([losses, means], [LOSSES[optimizer], MEANS[optimizer]], rtol=1e-5)
        assert counters == [(1, 2, 3), (1, 2, 3), (8, 16, 24)]
        np.testing.assert_allclose([held[0] for held in weights[1:]], WEIGHTS[optimizer], rtol=2e-4)


def one_step(make, scaled=False):
    """The weights of a layer after a step in four replicas, each of which adds its gradients."""
    keras = tf.keras
    strategy = distribute.MirroredStrategy([f"CPU:{i}" for i in range(4)])
    with strategy.scope():
        layer = keras.layers.Dense(1, kernel_initializer="ones")
        layer.build((None, 2))
        optimizer = make(keras.optimizers)
        optimizer.build(layer.trainable_variables)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.ones([1, 2]))) * 0.25
            loss = optimizer.scale_loss(loss) if scaled else loss
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))

    for run in (strategy.run, tf.function(strategy.run)):
        run(step)
    assert not layer.kernel.value._copies and optimizer.iterations.numpy() == 2
    return layer.kernel.numpy().ravel().tolist(), layer.bias.numpy().tolist()


def check_optimizers():
    np.testing.assert_allclose(one_step(lambda k: k.SGD(0.1))[0], [0.8, 0.8], rtol=1e-6)
    decayed = one_step(lambda k: k.SGD(0.1, weight_decay=0.1))  # TensorFlow: w − 0.01 w − 0.1, twice
    np.testing.assert_allclose(decayed[0], [0.7811, 0.7811], rtol=1e-6)
    np.testing.assert_allclose(one_step(lambda k: k.LossScaleOptimizer(k.SGD(0.1)), scaled=True)[0], [0.8, 0.8], rtol=1e-6)
    clipped = one_step(lambda k: k.SGD(0.1, clipvalue=0.125))  # of each replica, then added up
    np.testing.assert_allclose(clipped[0], [0.9, 0.9], rtol=1e-6)
    averaged = one_step(lambda k: k.SGD(0.1, use_ema=True, ema_momentum=0.5))
    np.testing.assert_allclose(averaged[0], [0.8, 0.8], rtol=1e-6)


def check_layers_whose_weights_are_assigned_in_replicas():
    with TWO.scope():
        layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        layer.build((None, 1))

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.ones([1, 1])) * (number() + 2.0))
        gradient = tape.gradient(loss, layer.kernel)
        layer.kernel.assign(layer.kernel - 0.1 * gradient)
        return tf.reshape(layer.kernel, [])

    for wanted in ([0.8, 0.7], [0.6, 0.4]):
        np.testing.assert_allclose(TWO.experimental_local_results(TWO.run(step)), wanted, rtol=1e-6)


def found_rounds(call):
    """What of the rounds of replicas in a function was found to be the same in all."""
    found = []

    def noted(program, segments):
        found.append(rounds_of(program, segments))
        return found[-1]

    rounds_of = rounds._round
    with mock.patch.object(rounds, "_round", noted):
        call()
    return [one is not None for one in found]


def check_each_device_computes_its_replica():
    """A function in which all replicas do the same is compiled once, for all of them."""
    w, seen = made(tf.ones([3]), aggregation=SUM), made(0.0, synchronization=ON_READ, aggregation=SUM)
    rows = tf.reshape(tf.range(24.0), [8, 3])

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x * w) * tf.where(number() > 0.0, 2.0, 1.0))
        seen.assign_add(tf.reduce_sum(x))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss + tf.reduce_sum(w)

    @tf.function
    def train(x):
        return TWO.reduce("SUM", TWO.run(step, args=(x,)), axis=None)

    @tf.function
    def several(iterator):
        for _ in tf.range(2):
            TWO.run(step, args=(next(iterator),))

    def batches(size):
        return TWO.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(size))

    results = []

    def trained():
        results.append([float(train(batch)) for batch in batches(4)])

    assert any(found_rounds(trained))
    after = w.numpy(), seen.numpy()
    w.assign(tf.ones([3])), seen.assign(0.0)
    with mock.patch.object(rounds, "_round", return_value=None):
        train = tf.function(train.python_function)
        results.append([float(train(batch)) for batch in batches(4)])
    np.testing.assert_allclose(*results, rtol=1e-6)
    np.testing.assert_allclose([*after[0], after[1]], [*w.numpy(), seen.numpy()], rtol=1e-6)
    w.assign(tf.ones([3])), seen.assign(0.0)
    several(iter(batches(4)))
    np.testing.assert_allclose(w.numpy(), after[0], rtol=1e-6)
    assert seen.numpy() == after[1] == 276
    assert not found_rounds(lambda: train(next(iter(batches(3)))))[0]  # two rows, and one


def check_fit():
    """Whole batches in one replica: TensorFlow's losses of three replicas."""
    keras = tf.keras
    x = np.random.default_rng(0).normal(size=(12, 4)).astype("f")
    y, seen = x.sum(1, keepdims=True), []
    keras.utils.set_random_seed(1)
    strategy = distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"])

    class Model(keras.Sequential):
        def train_step(self, data):
            context = distribute.get_replica_context()
            seen.append((context.num_replicas_in_sync, distribute.get_strategy().num_replicas_in_sync))
            return super().train_step(data)

    with strategy.scope():
        model = Model([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=6, epochs=2, shuffle=False, verbose=0).history
    np.testing.assert_allclose([history["loss"], history["mae"]], [[4.8102, 4.1095], [1.9434, 1.7792]], rtol=1e-4)
    np.testing.assert_allclose(model.evaluate(x, y, batch_size=6, verbose=0), [3.6227, 1.6537], rtol=1e-4)
    rows = tf.data.Dataset.from_tensor_slices((x, y))
    history = model.fit(strategy.experimental_distribute_dataset(rows.batch(6)), epochs=2, verbose=0).history
    np.testing.assert_allclose(history["loss"], [3.5455, 3.0684], rtol=1e-4)
    parts = strategy.distribute_datasets_from_function(lambda context: rows.batch(context.get_per_replica_batch_size(6)))
    np.testing.assert_allclose(model.fit(parts, epochs=2, verbose=0).history["loss"], [2.6525, 2.2848], rtol=1e-4)
    assert set(seen) == {(1, 1)} and strategy.num_replicas_in_sync == 3


if __name__ == "__main__":
    report(globals())
