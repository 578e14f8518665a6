"""Sparsity patterns of Jacobians and Hessians, with the colours of columns or rows that share a product."""

from __future__ import annotations

import functools
import itertools
import os
import zipfile
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, Program
from gradtape._src.derivatives.colouring import MODES, coloured
from gradtape._src.derivatives.decompression import terms_of

if TYPE_CHECKING:
    from scipy import sparse

MIRRORED = ("symmetric", "substitution")


class Sparsity:
    """The sparsity pattern of a Jacobian or Hessian, and its colours: the result of `jacobian_sparsity` or `hessian_sparsity`.

    `Sparsity(matrix)` takes a known pattern: the nonzero entries of a matrix of SciPy or NumPy. `shape`: (elements
    of the result, elements of the argument). `rows` and `columns`: the places, sorted by rows. `mode`: "forward" where columns of
    one colour are found together, "reverse" where rows are, "both" where some rows are and the columns of the others. With
    "symmetric", of a Hessian, an entry may be read at its mirror image. With "substitution" it may be an element of a product
    minus entries that were found before. `colours`: of the columns or rows; for "both" of the columns, then of the rows, -1
    for those in no product. `products`: the number of colours.

    >>> sparsity = tf.autodiff.jacobian_sparsity(lambda x: x[1:] * x[:-1], tf.ones([4]))
    >>> print(sparsity, sparsity.rows.tolist(), sparsity.columns.tolist())
    <Sparsity 3×4, 6 entries, 2 products forward> [0, 0, 1, 1, 2, 2] [0, 1, 1, 2, 2, 3]
    """

    @public
    def __init__(self, pattern: sparse.csr_matrix, mode: str | None = None) -> None:
        if mode is not None and mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))} or None, received {mode!r}.")
        pattern = _entries(pattern)
        if mode in MIRRORED:
            if pattern.shape[0] != pattern.shape[1]:
                raise ValueError(f"A {mode!r} pattern is square, received one of shape {pattern.shape}.")
            pattern = _entries(pattern + pattern.T)
        self.shape: tuple[int, int] = pattern.shape
        self.rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        self.columns = pattern.indices.astype(np.int64)
        self.mode, self.colours = coloured(pattern, mode)

    @property
    def sides(self) -> tuple[bool, ...]:
        """The kinds of products in their order: True for sums of columns, False for sums of rows."""
        return (True, False) if self.mode == "both" else (self.mode != "reverse",)

    def _of_side(self, columns: bool) -> np.ndarray:
        """Return the colours of all columns or rows, counted from 0."""
        if self.mode != "both":
            return self.colours
        forward, reverse = np.split(self.colours, [self.shape[1]])
        return forward if columns else np.where(reverse < 0, -1, reverse - forward.max(initial=-1) - 1)

    @property
    def products(self) -> int:
        """The number of colours: of the products that hold all entries."""
        return int(self.colours.max(initial=-1)) + 1 if len(self.rows) else 0

    def __repr__(self) -> str:
        return f"<Sparsity {self.shape[0]}×{self.shape[1]}, {len(self.rows)} entries, {self.products} products {self.mode}>"

    def seeds(self, dtype: np.dtype, columns: bool = True) -> np.ndarray:
        """Return, for each colour of the columns or rows, the sum of its unit vectors."""
        colours = self._of_side(columns)
        (some,) = np.nonzero(colours >= 0)
        vectors = np.zeros((colours.max(initial=-1) + 1 if len(self.rows) else 0, len(colours)), dtype)
        if len(vectors):
            vectors[colours[some], some] = 1
        return vectors

    @property
    def matrix(self) -> sparse.csr_matrix:
        """The pattern as a boolean CSR matrix."""
        from scipy import sparse

        return sparse.csr_matrix((np.ones(len(self.rows), bool), (self.rows, self.columns)), self.shape)

    @functools.cached_property
    def by_columns(self) -> Sparsity:
        """The same pattern with columns that are found together."""
        return self if self.mode == "forward" else Sparsity(self.matrix, "forward")

    @functools.cached_property
    def transposed(self) -> Sparsity:
        """The pattern of the transpose, with columns that are found together."""
        return Sparsity(self.matrix.T.tocsr(), "forward")

    @public
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pattern with its colours to a file, in NumPy's format npz; `load` reads it.

        >>> import tempfile
        >>> pattern = tf.autodiff.jacobian_sparsity(tf.sin, tf.zeros([3]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pattern.save(folder + "/pattern.npz")
        ...     print(tf.autodiff.Sparsity.load(folder + "/pattern.npz"))
        <Sparsity 3×3, 3 entries, 1 products forward>
        """
        with open(path, "wb") as file:
            kept = {name: getattr(self, name) for name in ("shape", "rows", "columns", "colours", "mode")}
            np.savez_compressed(file, **kept)

    @staticmethod
    @public
    def load(path: str | os.PathLike[str]) -> Sparsity:
        """Read a pattern that `save` wrote. ValueError for a file that holds none, or one whose colours do not give its entries.

        The pattern is compared with a product where it is used, as any that is stated.
        """
        try:
            with np.load(path) as kept:
                shape, rows, columns, colours, mode = [kept[name] for name in ("shape", "rows", "columns", "colours", "mode")]
            if {a.dtype.kind for a in (shape, rows, columns, colours)} - {"i"}:
                raise ValueError("a part of it is no integers")
            return _loaded(tuple(shape.tolist()), rows, columns, colours, str(mode))
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{os.fspath(path)!r} holds no sparsity pattern that Sparsity.save wrote: {error}") from None

    @functools.cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The terms whose sums are the entries: the entry, position in the flattened products, and sign of each."""
        terms = terms_of(self.shape, self.rows, self.columns, self.colours, self.mode)
        if terms is None:
            raise ValueError("its colours do not tell its entries apart")
        return terms

    @property
    def places(self) -> np.ndarray:
        """The positions of the entries in the flattened products; not for "substitution", where an entry may be a sum."""
        return self.terms[1]


def _entries(pattern: Any) -> sparse.csr_matrix:
    """Convert a matrix of SciPy or NumPy to a new boolean CSR matrix."""
    from scipy import sparse

    if sparse.issparse(pattern) or (isinstance(pattern, np.ndarray) and pattern.ndim == 2 and pattern.dtype.kind in "biuf"):
        made = sparse.csr_matrix(pattern, copy=True)
        made.sum_duplicates()
        made.eliminate_zeros()
        return made.astype(bool)
    raise TypeError(f"A pattern is a matrix of SciPy, or of NumPy with numbers or booleans, received {pattern!r}.")


def stated(pattern: Any, shape: tuple[int, int]) -> Sparsity:
    """Check a user's pattern and return it; TypeError for another type, ValueError for another shape."""
    if not isinstance(pattern, Sparsity):
        raise TypeError(f"pattern must come from tf.autodiff.jacobian_sparsity, received {pattern!r}.")
    if pattern.shape != shape:
        raise ValueError(f"pattern is for a Jacobian of shape {pattern.shape}, and this one has shape {shape}.")
    return pattern


def _loaded(shape: Any, rows: np.ndarray, columns: np.ndarray, colours: np.ndarray, mode: str) -> Sparsity:
    """Return a pattern of these parts; ValueError unless they are consistent and the products determine each entry."""
    made = Sparsity.__new__(Sparsity)
    made.shape, made.rows, made.columns, made.colours, made.mode = shape, rows, columns, colours, mode
    if mode not in MODES or len(shape) != 2 or min(shape) < 0 or rows.shape != columns.shape:
        raise ValueError("its parts do not belong together")
    inside = [((places >= 0) & (places < extent)).all() for places, extent in zip((rows, columns), shape, strict=True)]
    expected = sum(shape) if mode == "both" else shape[int(made.sides[0])]
    least = -1 if mode == "both" else 0
    if rows.ndim != 1 or not all(inside) or colours.shape != (expected,) or not ((colours >= least) & (colours < expected)).all():
        raise ValueError("places or colours are outside of its shape")
    if (np.diff(rows * shape[1] + columns) <= 0).any():
        raise ValueError("its places are not sorted")
    both = rows * shape[1] + columns, columns * shape[1] + rows
    if mode in MIRRORED and (shape[0] != shape[1] or not np.isin(*both).all()):
        raise ValueError("it is not symmetric")
    forward, reverse = np.split(colours, [shape[1]])
    if mode == "both" and (reverse[reverse >= 0] <= forward.max(initial=-1)).any():
        raise ValueError("a colour is of rows and of columns")
    made.terms  # noqa: B018 - computing the terms checks them
    return made


def sparsity_of(
    program: Program,
    inputs: Sequence[Node],
    results: int,
    places: Sequence[int | None],
    widths: Sequence[int],
    mode: str | None,
) -> Sparsity:
    """Return the pattern of the first results of a Program; it is cached with the Program if it holds for all values.

    `places` are the parameters of the sources, None for an unused source; `widths` are their numbers of elements.
    """
    from gradtape._src.derivatives.dependence import dependence

    key = ("sparsity", mode, results, *places, *widths)
    known: Sparsity | None = program.derived.get(key)
    if known is None:
        values = [None if engine.symbolic(n) else engine.value(n) for n in inputs]
        first = dict(zip(places, itertools.accumulate([0, *widths]), strict=False))
        pattern, for_all = dependence(program, results, sum(widths), first, values)
        known = Sparsity(pattern, mode)
        if for_all:
            program.derived[key] = known
    return known
