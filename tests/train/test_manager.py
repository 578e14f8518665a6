"""`CheckpointManager`: what it keeps, what it deletes, and how it takes up a folder again."""

import json
import os

import pytest

import gradtape as tf
from gradtape._src.train import manager as manager_module


@pytest.fixture
def ckpt():
    return tf.train.Checkpoint(v=tf.Variable(1.0))


def numbers(manager):
    return [int(path.rpartition("-")[2]) for path in manager.checkpoints]


def files(folder):
    return sorted(os.listdir(folder))


def test_keeps_the_last_ones(ckpt, tmp_path):
    manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=2)
    assert (manager.latest_checkpoint, manager.checkpoints) == (None, [])
    assert [manager.save() for _ in range(3)] == [f"{tmp_path}/ckpt-{n}" for n in (1, 2, 3)]
    assert numbers(manager) == [2, 3]
    assert manager.latest_checkpoint == tf.train.latest_checkpoint(tmp_path) == f"{tmp_path}/ckpt-3"
    assert files(tmp_path) == ["checkpoint", "ckpt-2.safetensors", "ckpt-3.safetensors"]
    assert manager.directory == str(tmp_path) and manager.checkpoint is ckpt


def test_keeps_all(ckpt, tmp_path):
    manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=None, checkpoint_name="model")
    for _ in range(4):
        manager.save()
    assert files(tmp_path)[1:] == [f"model-{n}.safetensors" for n in (1, 2, 3, 4)]


def test_takes_up_a_folder_again(ckpt, tmp_path):
    first = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=2)
    for _ in range(3):
        first.save()
    ckpt.v.assign(5.0)
    again = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=2)
    assert numbers(again) == [2, 3]
    assert again.restore_or_initialize() == f"{tmp_path}/ckpt-3"
    assert ckpt.v.numpy() == 1.0
    again.save()
    assert numbers(again) == [3, 4]
    assert files(tmp_path) == ["checkpoint", "ckpt-3.safetensors", "ckpt-4.safetensors"]


def test_a_number_of_the_users(ckpt, tmp_path):
    manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=2)
    manager.save()
    assert manager.save(checkpoint_number=50) == f"{tmp_path}/ckpt-50"
    assert manager.save(checkpoint_number=tf.constant(50)) == f"{tmp_path}/ckpt-50"
    assert numbers(manager) == [1, 50]


def test_a_file_that_somebody_deleted_is_forgotten(ckpt, tmp_path):
    manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=3)
    paths = [manager.save() for _ in range(3)]
    os.unlink(paths[1] + ".safetensors")
    os.unlink(paths[2] + ".safetensors")
    assert tf.train.latest_checkpoint(tmp_path) == paths[0]
    assert tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=3).checkpoints == paths[:1]


def test_some_stay_for_good(ckpt, tmp_path, monkeypatch):
    clock = iter(range(0, 100_000, 3600))  # an hour from each look at the clock to the next
    monkeypatch.setattr(manager_module.time, "time", lambda: float(next(clock)))
    manager = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    for _ in range(6):
        manager.save()
    assert numbers(manager) == [6]
    assert files(tmp_path)[1:] == [f"ckpt-{n}.safetensors" for n in (2, 4, 6)]
    again = tf.train.CheckpointManager(ckpt, tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    again.save()  # 6 was saved 2 hours after 4, which the folder's note knows
    assert files(tmp_path)[1:] == [f"ckpt-{n}.safetensors" for n in (2, 4, 6, 7)]


def test_an_interval(ckpt, tmp_path):
    step = tf.Variable(10)
    manager = tf.train.CheckpointManager(ckpt, tmp_path, 5, step_counter=step, checkpoint_interval=3)
    saved = []
    for _ in range(8):
        saved.append(manager.save() is not None)
        step.assign_add(1)
    assert saved == [True, False, False, True, False, False, True, False]
    assert manager.save(check_interval=False) is not None
    assert manager.checkpoint_interval == 3


def test_initializes_where_there_is_nothing(ckpt, tmp_path):
    calls = []
    manager = tf.train.CheckpointManager(ckpt, tmp_path, 1, init_fn=lambda: calls.append(1))
    assert manager.restore_or_initialize() is None
    assert calls == [1]
    manager.save()
    assert manager.restore_or_initialize() == f"{tmp_path}/ckpt-1"
    assert calls == [1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"max_to_keep": 0}, "Expected a positive integer or `None` for `max_to_keep`, got 0"),
        ({"max_to_keep": 1, "checkpoint_interval": 2}, "`step_counter` should be passed if `checkpoint_interval` is not None"),
    ],
)
def test_bad_arguments(arguments, message, ckpt, tmp_path):
    with pytest.raises(ValueError, match=message):
        tf.train.CheckpointManager(ckpt, tmp_path, **arguments)


def note(name):
    return json.dumps({"format": "gradtape checkpoints 1", "checkpoints": [{"name": name, "time": None}], "kept_until": None})


@pytest.mark.parametrize(
    "text, message",
    [
        (note("../secret"), r"'\.\./secret' is not the name of a checkpoint in its folder"),
        (note("/etc/secret"), "'/etc/secret' is not the name"),
        (note("a\\b"), "is not the name"),
        (note(".."), r"'\.\.' is not the name"),
        (note(""), "'' is not the name"),
        (note(3), "3 is not the name"),
        ("[]", "no field with a value"),
        ("{}", "checkpoints"),
        ('{"format": ' + "[" * 100_000, "(recursion|Stack overflow)"),
        ('model_checkpoint_path "ck-1"', "no field with a value"),
        ("model_checkpoint_path: ck-1", "no string"),
        ('all_model_checkpoint_paths: "ck-1"', "model_checkpoint_path"),
        (b"\xff\xfe", "can't decode"),
    ],
)
def test_a_note_that_is_damaged_is_not_followed(text, message, ckpt, tmp_path):
    secret = tmp_path / "secret.safetensors"
    secret.write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "checkpoint").write_bytes(text if isinstance(text, bytes) else text.encode())
    for use in (lambda: tf.train.latest_checkpoint(folder), lambda: tf.train.CheckpointManager(ckpt, folder, 1)):
        with pytest.raises(tf.errors.DataLossError, match=f"is damaged, or not one of gradtape's: .*{message}"):
            use()
    assert secret.read_text() == "precious"


def test_a_step_is_saved_once(tmp_path):
    step = tf.Variable(4)
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 2, step_counter=step, checkpoint_interval=3)
    assert manager.save() and manager.save(check_interval=False) is None
    step.assign(5)
    assert manager.save() is None
    assert numbers(manager) == [1]
    assert manager.save(check_interval=False).endswith("ckpt-2")
