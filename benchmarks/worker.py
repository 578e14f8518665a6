"""A process that runs one row of the benchmark for one peer, told what to do by lines on its standard input.

====================== ===================================== ==========================================
line                   what it does                          answer
====================== ===================================== ==========================================
torch_on_gpu           makes PyTorch's tensors on a GPU      ok
tune                   gradtape's tune_allocator()           ok
prepare ROW FUNCTION   imports the framework, builds a step  ok
run N                  N steps; waits for the last results   ok SECONDS
look N                 N steps, waits for the results each   ok SECONDS
save PATH              keeps the last results as PATH.npz    ok
reset_peak             forgets the peak of the memory        ok
memory                 counts what the process holds         ok RESIDENT PEAK OBJECTS (bytes, bytes, 1)
====================== ===================================== ==========================================

An exception is answered by `error` and its last line, in full on standard error. Only what the row itself needs is
imported: a worker is also how a cold start is measured.
"""

import os
import sys
import time
import traceback

LINUX = sys.platform == "linux"


def flatten(output):
    """The arrays in nested lists and tuples, in order."""
    if isinstance(output, list | tuple):
        for part in output:
            yield from flatten(part)
    else:
        yield output


def values(output):
    """Every array of `output` as NumPy sees it, which waits for it; no copy is made where memory can be shared."""
    import numpy as np

    return [np.asarray(array.detach().cpu() if hasattr(array, "detach") else array) for array in flatten(output)]


def resident_and_peak():
    """Bytes of memory that this process holds, and the most that it held."""
    if LINUX:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return tuple(1024 * int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak, peak


class Worker:
    """The commands; the methods bear their names."""

    def __init__(self):
        self.step = self.output = None

    def tune(self):
        from gradtape.config import tune_allocator

        tune_allocator()

    def torch_on_gpu(self):
        import torch

        torch.set_default_device("cuda")
        from_numpy = torch.from_numpy
        torch.from_numpy = lambda array: from_numpy(array).to("cuda")

    def prepare(self, row, function):
        from importlib import import_module

        self.step = getattr(import_module(f"benchmarks.rows.{row}"), function)()

    def run(self, count):
        step = self.step
        start = time.perf_counter()
        for _ in range(int(count)):
            output = step()
        values(output)
        seconds = time.perf_counter() - start
        self.output = output
        return seconds

    def look(self, count):
        step = self.step
        start = time.perf_counter()
        for _ in range(int(count)):
            output = step()
            values(output)
        seconds = time.perf_counter() - start
        self.output = output
        return seconds

    def save(self, path):
        import numpy as np

        np.savez(path, *values(self.output))

    def reset_peak(self):
        if LINUX:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")

    def memory(self):
        import gc

        gc.collect()
        resident, peak = resident_and_peak()
        return f"{resident} {peak} {len(gc.get_objects())}"


def main():
    # Frameworks print to standard output; the answers get a pipe that only they can reach.
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
