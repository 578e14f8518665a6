"""Tensors to and from other libraries without a copy."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.tensors.dlpack import from_dlpack as from_dlpack, to_dlpack as to_dlpack

__getattr__ = _missing(__name__)
