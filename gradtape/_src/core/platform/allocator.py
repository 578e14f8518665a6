"""The C allocator of this process: keep freed memory for the next step, or return it to the system."""

from __future__ import annotations

import ctypes
import sys

# Parameters of glibc's mallopt(3), from <malloc.h>.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8

LARGEST_INT = 2**31 - 1
# Some versions of glibc reject an mmap threshold above half of their largest heap (64 MiB).
MMAP_THRESHOLDS = (2**30, 2**25)

tuned = False  # whether the user wants to keep freed memory


def tune_allocator() -> bool:
    """Have glibc keep freed memory instead of returning it to the system; return whether it accepts the setting.

    By default glibc maps every large array anew and unmaps it when it is freed. So a step with large temporaries has page faults
    in each run. The setting applies to the whole process and keeps its memory at the peak, so importing gradtape never changes
    it. Call this before the first op, or start the program with ``gradtape run``. With another C library nothing happens, and the
    result is False.

    >>> agreed = tf.config.tune_allocator()  # at the top of a program: True with glibc
    """
    global tuned
    libc = _glibc()
    if libc is None:
        return False
    tuned = True
    mallopt = libc.mallopt
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    kept = any(mallopt(M_MMAP_THRESHOLD, threshold) for threshold in MMAP_THRESHOLDS)
    untrimmed = mallopt(M_TRIM_THRESHOLD, LARGEST_INT)
    one_arena = mallopt(M_ARENA_MAX, 1)
    return bool(kept and untrimmed and one_arena)


def give_back() -> bool:
    """Return freed memory to the system by malloc_trim(3); return whether there was any. False without glibc."""
    libc = _glibc()
    if libc is None:
        return False
    libc.malloc_trim.argtypes, libc.malloc_trim.restype = (ctypes.c_size_t,), ctypes.c_int
    return bool(libc.malloc_trim(0))


def _glibc() -> ctypes.CDLL | None:
    """Return the C library of this process if it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None
