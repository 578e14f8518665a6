"""Imports without side effects on the program's state."""

import contextlib
import gc
import random
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Open a context for imports.

    Garbage collection is off, since an import creates next to no garbage. Python's random state is restored: rich draws a number
    at import, and Keras takes seeds from it.

    ImportError in a Python that runs without its global lock.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # from Python 3.13 on
        raise ImportError(
            "gradtape is not tested without Python's global interpreter lock. Use an ordinary build of Python, or start this"
            " one with PYTHON_GIL=1."
        )
    collects, drawn = gc.isenabled(), random.getstate()
    gc.disable()
    try:
        yield
    finally:
        random.setstate(drawn)
        if collects:
            gc.enable()
