"""A program that several processes run together: it trains, and in one of these ways process 1 does not go on.

`train`: to the end, with Keras too. `hundred`: 100 steps of Adam, laid out in three ways. `fit FOLDER`: with a checkpoint after
each epoch, from which it goes on; `parts FOLDER`: the same by orbax, beside the training. `backup FOLDER EPOCH`: with Keras's
callback, and process 1 ends at that epoch. `save FOLDER`: it tells what each process wrote. `die`, `raise`, `leave`, `interrupt`,
`stop`: after the fourth step. `uneven`: it has fewer batches. `seeds`: it has set another seed.
"""

import json
import os
import signal
import sys
import threading

import jax
import numpy as np

import gradtape as tf  # `tf.keras` is imported in the ways that need it: that takes longer than the others

way = sys.argv[1]
sys.modules |= dict.fromkeys(("matplotlib", "sklearn"))  # which Keras would import
strategy = tf.distribute.FullyShardedStrategy(min_bytes=256) if way == "parts" else tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.extended._in_multi_worker_mode() == (jax.process_count() > 1)  # libraries ask
me = jax.process_index()

X = np.random.default_rng(0).normal(size=(70, 8)).astype("f")
Y = X.sum(1, keepdims=True)
with strategy.scope():
    w = tf.Variable(tf.random.normal([8, 1]) * 0.0 + 0.1)
    drawn = tf.Variable(tf.random.normal([3]))  # process 0's numbers


@tf.function
def train(batch):
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return strategy.reduce("SUM", strategy.run(step, args=batch), axis=None)


def end(steps):
    if me != 1 or steps != 4:
        return
    if way == "die":
        os._exit(3)
    if way == "raise":
        raise ValueError("bad data")
    if way == "leave":
        sys.exit()
    if way == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if way == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)


if way == "save":
    folder, replace, written = sys.argv[2], os.replace, []

    def replacing(part, file):
        written.append(os.path.basename(file))
        replace(part, file)

    os.replace = replacing
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(1)])
    checkpoint = tf.train.Checkpoint(model=model)
    checkpoint.write(f"{folder}/all")
    tf.train.CheckpointManager(checkpoint, folder, max_to_keep=1).save()
    model.save(f"{folder}/model.keras")
    checkpoint.write(f"{folder}/{'chief' if me == 0 else 'temporary'}")  # as TensorFlow's guide has it
    if me == 0:
        checkpoint.write(f"{folder}/first")
    train((X, Y))
    if me == 1:
        checkpoint.write(f"{folder}/second")
    train((X, Y))
    if me == 0:
        os.replace = lambda part, file: sys.exit(1 / 0)
    try:
        checkpoint.write(f"{folder}/none")
    except Exception as error:
        written.append(f"{type(error).__name__}: {error}")
    print(json.dumps(written), flush=True)
    sys.exit()

if way == "backup":
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        layers = [tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dropout(0.3), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.layers.Input((8,)), *layers])
        model.compile("adam", "mse")
    last = int(sys.argv[3])
    ends = tf.keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epoch == last and me == 1 and os._exit(1))
    history = model.fit(X, Y, epochs=5, verbose=0, callbacks=[tf.keras.callbacks.BackupAndRestore(sys.argv[2]), ends])
    print(json.dumps([history.epoch, history.history["loss"], os.path.exists(sys.argv[2])]), flush=True)
    sys.exit()

if way == "seeds":
    tf.random.set_seed(me)

    @tf.function
    def disturb():
        w.assign_add(tf.random.normal([8, 1]))

    strategy.run(disturb)

if way == "hundred":
    results = {}
    devices = tf.keras.distribution.list_devices()
    mesh = tf.keras.distribution.DeviceMesh((1, len(devices)), ["batch", "model"], devices)
    layouts = tf.keras.distribution.LayoutMap(mesh)
    layouts[".*kernel"] = ("model", None)
    sharded = tf.distribute.FullyShardedStrategy(min_bytes=64)
    ways = {"data": strategy, "fully sharded": sharded, "model": tf.keras.distribution.ModelParallel(layout_map=layouts)}
    for name, distribution in ways.items():
        tf.keras.utils.set_random_seed(1)
        with distribution.scope():
            layers = [tf.keras.layers.Dense(16, "tanh"), tf.keras.layers.Dense(16, "tanh"), tf.keras.layers.Dense(1)]
            model = tf.keras.Sequential([tf.keras.layers.Input((8,)), *layers])
            model.compile(tf.keras.optimizers.Adam(0.01), "mse")
            history = model.fit(X[:64], Y[:64], batch_size=16, epochs=25, verbose=0, shuffle=False)
        results[name] = history.history["loss"] + model.predict(X[:64], verbose=0).ravel().tolist()
    print(json.dumps(results), flush=True)
    sys.exit()

