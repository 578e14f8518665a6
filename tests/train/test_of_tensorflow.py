"""Checkpoints that TensorFlow wrote (`write_checkpoints.py`): what is in them, restored into objects; damage is refused."""

import functools
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from gradtape._src.core.base import hooks
from gradtape._src.files.records import CHECKSUM, masked_checksum
from gradtape._src.files.snappy import uncompressed
from gradtape._src.files.table import FOOTER, MAGIC, table
from gradtape._src.train.bundle import Bundle

v1 = tf.compat.v1


@functools.cache
def written():
    with np.load(Path(__file__).with_name("checkpoints.npz")) as files:
        return {name: files[name].tobytes() for name in files}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, data in written().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(tf.zeros([2, 2]))
        self.layers = [tf.Variable(0), {"slash/dot.": tf.Variable(False)}, (tf.Variable([0, 0], dtype=tf.int64),)]
        self.texts = tf.Variable([["", ""], ["", ""]])
        self.halves = tf.Variable([0.0, 0.0], dtype=tf.bfloat16)
        self.waves = tf.Variable(0j, dtype=tf.complex128)
        self.nothing = tf.Variable(tf.zeros([0, 3]))
        for i in range(20):
            setattr(self, f"number_{i}", tf.Variable(99, dtype=tf.uint8))


def check(model):
    assert model.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert model.layers[0].numpy() == 5 and model.layers[1]["slash/dot."].numpy()
    assert model.layers[2][0].numpy().tolist() == [6, 7]
    assert model.texts.numpy().tolist() == [[b"a", b""], [b"longer \0", "é".encode()]]
    assert model.halves.numpy().tolist() == [1.5, -2.5] and model.waves.numpy() == 1 + 2j
    assert [int(getattr(model, f"number_{i}")) for i in range(20)] == list(range(20))


class TestObjects:
    def test_all_dtypes_and_containers(self, folder):
        model = Model()
        status = tf.train.Checkpoint(model=model).restore(tf.train.latest_checkpoint("objects"))
        status.assert_consumed()
        check(model)

    def test_variables_that_come_later(self, folder):
        model = tf.Module()
        status = tf.train.Checkpoint(model=model).restore("objects/ckpt-3")
        model.__class__ = Model
        model.__init__()
        check(model)
        status.assert_consumed()

    def test_a_manager_goes_on_and_deletes_no_file_of_tensorflow(self, folder):
        model = Model()
        checkpoint = tf.train.Checkpoint(model=model)
        manager = tf.train.CheckpointManager(checkpoint, "objects", 1)
        assert manager.checkpoints == ["objects/ckpt-2", "objects/ckpt-3"]
        assert manager.restore_or_initialize() == "objects/ckpt-3" and checkpoint.save_counter.numpy() == 3
        assert manager.save() == "objects/ckpt-4"
        assert manager.checkpoints == ["objects/ckpt-4"]
        assert (folder / "objects/ckpt-3.index").exists() and (folder / "objects/ckpt-2.data-00000-of-00001").exists()

    def test_a_shape_that_does_not_fit_changes_nothing(self, folder):
        model = Model()
        model.texts = tf.Variable(["", ""])
        with pytest.raises(ValueError, match=r"shape \(2, 2\) when attempting to restore variable with shape \(2,\)"):
            tf.train.Checkpoint(model=model).restore("objects/ckpt-3")
        assert not model.kernel.numpy().any()

    def test_tables(self, folder):
        lookup = tf.lookup.experimental
        checkpoint = tf.train.Checkpoint(
            words=lookup.MutableHashTable(tf.string, tf.int64, -1),
            rows=lookup.DenseHashTable(tf.int64, tf.float32, [0.0, 0.0], -1, -2),
            texts=lookup.DenseHashTable(tf.string, tf.int64, -1, "", "gone"),
        )
        checkpoint.read("tables/ck").assert_consumed()
        assert checkpoint.words.lookup(["a", "é", "longer", "?"]).numpy().tolist() == [1, 2, 3, -1]
        rows = checkpoint.rows.lookup(tf.constant([5, 13, 21, -8], tf.int64)).numpy()
        assert rows.tolist() == [[1.0, 2.0], [0.0, 0.0], [5.0, 6.0], [7.0, 8.0]]
        assert checkpoint.texts.lookup([str(i) for i in range(7)]).numpy().tolist() == [i * i for i in range(7)]
        assert [int(t.size()) for t in (checkpoint.words, checkpoint.rows, checkpoint.texts)] == [3, 3, 7]
        with hooks.filled(hooks.door, is_open=True):
            ours = Bundle(checkpoint.write("again/ck"))
        graphs = [[(sorted(n.children), n.key, n.endings) for n in b.nodes] for b in (ours, Bundle("tables/ck"))]
        assert graphs[0] == graphs[1]

    def test_the_state_of_an_iterator_is_refused(self, folder):
        v = tf.Variable([0.0, 0.0])
        with pytest.raises(tf.errors.UnimplementedError, match=r"ITERATOR_STATE in the checkpoint .* is variant"):
            tf.train.Checkpoint(v=v, iterator=iter(tf.data.Dataset.range(3))).read("iterator/ck")
        assert v.numpy().tolist() == [0.0, 0.0]
        tf.train.Checkpoint(v=v).read("iterator/ck").expect_partial()
        np.testing.assert_allclose(v.numpy(), [0.7015873, 1.7006245], rtol=1e-6)


