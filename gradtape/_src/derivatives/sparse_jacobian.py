"""Sparse Jacobians: the pattern, a few products that contain all entries, and the matrix assembled from these."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from ml_dtypes import finfo

from gradtape._src.autodiff.backward import jvp_program, vjp_program
from gradtape._src.autodiff.vectorized import check_chunk
from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.base.errors import LOOKS_AT_VALUES
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import aval
from gradtape._src.derivatives.ahead import call_ahead
from gradtape._src.derivatives.evaluation import Nest, Point, check_function, inexact, kinds_of, own, places_of, sources_of
from gradtape._src.derivatives.sparsity import MIRRORED, Sparsity, sparsity_of, stated
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import scatter_rows
from gradtape._src.ops.array.joining import concat, stack, unstack
from gradtape._src.ops.array.shape import reshape, zeros
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.sparse.tensor import SparseTensor

FORMATS = ("csr", "coo", "dense", "tensor")


class Recorded:
    """The Program of a function at a point, with the positions of the sources and the number of the results."""

    def __init__(self, f: Callable[..., Any], args: Any, sources: Any) -> None:
        check_function(f)
        given = Point(args)
        if sources is None:
            given.leaves = wanted = [own(tensor(x) if isinstance(x, Variable) else x) for x in given.leaves]
        else:
            wanted = sources_of(sources).leaves
        self.sources: list[Any] = [x for x in wanted if inexact(x)]
        if not self.sources or any(x.dtype.is_complex for x in self.sources):
            received = kinds_of(wanted) or "nothing"
            raise ValueError(f"A sparse Jacobian is with respect to floating numbers, received {received}.")
        parameters: list[Node] = []
        if sources is None:
            parameters = [leaf(x.node.aval, None) for x in self.sources]
            symbols = iter(parameters)
            given.leaves = [EagerTensor(next(symbols)) if inexact(x) else x for x in given.leaves]
        results: list[Tensor] = []

        def run() -> list[Tensor]:
            result = given.call(f, given.leaves)
            result = dense(result) if isinstance(result, IndexedSlices) else result
            found = [tensor(x) if isinstance(x, Variable) else x for x in Nest(result).leaves]
            results.extend([dense(x) if isinstance(x, IndexedSlices) else x for x in found])
            for x in results:
                if not isinstance(x, Tensor) or not x.dtype.is_floating:
                    raise ValueError(f"f must return floating tensors; it returned {result!r}.")
            self.alone = isinstance(result, (Tensor, Variable))
            return results

        try:
            body = trace(run, parameters, Scope(True, creates=False))
        except LOOKS_AT_VALUES as error:
            raise NotImplementedError(
                f"A sparse Jacobian is read off the function's program, and f cannot be traced: {error} Take tf.autodiff.jacrev."
            ) from None
        self.program = body.program
        self.inputs = body.inputs([x.node for x in self.sources] if sources is None else [])
        self.results = [self.program.aval_of(r) for r in self.program.outputs[: len(results)]]
        in_order: list[int | None] = list(range(len(parameters)))
        self.places = in_order if sources is None else places_of(self.sources, body, len(parameters))
        self.widths = [x.node.aval.size if isinstance(x, Tensor) else x.aval.size for x in self.sources]
        self.shape = sum(a.size for a in self.results), sum(self.widths)
        self.alone = self.alone and len(self.sources) == 1

    def sparsity(self, mode: str | None) -> Sparsity:
        """Return the pattern; it is cached with the Program if it holds for all values."""
        return sparsity_of(self.program, self.inputs, len(self.results), self.places, self.widths, mode)


def check_options(format: str, chunk_size: int | None) -> None:
    """Raise ValueError for an unknown format or a wrong chunk size."""
    check_chunk(chunk_size)
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, received {format!r}.")


@public
def jacobian_sparsity(f: Callable[..., Any], args: Any, mode: str | None = None, sources: Any = None) -> Sparsity:
    """Return the sparsity pattern of the Jacobian of `f` at `args`, for use in `sparse_jacobian(…, pattern=…)`.

    `args` and `sources` as for `sparse_jacobian`. `f` is traced, not run, and the dependences of elements are followed through
    its program. The pattern may contain entries that are zero, but misses none that is not. It may depend on values: zeros of
    constant factors and the indices of gathers are used, so other values need a new pattern. `mode`: products with sums of
    columns ("forward"), with sums of rows ("reverse"), or with "both" some of each, for few full rows and columns. None takes
    the fewest, and both modes if that saves two. NotImplementedError if `f` needs concrete values. Coleman and Verma,
    "The efficient computation of sparse Jacobian matrices using automatic differentiation" (1998).

    >>> tf.autodiff.jacobian_sparsity(lambda x: x[1:] - x[:-1], tf.zeros([5]))
    <Sparsity 4×5, 8 entries, 2 products forward>
    >>> tf.autodiff.jacobian_sparsity(lambda x: tf.concat([[tf.reduce_sum(x)], x[0] * x[1:]], 0), tf.ones([9]))
    <Sparsity 9×9, 25 entries, 3 products both>
    """
    if mode in MIRRORED:
        raise ValueError(f"A {mode!r} pattern is that of a Hessian: tf.autodiff.hessian_sparsity(f, args, mode={mode!r}).")
    return Recorded(f, args, sources).sparsity(mode)


@public
def sparse_jacobian(
    f: Callable[..., Any],
    args: Any,
    pattern: Sparsity | None = None,
    format: str = "csr",
    chunk_size: int | None = None,
    sources: Any = None,
) -> Any:
    """Return the exact Jacobian of `f` at `args`, from as many products as its pattern has colours.

    `args`: a tuple or list of arguments, each a tensor or a nest of them, or one argument alone; arguments that are not floating
    have no columns. `sources`: variables, or tensors that `f` uses, in place of the arguments. The matrix has a row for each
    element of the result of `f` (one tensor or a nest, in its order). It has a column for each element of the arguments or
    sources: "csr" and "coo" are SciPy matrices, "tensor" a `tf.sparse.SparseTensor`, "dense" a tensor, of shape f(x).shape +
    x.shape if there is one result and one source. (A `tf.function` can only return the last two.)
    `pattern`: from `jacobian_sparsity`, None to find it. One more product, with random numbers, tells a pattern that misses an
    entry (InvalidArgumentError). `chunk_size`: the number of products at a time. Curtis, Powell, Reid,
    "On the estimation of sparse Jacobian matrices" (1974); see `jacobian_sparsity` for how the pattern is found.

    >>> matrix = tf.autodiff.sparse_jacobian(lambda x: x[1:] * x[:-1], tf.constant([1.0, 2.0, 3.0]))
    >>> matrix.toarray().tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    >>> w = tf.Variable([2.0, 3.0])
    >>> tf.autodiff.sparse_jacobian(lambda: [w * w, tf.reduce_sum(w)], (), sources=[w]).toarray().tolist()
    [[4.0, 0.0], [0.0, 6.0], [1.0, 1.0]]
    """
    check_options(format, chunk_size)
    traced = Recorded(f, args, sources)
    return matrix_of(traced, pattern, None, format, chunk_size)


def matrix_of(
    traced: Recorded, pattern: Sparsity | None, mode: str | None, format: str, chunk: int | None, checked: bool = False
) -> Any:
    """Return the Jacobian of a traced function in a format, from products of a mode or of the user's `pattern`.

    With a `pattern` it is compared with one more product; if `checked`, in eager code also without.
    """
    checked = pattern is not None or (checked and not any(map(engine.symbolic, traced.inputs)))
    pattern = traced.sparsity(mode) if pattern is None else stated(pattern, traced.shape)
    values = _values(traced, pattern, chunk, checked)
    if format == "tensor":
        return SparseTensor(np.stack([pattern.rows, pattern.columns], 1), values, traced.shape)
    if format == "dense":
        flat = scatter_rows(values, tensor(pattern.rows * traced.shape[1] + pattern.columns), (math.prod(traced.shape),))
        return reshape(flat, (*traced.results[0].shape, *traced.sources[0].shape) if traced.alone else traced.shape)
    from scipy import sparse

    matrix = sparse.coo_matrix((values.numpy(), (pattern.rows, pattern.columns)), traced.shape)
    return matrix if format == "coo" else matrix.tocsr()


def _values(traced: Recorded, pattern: Sparsity, chunk: int | None, checked: bool) -> Tensor:
    """Return the entries in the order of the pattern; if `checked`, compare them with a product with random numbers."""
    kinds = [*[x.dtype.as_numpy_dtype for x in traced.sources], *[a.dtype for a in traced.results]]
    kind = np.result_type(*kinds)
    tables = []
    for columns in pattern.sides:
        seeds = pattern.seeds(kind, columns)
        if checked and not tables:
            random = np.random.default_rng(0).standard_normal((1, seeds.shape[1])).astype(kind)
            seeds = np.concatenate([random, seeds])
        tables.append(_products(traced, columns, seeds, kind, chunk))
    if checked:
        product, tables[0] = tables[0][0], tables[0][1:]
    flat = [reshape(table, [-1]) for table in tables]
    entries, places, signs = pattern.terms
    products = flat[0] if len(flat) == 1 else concat(flat, 0)
    narrow = np.int32 if extents_of(products)[0] <= np.iinfo(np.int32).max else np.int64
    values: Tensor = _entries_of(products, tensor(places.astype(narrow)))
    if len(places) > len(pattern.rows):
        values = unsorted_segment_sum(values * tensor(signs.astype(kind)), tensor(entries), len(pattern.rows))
    if checked:
        rounding = max([float(finfo(k).eps) for k in kinds])
        values = _compared(pattern, values, random[0], product, rounding)
    return values


def _products(traced: Recorded, columns: bool, seeds: np.ndarray, kind: Any, chunk: int | None) -> Tensor:
    """Return the products of the Jacobian (`columns`) or its transpose with vectors, by forward or reverse mode."""
    every, moving = tuple(range(len(traced.results))), tuple([p for p in traced.places if p is not None])
    sizes = [a.size for a in traced.results] if columns else traced.widths
    where: Sequence[int | None] = (
        every  # index of the output that has the tangent of each result, or the cotangent of each source
    )
    if columns:
        program = jvp_program(traced.program, moving, len(every))
        of = traced.program.parameters
        given = [(first, of[p]) for first, p in _starts(traced.widths, traced.places) if p is not None]
    else:
        program, found = vjp_program(traced.program, every, moving)
        pulled = iter(found)
        where = [None if p is None else next(pulled) for p in traced.places]
        given = list(_starts([a.size for a in traced.results], traced.results))
    if not (moving and program.outputs and len(seeds)):
        return zeros([len(seeds), sum(sizes)], kind)
    parts = [seeds[:, first : first + a.size].reshape(-1, *a.shape).astype(a.dtype) for first, a in given]
    mapped = [*[False] * len(traced.inputs), *[True] * len(parts)]
    nodes = call_ahead(program, [*traced.inputs, *map(engine.constant, parts)], mapped, chunk)
    shapes = [[len(seeds), size] for size in sizes]
    blocks = [
        zeros(shape, kind) if i is None else cast(reshape(EagerTensor(nodes[i]), shape), kind)
        for shape, i in zip(shapes, where, strict=True)
    ]
    products: Tensor = blocks[0] if len(blocks) == 1 else concat(blocks, 1)
    return products


def _compared(pattern: Sparsity, values: Tensor, vector: np.ndarray, product: Tensor, rounding: float) -> Tensor:
    """Return the entries after a check that the matrix has this product with the vector, to rounding."""
    across, along = (pattern.columns, pattern.rows) if pattern.sides[0] else (pattern.rows, pattern.columns)
    terms = values * tensor(vector[across])
    sums = unsorted_segment_sum(stack([terms, abs(terms)], 1), tensor(along), extents_of(product)[0])
    found, size = unstack(sums, axis=1)
    excess = abs(found - product) - math.sqrt(rounding) * (size + abs(product))
    checked: Tensor = _checked_entries(values, excess, mode=pattern.mode)
    return checked


@op(
    "EntriesOfProducts", infer=lambda products, places: aval(places.shape, products.dtype), saves="places", mixed=True,
    traits="own takes hands_on",
)  # fmt: skip
def _entries_of(products, places):
    """Return the elements at these positions of the flattened products, without a check of the bounds."""
    return products.take(places, mode="clip")


@gradient(_entries_of)
def _(dy, products, places):
    return scatter_rows(dy, places, extents_of(products)), None


def _missed_entries(excess, mode):
    """Return the message about a pattern that misses entries of the matrix."""
    wrong, line = np.flatnonzero(excess > 0), "column" if mode == "reverse" else "row"
    cause, end = "pattern misses entries of this Jacobian", ""
    if mode in MIRRORED:
        cause = "pattern misses entries of this Hessian, or custom gradients make it unsymmetric (for sparse_jacobian)"
    if mode == "substitution":
        end = " Small entries beside large ones lose their digits by substitution: then take mode='symmetric'."
    return (
        f"{cause}: in {wrong.size} of {len(excess)} {line}s, the first of them {line} {wrong[0]}, its values do not "
        "give the product with a random vector. Find the pattern for this function and these values by "
        f"tf.autodiff.jacobian_sparsity or hessian_sparsity.{end}"
    )


@op(
    "SparseEntries", infer=lambda values, excess, **attributes: values, cheap=True, traits="own",
    refuses=lambda excess, mode: [(excess > 0, lambda: _missed_entries(excess, mode))],
)  # fmt: skip
def _checked_entries(values, excess, *, mode):
    """Return `values`; raise InvalidArgumentError if a product differs by more than rounding."""
    return values


@gradient(_checked_entries)
def _(dy):
    return dy, None


def _starts(widths: Sequence[int], things: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each of `things` with its offset when all are concatenated."""
    return zip(itertools.accumulate([0, *widths[:-1]]), things, strict=True)
