"""Matrix products of NumPy arrays, each computed by one thread of BLAS."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

Array = Any
Term = tuple[Array, str]  # an array, and a label for each axis

# BLAS uses one thread for products of at most this many multiplications. More threads would compete with XLA's for cores.
SERIAL = 1 << 18
DEPTH, WIDTH = 128, 64  # the size of blocks of a larger product, which fit into the caches; a narrow one is deeper
FEW = 1 << 12  # for so few multiplications, moving axes to form matrices does not pay


def product(x: Array, y: Array) -> Array:
    """Return the matrix products of `x` and `y` with broadcast batch axes, in blocks that BLAS computes by one thread."""
    rows, inner, columns = x.shape[-2], x.shape[-1], y.shape[-1]
    if rows * inner * columns <= SERIAL or x.dtype.kind in "iub":
        return np.matmul(x, y)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    result = np.empty((*batch, rows, columns), x.dtype)
    width = min(columns, WIDTH)
    depth = min(inner, max(DEPTH, SERIAL // (min(rows, WIDTH) * width)))
    height = min(rows, SERIAL // (depth * width))
    whole = rows - rows % height
    for start, stop in [(0, whole), (whole, rows)] if whole < rows else [(0, rows)]:
        count = max((stop - start) // height, 1)  # of blocks above each other, which are one call
        left = x[..., start:stop, :].reshape(*x.shape[:-2], count, (stop - start) // count, inner)
        below = result[..., start:stop, :].reshape(*batch, count, (stop - start) // count, columns)
        for column in range(0, columns, width):
            right, block = y[..., None, :, column : column + width], below[..., column : column + width]
            np.matmul(left[..., :depth], right[..., :depth, :], out=block)
            for at in range(depth, inner, depth):
                block += np.matmul(left[..., at : at + depth], right[..., at : at + depth, :])
    return result


def einsum(subscripts: str, operands: Sequence[Array]) -> Array:
    """Return the einsum of `operands` by matrix products; the subscripts must contain `->`."""
    given, _, output = subscripts.partition("->")
    terms: list[Term] = list(zip(operands, given.split(","), strict=True))
    path: Any = [range(len(terms))]
    if len(terms) > 2:
        path = np.einsum_path(subscripts, *operands, optimize="greedy")[0][1:]
    for together in path:
        chosen = [terms[i] for i in together]
        terms = [term for i, term in enumerate(terms) if i not in together]
        met = chosen.pop(0)
        while chosen:
            other = chosen.pop(0)
            met = _pair(met, other, set(output).union(*[labels for _, labels in terms + chosen]))
        terms.append(met)
    [(x, labels)] = terms
    return np.einsum(f"{labels}->{output}", x)


def _pair(first: Term, second: Term, wanted: Collection[str]) -> Term:
    """Return the product of two terms, summed over all labels except the `wanted` ones."""
    x, a = _narrowed(first, {*wanted, *second[1]})
    y, b = _narrowed(second, {*wanted, *a})
    batch = [label for label in a if label in b and label in wanted]
    inner = [label for label in a if label in b and label not in wanted]
    rows, columns = [label for label in a if label not in b], [label for label in b if label not in a]
    extents = dict(zip(a + b, x.shape + y.shape, strict=True))
    labels = "".join([*batch, *rows, *columns])
    if not inner or math.prod(extents.values()) <= FEW:
        return np.einsum(f"{a},{b}->{labels}", x, y), labels

    def matrices(array: Array, names: str, left: list[str], right: list[str]) -> Array:
        ordered = np.transpose(array, [names.index(label) for label in (*batch, *left, *right)])
        sizes = [math.prod([extents[label] for label in group]) for group in (left, right)]
        return ordered.reshape(*[extents[label] for label in batch], *sizes)

    made = product(matrices(x, a, rows, inner), matrices(y, b, inner, columns))
    return made.reshape([extents[label] for label in labels]), labels


def _narrowed(term: Term, wanted: Collection[str]) -> Term:
    """Return a term summed over all labels except the `wanted` ones, without repeated labels."""
    x, labels = term
    kept = "".join(dict.fromkeys([label for label in labels if label in wanted]))
    return (x if kept == labels else np.einsum(f"{labels}->{kept}", x)), kept
