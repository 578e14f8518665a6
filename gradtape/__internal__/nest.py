"""Structures that are walked only as far as another one."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.tensors.shallow_nest import (
    flatten_up_to as flatten_up_to,
    get_traverse_shallow_structure as get_traverse_shallow_structure,
    is_mapping as is_mapping,
    list_to_tuple as list_to_tuple,
    map_structure_up_to as map_structure_up_to,
    yield_flat_paths as yield_flat_paths,
)

__getattr__ = _missing(__name__)
