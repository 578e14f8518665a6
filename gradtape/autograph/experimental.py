"""Switches of autograph."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.control.directives import (
    Feature as Feature,
    do_not_convert as do_not_convert,
    set_loop_options as set_loop_options,
)

__getattr__ = _missing(__name__)
