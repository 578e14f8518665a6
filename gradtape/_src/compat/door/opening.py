"""`gradtape.as_tensorflow()`, after which `import tensorflow` imports gradtape."""

from __future__ import annotations

import os
import sys

from gradtape._src.compat.door.finder import FINDER, TENSORFLOW_ROWS
from gradtape._src.compat.door.kernels import kernel
from gradtape._src.compat.door.private import name_classes
from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from keras_gradtape import choosing


@public
def as_tensorflow() -> None:
    """Make `import tensorflow` and all imports below it give gradtape, in this process and in its child processes.

    Call it before anything imports `tensorflow` or `keras`: in the first cell of a notebook, at the top of a program.
    From then on `import tensorflow as tf` is gradtape, in the program and in every library that it uses. `tf.__version__` is
    the version of TensorFlow whose behaviour is implemented, `tf.keras` is Keras on gradtape, and an installed TensorFlow is
    never loaded.

    A second call does nothing. Child processes inherit it by the environment variable `GRADTAPE_AS_TENSORFLOW=1`, if gradtape
    is installed.

    Raises:
      ImportError: if TensorFlow itself is loaded already.

    Example:
      >>> import gradtape
      >>> gradtape.as_tensorflow()
      >>> import tensorflow as tf
      >>> tf.__version__
      '2.21.0'
    """
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and getattr(loaded.__spec__, "loader", None) is not FINDER:
        raise ImportError(
            f"TensorFlow is loaded already, from {getattr(loaded, '__file__', None)!r}, and one process has one module of that "
            "name. Call gradtape.as_tensorflow() before anything imports tensorflow, or start the program with `gradtape run`.",
            name="tensorflow",
        )
    os.environ[choosing.INHERITED] = "1"  # keras_gradtape/startup.py reads it at the start of Python
    choosing.choose()
    FINDER.install(TENSORFLOW_ROWS)
    name_classes()
    hooks.door.is_open, hooks.door.kernel = True, kernel
