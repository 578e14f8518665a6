"""Checkpoints where gradtape stands for `tensorflow`: the files are TensorFlow's, with the entries of those that it wrote."""

import os

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import hooks
from gradtape._src.files.table import table, written
from gradtape._src.train import bundle_writer
from gradtape._src.train.bundle import Bundle
from tests.train.test_of_tensorflow import Model, check, folder  # noqa: F401

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def door(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with hooks.filled(hooks.door, is_open=True):
        yield


def test_the_entries_are_those_of_tensorflows_own_file(folder):  # noqa: F811
    theirs = tf.train.latest_checkpoint("objects")
    checkpoint = tf.train.Checkpoint(model=Model())
    checkpoint.restore(theirs).assert_consumed()
    ours = checkpoint.write("again/ckpt")
    assert sorted(os.listdir("again")) == ["ckpt.data-00000-of-00001", "ckpt.index"]
    first, second = Bundle(theirs), Bundle(ours)
    entries = [{key: (e.dtype, e.shape, e.size, e.crc32) for key, e in b.entries.items()} for b in (first, second)]
    assert entries[0] == entries[1] and len(entries[0]) > 25
    assert {node.key for node in first.nodes} == {node.key for node in second.nodes}
    model = Model()
    tf.train.Checkpoint(model=model).restore(ours).assert_consumed()
    check(model)


def test_states_that_are_no_variables():
    def fresh(seed):
        return tf.train.Checkpoint(items=iter(tf.data.Dataset.range(5)), draws=tf.random.Generator.from_seed(seed))

    saved, restored = fresh(1), fresh(2)
    next(saved.items), saved.draws.normal([3])
    restored.restore(saved.save("state/ckpt")).assert_consumed()
    assert int(next(restored.items)) == 1
    assert restored.draws.normal([2]).numpy().tolist() == saved.draws.normal([2]).numpy().tolist()


@pytest.mark.parametrize("gone", ["ckpt-1.index", "ckpt-1.data-00000-of-00001"])
def test_a_checkpoint_that_another_process_is_removing(gone):
    """Each of several processes removes what is too old."""
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=tf.Variable(1.0)), "several", max_to_keep=1)
    manager.save()
    os.unlink(f"several/{gone}")
    assert manager.save() == "several/ckpt-2"
    assert tf.train.latest_checkpoint("several") == "several/ckpt-2"


def test_a_manager_keeps_what_tensorflow_wrote(folder):  # noqa: F811
    """It counts the files of an earlier run on TensorFlow, and removes none of them."""
    theirs = tf.train.latest_checkpoint("objects")
    files = sorted(name for name in os.listdir("objects") if name.startswith(os.path.basename(theirs)))
    assert len(files) == 2
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=tf.Variable(1.0)), "objects", max_to_keep=1, checkpoint_name="own")
    for _ in range(3):
        manager.save()
    assert [name for name in sorted(os.listdir("objects")) if name in files] == files
    assert [name for name in os.listdir("objects") if name.startswith("own")] != []


def test_a_manager_keeps_the_last_ones():
    w = tf.Variable([1.0, 2.0])
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), "managed", max_to_keep=2)
    for _ in range(3):
        manager.save()
        w.assign_add([1.0, 1.0])
    files = ["checkpoint", *[f"ckpt-{i}.{end}" for i in (2, 3) for end in ("data-00000-of-00001", "index")]]
    assert sorted(os.listdir("managed")) == files
    with open("managed/checkpoint", encoding="utf-8") as file:
        note = file.read().splitlines()
    assert note[:3] == [
        'model_checkpoint_path: "ckpt-3"',
        'all_model_checkpoint_paths: "ckpt-2"',
        'all_model_checkpoint_paths: "ckpt-3"',
    ]
    again = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), "managed", max_to_keep=2)
    assert again.checkpoints == ["managed/ckpt-2", "managed/ckpt-3"] and again.restore_or_initialize() == "managed/ckpt-3"
    assert w.numpy().tolist() == [3.0, 4.0]


def test_one_that_gradtape_wrote_gives_way():
    w = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(w=w)
    with hooks.filled(hooks.door, is_open=False):
        checkpoint.write("here")
    checkpoint.read("here")
    w.assign(2.0)
    checkpoint.write("here")
    w.assign(3.0)
    checkpoint.read("here").assert_consumed()
    assert float(w) == 2.0


def test_a_saver_writes_by_names():
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=[1.0, 2.0])
        saver = v1.train.Saver(max_to_keep=1)
        session.run(v1.global_variables_initializer())
        for step in range(2):
            path = saver.save(session, "saved/model", global_step=step)
        session.run(w.assign([0.0, 0.0]))
        saver.restore(session, path)
        assert session.run(w).tolist() == [1.0, 2.0]
        saver.recover_last_checkpoints([path, "nothing"])
        assert saver.last_checkpoints == ["saved/model-1"]
    assert sorted(os.listdir("saved")) == ["checkpoint", "model-1.data-00000-of-00001", "model-1.index"]
    assert tf.train.list_variables("saved") == [("w", [2])]


def test_without_the_packages_for_files_it_is_gradtapes(monkeypatch):
    monkeypatch.setattr(bundle_writer.importlib.util, "find_spec", lambda name: None)
    tf.train.Checkpoint(w=tf.Variable(1.0)).write("here")
    assert os.listdir() == ["here.safetensors"]


@pytest.mark.parametrize("count", [0, 1, 500])
def test_tables(count):
    pairs = [(b"%06d" % i, np.random.default_rng(i).bytes(i)) for i in range(count)]
    assert list(table(written(pairs))) == pairs
