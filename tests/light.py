"""Packages that Keras imports where they are installed, and few programs use. Without them a process starts a second earlier."""

import sys

UNUSED = ("matplotlib", "sklearn")
LIGHT = f"import sys; sys.modules |= dict.fromkeys({UNUSED}); "  # begins a program


def leave_out():
    """Make the imports of these packages fail in this process, as if they were not installed."""
    sys.modules |= dict.fromkeys(UNUSED)
