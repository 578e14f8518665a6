"""Curvature as data: diagonals of the Fisher and Gauss-Newton matrices, and the factors of K-FAC.

The gradient G = AᵀB of one example is determined by its factors (`ghost`). If each has one row, the squares of G are products of
squares, and their sum over examples is a matrix product. No gradient of a single example is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.vectorized import call_vectorized, called_on_rows
from gradtape._src.control.built import built
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import Aval
from gradtape._src.derivatives.evaluation import inexact
from gradtape._src.derivatives.ghost import FACTORS, Factors
from gradtape._src.derivatives.linear_solve import Unknowns
from gradtape._src.derivatives.per_example import NotTraceable, PerExample
from gradtape._src.derivatives.slopes import gradient_of, slope_of
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.shape import expand_dims, ones, reshape, transpose, zeros
from gradtape._src.ops.linalg.decompositions import eigh
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.arithmetic import add_n, maximum, sqrt
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.reduction import reduce_mean, reduce_sum


class Outputs(PerExample):
    """A function of one example, with all its results, flattened, in place of a loss."""

    def of_one(self, rows: Sequence[Tensor]) -> Tensor:
        """Return the results for one example, whose tensors are `rows`, as a vector."""
        result = self.examples.call(self.function, rows)
        if not (isinstance(result, Tensor) and inexact(result)):
            raise ValueError(f"f must return one floating tensor, the results for one example; it returned {result!r}.")
        self.shape = extents_of(result)
        return reshape(result, [-1])


def _factors_of(gradient: Node) -> Factors | None:
    """Return the factors A and B of a gradient AᵀB in the layout of its source; None if it has none."""
    found = FACTORS[gradient.op.plain](gradient) if gradient.trace is not None and gradient.op.plain in FACTORS else None
    return None if found is None or found.a is None else found


def _square(x: Tensor) -> Tensor:
    squared: Tensor = real(x * conj(x))
    return squared


@memoized
def _made(gradients: Program, make: Callable[[Node], list[Tensor]]) -> tuple[Program, list[int]]:
    """Return a Program that applies `make` to each output of `gradients`, and the number of results for each."""
    made: list[list[Tensor]] = []

    def record(*given: Node) -> list[Node]:
        made.extend([make(node) for node in tracing.inline(gradients, given)])
        return [x.node for results in made for x in results]

    return tracing.program_of(record, gradients.parameters[: arity(gradients)]), list(map(len, made))


def _squares(gradient: Node) -> list[Tensor]:
    """Return the squares of a gradient, or those of its factors if it is a product of two vectors."""
    factors = _factors_of(gradient)
    if factors is not None and factors.a is not None and extents_of(factors.a)[0] == 1:
        return [_square(factors.a[0]), _square(factors.b[0])]
    return [_square(EagerTensor(gradient))]


def _mean_of_squares(each: PerExample, seeds: Tensor) -> Any:
    """Return the mean over examples of the sum over seeds of the squares of gradients. `seeds`: [examples, seeds, …results]."""
    program, where = each.gradient_program()
    results: list[Tensor] = []
    if program.outputs:
        _, counts = _made(program, _squares)
        stacked = iter(each.call(_sums_of_squares(program, seeds[0].node.aval), seeds))
        avals = [program.aval_of(r) for r in program.outputs]
        for count, of in zip(counts, avals, strict=True):
            first = next(stacked)
            if count == 1:
                results.append(reduce_mean(first, 0))
                continue
            a, b = [reshape(x, [-1, extents_of(x)[-1]]) for x in (first, next(stacked))]
            results.append(reshape(matmul(a, b, transpose_a=True) / each.count, of.shape))
    unused = [zeros(extents_of(x), x.dtype) for x in each.sources.leaves]
    return each.sources.pack([z if p is None else results[p] for z, p in zip(unused, where, strict=True)])


@memoized
def _sums_of_squares(gradients: Program, seeds: Aval) -> Program:
    """Return the Program of the sums over seeds of `_squares`; where there are two factors, of their rows."""
    squares, counts = _made(gradients, _squares)

    def rows(*given: Tensor) -> list[Tensor]:
        nodes = iter(call_vectorized(squares, [x.node for x in given], [False] * (len(given) - 1) + [True]))
        found = [[EagerTensor(next(nodes)) for _ in range(count)] for count in counts]
        return [x for parts in found for x in ([reduce_sum(parts[0], 0)] if len(parts) == 1 else parts)]

    return built(rows, [*gradients.parameters[: arity(gradients) - 1], seeds])


@public
def fisher_diagonal(
    loss_fn: Callable[..., Any], sources: Any, examples: Any, keep_axis: bool = True, chunk_size: int | None = None
) -> Any:
    """Return the diagonal of the Fisher matrix: the mean over the examples of the squares of their gradients.

    It has the structure and shapes of `sources`. Arguments and errors are those of `per_example_gradients`. `loss_fn` is the
    negative logarithm of an example's probability. With the labels of the data this is the empirical Fisher matrix. For the true
    one let `loss_fn` draw labels from the model: random ops draw other numbers for each example. Gradients of single examples are
    not formed if they are products of two vectors, as those of a dense layer on vectors.
    See Kunstner, Balles and Hennig, "Limitations of the empirical Fisher approximation" (2019).

    >>> w = tf.Variable([1.0, 2.0])
    >>> x = tf.constant([[1.0, 0.0], [0.0, 3.0]])
    >>> tf.autodiff.fisher_diagonal(lambda x: tf.reduce_sum(x * w), w, x).numpy().tolist()
    [0.5, 4.5]
    """
    each = PerExample(loss_fn, sources, examples, keep_axis, chunk_size)
    try:
        each.trace()
    except NotTraceable:
        return each.sources.pack([add_n([_square(d) for d in c]) / each.count for c in zip(*each.one_by_one, strict=True)])
    return _mean_of_squares(each, ones([each.count, 1], each.loss_type))


@public
def ggn_diagonal(
    f: Callable[..., Any],
    sources: Any,
    examples: Any,
    loss: Callable[[Any], Any] | None = None,
    keep_axis: bool = True,
    chunk_size: int | None = None,
) -> Any:
    """Return the diagonal of the Gauss-Newton matrix Jᵀ H J, the mean over the examples, in the structure of `sources`.

    `f` returns the results for one example, one real tensor; J is their Jacobian. H is the Hessian of `loss`, a scalar function
    of that tensor (None: half the sum of squares, so that H is 1). It must be convex: negative eigenvalues of H count as 0.
    Other arguments are those of `per_example_gradients`. There is a backward pass for each result, all in one program, exact. For
    a loss that is the negative logarithm of a probability it is the diagonal of the Fisher matrix, with no labels drawn.
    See Schraudolph, "Fast curvature matrix-vector products for second-order gradient descent" (2002).

    Raises NotImplementedError if `f` or `loss` needs concrete values.

    >>> w = tf.Variable([1.0, 2.0])
    >>> x = tf.constant([[1.0, 0.0], [0.0, 3.0]])
    >>> tf.autodiff.ggn_diagonal(lambda x: x * w * w, w, x).numpy().tolist()
    [2.0, 72.0]
    """
    each = _traced(Outputs(f, sources, examples, keep_axis, chunk_size), "f")
    (results,) = each.call(each.program)
    size = extents_of(results)[1]
    if loss is None:
        units: Tensor = eye(size, batch_shape=[each.count], dtype=results.dtype)
        return _mean_of_squares(each, units)
    function, used = Unknowns(reshape(results[0], each.shape), "ggn_diagonal").traced(loss, scalar=True)
    root = _root(slope_of(gradient_of(function)))
    return _mean_of_squares(each, called_on_rows(root, results, used, chunk_size))


@memoized
def _root(curving: Program) -> Program:
    """Return the Program of S with SᵀS = H, for the Hessian H whose products with vectors the Program `curving` computes."""

    def root(*given: Tensor) -> list[Tensor]:
        units = eye(extents_of(given[0])[0], dtype=given[0].dtype)
        matrix = called_on_rows(curving, units, [x.node for x in given])
        values, vectors = eigh(0.5 * (matrix + transpose(matrix)))
        return [transpose(vectors) * expand_dims(sqrt(maximum(values, 0.0)), 1)]

    return built(root, curving.parameters[1 : arity(curving)])


def _traced(each: Any, name: str) -> Any:
    try:
        each.trace()
    except NotTraceable:
        raise NotImplementedError(f"{name} is traced, and it looks at values. Choose by tf.where or tf.cond.") from None
    return each


def _kronecker(gradient: Node) -> list[Tensor]:
    """Return AᵀA, averaged over the rows of A, and BᵀB. For a vector, A is 1 and B the gradient."""
    factors = _factors_of(gradient)
    if factors is not None and factors.a is not None:
        a, b = factors.a, factors.b
        return [matmul(a, a, adjoint_a=True) / extents_of(a)[0], matmul(b, b, adjoint_a=True)]
    if len(gradient.aval.shape) > 1:
        return []
    g = reshape(EagerTensor(gradient), [1, -1])
    return [ones([1, 1], g.dtype), matmul(g, g, adjoint_a=True)]


@public
def kfac_factors(
    loss_fn: Callable[..., Any], sources: Any, examples: Any, keep_axis: bool = True, chunk_size: int | None = None
) -> Any:
    """Return for each source the two factors (A, B) of K-FAC: its block of the Fisher matrix is about their Kronecker product.

    The gradient of an example is Σ a bᵀ, with the inputs `a` of the layer and the gradients `b` at its results. The sum is over
    the positions of a sequence or an image. A is the mean of a aᵀ over examples and positions, B that of b bᵀ over
    examples, summed over positions: Eschenhagen et al., "Kronecker-factored approximate curvature for modern neural network
    architectures" (2023), K-FAC-expand. Rows of A belong to the weights with their last axes taken away, those of B to the last
    axes. For a bias A is 1. Arguments are those of `per_example_gradients`; labels are those of the data, or `loss_fn` draws
    them.

    The sources may be weights of dense and einsum layers, of projections, of 2-D convolutions, and vectors. ValueError names
    another one, NotImplementedError a `loss_fn` that looks at values.

    >>> w = tf.Variable([[1.0], [2.0]])
    >>> x = tf.constant([[1.0, 0.0], [0.0, 3.0]])
    >>> a, b = tf.autodiff.kfac_factors(lambda x: tf.reduce_sum(x @ w), w, x)
    >>> print(a.numpy().tolist(), b.numpy().tolist())
    [[0.5, 0.0], [0.0, 4.5]] [[1.0]]
    """
    each = _traced(PerExample(loss_fn, sources, examples, keep_axis, chunk_size), "loss_fn")
    program, where = each.gradient_program()
    made, counts = _made(program, _kronecker)
    for source, place in zip(each.sources.leaves, where, strict=True):
        if place is None or not counts[place]:
            name = getattr(source, "name", "a tensor")
            why = "loss_fn does not use it" if place is None else "its gradient is no product of two factors"
            raise ValueError(f"There are no factors of {name}, of shape {source.shape}: {why}. Leave it out of `sources`.")
    found = iter(each.call(made, ones([each.count], each.loss_type)))
    pairs = [tuple([reduce_mean(next(found), 0) for _ in range(count)]) for count in counts]
    return each.sources.pack([pairs[place] for place in where])
