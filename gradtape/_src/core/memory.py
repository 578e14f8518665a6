"""Whether a program fits into memory: asked before it runs, since afterwards the system may end the process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import jax

from gradtape._src.core.errors import ResourceExhaustedError

LARGE = 1 << 28  # bytes of values from which on a program is checked before it runs, and waited for


def limit() -> int:
    """How many bytes the default device has."""
    stats = jax.devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check(compiled: Any, arguments: Sequence[Any]) -> None:
    """Raise ResourceExhaustedError if XLA says that a program needs more memory than there is."""
    needs = compiled.lower(*arguments).compile().memory_analysis()
    if needs is None:
        return
    total = needs.temp_size_in_bytes + needs.output_size_in_bytes + needs.argument_size_in_bytes
    if total > limit():
        raise ResourceExhaustedError(
            None,
            None,
            f"Out of memory: this needs {total / 2**30:,.1f} GiB, and the device has {limit() / 2**30:,.1f} GiB. No variable was "
            "changed. Use smaller batches, or look for a broadcast or product that makes a tensor larger than meant.",
        )


def translated(error: Exception) -> Exception:
    """What the user sees of an error of XLA's runtime."""
    if "RESOURCE_EXHAUSTED" in str(error) or "ut of memory" in str(error):
        return ResourceExhaustedError(None, None, f"Out of memory: {error}. No variable was changed.")
    return error
