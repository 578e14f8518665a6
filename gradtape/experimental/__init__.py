"""What TensorFlow keeps under `tf.experimental`: DLPack, and the `Optional` of datasets."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.data.optional import Optional as Optional
from gradtape.experimental import dlpack as dlpack

__getattr__ = _missing(__name__)
