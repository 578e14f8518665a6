"""Options of the compiler."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.settings.switches import (
    get_experimental_options as get_experimental_options,
    get_jit as get_jit,
    set_experimental_options as set_experimental_options,
    set_jit as set_jit,
)

__getattr__ = _missing(__name__)
