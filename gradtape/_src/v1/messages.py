"""TensorFlow 1's messages, through Python's logger."""

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
_counts: Counter[str] = Counter()  # of messages, by their text before arguments are put in


@public
def vlog(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message at a level, as `log`."""
    _logger.log(level, msg, *args, **kwargs)


@public
def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Log a message if the condition holds."""
    if condition:
        _logger.log(level, msg, *args)


@public
def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message the first time that it is given, and then each `n`-th time."""
    log_if(level, msg, _counts[msg] % n == 0, *args)
    _counts[msg] += 1


@public
def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log a message the first `n` times that it is given."""
    log_if(level, msg, _counts[msg] < n, *args)
    _counts[msg] += 1


@public
def flush() -> None:
    """Write out what the logger's handlers hold."""
    for handler in _logger.handlers:
        handler.flush()


@public
def TaskLevelStatusMessage(msg: str) -> None:
    """Log a message as an error, so that it is seen."""
    _logger.error(msg)
