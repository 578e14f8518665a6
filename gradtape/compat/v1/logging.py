"""Messages, through Python's logger "gradtape"."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.setup import (
    DEBUG as DEBUG,
    ERROR as ERROR,
    FATAL as FATAL,
    INFO as INFO,
    WARN as WARN,
    debug as debug,
    error as error,
    fatal as fatal,
    get_verbosity as get_verbosity,
    info as info,
    log as log,
    set_verbosity as set_verbosity,
    warn as warn,
    warning as warning,
)

__getattr__ = _missing(__name__)
