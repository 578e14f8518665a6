"""Functions that run as Python in each call: all of them on request, or those that cannot be compiled, which log the reason."""

from __future__ import annotations

import logging

from gradtape._src.core.base.errors import NeedsValues, UnimplementedError
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import foreign, internal
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Line

FIX = "Take that out of the function, or put @tf.function on the parts of it that do without: these are compiled."
logger = logging.getLogger("gradtape")
_required = False
everywhere = False  # whether all functions run as Python


@public
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run functions as plain Python from now on (True), or compiled again (False); for debugging.

    >>> @tf.function
    ... def square(x):
    ...     print("called")  # a compiled function calls its Python code once for each signature
    ...     return x * x
    >>> tf.config.run_functions_eagerly(True)
    >>> total = square(tf.constant(2.0)) + square(tf.constant(3.0))
    called
    called
    >>> tf.config.run_functions_eagerly(False)
    """
    global everywhere
    everywhere = bool(run_eagerly)


@public
def functions_run_eagerly() -> bool:
    """Return whether functions run as plain Python.

    >>> tf.config.functions_run_eagerly()
    False
    """
    return everywhere


@public
def require_compiled_functions(required: bool = True) -> None:
    """Raise UnimplementedError instead of running a function as Python because a shape or its control flow depends on values.

    By default such a function logs this once, with the line that is the reason.

    >>> @tf.function
    ... def positive(x):
    ...     return tf.boolean_mask(x, x > 0.0) * 2.0
    >>> tf.config.require_compiled_functions()
    >>> try:
    ...     positive(tf.constant([1.0, -1.0]))
    ... except tf.errors.UnimplementedError as error:
    ...     print(error.message[:42])
    positive runs as Python in each call, as t
    >>> tf.config.require_compiled_functions(False)
    """
    global _required
    _required = bool(required)


def line_of(reason: BaseException) -> Line:
    """Return the innermost line of user code in an exception's traceback."""
    found: Line = (None, 0)
    entry = reason.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if not internal[code.co_filename] and not foreign[code.co_filename]:
            found = code, entry.tb_lasti
        entry = entry.tb_next
    return found


def tell(name: str, reason: NeedsValues, line: Line, again: bool) -> None:
    """Log that a function runs as Python, unless `again`; UnimplementedError if `require_compiled_functions` is set."""
    if again and not _required:
        return
    file, number = journal.file_and_number(line)
    where = "" if file is None else f" ({file}:{number})"
    why = str(reason).rstrip(".")
    message = f"{name} runs as Python in each call, as this cannot be compiled{where}: {why}. {reason.fix or FIX}"
    if _required:
        raise UnimplementedError.saying(message)
    logger.warning("%s", message)