class TestSlots:
    @staticmethod
    def step(optimizer, v):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    def check(self, optimizer, v):
        np.testing.assert_allclose(v.numpy(), [0.8004126, 1.8001668], rtol=1e-6)
        np.testing.assert_allclose(optimizer.get_slot(v, "m").numpy(), [0.36000007, 0.7400001], rtol=1e-6)
        np.testing.assert_allclose(optimizer.get_slot(v, "v").numpy(), [0.00723591, 0.03042361], rtol=1e-6)
        self.step(optimizer, v)
        np.testing.assert_allclose(v.numpy(), [0.7015873, 1.7006245], rtol=1e-6)

    @pytest.mark.parametrize("trained", [False, True])
    def test_of_an_optimizer(self, folder, trained):
        v, optimizer = tf.Variable([5.0, 6.0]), v1.train.AdamOptimizer(0.1)
        if trained:
            self.step(optimizer, v)
        status = tf.train.Checkpoint(v=v, optimizer=optimizer).read("slots/ck")
        self.check(optimizer, v)
        status.assert_consumed()

    def test_of_a_variable_that_comes_later(self, folder):
        checkpoint = tf.train.Checkpoint(optimizer=(optimizer := v1.train.AdamOptimizer(0.1)))
        status = checkpoint.read("slots/ck")
        checkpoint.v = tf.Variable([5.0, 6.0])
        self.check(optimizer, checkpoint.v)
        status.assert_consumed()

    def test_in_a_graph(self, folder):
        with tf.Graph().as_default(), v1.Session() as session:
            v, optimizer = v1.get_variable("v", initializer=[5.0, 6.0]), v1.train.AdamOptimizer(0.1)
            train = optimizer.minimize(tf.reduce_sum(v * v))
            tf.train.Checkpoint(v=v, optimizer=optimizer).read("slots/ck").assert_consumed().initialize_or_restore(session)
            session.run(train)
            np.testing.assert_allclose(session.run(v), [0.7015873, 1.7006245], rtol=1e-6)


