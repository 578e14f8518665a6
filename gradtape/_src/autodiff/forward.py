"""Forward mode: a Jacobian-vector product as the transpose of the transpose, so that an op needs only one rule.

The vjp of y = f(x) is linear in its cotangent u; the vjp of that map, with respect to u, is the jvp (Christianson, "Automatic
Hessians by reverse accumulation" (1992), section 3; explained by Townsend, "A new trick for calculating Jacobian vector products"
(2017)). XLA removes the unused values of the backward pass.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from gradtape._src.autodiff.options import UnconnectedGradients
from gradtape._src.autodiff.recording import Recording
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.shape import ones, zeros


class ForwardAccumulator:
    """Computes Jacobian-vector products: the derivatives, along `tangents` of `primals`, of values computed in its context.

    `primals` and `tangents` have the same structure; a tangent has the dtype and shape of its primal. Accumulators and tapes
    nest.

    >>> x = tf.constant(3.0)
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
    ...     y = x * x
    >>> float(accumulator.jvp(y))
    6.0
    """

    @public
    def __init__(self, primals: Any, tangents: Any) -> None:
        nest.assert_same_structure(primals, tangents)
        self._primals: list[Any] = []
        self._tangents: list[Tensor] = []
        for primal, tangent in zip(nest.flatten(primals), nest.flatten(tangents), strict=True):
            primal = variable_of(primal)
            if not isinstance(primal, (Tensor, Variable)):
                raise TypeError(
                    f"A primal is a tensor or variable, received {primal!r} of type {type(primal).__name__}. Make a tensor of it "
                    "first, `x = tf.convert_to_tensor(x)`, and compute with that."
                )
            if any(_same(primal, other) for other in self._primals):
                raise ValueError(
                    f"Tensor {primal!r} was specified as a primal multiple times. This may indicate an error. If it was "
                    "intended, please sum the corresponding tangents."
                )
            along = tensor(tangent, primal.dtype)
            if extents_of(along) != extents_of(primal):
                raise ValueError(f"A tangent of shape {along.shape} for a primal of shape {primal.shape}: they must agree.")
            self._primals.append(primal)
            self._tangents.append(along)
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self._around: list[weakref.ref[Recording]] = []
        self._recording = False

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        self._recording = True
        self._around = list(engine.local.tapes)
        self._tape.__enter__()
        self._tape.watch([p for p in self._primals if p.dtype.is_floating or p.dtype.is_complex])
        return self

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        self._recording = False
        self._tape.__exit__(kind, value, traceback)

    @public
    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """Return the tangents of `primals`, which are tensors, variables or IndexedSlices of this context, in their structure.

        None (zeros with `unconnected_gradients="zero"`) for values that do not depend on the accumulator's primals.
        """
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        leaves, spec = nest.flatten_with_spec(primals)
        results: list[Any] = []
        for leaf in leaves:
            if not is_tensor(leaf):
                raise TypeError(f"jvp takes tensors and variables, received {leaf!r} of type {type(leaf).__name__}.")
            slices = isinstance(leaf, IndexedSlices)
            with _open_again(self._around):
                result: Any = self._of(leaf.values if slices else variable_of(leaf))
            if result is None and zero:
                result = zeros(extents_of(leaf.values if slices else leaf), leaf.dtype)
            if slices and result is not None:
                result = IndexedSlices(result, leaf.indices, leaf.dense_shape)
            results.append(result)
        return nest.unflatten(spec, results)

    def _of(self, target: Any) -> Tensor | None:
        for primal, tangent in zip(self._primals, self._tangents, strict=True):
            if _same(primal, target):
                return tangent
        if isinstance(target, Variable) or not (target.dtype.is_floating or target.dtype.is_complex):
            return None
        with self._apart(), GradientTape(watch_accessed_variables=False) as transposed:
            cotangent = ones(extents_of(target), target.dtype)  # any value will do, as the map is linear in it
            transposed.watch(cotangent)
            with setting(transposing=True):
                pulled = self._tape.gradient(target, self._primals, output_gradients=cotangent)
            pulled = [tensor(d) if isinstance(d, IndexedSlices) else d for d in pulled]
        pairs = [(d, t) for d, t in zip(pulled, self._tangents, strict=True) if d is not None]
        if not pairs:
            return None
        with self._apart():
            result: Tensor | None = transposed.gradient([d for d, _ in pairs], cotangent, output_gradients=[t for _, t in pairs])
        return result

    def _apart(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which this accumulator records nothing."""
        records = self._recording and not self._tape._paused
        return self._tape.stop_recording() if records else contextlib.nullcontext()


@contextlib.contextmanager
def _open_again(references: Sequence[weakref.ref[Recording]]) -> Iterator[None]:
    """Open tapes that were closed, as an accumulator's results count as computed in its context."""
    with contextlib.ExitStack() as stack:
        for reference in references:
            if (tape := reference()) is not None:
                stack.enter_context(tape.going_on())
        yield


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, Tensor) and isinstance(b, Tensor) and a.node is b.node)
