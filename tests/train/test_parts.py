"""Checkpoints in parts, which orbax writes: at once and beside the training, over another one, damaged, by processes."""

import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base.extras import package
from gradtape._src.train import parts

pytest.importorskip("orbax.checkpoint")

IN_PARTS = tf.train.CheckpointOptions(experimental_sharding_callback=tf.train.experimental.ShardByTaskPolicy())
BESIDE = tf.train.CheckpointOptions(enable_async=True)
WAYS = pytest.mark.parametrize("options", [IN_PARTS, BESIDE], ids=["at once", "beside"])

VALUES = {
    "number": np.float32(2.5),
    "vector": np.arange(3, dtype=np.int8),
    "empty": np.zeros((0, 3), np.float32),
    "yes": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex128),
    "half": np.array([1.5], tf.bfloat16.as_numpy_dtype),
    "strings": np.array([b"a", b"\0b\0"], object),
}


def checkpoint(values=VALUES):
    return tf.train.Checkpoint(**{name: tf.Variable(value) for name, value in values.items()})


def zeros():
    return checkpoint(
        {name: np.zeros_like(value) if value.dtype != object else np.array([b"", b""], object) for name, value in VALUES.items()}
    )


@WAYS
def test_each_dtype_comes_back(tmp_path, options):
    path = checkpoint().save(tmp_path / "new" / "ck", options)
    restored = zeros()
    restored.restore(path).assert_consumed()
    for name, value in VALUES.items():
        found = getattr(restored, name).numpy()
        assert found.dtype == value.dtype or value.dtype == object
        np.testing.assert_array_equal(found, value)
    assert tf.train.latest_checkpoint(tmp_path / "new") == path
    assert ("vector/.ATTRIBUTES/VARIABLE_VALUE", [3]) in tf.train.list_variables(path)


def test_training_goes_on_while_a_checkpoint_is_written(tmp_path):
    """What is saved are the values at the call, whatever is assigned afterwards."""
    v = tf.Variable(np.zeros(1 << 16, np.float32))
    saved = tf.train.Checkpoint(v=v)
    step = tf.function(lambda: v.assign_add(tf.ones_like(v)))
    for number in range(5):
        assert v[0].numpy() == number
        saved.write(tmp_path / f"at{number}", BESIDE)
        step()
    saved.sync()
    for number in range(5):
        saved.read(tmp_path / f"at{number}")
        np.testing.assert_array_equal(v, np.full(1 << 16, number, np.float32))


@WAYS
def test_a_manager_keeps_the_last_ones(tmp_path, options):
    manager = tf.train.CheckpointManager(checkpoint(), tmp_path, max_to_keep=2)
    for _ in range(4):
        manager.save(options=options)
    manager.checkpoint.sync()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "ckpt-3.orbax", "ckpt-4.orbax"]
    again = tf.train.CheckpointManager(zeros(), tmp_path, max_to_keep=2)
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-4")
    assert again.checkpoint.number.numpy() == 2.5 and int(again.checkpoint.save_counter) == 4


def test_one_takes_the_place_of_another(tmp_path):
    """Until it is whole, the one before it is there under another name, and is found."""
    path = tmp_path / "ck"
    checkpoint({"v": np.float32(1)}).write(path, IN_PARTS)
    checkpoint({"v": np.float32(2)}).write(path, IN_PARTS)
    assert [each.name for each in tmp_path.iterdir()] == ["ck.orbax"]
    restored = checkpoint({"v": np.float32(0)})
    restored.read(path)
    assert restored.v.numpy() == 2
    (tmp_path / "ck.orbax").rename(tmp_path / "ck.before.orbax")
    restored.v.assign(0.0)
    restored.read(path)
    assert restored.v.numpy() == 2


def test_what_does_not_fit_is_an_error_and_changes_nothing(tmp_path):
    path = checkpoint().write(tmp_path / "ck", IN_PARTS)
    other = checkpoint({"number": np.float32(7), "vector": np.zeros(4, np.int8)})
    with pytest.raises(ValueError, match=r"shape \(3,\) when attempting to restore variable with shape \(4,\)"):
        other.read(path)
    assert other.number.numpy() == 7
    (tmp_path / "ck.orbax" / "index" / "metadata").write_text('{"format": "another"}')
    with pytest.raises(tf.errors.DataLossError, match=r"ck\.orbax is damaged, or is none: its format is 'another'"):
        other.read(path)
    (tmp_path / "ck.orbax" / "index" / "metadata").write_text("{")
    with pytest.raises(tf.errors.DataLossError, match=r"ck\.orbax is damaged"):
        other.read(path)
    with pytest.raises(tf.errors.NotFoundError, match="there is no file"):
        other.read(tmp_path / "none")


def test_values_that_are_lost_are_an_error(tmp_path):
    path, restored = checkpoint().write(tmp_path / "ck", IN_PARTS), zeros()
    for file in (tmp_path / "ck.orbax" / "arrays").rglob("*"):
        if file.is_file():
            file.write_bytes(b"\0" * 9)
    with pytest.raises(tf.errors.DataLossError, match=r"ck\.orbax is damaged"):
        restored.read(path)
    assert restored.number.numpy() == 0


def test_a_folder_of_the_user_stays(tmp_path):
    folder = tmp_path / "ckpt-1.orbax"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    parts.remove(str(tmp_path / "ckpt-1"))
    with pytest.raises(ValueError, match="already exists"):
        checkpoint().save(tmp_path / "ckpt", IN_PARTS)
    assert (folder / "mine").read_text() == "mine"


def test_an_error_beside_the_training_is_raised_by_the_next_save(tmp_path):
    saved = checkpoint()
    saved.write(tmp_path / "ck", BESIDE)
    parts._pending.result()

    def fails():
        raise OSError(28, "No space left on device")

    parts._pending = parts.Background().submit(fails)
    with pytest.raises(OSError, match="No space left"):
        saved.write(tmp_path / "ck", BESIDE)
    saved.write(tmp_path / "ck", BESIDE)
    saved.sync()


def test_without_orbax_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    package.cache_clear()
    with pytest.raises(ImportError, match=r"need orbax, .*: pip install 'orbax-checkpoint>=0.11'$"):
        checkpoint().write(tmp_path / "ck", IN_PARTS)


@pytest.mark.skipif((3, 12) <= sys.version_info < (3, 12, 2), reason="Python 3.12.0 and 3.12.1 start no thread at their end")
def test_python_ends_when_the_last_one_is_written(tmp_path):
    program = f"""
import gradtape as tf
v = tf.Variable(tf.ones([1000]))
tf.train.Checkpoint(v=v).save({str(tmp_path / "ck")!r}, tf.train.CheckpointOptions(enable_async=True))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    restored = checkpoint({"v": np.zeros(1000, np.float32)})
    restored.restore(tf.train.latest_checkpoint(tmp_path)).assert_consumed()
    assert restored.v[999].numpy() == 1