def test_keras_goes_on_where_it_stopped(folder):
    layers = [keras.Input((2,)), keras.layers.Dense(2), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    model, optimizer, step = keras.Sequential(layers), keras.optimizers.Adam(0.1), tf.Variable(0)
    optimizer.build(model.trainable_variables)
    tf.train.Checkpoint(model=model, optimizer=optimizer, step=step).restore("keras/ck-1").assert_consumed()
    assert step.numpy() == 3 and optimizer.iterations.numpy() == 3
    x, losses = np.float32([[1, 2], [3, 4]]), []
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        losses.append(float(loss))
    np.testing.assert_allclose(losses, [4.854982376098633, 14.446146011352539], rtol=1e-5)


class TestNames:
    def test_of_a_saver(self, folder):
        with tf.Graph().as_default(), v1.Session() as session:
            w = v1.get_variable("layer/w", [2, 2])
            parts = v1.get_variable("parts", [5, 70])
            step = v1.train.get_or_create_global_step()
            v1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w**2), step)
            saver = v1.train.Saver()
            assert tf.train.latest_checkpoint("names") == "names/ck-1"  # the note has the folder that it was written in
            saver.restore(session, "names/ck-1")
            np.testing.assert_allclose(session.run(w), [[0.9, 1.9], [2.9, 3.9]], rtol=1e-6)
            assert session.run(step) == 1
            assert session.run(parts).tolist() == np.arange(350.0).reshape(5, 70).tolist()

    def test_in_eager_code_and_by_a_checkpoint(self, folder):
        w = tf.Variable(tf.zeros([2, 2]), name="layer/w")
        tf.train.Checkpoint(any=w).restore("names/ck-1").assert_existing_objects_matched()
        np.testing.assert_allclose(w.numpy(), [[0.9, 1.9], [2.9, 3.9]], rtol=1e-6)
        kernel = tf.Variable(tf.zeros([2, 2]), name="Variable")  # of objects: the name that the variable had
        v1.train.Saver([kernel]).restore(None, "objects/ckpt-3")
        assert kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]

    def test_in_several_files(self, folder):
        assert tf.train.list_variables("names/sharded") == [("first", [2]), ("second", [2])]
        assert tf.train.load_variable("names/sharded", "first").tolist() == [1.0, 2.0]
        assert tf.train.load_variable("names/sharded", "second").tolist() == [3, 4]


def test_a_reader(folder):
    reader = tf.train.load_checkpoint("objects")
    shapes = reader.get_variable_to_shape_map()
    assert len(shapes) == 30 and shapes["model/texts/.ATTRIBUTES/VARIABLE_VALUE"] == [2, 2]
    key = "model/layers/1/slash.Sdot../.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_variable_to_dtype_map()[key] == tf.bool and reader.get_tensor(key)
    assert reader.has_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
    assert b"number_7" in reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
    with pytest.raises(tf.errors.NotFoundError, match="Key nothing not found in checkpoint"):
        reader.get_tensor("nothing")
    dtypes = tf.train.load_checkpoint("iterator/ck").get_variable_to_dtype_map()
    assert dtypes["iterator/.ATTRIBUTES/ITERATOR_STATE"] == tf.variant
    assert v1.train.checkpoint_exists("keras/ck-1") and not v1.train.checkpoint_exists("keras/ck-2")


def test_a_file_system_of_fsspec(folder):
    for name, data in written().items():
        tf.io.write_file(f"ram://{name}", data)
    assert tf.train.load_variable("ram://names/sharded", "first").tolist() == [1.0, 2.0]


