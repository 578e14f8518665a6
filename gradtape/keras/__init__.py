"""Keras on gradtape: `tf.keras`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from gradtape._src.compat.door.keras import attribute as __getattr__, names as __dir__, public as __all__

if _TYPE_CHECKING:  # an editor and a type checker find Keras's names here
    from keras import *  # noqa: F403
