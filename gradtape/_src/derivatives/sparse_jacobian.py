"""Sparse Jacobians: the pattern, a few products that hold all its entries, and the matrix put together of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.autodiff.vectorized import call_vectorized, check_chunk
from gradtape._src.control.scope import Body, Scope, trace
from gradtape._src.core import engine
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import OperatorNotAllowedInGraphError, public
from gradtape._src.core.program import leaf
from gradtape._src.core.tensor import EagerTensor, Tensor
from gradtape._src.ops.array import ones, reshape
from gradtape._src.ops.gather import gather, scatter_rows
from gradtape._src.ops.sparse import SparseTensor

if TYPE_CHECKING:
    from scipy import sparse

FORMATS = ("csr", "coo", "dense", "tensor")


class Sparsity:
    """Where a Jacobian may have entries, and how few products give them: what `jacobian_sparsity` found.

    `shape`: (elements of the result, elements of the argument). `rows` and `columns`: the places, sorted by rows. `mode`:
    "forward" where columns of one colour are found together, "reverse" where rows are; `colours`: of each of those;
    `products`: how many colours there are.
    """

    def __init__(self, pattern: sparse.csr_matrix, mode: str | None = None) -> None:
        from gradtape._src.derivatives.colouring import coloured

        if mode not in ("forward", "reverse", None):
            raise ValueError(f"mode must be 'forward', 'reverse' or None, received {mode!r}.")
        pattern.sort_indices()
        self.shape: tuple[int, int] = pattern.shape
        self.rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        self.columns = pattern.indices.astype(np.int64)
        if mode is None:  # no fewer colours than the most entries in a row, or in a column
            longest = np.diff(pattern.indptr).max(initial=0), np.bincount(self.columns).max(initial=0)
            mode = "forward" if longest[0] <= longest[1] else "reverse"
        self.mode = mode
        self.colours = coloured(pattern if mode == "forward" else pattern.T.tocsr())
        self.products = int(self.colours.max(initial=-1)) + 1 if len(self.rows) else 0

    def __repr__(self) -> str:
        return f"<Sparsity {self.shape[0]}×{self.shape[1]}, {len(self.rows)} entries, {self.products} products {self.mode}>"

    def seeds(self, dtype: np.dtype) -> np.ndarray:
        """For each colour the sum of its unit vectors."""
        vectors = np.zeros((self.products, len(self.colours)), dtype)
        vectors[self.colours, np.arange(len(self.colours))] = 1
        return vectors

    @functools.cached_property
    def places(self) -> np.ndarray:
        """Where each entry stands among the flattened products."""
        across, along = (self.columns, self.rows) if self.mode == "forward" else (self.rows, self.columns)
        width = self.shape[0] if self.mode == "forward" else self.shape[1]
        places: np.ndarray = self.colours[across] * width + along
        return places


class _Traced:
    """A function of one tensor as a Program."""

    def __init__(self, f: Callable[..., Any], x: Any) -> None:
        if not callable(f):
            raise TypeError(f"The first argument must be a function, received {f!r} of type {type(f).__name__}.")
        self.x = tensor(x)
        if not self.x.dtype.is_floating:
            raise ValueError(f"x is {self.x.dtype.name}: a sparse Jacobian is with respect to floating numbers.")
        parameter = leaf(self.x.node.aval, None)
        try:
            self.body: Body = trace(lambda: _one(f(EagerTensor(parameter))), [parameter], Scope(True, creates=False))
        except (NotImplementedError, OperatorNotAllowedInGraphError) as error:
            raise NotImplementedError(
                f"A sparse Jacobian is read off the function's program, and f cannot be traced: {error} Take tf.autodiff.jacrev."
            ) from None
        self.inputs = self.body.inputs([self.x.node])
        self.program = self.body.program
        self.result = self.program.aval_of(self.program.outputs[0])

    def sparsity(self, mode: str | None) -> Sparsity:
        """The pattern, which is kept with the Program if it holds for all values."""
        from gradtape._src.derivatives.dependence import dependence

        key = ("sparsity", mode)
        known: Sparsity | None = self.program.derived.get(key)
        if known is None:
            values = [None if engine.symbolic(n) else engine.value(n) for n in self.inputs]
            pattern, for_all = dependence(self.program, 0, values)
            known = Sparsity(pattern, mode)
            if for_all:
                self.program.derived[key] = known
        return known


def _one(result: Any) -> Tensor:
    if not isinstance(result, Tensor) or not result.dtype.is_floating:
        raise ValueError(f"f must return one floating tensor; it returned {result!r}.")
    return result


@public
def jacobian_sparsity(f: Callable[..., Any], x: Any, mode: str | None = None) -> Sparsity:
    """Where the Jacobian of `f` at `x` may have entries, to be used again in `sparse_jacobian(…, pattern=…)`.

    `f` takes one tensor and returns one; it is traced, not run, and how elements depend on elements is followed through
    its program. What is found may be more than what is not zero, never less. A constant that the argument is multiplied
    with counts where it is not zero, and places of a gather as they are: for other such values ask again. `mode`: "forward"
    or "reverse" products; None takes those that promise to be fewer. NotImplementedError where `f` looks at values.

    >>> tf.autodiff.jacobian_sparsity(lambda x: x[1:] - x[:-1], tf.zeros([5]))
    <Sparsity 4×5, 8 entries, 2 products forward>
    """
    return _Traced(f, x).sparsity(mode)


@public
def sparse_jacobian(
    f: Callable[..., Any],
    x: Any,
    pattern: Sparsity | None = None,
    format: str = "csr",
    chunk_size: int | None = None,
) -> Any:
    """The Jacobian of `f` at `x`, exactly, from as many products as its pattern has colours.

    `f` takes one tensor and returns one. The result has a row for each element of `f(x)` and a column for each of `x`:
    "csr" and "coo" are SciPy matrices, "tensor" a `tf.sparse.SparseTensor`, "dense" a tensor of shape f(x).shape + x.shape.
    (In a `tf.function` only the last two have values to be had later.) `pattern`: from `jacobian_sparsity`, None to find
    it; a pattern that misses an entry gives wrong numbers. `chunk_size`: so many products at a time. Curtis, Powell and
    Reid, "On the estimation of sparse Jacobian matrices" (1974); see `jacobian_sparsity` for how the pattern is found.

    >>> matrix = tf.autodiff.sparse_jacobian(lambda x: x[1:] * x[:-1], tf.constant([1.0, 2.0, 3.0]))
    >>> matrix.toarray().tolist()
    [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    """
    check_chunk(chunk_size)
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, received {format!r}.")
    traced = _Traced(f, x)
    if pattern is None:
        pattern = traced.sparsity(None)
    if not isinstance(pattern, Sparsity):
        raise TypeError(f"pattern must come from tf.autodiff.jacobian_sparsity, received {pattern!r}.")
    shape = (traced.result.size, traced.x.node.aval.size)
    if pattern.shape != shape:
        raise ValueError(f"pattern is for a Jacobian of shape {pattern.shape}, and this one has shape {shape}.")
    values = _values(traced, pattern, chunk_size)
    if format == "tensor":
        return SparseTensor(np.stack([pattern.rows, pattern.columns], 1), values, shape)
    if format == "dense":
        flat = scatter_rows(values, tensor(pattern.rows * shape[1] + pattern.columns), (shape[0] * shape[1],))
        return reshape(flat, (*traced.result.shape, *traced.x.shape))
    from scipy import sparse

    matrix = sparse.coo_matrix((values.numpy(), (pattern.rows, pattern.columns)), shape)
    return matrix if format == "coo" else matrix.tocsr()


def _values(traced: _Traced, pattern: Sparsity, chunk: int | None) -> Tensor:
    """The entries, in the order of the pattern."""
    pulled, _ = vjp_program(traced.program, (0,), (0,))
    inputs = list(traced.inputs)
    if not pattern.products or not pulled.outputs:
        return ones([len(pattern.rows)], traced.x.dtype) * 0.0
    vectors = pattern.seeds(traced.x.node.aval.dtype)
    if pattern.mode == "forward":
        # (arguments…, seed) → cotangent, transposed: (arguments…, seed, tangent) → tangent
        program, _ = vjp_program(pulled, (0,), (len(inputs),))
        inputs.append(ones(traced.result.shape, traced.result.type).node)
        vectors = vectors.reshape(pattern.products, *traced.x.shape)
    else:
        program = pulled
        vectors = vectors.reshape(pattern.products, *traced.result.shape)
    mapped = [*[False] * len(inputs), True]
    (products,) = call_vectorized(engine.intern(program), [*inputs, engine.constant(vectors)], mapped, chunk)
    values: Tensor = gather(reshape(EagerTensor(products), [-1]), pattern.places)
    return values
