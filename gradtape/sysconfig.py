"""The answers of TensorFlow's build: the C++ interface, which gradtape does not have, and whether GPUs can be used."""

from gradtape._src.compat.build import (
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    CXX_VERSION as CXX_VERSION,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    get_build_info as get_build_info,
)
from gradtape._src.compat.names import missing as _missing

__getattr__ = _missing(__name__)
