"""A process that runs one row of the benchmark for one peer, controlled by lines on its standard input.

====================== ===================================== ==========================================
line                   what it does                          answer
====================== ===================================== ==========================================
tune                   gradtape's tune_allocator()           ok
prepare ROW FUNCTION   imports the framework, builds a step  ok
  DEVICE PRECISION SIZE  for "cpu" or "gpu", a precision (float32, bfloat16, rounded), "full" or "tiny"
run N                  N steps; waits for the last results   ok SECONDS
look N                 N steps, waits for the results each   ok SECONDS
                       (on a GPU they stay there)
save PATH              keeps the last results as PATH.npz    ok
reset_peak             forgets the peak of the memory        ok
processor              reads the clock of the process       ok SECONDS
memory                 counts what the process holds         ok RESIDENT PEAK OBJECTS (bytes, bytes, 1)
device_peak            the most that it held on the device   ok BYTES (nan: the device keeps no count)
count                  counts a step of gradtape's           ok FLOPS BYTES
====================== ===================================== ==========================================

An exception is answered by `error` and its last line, and printed in full on standard error. The worker imports only modules
that the row needs, because cold starts are measured with it, too.
"""

import os
import sys
import time
import traceback

from benchmarks.precision import EXACT, rounded, set_up_torch, wide
from benchmarks.rows import find

LINUX = sys.platform == "linux"


def flatten(output):
    """Yield the arrays in nested lists and tuples, in order."""
    if isinstance(output, list | tuple):
        for part in output:
            yield from flatten(part)
    else:
        yield output


def values(output):
    """Convert every array of `output` to NumPy, which waits for it, without copies where memory can be shared."""
    import numpy as np

    def seen(array):
        if not hasattr(array, "detach"):
            return np.asarray(array)
        array = array.detach().cpu()
        return (array.view(sys.modules["torch"].int16) if "bfloat16" in str(array.dtype) else array).numpy()

    return list(map(seen, flatten(output)))


def wait_on_a_card(output):
    """Wait until `output` and everything else in progress is computed, without copying to the host."""
    if "gradtape" in sys.modules:
        sys.modules["gradtape"].test.experimental.sync_devices()
    elif "torch" in sys.modules:
        sys.modules["torch"].cuda.synchronize()
    else:
        sys.modules["jax"].block_until_ready(output)


def resident_and_peak():
    """Return the resident and the peak memory of this process in bytes."""
    if LINUX:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return tuple(1024 * int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak, peak


class Worker:
    """The commands, each by the method of its name."""

    def __init__(self):
        self.step = self.output = None
        self.wait = values

    def tune(self):
        from gradtape.config import tune_allocator

        tune_allocator()

    def prepare(self, row, function, device="cpu", precision="float32", size="full"):
        module = find(row)
        if size == "tiny" and hasattr(module, "TINY"):
            module.SIZE = module.TINY
        if precision != "float32":
            module.start = rounded(module.start, "float32" if precision == EXACT else precision)
        if function.startswith("torch") and (device, precision) != ("cpu", "float32"):
            set_up_torch(device, precision)
        self.step = getattr(module, function)()
        self.wait = wait_on_a_card if device == "gpu" else values

    def run(self, count):
        step = self.step
        start = time.perf_counter()
        if hasattr(step, "many"):
            output = step.many(int(count))
        else:
            for _ in range(int(count)):
                output = step()
        self.wait(output)
        seconds = time.perf_counter() - start
        self.output = output
        return seconds

    def look(self, count):
        step = self.step
        start = time.perf_counter()
        for _ in range(int(count)):
            output = step()
            self.wait(output)
        seconds = time.perf_counter() - start
        self.output = output
        return seconds

    def save(self, path):
        import numpy as np

        np.savez(path, *map(wide, flatten(self.output)))

    def reset_peak(self):
        if LINUX:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")

    def processor(self):
        return time.process_time()

    def memory(self):
        import gc

        gc.collect()
        resident, peak = resident_and_peak()
        return f"{resident} {peak} {len(gc.get_objects())}"

    def device_peak(self):
        torch = sys.modules.get("torch")
        if torch is not None:
            return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else "nan"
        import jax

        return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", "nan")

    def count(self):
        import gradtape as tf

        cost = tf.profiler.profile(self.step, sources=[])
        return f"{cost.flops} {cost.forward.bytes}"


def main():
    # Frameworks print to standard output, so the answers get a pipe of their own.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            answer = getattr(worker, command)(*arguments)
            print("ok", "" if answer is None else answer, file=answers)
        except Exception as error:
            traceback.print_exc()
            last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
            print("error", last, file=answers)


if __name__ == "__main__":
    main()