class TestDamage:
    @staticmethod
    def refused(message="is damaged, or is none|is truncated", error=tf.errors.DataLossError):
        v, optimizer = tf.Variable([5.0, 6.0]), v1.train.AdamOptimizer(0.1)
        with pytest.raises(error, match=message):
            tf.train.Checkpoint(v=v, optimizer=optimizer).read("slots/ck")
        assert v.numpy().tolist() == [5.0, 6.0]

    @pytest.mark.parametrize("name", ["slots/ck.index", "slots/ck.data-00000-of-00001"])
    def test_cut_short_anywhere(self, folder, name):
        whole = written()[name]
        for length in {0, 3, 47, len(whole) // 2, len(whole) - 49, len(whole) - 1}:
            (folder / name).write_bytes(whole[:length])
            self.refused()

    @pytest.mark.parametrize("name", ["slots/ck.index", "slots/ck.data-00000-of-00001"])
    def test_a_byte_changed_anywhere(self, folder, name):
        whole = written()[name]
        # What pads the index; of the data, what the optimizer has no variables for yet.
        unread = range(len(whole) - FOOTER + 6, len(whole) - len(MAGIC)) if name.endswith("index") else range(8, 16)
        for place in set(range(0, len(whole), 11)).difference(unread):
            broken = bytearray(whole)
            broken[place] ^= 1
            (folder / name).write_bytes(broken)
            self.refused()

    def test_a_file_that_is_not_there(self, folder):
        (folder / "slots/ck.data-00000-of-00001").unlink()
        self.refused("ck.data-00000-of-00001; No such file")
        (folder / "slots/ck.index").unlink()
        self.refused("there is no file", tf.errors.NotFoundError)


def packed(*numbers):
    """Return numbers as a table has them: 7 bits in each byte."""
    return b"".join(bytes([number]) if number < 128 else bytes([number & 127 | 128]) + packed(number >> 7) for number in numbers)


def a_table(entries, kind=0):
    """Return a table of one block; `entries` are `(shared, own, value)`."""
    own = b"".join([packed(shared, len(key), len(value)) + key + value for shared, key, value in entries])
    data, handle = b"", b""
    for content in (b"", own, None):  # what is said of the table, its entries, the list of blocks
        content = packed(0, 1, len(handle)) + b"z" + handle if content is None else content
        content += CHECKSUM.pack(0) + CHECKSUM.pack(1) + bytes([kind])
        handle = packed(len(data), len(content) - 1)
        data += content + CHECKSUM.pack(masked_checksum(content))
    return data + (packed(0, 8) + handle).ljust(FOOTER - len(MAGIC), b"\0") + MAGIC


class TestTable:
    def test_keys_share_their_beginnings(self):
        entries = [(0, b"", b"head"), (0, b"abc", b"1"), (2, b"d", b"2"), (0, b"b", b"3")]
        assert list(table(a_table(entries))) == [(b"", b"head"), (b"abc", b"1"), (b"abd", b"2"), (b"b", b"3")]

    @pytest.mark.parametrize(
        "data, expected",
        [
            (b"\0", b""),
            (b"\6\x14tensor", b"tensor"),
            (b"\7\0a" + b"\x09\1", b"aaaaaaa"),  # 6 bytes from 1 byte back
            (b"\x09\x08abc" + b"\x16\3\0", b"abcabcabc"),
            (b"\x08\x0cabcd" + b"\x0f\4\0\0\0", b"abcdabcd"),
            (b"\x64\xf0\x63" + b"x" * 100, b"x" * 100),
        ],
    )
    def test_blocks_that_snappy_compressed(self, data, expected):
        assert uncompressed(data) == expected

    @pytest.mark.parametrize(
        "data, message",
        [
            (b"\6\x14ten", "end too early"),
            (b"\6\0a\x09\2", "refer 2 bytes back after 1"),
            (b"\6\0a\x09", "refer 0 bytes back"),
            (b"\5\0a", "are 1, not 5"),
            (b"\xff", "does not end"),
        ],
    )
    def test_blocks_that_are_hostile(self, data, message):
        with pytest.raises(ValueError, match=message):
            uncompressed(data)

    @pytest.mark.parametrize(
        "data, message",
        [
            (b"", "does not end as a table ends"),
            (a_table([], kind=9), "is compressed in the way number 9"),
            (a_table([(1, b"a", b"")]), "longer than its block"),
            (a_table([(0, b"b", b""), (0, b"a", b"")]), "the key b'a' is out of order"),
            (a_table([(0, b"k" * 4000, b""), *[(3990 + i, b"l", b"") for i in range(400)]]), "keys are longer than a table's"),
            (b"\xff" * 40 + MAGIC, "does not end"),
            ((packed(1 << 60, 5) + packed(0, 0)).ljust(40, b"\0") + MAGIC, "a block ends at byte"),
        ],
    )
    def test_one_that_is_hostile(self, data, message):
        with pytest.raises(ValueError, match=message):
            list(table(data))
