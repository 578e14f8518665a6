"""Imports that leave the program's state as it is."""

import contextlib
import gc
import random
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import in the block, and nothing else: no garbage is collected, of which an import makes next to none, and Python's random
    numbers go on where they stood. (rich draws one, and Keras takes seeds from there.)

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