if way in ("fit", "parts"):
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
    epoch = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer, epoch=epoch)
    manager = tf.train.CheckpointManager(checkpoint, sys.argv[2], max_to_keep=2)
    model.optimizer.build(model.trainable_variables)
    manager.restore_or_initialize()

    def save(number, logs):
        epoch.assign(number + 1)
        manager.save(options=tf.train.CheckpointOptions(enable_async=way == "parts"))

    saves = tf.keras.callbacks.LambdaCallback(on_epoch_end=save)
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 1000 if way == "fit" else 150
    model.fit(X, Y, batch_size=32, initial_epoch=int(epoch), epochs=epochs, verbose=0, callbacks=[saves])
    print(json.dumps([w.ravel().tolist() for w in model.get_weights()]), flush=True)
    sys.exit()

rows = 40 if way == "uneven" and me == 1 else 70
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X[:rows], Y[:rows])).batch(30))
losses = []
for _ in range(3):
    for batch in batches:
        losses.append(float(train(batch)))
        end(len(losses))
result = {"losses": losses, "w": w.numpy().tolist(), "drawn": drawn.numpy().tolist()}

if way == "train":
    tf.keras.utils.set_random_seed(0)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
    history = model.fit(X, Y, batch_size=32, epochs=2, verbose=0)
    result |= {"fit": history.history["loss"], "evaluated": float(model.evaluate(X, Y, verbose=0))}
    result |= {"predicted": model.predict(X, verbose=0).ravel().tolist()}
    devices = tf.keras.distribution.list_devices()
    mesh = tf.keras.distribution.DeviceMesh((len(devices), 1), ["batch", "model"], devices)
    layouts = tf.keras.distribution.LayoutMap(mesh)
    layouts[".*kernel"] = ("batch", None)
    for distribution in (
        tf.keras.distribution.DataParallel(),
        tf.keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch"),
        tf.keras.distribution.DataParallel(auto_shard_dataset=False),
    ):
        whole, name = distribution.auto_shard_dataset, f"{type(distribution).__name__} {distribution.auto_shard_dataset}"
        tf.keras.utils.set_random_seed(0)
        with distribution.scope():
            model = tf.keras.Sequential(
                [tf.keras.layers.Input((8,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)]
            )
            model.compile("adam", "mse")
            count = jax.process_count()
            x, y = (X, Y) if whole else (X[me:64:count], Y[me:64:count])
            history = model.fit(x, y, batch_size=32 if whole else 32 // count, epochs=2, verbose=0, shuffle=whole)
            result[name] = [*history.history["loss"], float(model.evaluate(x, y, verbose=0))]
            if not whole and count > 1:  # of two one has 8 batches, the other 6
                rows = slice(0, len(x) if me == 0 else len(x) * 3 // 4)
                steps = int(model.optimizer.iterations)
                history = model.fit(x[rows], y[rows], batch_size=4, epochs=2, verbose=0, shuffle=False)
                result["uneven"] = [len(history.history["loss"]), int(model.optimizer.iterations) - steps]
    divided = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(32))
    split, said = next(iter(divided))[0], []

    def read():
        try:
            split.numpy()
        except tf.errors.InvalidArgumentError as error:
            said.append(str(error))

    reader = threading.Thread(target=read, name="a reader")
    reader.start()
    reader.join()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.constant(w.numpy()))
    result["why"] = [str(tf.autodiff.explain(loss, w)), tf.autodiff.explain(loss, w).to_dict().get("process")]
    result["in a thread"] = said[0] if jax.process_count() > 1 else ""
print(json.dumps(result), flush=True)
