"""Estimates of a Hessian's trace, norm and diagonal from products with it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradtape._src.autodiff.jacobian import JacobianRows
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.derivatives.evaluation import Evaluation, Point, check_count, inexact, sources_of
from gradtape._src.derivatives.products import gradients_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import ones, reshape, zeros
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.math.arithmetic import add_n, sqrt
from gradtape._src.ops.math.reduction import reduce_mean, reduce_sum
from gradtape._src.ops.random.draws import stateless_uniform, uniform


class Hessian:
    """The Hessian of a function at a point, as a product with stacks of vectors."""

    def __init__(self, f: Callable[..., Any], args: Any, sources: Any, what: str, chunk_size: int | None = None) -> None:
        self.at = Evaluation(gradients_of(f, sources, what), args, sources)
        self.rows = JacobianRows("reverse", chunk_size)
        for x in self.at.active:
            if x.dtype.is_complex:
                raise ValueError(f"{what} is of functions of real numbers; one source has dtype {x.dtype.name}. Give its parts.")

    def products(self, vectors: Sequence[Tensor], only: int | None = None) -> list[Tensor]:
        """Return the products with stacked vectors, one stack for each source; `only`: use the diagonal block of that source."""
        targets, sources = self.at.targets.leaves, self.at.active
        if only is not None:
            targets, sources = [targets[only]], [sources[only]]
        found = self.at.tape.stacked_gradients(targets, sources, vectors, self.rows)
        return [zeros(extents_of(v), v.dtype) if d is None else d for v, d in zip(vectors, found, strict=True)]

    def signs(self, samples: int, seed: Any) -> list[Tensor]:
        """Draw `samples` stacked vectors of random signs, for each source."""
        return [signs_of((samples, *x.shape), x.dtype, seed, i) for i, x in enumerate(self.at.active)]


@public
def hessian_trace(
    f: Callable[..., Any],
    args: Any = (),
    sources: Any = None,
    samples: int = 32,
    seed: int | None = None,
    chunk_size: int | None = None,
) -> Tensor:
    """Estimate the trace of the Hessian of `f`, a scalar tensor: the mean of vᵀHv over random signs v.

    It has the right mean; its variance is 2(‖H‖² − Σ Hᵢᵢ²)/`samples`, so it is exact where the Hessian is diagonal. All
    products are one vectorised call (`chunk_size` at a time). `seed`: an int for the same signs each time. Hutchinson, "A
    stochastic estimator of the trace of the influence matrix" (1990), section 2. `args` and `sources` as for `jvp`.

    >>> x = tf.constant([1.0, 2.0])
    >>> float(tf.autodiff.hessian_trace(lambda x: tf.reduce_sum(x**3), x))
    18.0
    """
    check_count("samples", samples)
    matrix = Hessian(f, args, sources, "hessian_trace", chunk_size)
    vectors = matrix.signs(samples, seed)
    return _total([reduce_sum(v * d) / samples for v, d in zip(vectors, matrix.products(vectors), strict=True)])


@public
def hessian_norm(
    f: Callable[..., Any],
    args: Any = (),
    sources: Any = None,
    samples: int = 32,
    seed: int | None = None,
    method: str = "products",
    step: float = 1e-3,
    chunk_size: int | None = None,
) -> Tensor:
    """Estimate the Frobenius norm of the Hessian of `f`, a scalar tensor: √ of the mean of ‖Hv‖² over random signs v.

    `method` "products" takes exact products Hv; "differences" takes (∇f(x + δv) − ∇f(x − δv)) / 2δ with δ = `step`. It needs
    two gradients and no second derivative. Its error is of order δ² (and of rounding over δ). With `sources` in that method the
    variables are moved and put back. `args`, `sources`, `samples`, `seed` and `chunk_size` as for `hessian_trace`; the square
    has the right mean by the same argument.

    >>> x = tf.constant([3.0, 4.0])
    >>> round(float(tf.autodiff.hessian_norm(lambda x: tf.reduce_sum(x * x), x)) ** 2, 3)
    8.0
    """
    check_count("samples", samples)
    if method == "products":
        matrix = Hessian(f, args, sources, "hessian_norm", chunk_size)
        parts = matrix.products(matrix.signs(samples, seed))
        return sqrt(_total([reduce_sum(d * d) / samples for d in parts]))
    if method != "differences":
        raise ValueError(f"method must be 'products' or 'differences', received {method!r}.")
    gradients = gradients_of(f, sources, "hessian_norm")
    point = Point(args)
    given = point if sources is None else sources_of(sources)
    given.leaves = [x if isinstance(x, (Stored, bool, int)) or x is None else tensor(x) for x in given.leaves]
    wanted = [i for i, x in enumerate(given.leaves) if inexact(x)]
    total = []
    for sample in range(samples):
        signs = [signs_of(given.leaves[i].shape, given.leaves[i].dtype, seed, (sample, k)) for k, i in enumerate(wanted)]
        ends = []
        for signed in (step, -step):
            if sources is None:
                leaves = list(given.leaves)
                for i, v in zip(wanted, signs, strict=True):
                    leaves[i] = leaves[i] + signed * v
                ends.append(point.call(gradients, leaves))
            else:
                with _moved([given.leaves[i] for i in wanted], [signed * v for v in signs]):
                    ends.append(point.call(gradients, point.leaves))
        total += [reduce_sum(((a - b) / (2 * step)) ** 2) / samples for a, b in zip(*ends, strict=True)]
    return sqrt(_total(total))


@public
def hessian_diagonal(
    f: Callable[..., Any],
    args: Any = (),
    sources: Any = None,
    samples: int | None = None,
    seed: int | None = None,
    chunk_size: int | None = None,
) -> Any:
    """Return the diagonal of the Hessian of `f`, in the structure, shapes and dtypes of `args` (or `sources`).

    Exact, from one product for each element (`chunk_size` at a time), or with `samples` an estimate: the mean of v ∘ Hv
    over random signs v (Bekas, Kokiopoulou and Saad, "An estimator for the diagonal of a matrix" (2007), section 2).
    `args` and `sources` as for `jvp`.

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.autodiff.hessian_diagonal(lambda x: tf.reduce_sum(x) * tf.reduce_sum(x**3), x).numpy().tolist()
    [24.0, 60.0]
    """
    matrix = Hessian(f, args, sources, "hessian_diagonal", chunk_size)
    if samples is None:
        found = []
        for i, x in enumerate(matrix.at.active):
            size = math.prod(extents_of(x))
            units = reshape(eye(size, dtype=x.dtype), (size, *extents_of(x)))
            (block,) = matrix.products([units], only=i)
            found.append(reshape(diag_part(reshape(block, (size, size))), extents_of(x)))
    else:
        check_count("samples", samples)
        vectors = matrix.signs(samples, seed)
        found = [reduce_mean(v * d, axis=0) for v, d in zip(vectors, matrix.products(vectors), strict=True)]
    return matrix.at.pack(found)


def signs_of(shape: Any, dtype: Any, seed: int | None, position: Any) -> Tensor:
    """Draw random signs; with a seed they also depend on `position`, an int or a pair of ints."""
    if seed is None:
        numbers = uniform(shape)
    else:
        first, second = position if isinstance(position, tuple) else (0, position)
        numbers = stateless_uniform(shape, [seed, first * 65_537 + second])
    return where(numbers < 0.5, -ones(shape, dtype), ones(shape, dtype))


def _total(parts: Sequence[Tensor]) -> Tensor:
    dtype = parts[0].dtype
    total: Tensor = add_n([cast(p, dtype) for p in parts])
    return total


@contextlib.contextmanager
def _moved(variables: Sequence[Any], steps: Sequence[Tensor]) -> Iterator[None]:
    """Open a context in which variables are moved by `steps`."""
    for v in variables:
        if not isinstance(v, Variable):
            raise TypeError(f"method='differences' moves variables; it cannot move {v!r}. Make it an argument of f, in args.")
    before = [v.read_value() for v in variables]
    try:
        for v, value, by in zip(variables, before, steps, strict=True):
            v.assign(value + by)
        yield
    finally:
        for v, value in zip(variables, before, strict=True):
            v.assign(value)
