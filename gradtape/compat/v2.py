"""`import gradtape.compat.v2 as tf`: gradtape itself."""

from gradtape import __internal__ as __internal__
from gradtape._src.compat.door import version as _version
from gradtape._src.compat.v1_names import falls_back as _falls_back

__version__ = _version.VERSION
__git_version__ = _version.GIT_VERSION
__compiler_version__ = _version.COMPILER_VERSION
__getattr__ = _falls_back(__name__)
