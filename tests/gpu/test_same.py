"""Programs on the card give what they give on the CPU; so do the ops, forward and backward."""

import numpy as np
import pytest

import gradtape as tf
from tests.gpu.programs import PROGRAMS, row_results
from tests.ops.rows import LEADING, ROWS

pytestmark = pytest.mark.gpu

# Of the largest element. A card adds and multiplies in another order, and has its own exponential function.
TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "bfloat16": 1e-1}
SAMPLE = 40  # every so many rows run in the default suite
MAIN = [name for name, row in ROWS.items() if row in LEADING and row.ops]


def mark(name, sample):
    return pytest.param(name, marks=[pytest.mark.sample] if sample else [])


@pytest.fixture(scope="module", autouse=True)
def full_precision(card):
    """Products of float32 are computed in float32, as on the CPU."""
    tf.config.experimental.enable_tensor_float_32_execution(False)
    yield
    tf.config.experimental.enable_tensor_float_32_execution(True)


def compare(received, expected, tolerance):
    assert [a.shape for a in received] == [a.shape for a in expected]
    assert [a.dtype for a in received] == [a.dtype for a in expected]
    for a, b in zip(received, expected, strict=True):
        if not tolerance or a.dtype.kind in "biuSOU":
            np.testing.assert_array_equal(a, b)
            continue
        wide = "complex128" if a.dtype.kind == "c" else "float64"
        finite = np.abs(b.astype(wide))[np.isfinite(b.astype(wide))]
        size = max(1.0, finite.max(initial=0.0))
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.__name__, marks=[pytest.mark.sample] * s.sample) for p, s in PROGRAMS.items()]
)
def test_program(program, card, on_cpu):
    compare(program(), on_cpu(program), PROGRAMS[program].tolerance)


@pytest.mark.parametrize("name", [mark(name, i % SAMPLE == 0) for i, name in enumerate(MAIN)])
def test_op(name, card, on_cpu):
    for dtype in TOLERANCE:
        if dtype in ROWS[name].dtypes or dtype == "float32":
            try:
                expected = on_cpu(row_results, name, dtype)
            except (TypeError, ValueError, LookupError, tf.errors.OpError):
                assert dtype not in ROWS[name].dtypes, f"{dtype} is one of the row's dtypes"
                continue  # an op of other dtypes
            computed = {dtype, *[array.dtype.name for array in expected]}  # an op may compute in float32 whatever it was given
            compare(row_results(name, dtype), expected, max([TOLERANCE.get(each, 0) for each in computed]))
