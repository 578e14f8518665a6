"""Input pipelines: `tf.data`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.data.dataset import Dataset as Dataset
from gradtape._src.data.iterators import Iterator as Iterator, IteratorSpec as IteratorSpec, NumpyIterator as NumpyIterator
from gradtape._src.data.options import (
    AUTOTUNE as AUTOTUNE,
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
    Options as Options,
    ThreadingOptions as ThreadingOptions,
)
from gradtape._src.data.reading import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from gradtape._src.data.structure import DatasetSpec as DatasetSpec
from gradtape.data import experimental as experimental

__getattr__ = _missing(__name__)
