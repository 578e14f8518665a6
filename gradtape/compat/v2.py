"""`import gradtape.compat.v2 as tf`: gradtape itself."""

from gradtape import __internal__ as __internal__
from gradtape._src.compat.door.version import (
    COMPILER_VERSION as _COMPILER_VERSION,
    GIT_VERSION as _GIT_VERSION,
    VERSION as _VERSION,
)
from gradtape._src.compat.v1_names import falls_back as _falls_back

__version__ = _VERSION
__git_version__ = _GIT_VERSION
__compiler_version__ = _COMPILER_VERSION
__getattr__ = _falls_back(__name__)
