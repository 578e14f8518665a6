"""A step of `fit` with twenty embeddings is one program; an index that one of them has not leaves the model as it was."""

import numpy as np
import pytest

import gradtape as tf
import gradtape.keras as keras
from gradtape._src.core.engine import execution


def model_of_embeddings():
    keras.utils.set_random_seed(0)
    batch = keras.Input((20,), dtype="int32")
    rows = [keras.layers.Embedding(7, 2)(batch[:, k]) for k in range(20)]
    model = keras.Model(batch, keras.layers.Dense(1)(keras.layers.Concatenate()(rows)))
    model.compile("sgd", "mse")
    return model


def test_a_step_is_one_program(monkeypatch):
    model = model_of_embeddings()
    x, y = np.arange(160, dtype=np.int32).reshape(8, 20) % 7, np.ones((8, 1), np.float32)
    model.fit(x, y, batch_size=2, verbose=0)
    runs = []
    run = execution.execute

    def counted(program, *rest):
        runs.append(program)
        return run(program, *rest)

    monkeypatch.setattr(execution, "execute", counted)
    model.fit(x, y, batch_size=2, verbose=0)
    steps = [program for program in runs if program.guarded]
    assert len(steps) == 4
    assert len(runs) - len(steps) <= 4  # of metrics, once in an epoch

    x[1, 2] = 7
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 7 is not in \[-7, 7\)"):
        model.fit(x[:2], y[:2], verbose=0)
    for now, value in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(now, value)
