"""TensorFlow 1's `io`. Other names are those of `gradtape.io`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.files.records import (
    TFRecordCompressionType as TFRecordCompressionType,
    tf_record_iterator as tf_record_iterator,
)

__getattr__ = _falls_back(__name__, "io")
