"""Types for annotations and `isinstance`."""

from gradtape._src.compat.names import missing as _missing
from gradtape.types import experimental as experimental

__getattr__ = _missing(__name__)
