"""Write `checkpoints.npz`: files of checkpoints that TensorFlow wrote. A script, run by hand on TensorFlow 2.21."""

import os
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        self.layers = [tf.Variable(5), {"slash/dot.": tf.Variable(True)}, (tf.Variable([6, 7], dtype=tf.int64),)]
        self.texts = tf.Variable([["a", ""], ["longer \0", "é"]])
        self.halves = tf.Variable([1.5, -2.5], dtype=tf.bfloat16)
        self.waves = tf.Variable(1 + 2j, dtype=tf.complex128)
        self.nothing = tf.Variable(tf.zeros([0, 3]))
        for i in range(20):  # more keys than one part of a block has
            setattr(self, f"number_{i}", tf.Variable(i, dtype=tf.uint8))


def objects():
    model = Model()
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), "objects", 2)
    for _ in range(3):
        manager.save()
    v = tf.Variable([1.0, 2.0])
    optimizer = v1.train.AdamOptimizer(0.1)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    print("slots: v", v.numpy(), "m", optimizer.get_slot(v, "m").numpy(), "v", optimizer.get_slot(v, "v").numpy())
    print("slots: powers", optimizer._get_beta_accumulators())
    tf.train.Checkpoint(v=v, optimizer=optimizer).write("slots/ck")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    print("slots: v after one more step", v.numpy())
    tf.train.Checkpoint(v=v, iterator=iter(tf.data.Dataset.range(3))).write("iterator/ck")


def tables():
    lookup = tf.lookup.experimental
    words = lookup.MutableHashTable(tf.string, tf.int64, -1)
    rows = lookup.DenseHashTable(tf.int64, tf.float32, [0.0, 0.0], -1, -2, initial_num_buckets=8)
    texts = lookup.DenseHashTable(tf.string, tf.int64, -1, "", "gone", initial_num_buckets=16)
    words.insert(["a", "é", "longer"], [1, 2, 3])
    rows.insert([5, 13, 21, -8], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    rows.remove(tf.constant([13], tf.int64))
    texts.insert([str(i) for i in range(7)], [i * i for i in range(7)])
    tf.train.Checkpoint(words=words, rows=rows, texts=texts).write("tables/ck")


def keras_model():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2), keras.layers.Dropout(0.5, seed=1), keras.layers.Dense(1)])
    model.set_weights([np.float32([[1, -1], [2, 0.5]]), np.float32([0.1, 0.2]), np.float32([[1], [3]]), np.float32([0.5])])
    optimizer = keras.optimizers.Adam(0.1)
    x = np.float32([[1, 2], [3, 4]])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return float(loss)

    for _ in range(3):
        step()
    tf.train.Checkpoint(model=model, optimizer=optimizer, step=tf.Variable(3)).save("keras/ck")
    print("keras: losses after", [step(), step()])


def names():
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("layer/w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        v1.get_variable("parts", [5, 70], partitioner=v1.fixed_size_partitioner(2), initializer=v1.ones_initializer())
        parts = v1.global_variables()[-2:]
        step = v1.train.get_or_create_global_step()
        loss = tf.reduce_sum(w**2)
        train = v1.train.AdamOptimizer(0.1).minimize(loss, step)
        session.run(v1.global_variables_initializer())
        session.run([parts[0].assign(np.arange(210.0).reshape(3, 70)), parts[1].assign(np.arange(210.0, 350.0).reshape(2, 70))])
        session.run(train)
        print("names: w", session.run(w).tolist())
        v1.train.Saver().save(session, os.path.abspath("names/ck"), global_step=step, write_meta_graph=False)
    two = v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), v1.Session(config=two) as session:
        with tf.device("cpu:0"):
            v1.get_variable("first", initializer=[1.0, 2.0])
        with tf.device("cpu:1"):
            v1.get_variable("second", initializer=[3, 4])
        session.run(v1.global_variables_initializer())
        v1.train.Saver(sharded=True).save(session, os.path.abspath("names/sharded"), write_meta_graph=False, write_state=False)


if __name__ == "__main__":
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for write in (objects, tables, keras_model, names):
            write()
        files = {str(file): np.frombuffer(file.read_bytes(), np.uint8) for file in sorted(Path().rglob("*")) if file.is_file()}
        np.savez_compressed(here / "checkpoints.npz", **files)
        for name, data in files.items():
            print(name, len(data))
