"""Imports without side effects on the program's state."""

import contextlib
import gc
import random
from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Open a context for imports.

    Garbage collection is off, since an import creates next to no garbage. Python's random state is restored: rich draws a number
    at import, and Keras takes seeds from it.
    """
    collects, drawn = gc.isenabled(), random.getstate()
    gc.disable()
    try:
        yield
    finally:
        random.setstate(drawn)
        if collects:
            gc.enable()
