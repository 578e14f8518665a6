"""Make calls in a graph whose placeholders have unknown extents or no rank, and compare them with eager code.

`python -m tests.graph.sweep.run SECONDS < lines` takes lines of the form `extents NAME` or `rank NAME` and prints one line for
each: its number, the outcome and what there is to tell. `outcomes` runs it in processes, and again behind a call that ended one.
"""

import faulthandler
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
MEMORY = 12 << 30  # bytes of address space that the process may take
SAME, DIFFERENT, ERROR, DEATH, INVALID = "same", "different", "error", "death", "invalid"
KINDS = ("extents", "rank")


def flat(tf, result):
    """The tensors of a result."""
    found = tf.nest.flatten(result, expand_composites=True)
    return [item for item in found if isinstance(item, tf.Tensor)]


def inexact(tf, tensors):
    """Those that have a gradient."""
    return [t for t in tensors if t.dtype.is_floating or t.dtype.is_complex]


def weights(tf, tensors):
    """What flows into tensors in the gradient: numbers that differ and are made from their values."""
    return [tf.ones_like(t) + tf.cast(tf.cast(t, t.dtype) * 0.25, t.dtype) for t in tensors]


def eager(tf, call, arrays):
    """The values of a call and its gradients; a LookupError instead of gradients where TensorFlow has none."""
    given = [tf.constant(a) for a in arrays]
    with tf.GradientTape() as tape:
        tape.watch(given)
        results = flat(tf, call(*given))
        target = inexact(tf, results)
    sources = inexact(tf, given)
    found = []
    if target and sources:
        try:
            found = tape.gradient(target, sources, weights(tf, target))
        except LookupError:
            found = None
    return [r.numpy() for r in results], found and [None if g is None else tf.convert_to_tensor(g).numpy() for g in found]


def in_graph(tf, call, arrays, kind, differentiate):
    """As `eager`, of placeholders."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        shapes = [[None] * a.ndim if kind == "extents" else None for a in arrays]
        given = [v1.placeholder(a.dtype, shape) for a, shape in zip(arrays, shapes, strict=True)]
        results = flat(tf, call(*given))
        found = []
        target, sources = inexact(tf, results), inexact(tf, given)
        if differentiate and target and sources:
            found = tf.gradients(target, sources, weights(tf, target))
            found = [None if g is None else tf.convert_to_tensor(g) for g in found]
        with v1.Session() as session:
            feeds = dict(zip(given, arrays, strict=True))
            values, gradients = session.run((results, [g for g in found if g is not None]), feeds)
        told = iter(gradients)
        shapes = [(r.dtype, r.shape) for r in results]
    return values, [None if g is None else next(told) for g in found], shapes


def differs(expected, found):
    """What differs between two lists of arrays, or None."""
    if len(expected) != len(found):
        return f"{len(found)} results, expected {len(expected)}"
    for at, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a is None or b is None:
            if (a is None) != (b is None):
                return f"number {at} is {'None' if b is None else 'not None'}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"number {at} has {b.dtype}{list(b.shape)}, expected {a.dtype}{list(a.shape)}"
        if a.dtype.kind in "fc" or a.dtype.name == "bfloat16":
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            close = np.allclose(a.astype(wide), b.astype(wide), 1e-4, 1e-5, equal_nan=True)
        else:
            close = np.array_equal(a, b)
        if not close:
            return f"number {at} has other values"
    return None


def outcome(tf, line, floats="float64"):
    """Run one call both ways; `(outcome, text)`. A call that eager code refuses does not belong into the sweep.

    Arrays of float64 are given in the dtype `floats`.
    """
    from tests.graph.sweep.calls import CALLS

    kind, _, name = line.partition(" ")
    call, arrays = CALLS[name](tf)
    arrays = [a.astype(floats) if a.dtype == "float64" else a for a in arrays]
    try:
        values, gradients = eager(tf, call, arrays)
    except Exception as error:
        return INVALID, f"{type(error).__name__}: {error}"
    try:
        found, slopes, shapes = in_graph(tf, call, arrays, kind, gradients is not None)
    except Exception as error:
        return ERROR, f"{type(error).__name__}: {error}"
    if (told := differs(values, found)) is not None:
        return DIFFERENT, f"value {told}"
    if gradients is not None and (told := differs(gradients, slopes)) is not None:
        return DIFFERENT, f"gradient {told}"
    for (dtype, shape), value in zip(shapes, found, strict=True):
        if not shape.is_compatible_with(np.shape(value)) or dtype.as_numpy_dtype != np.asarray(value).dtype:
            return DIFFERENT, f"the graph says {dtype.name}{shape}, the value is {np.asarray(value).dtype}{list(np.shape(value))}"
    return SAME, ""


def main():
    lines, seconds = sys.stdin.read().splitlines(), float(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import gradtape as tf

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, line in enumerate(lines):
        print(number, "started", file=out)
        faulthandler.dump_traceback_later(seconds, exit=True)
        kind, told = outcome(tf, line)
        faulthandler.cancel_dump_traceback_later()
        print(number, kind, told.replace("\n", " ")[:200].encode("ascii", "replace").decode(), file=out)
    os._exit(0)


def outcomes(lines, seconds=120):
    """Run lines in processes; yield for each its text, the outcome, and what is to tell."""
    rest = list(lines)
    while rest:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.graph.sweep.run", str(seconds)],
            input="\n".join(rest), capture_output=True, text=True, cwd=ROOT, check=False,
            env=dict(os.environ, JAX_NUMPY_DTYPE_PROMOTION="strict", GRADTAPE_CACHE_DIR=""),
        )  # fmt: skip
        done = {}
        for line in ran.stdout.splitlines():
            number, kind, *told = line.split(" ", 2)
            done[int(number)] = kind, *(told or [""])
        if not done:
            raise RuntimeError(f"the process did not start: {ran.stderr[-2000:]}")
        last = max(done)
        if done[last][0] == "started":
            done[last] = DEATH, f"{ran.returncode} {ran.stderr[-300:]}"
        yield from [(rest[i], *done[i]) for i in range(last + 1)]
        rest = rest[last + 1 :]


if __name__ == "__main__":
    main()
