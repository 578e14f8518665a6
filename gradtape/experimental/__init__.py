"""What TensorFlow keeps under `tf.experimental`: DLPack."""

from gradtape._src.compat.names import missing as _missing
from gradtape.experimental import dlpack as dlpack

__getattr__ = _missing(__name__)
