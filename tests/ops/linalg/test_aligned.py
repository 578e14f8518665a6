"""Large products of odd extents, padded as for a GPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gradtape._src.ops.linalg import matmul

PRODUCT = jax.lax.dot_general


@pytest.fixture
def padded(monkeypatch):
    """The shapes of the products that are computed, as on a GPU, where products of 2 in each extent are large."""
    shapes = []

    def noting(x, y, *arguments, **named):
        shapes.append((x.shape, y.shape))
        return PRODUCT(x, y, *arguments, **named)

    monkeypatch.setattr(matmul, "WORTH_COPIES", 1)
    monkeypatch.setattr(matmul, "WIDE", 2)
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *operands, cuda, default: cuda(*operands))
    monkeypatch.setattr(jax.lax, "dot_general", noting)
    return shapes


@pytest.mark.parametrize(
    ("x", "y", "axes", "dtype", "expected"),
    [
        ((3, 5), (5, 7), (1, 0), "float32", ((3, 8), (8, 8))),
        ((5, 3), (5, 7), (0, 0), "float32", ((5, 4), (5, 8))),
        ((3, 5), (7, 5), (1, 1), "float32", ((3, 8), (8, 8))),
        ((5, 3), (7, 5), (0, 1), "float32", ((8, 4), (8, 8))),
        ((8, 4), (4, 12), (1, 0), "float32", ((8, 4), (4, 12))),
        ((2, 3, 4), (7, 4), (2, 1), "float32", ((2, 3, 4), (8, 4))),
        ((3, 5), (5, 9), (1, 0), "bfloat16", ((3, 8), (8, 16))),
        ((3, 5), (5, 7), (1, 0), "float64", ((3, 5), (5, 7))),
        ((3, 5), (5, 7), (1, 0), "int32", ((3, 5), (5, 7))),
        ((3, 5), (5, 1), (1, 0), "float32", ((3, 5), (5, 1))),
    ],
)
def test_rows_start_at_multiples_of_16_bytes(padded, x, y, axes, dtype, expected):
    x, y = (jnp.asarray(np.random.default_rng(0).integers(-8, 8, shape), dtype) for shape in (x, y))
    contracted = ((axes[0],), (axes[1],))
    found = matmul._product(x, y, contracted=contracted, dtype=x.dtype)
    assert padded == [expected]
    np.testing.assert_array_equal(found, PRODUCT(x, y, (contracted, ((), ())), preferred_element_type=x.dtype))
