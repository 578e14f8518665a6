"""The first epoch of Keras's `fit` in a new process, of the model of fit_lstm.py: tracing and compiling included."""

from benchmarks.rows.fit_lstm import (
    gradtape as gradtape,  # type: ignore[attr-defined]
    keras_jax as keras_jax,  # type: ignore[attr-defined]
    keras_tensorflow as keras_tensorflow,  # type: ignore[attr-defined]
    keras_torch as keras_torch,  # type: ignore[attr-defined]
)

KEY = "hn3"
TITLE = "cold: first epoch of Keras fit, lstm"
MEASURE = "first step"
TARGETS = {"keras_tensorflow": 0.8}
