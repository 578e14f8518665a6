"""The first epoch of Keras's `fit` in a new process, 8 batches of 32, for thirteen models: tracing and compiling included.

The target for PyTorch holds for models with a step of less than 20 ms there. It compiles nothing, so its first step is as
any other.
"""

from functools import partial
from types import SimpleNamespace

from benchmarks.keras_fit import BACKENDS, BATCH, epoch
from benchmarks.models import MODELS

BATCHES = 8
QUICK = "mlp", "cnn", "lstm", "embeddings"


def of(which):
    """Return the row of one model."""
    model, number = MODELS[which], 1 + list(MODELS).index(which)
    sides = {name: partial(side, backend, model) for name, backend in BACKENDS.items()}
    title = f"cold: first epoch of Keras fit, {model.title}"
    key = f"hn{number}" if number > 1 else "hn"
    targets = {"keras_tensorflow": 0.8} | ({"keras_torch": 3.0} if which in QUICK else {})
    return SimpleNamespace(KEY=key, TITLE=title, MEASURE="first step", TARGETS=targets, **sides)


def side(backend, model):
    """Return the step on one backend."""
    return epoch(backend, model.build, *model.data(BATCH * BATCHES))
