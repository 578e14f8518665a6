"""`import gradtape.compat.v2 as tf`: gradtape itself."""

from gradtape import __internal__ as __internal__
from gradtape._src.compat.v1_names import falls_back as _falls_back

__getattr__ = _falls_back(__name__)
