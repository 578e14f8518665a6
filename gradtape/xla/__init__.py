"""Names for asking for XLA, which compiles all programs."""

from gradtape._src.compat.names import missing as _missing
from gradtape.xla import experimental as experimental

__getattr__ = _missing(__name__)
