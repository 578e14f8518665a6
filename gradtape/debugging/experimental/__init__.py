"""Dumps for debugging."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.settings.switches import (
    disable_dump_debug_info as disable_dump_debug_info,
    enable_dump_debug_info as enable_dump_debug_info,
)

__getattr__ = _missing(__name__)
