"""Locks: none stays taken when a Ctrl-C arrives while it is taken, held or given back."""

import subprocess
import sys

import pytest

PROGRAM = """
import random, signal, threading
from gradtape._src.core.base import locks

random.seed(0)
lock = locks.{make}()


def interrupt(number, frame):
    raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)
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
    assert taken == [True], interrupted
    lock = locks.{make}()
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no interval timer")
@pytest.mark.parametrize("make", ["_whole_lock", "_whole_rlock", "Lock", "RLock"])
def test_no_interrupt_leaves_a_lock_taken(make):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(make=make)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "done\n", done.stderr
