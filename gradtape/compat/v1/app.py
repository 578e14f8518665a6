"""TensorFlow 1's `app`: a script's flags and its `main`, by absl."""

from absl import flags as flags

from gradtape._src.compat.app import run as run
from gradtape._src.compat.names import missing as _missing

__getattr__ = _missing(__name__)
