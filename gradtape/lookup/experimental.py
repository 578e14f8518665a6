"""Tables that change: `tf.lookup.experimental`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.lookup.mutable import DenseHashTable as DenseHashTable, MutableHashTable as MutableHashTable

__getattr__ = _missing(__name__)
