"""TensorFlow 1's logging functions, based on Python's logging."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from gradtape._src.core.base.public import public

# Levels of `logging.set_verbosity`.
DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_logger = logging.getLogger("gradtape")
debug, info, warning, error, fatal, log = (
    _logger.debug,
    _logger.info,
    _logger.warning,
    _logger.error,
    _logger.critical,
    _logger.log,
)
warn = warning
set_verbosity, get_verbosity = _logger.setLevel, _logger.getEffectiveLevel
_counts: Counter[str] = Counter()  # the number of calls by message, before arguments are inserted


@public
def vlog(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level, like `log`."""
    _logger.log(level, msg, *args, **kwargs)


@public
def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Log a message if the condition is true."""
    if condition:
        _logger.log(level, msg, *args)


@public
def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message at its first call, and at each `n`-th one."""
    log_if(level, msg, _counts[msg] % n == 0, *args)
    _counts[msg] += 1


@public
def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message at its first `n` calls."""
    log_if(level, msg, _counts[msg] < n, *args)
    _counts[msg] += 1


@public
def flush() -> None:
    """Flush the logger's handlers."""
    for handler in _logger.handlers:
        handler.flush()


@public
def TaskLevelStatusMessage(msg: str) -> None:
    """Log a message at the level of errors, so that it is visible."""
    _logger.error(msg)
