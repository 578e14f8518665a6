"""Locks: none stays taken when a Ctrl-C arrives while it is taken, held or given back."""

import subprocess
import sys

import pytest

PROGRAM = """
import random, signal, sys, threading
from gradtape._src.core.base import locks


def interrupt(number, frame):
    raise KeyboardInterrupt


random.seed(0)
signal.signal(signal.SIGALRM, interrupt)
for make in sys.argv[1:]:
    lock = getattr(locks, make)()
    interrupted = 0
    while interrupted < 2000:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 5e-5))
            while True:
                with lock:
                    pass
        except KeyboardInterrupt:
            interrupted += 1
        taken = []
        other = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
        assert taken == [True], (make, interrupted)
        lock = getattr(locks, make)()
    print(make)
"""
MAKERS = ["_whole_lock", "_whole_rlock", "Lock", "RLock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no interval timer")
def test_no_interrupt_leaves_a_lock_taken():
    done = subprocess.run([sys.executable, "-c", PROGRAM, *MAKERS], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == MAKERS, done.stderr
