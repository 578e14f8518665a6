"""Functions of JAX arrays on the tape: `jax_function`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from gradtape._src.autodiff.backward import Operation
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.op import KNOWN_AVALS, Op, define
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.values.aval import Aval


def _jax_kernel(*inputs: Any, function: Lifted) -> tuple[Any, ...]:
    with jax.enable_x64(function.wide):
        return function.run(inputs)


def _results(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jax.tree_util.tree_leaves(function(*inputs)))


def _pulled_back(*inputs: Any, function: Callable[..., Any], count: int) -> tuple[Any, ...]:
    """Return the gradients of `function` for the first `count` inputs, its arguments; the other inputs are the cotangents."""
    arguments, cotangents = inputs[:count], inputs[count:]
    results, pullback = jax.vjp(lambda *a: _results(function, a), *arguments)
    seeds = [
        d if r.dtype.kind in "fcV" else np.zeros(r.shape, jax.dtypes.float0) for r, d in zip(results, cotangents, strict=True)
    ]
    return tuple(
        [
            jax.numpy.zeros(a.shape, a.dtype) if g.dtype == jax.dtypes.float0 else g
            for a, g in zip(arguments, pullback(tuple(seeds)), strict=True)
        ]
    )


class Lifted(NamedTuple):
    """A function of arrays with its reference in plain JAX, and the platform of its kernel; see `jax_function`.

    `wide`: whether JAX computes with 64 bits in it. `is_gradient`: whether it is the gradient of another one.
    """

    function: Callable[..., Any]
    reference: Callable[..., Any] | None
    platform: str | None
    wide: bool
    is_gradient: bool = False

    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Call the function. The reference stands in for it under vmap and on other platforms."""
        reference = self.reference
        if reference is None:
            return _results(self.function, inputs)

        @custom_vmap
        def alone(*given: Any) -> tuple[Any, ...]:
            return _results(self.function, given)

        @alone.def_vmap
        def rows(_: int, mapped: Sequence[bool], *given: Any) -> tuple[Any, Any]:
            found = jax.vmap(plain, in_axes=tuple([0 if m else None for m in mapped]))(*given)
            return found, (True,) * len(found)

        def plain(*given: Any) -> tuple[Any, ...]:
            return _results(reference, given)

        if self.platform is None:
            return alone(*inputs)
        found: tuple[Any, ...] = lax.platform_dependent(*inputs, default=plain, **{self.platform: alone})
        return found


JAX = define(Op("JaxFunction", _jax_kernel, saves="inputs", unhosted="it is a function of JAX", traits="own holds_code"))


@gradient(JAX)
def _gradient_of_jax(op: Operation, *grads: Any) -> list[Any]:
    (function,) = op.entry.node.attrs
    derived = _gradient_of(function, len(op.entry.inputs))
    nodes = engine.elements(engine.record(JAX, (*op.entry.inputs, *[d.node for d in grads]), (derived,)))
    return [EagerTensor(n) if need else None for n, need in zip(nodes, op.needed, strict=True)]


@functools.lru_cache(KNOWN_AVALS)
def _gradient_of(lifted: Lifted, count: int) -> Lifted:
    """Return the gradient of a function of `count` arguments, as a function of these and of the cotangents."""

    def pulled_back(function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.partial(_pulled_back, function=function, count=count)

    function, reference, platform, wide, is_gradient = lifted
    if reference is None or is_gradient:  # the gradient of a kernel is itself a kernel, which JAX cannot differentiate
        return Lifted(pulled_back(reference or function), None, None, wide, True)
    return Lifted(pulled_back(function), pulled_back(reference), platform, wide, True)


@public
def jax_function(
    func: Callable[..., Any], reference: Callable[..., Any] | None = None, platform: str | None = None
) -> Callable[..., Any]:
    """Make a function of JAX arrays an op of tensors, with `jax.vjp` as its gradient.

    `reference`: the same function in plain JAX, for a `func` that has a kernel of its own and a gradient by `jax.custom_vjp`. It
    is used where JAX cannot transform `func`: for many rows at once (Jacobians, `vectorized_map`) and for derivatives of the
    gradient. With `platform` ("cuda", "rocm", "tpu", "cpu") it also runs on every other platform.

    JAX computes with 64 bits if they are enabled when `lifted` is called, or if an argument has 64 bits, such as a float64
    tensor.

    >>> import jax.numpy as jnp
    >>> float(tf.jax_function(jnp.sin)(tf.constant(0.0)))
    0.0
    """
    if platform is not None and reference is None:
        raise ValueError(f"A function for {platform} alone needs a reference for the other platforms: give reference=.")

    def lifted(*args: Any) -> Any:
        leaves, spec = nest.flatten_with_spec(args)
        nodes = tuple([tensor(x).node for x in leaves])

        def flat_of(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *arrays: function(*nest.unflatten(spec, arrays))

        wide = jax.config.jax_enable_x64 or any(xla.is_wide(n.aval) for n in nodes)  # type: ignore[attr-defined]
        key = (func, reference, platform, spec, wide)
        function = _lifted.get(key)
        if function is None:
            plain = None if reference is None else flat_of(reference)
            function = _lifted.setdefault(key, Lifted(flat_of(func), plain, platform, wide))
        results = [EagerTensor(n) for n in engine.elements(engine.record(JAX, nodes, (function,)))]
        return jax.tree_util.tree_unflatten(_structure(function, *[n.aval for n in nodes]), results)

    return lifted


_lifted: dict[Any, Lifted] = {}


@functools.lru_cache(KNOWN_AVALS)
def _structure(function: Lifted, *avals: Aval) -> Any:
    """Return the tree structure of a function's results, which may depend on the shapes of its arguments."""
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    with jax.enable_x64(function.wide):
        return jax.tree_util.tree_structure(jax.eval_shape(function.function, *specs))
