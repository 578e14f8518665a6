"""Whether TensorFlow 2 is what code gets."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.settings.switches import behaves_as_tensorflow_2

enabled = behaves_as_tensorflow_2
__getattr__ = _missing(__name__)
