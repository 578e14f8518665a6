"""Imports that leave the program's state as it is."""

import contextlib
import gc
import random
from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import in the block, and nothing else: no garbage is collected, of which an import makes next to none, and Python's random
    numbers go on where they stood. (rich draws one, and Keras takes seeds from there.)
    """
    collects, drawn = gc.isenabled(), random.getstate()
    gc.disable()
    try:
        yield
    finally:
        random.setstate(drawn)
        if collects:
            gc.enable()
