"""`SaveOptions` and `LoadOptions`, the arguments of TensorFlow's `save` and `load`; and its constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SERVING, TRAINING, GPU, TPU = "serve", "train", "gpu", "tpu"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
VARIABLES_DIRECTORY = VARIABLES_FILENAME = "variables"


@dataclass
class SaveOptions:
    """TensorFlow's options for saving a model. They are accepted and have no effect.

    >>> options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    >>> tf.saved_model.save(tf.train.Checkpoint(w=tf.Variable(2.0)), "with options", options=options)
    >>> print(tf.saved_model.load("with options").w.numpy())
    2.0
    """

    namespace_whitelist: Any = None
    save_debug_info: bool = False
    function_aliases: Any = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Any = None
    extra_tags: Any = None


@dataclass
class LoadOptions:
    """TensorFlow's options for loading a model. They are accepted and have no effect.

    >>> tf.saved_model.save(tf.train.Checkpoint(w=tf.Variable(2.0)), "to load")
    >>> options = tf.saved_model.LoadOptions(experimental_io_device="/job:localhost")
    >>> print(tf.saved_model.load("to load", options=options).w.numpy())
    2.0
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: Any = None
    experimental_load_function_aliases: bool = False
