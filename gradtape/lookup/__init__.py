"""Tables from keys to values: `tf.lookup`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.lookup.initializers import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from gradtape._src.lookup.static import StaticHashTable as StaticHashTable, StaticVocabularyTable as StaticVocabularyTable
from gradtape.lookup import experimental as experimental

__getattr__ = _missing(__name__)
