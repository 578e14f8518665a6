"""Structures of lists, tuples, dictionaries, named tuples and dataclasses: flattening, packing, mapping."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.tensors.nest import (
    assert_same_structure as assert_same_structure,
    flatten as flatten,
    is_nested as is_nested,
    map_structure as map_structure,
    pack_sequence_as as pack_sequence_as,
)

__getattr__ = _missing(__name__)
