"""The choice of Keras's backend, and whether it is this one. Standard library only."""

import contextlib
import importlib.util
import json
import os

NAME = "gradtape"
INHERITED = "GRADTAPE_AS_TENSORFLOW"  # the environment variable that `gradtape.as_tensorflow` sets


def nothing_else_is_chosen() -> bool:
    """Return whether Keras would use its default, TensorFlow, which is not installed."""
    if "KERAS_BACKEND" in os.environ or importlib.util.find_spec("tensorflow") is not None:
        return False
    settings = os.path.join(os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras"), "keras.json")
    with contextlib.suppress(OSError, ValueError), open(settings) as file:  # like Keras, ignore a missing or invalid file
        return bool(json.load(file).get("backend", "tensorflow") == "tensorflow")
    return True


def door_is_open() -> bool:
    """Return whether `import tensorflow` gives gradtape."""
    return os.environ.get(INHERITED) == "1"


def choose() -> None:
    """Choose this backend if a program asks Keras for TensorFlow's, and gradtape replaces TensorFlow."""
    if door_is_open() and os.environ.get("KERAS_BACKEND") in (None, "tensorflow"):
        os.environ["KERAS_BACKEND"] = NAME
