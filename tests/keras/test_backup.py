"""Keras's `BackupAndRestore`, as several processes have it: one checkpoint, from which training goes on."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.base import hooks
from gradtape._src.train import bundle_writer

keras = tf.keras
X = np.arange(24, dtype="float32").reshape(12, 2) / 12


def trained(folder, stop_at=None):
    """The epochs and losses of a fit that is backed up; RuntimeError at the beginning of an epoch."""

    def stop(epoch, logs):
        if epoch == stop_at:
            raise RuntimeError("stopped here")

    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4, "relu"), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    callbacks = [keras.callbacks.BackupAndRestore(folder), keras.callbacks.LambdaCallback(on_epoch_begin=stop)]
    history = model.fit(X, X[:, :1], batch_size=4, epochs=5, verbose=0, callbacks=callbacks)
    return history.epoch, history.history["loss"]


@pytest.mark.parametrize("tensorflows", [False, True], ids=["gradtape's files", "TensorFlow's"])
def test_training_goes_on_with_the_same_numbers(tmp_path, monkeypatch, tensorflows):
    monkeypatch.setattr(hooks.clients, "together", lambda what, function, *arguments: function(*arguments))
    monkeypatch.setattr(bundle_writer, "is_wanted", lambda: tensorflows)
    _, whole = trained(tmp_path / "whole")
    for stop_at in (2, 4):
        with pytest.raises(RuntimeError, match="stopped here"):
            trained(tmp_path / "backup", stop_at)
        assert (tmp_path / "backup" / f"ckpt-{stop_at}{'.index' if tensorflows else '.safetensors'}").exists()
    epochs, losses = trained(tmp_path / "backup")
    assert epochs == [4] and not (tmp_path / "backup").exists()
    np.testing.assert_allclose(losses, whole[4:], 1e-6)
