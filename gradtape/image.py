"""Images."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.image import adjust_contrast as adjust_contrast

__getattr__ = _missing(__name__)
