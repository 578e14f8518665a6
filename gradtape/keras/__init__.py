"""Keras on gradtape: `tf.keras`."""

from gradtape._src.compat.keras import attribute as __getattr__, names as __dir__

__all__ = ["__dir__", "__getattr__"]
