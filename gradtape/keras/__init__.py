"""Keras on gradtape: `tf.keras`."""

from gradtape._src.compat.door.keras import attribute as __getattr__, names as __dir__, public as __all__
