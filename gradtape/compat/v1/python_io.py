"""TensorFlow 1's `python_io`: TFRecord files."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.files.records import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)

__getattr__ = _missing(__name__)
