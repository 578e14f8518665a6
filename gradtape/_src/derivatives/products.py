"""Products of a function's derivatives with vectors: Jacobian, transposed Jacobian, Hessian, Gauss-Newton matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.indexed_slices import dense
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.derivatives.evaluation import Evaluation, inexact
from gradtape._src.ops.array.shape import ones, zeros


@public
def linearize(f: Callable[..., Any], args: Any = (), sources: Any = None) -> tuple[Any, Callable[[Any], Any]]:
    """Return `(f(*args), push)`, where `push(tangents)` is the Jacobian at this point times `tangents`; `f` runs once.

    As `jvp`, for many tangents at one point: the forward pass is not run again.

    >>> y, push = tf.autodiff.linearize(lambda x: x**3, tf.constant(2.0))
    >>> [float(push(t)) for t in (1.0, 2.0)]
    [12.0, 24.0]
    """
    at = Evaluation(f, args, sources)
    return at.result, pushing(at)


def pushing(at: Evaluation) -> Callable[[Any], Any]:
    """Return the map from tangents of the sources to tangents of the result, as the transpose of the reverse mode."""
    targets = [t for t in at.targets.leaves if inexact(t)]
    transpose = GradientTape(persistent=True, watch_accessed_variables=False)
    transpose.open_quietly()
    try:
        cotangents = [ones(extents_of(t), t.dtype) for t in targets]  # any value: the map is linear in them
        transpose.watch(cotangents)
        with setting(transposing=True):
            pulled = [dense(d) for d in at.tape.gradient(targets, at.active, output_gradients=cotangents)]
    finally:
        transpose.__exit__(None, None, None)

    @public
    def push(tangents: Any) -> Any:
        given = at.sources.like(tangents, "tangents")
        pairs = [(d, given[i]) for d, i in zip(pulled, at.wanted, strict=True) if d is not None]
        found: list[Any] = [None] * len(targets)
        if pairs:
            found = transpose.gradient([d for d, _ in pairs], cotangents, output_gradients=[t for _, t in pairs])
        remaining = iter(found)
        return at.targets.pack([_or_zeros(next(remaining), t) if inexact(t) else None for t in at.targets.leaves])

    return push


@public
def jvp(f: Callable[..., Any], args: Any, tangents: Any, sources: Any = None) -> tuple[Any, Any]:
    """Return `(f(*args), tangent)`: the result, and the Jacobian times `tangents`, in forward mode.

    `args`: a tuple or list of arguments, each a tensor or a nest of them, or one argument alone. `tangents` has the
    structure, dtypes and shapes of `args`; the tangent has those of the result. Its parts are zeros for results that do not
    depend on `args`, and None for results that are not floating or complex. `sources`: variables, or tensors that `f` uses, to
    differentiate with respect to in place of the arguments; `tangents` has their structure then. ValueError for structures or
    shapes that do not match. Cost: a small multiple of one call of `f`, for any number of results. A gradient function of the
    user (`custom_gradient`, a hook) is transposed if it is linear in its cotangents. A nonlinear one, such as clipping, is
    ignored: the function's own ops are differentiated, as in TensorFlow; NotImplementedError if they have no derivative.

    The method is the transpose of the transpose: Christianson, "Automatic Hessians by reverse accumulation" (1992), section 3.

    >>> y, tangent = tf.autodiff.jvp(lambda x: x * x, tf.constant([1.0, 2.0]), tf.constant([1.0, 0.5]))
    >>> tangent.numpy().tolist()
    [2.0, 2.0]
    """
    value, push = linearize(f, args, sources)
    return value, push(tangents)


@public
def vjp(f: Callable[..., Any], args: Any = (), sources: Any = None) -> tuple[Any, Callable[[Any], Any]]:
    """Return `(f(*args), pull)`, where `pull(cotangents)` is `cotangents` times the Jacobian at this point, in reverse mode.

    `args` and `sources` as for `jvp`. `cotangents` has the structure of the result (None for ones). The result of `pull` has
    that of `args` (or `sources`), with zeros where the function does not depend on one. `pull` can be called any number of times.
    For complex values it is the conjugate transpose, as for every gradient in gradtape.

    >>> y, pull = tf.autodiff.vjp(lambda x, y: x * y, (tf.constant(2.0), tf.constant(3.0)))
    >>> [float(d) for d in pull(1.0)]
    [3.0, 2.0]
    """
    at = Evaluation(f, args, sources)
    return at.result, pulling(at)


def pulling(at: Evaluation) -> Callable[[Any], Any]:
    """Return the map from cotangents of the result to cotangents of the sources."""

    @public
    def pull(cotangents: Any = None) -> Any:
        given = [None] * len(at.targets.leaves) if cotangents is None else at.targets.like(cotangents, "cotangents")
        pairs = [(t, d) for t, d in zip(at.targets.leaves, given, strict=True) if inexact(t)]
        found = at.tape.gradient([t for t, _ in pairs], at.active, output_gradients=[d for _, d in pairs]) if pairs else None
        return at.pack(_complete(found, at))

    return pull


@public
def hvp(f: Callable[..., Any], args: Any, vectors: Any, sources: Any = None, mode: str = "forward") -> Any:
    """Return the Hessian of `f`, which returns a scalar, times `vectors`, in the structure of `args` (or `sources`).

    `args`, `vectors` and `sources` as for `jvp`. The Hessian is never formed; it costs about two gradients (Pearlmutter, "Fast
    exact multiplication by the Hessian" (1994), section 3.2). `mode`: "forward" differentiates the gradient along `vectors` in
    forward mode, "reverse" in reverse mode; the numbers agree, the operations are as many, and the first keeps fewer values.
    ValueError where `f` does not return one scalar.

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.autodiff.hvp(lambda x: tf.reduce_sum(x**3), x, tf.constant([1.0, 1.0])).numpy().tolist()
    [6.0, 12.0]
    """
    if mode not in ("reverse", "forward"):
        raise ValueError(f"mode must be 'reverse' or 'forward', received {mode!r}.")
    at = Evaluation(gradients_of(f, sources, "hvp"), args, sources)
    given = at.sources.like(vectors, "vectors")
    if mode == "forward":
        return at.pack(pushing(at)(at.sources.pack(given)))
    return pulling(at)([given[i] for i in at.wanted])


@public
def gauss_newton_vp(
    f: Callable[..., Any], args: Any, vectors: Any, sources: Any = None, loss: Callable[[Any], Any] | None = None
) -> Any:
    """Return the Gauss-Newton matrix Jᵀ H J times `vectors`, in the structure of `args` (or `sources`).

    J is the Jacobian of `f` and H the Hessian of `loss`, a scalar function of the result of `f` (None: half the sum of
    squares, so that H is 1, as in least squares). Unlike the Hessian it has no negative eigenvalue where `loss` is
    convex. One forward product, one with H, one backward (Schraudolph, "Fast curvature matrix-vector products for
    second-order gradient descent" (2002), section 3.1).

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.autodiff.gauss_newton_vp(lambda x: x * x, x, tf.constant([1.0, 1.0])).numpy().tolist()
    [4.0, 16.0]
    """
    at = Evaluation(f, args, sources)
    given = at.sources.like(vectors, "vectors")
    pushed = pushing(at)(at.sources.pack(given))
    if loss is not None:
        (pushed,) = hvp(loss, [at.targets.pack(at.targets.leaves)], [pushed])
    return pulling(at)(pushed)


def gradients_of(f: Callable[..., Any], sources: Any, what: str) -> Callable[..., list[Tensor]]:
    """Return the function from the arguments of `f` to the list of its gradients, for all sources that have one."""

    def gradients(*args: Any) -> list[Tensor]:
        at = Evaluation(f, list(args), sources)
        return _complete(at.tape.gradient(at.scalar(what), at.active), at)

    return gradients


def _complete(found: Any, at: Evaluation) -> list[Tensor]:
    """Return dense gradients for the active sources, zeros for unconnected ones."""
    found = found if found is not None else [None] * len(at.wanted)
    return [_or_zeros(dense(d), s) for d, s in zip(found, at.active, strict=True)]


def _or_zeros(d: Any, like: Any) -> Tensor:
    result: Tensor = zeros(extents_of(like), like.dtype) if d is None else d
    return result
