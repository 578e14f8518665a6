"""Overrides of registered gradients: in a context, ops of some types have other gradients."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import Node


class gradient_override_map:
    """Context in which ops of some types get other gradients: `{"Floor": "MyFloor"}`; the forward pass is unchanged.

    The names are those of `RegisterGradient`, or op types. It applies to ops that run in the context, in this thread, whichever
    tape differentiates them. Contexts nest; the innermost wins.

    >>> x = tf.Variable(2.6)
    >>> with tf.GradientTape() as tape, tf.gradient_override_map({"Floor": "Identity"}):
    ...     y = tf.floor(x)
    >>> print(y.numpy(), tape.gradient(y, x).numpy())
    2.0 1.0
    """

    @public
    def __init__(self, op_type_map: dict[str, str]) -> None:
        if not isinstance(op_type_map, dict):
            raise TypeError(f"op_type_map must be a dictionary mapping strings to strings, received {op_type_map!r}.")
        for op_type, name in op_type_map.items():
            if not (isinstance(op_type, str) and isinstance(name, str)):
                raise TypeError(
                    f"op_type_map maps op type names to gradient names, both strings; received {op_type!r}: {name!r}."
                )
        self._map = dict(op_type_map)

    def __enter__(self) -> gradient_override_map:
        trace = engine.local.trace
        self._outer = trace.overrides
        trace.overrides = Overrides(self._map) if self._outer is None else self._outer.extended(self._map)
        return self

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        trace = engine.local.trace
        trace.overrides = self._outer


class Overrides:
    """Op → the op with the gradient that replaces its own."""

    __slots__ = ("names",)

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def without_names(self, no_rank: bool) -> Overrides | None:
        """Return what a gradient's ops get, of which `no_rank` says whether some values have unknown ranks."""
        return None

    def extended(self, names: dict[str, str]) -> Overrides:
        """Return these overrides updated by `names`."""
        return Overrides(self.names | names)

    def __call__(self, op: Op) -> Op:
        name = self.names.get(op.type)
        return op if name is None else op.with_gradient(name)

    def recorded(self, op: Op, inputs: tuple[Node, ...], attrs: tuple[Any, ...]) -> Node | None:
        """Record an op by the current graph's rule, and return its node; None without such a rule."""
        return None
