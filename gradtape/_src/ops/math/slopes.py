"""Element-wise ops that are declared by their kernel and their derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gradtape._src.core.declarations.define import OpFunction, gradient, op
from gradtape._src.core.programs.op import Kernel
from gradtape._src.ops.math.complex import conj

Slope = Callable[..., Any]


def elementwise(type: str, slope: Slope | tuple[Slope | None, ...], **declared: Any) -> Callable[[Kernel], OpFunction]:
    """Declare an op like `op`, with the gradient `dy · conj(slope)`, where `slope` is the derivative of the kernel.

    An op of several inputs has a tuple with a slope for each of them, or None. A slope is a function of the values that it names:
    inputs and attributes as in the kernel, and the result as `y`. These inputs and the result are what the op `saves`.
    """
    slopes = slope if isinstance(slope, tuple) else (slope,)
    read = [[] if each is None else list(inspect.signature(each).parameters) for each in slopes]

    def decorate(kernel: Kernel) -> OpFunction:
        parameters = inspect.signature(kernel).parameters.values()
        inputs = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        saves = [name for name in (*inputs, "y") if any(name in names for names in read)]
        function = op(type, saves=" ".join(dict.fromkeys(saves)), **declared)(kernel)

        def value(operation: Any, name: str) -> Any:
            if name in inputs:
                return operation.inputs[inputs.index(name)]
            return operation.outputs[0] if name == "y" else operation.get_attr(name)

        def part(operation: Any, dy: Any, place: int) -> Any:
            return dy * conj(slopes[place](*[value(operation, name) for name in read[place]]))

        @gradient(function)
        def _(op: Any, dy: Any) -> Any:
            if len(slopes) == 1:
                return part(op, dy, 0)
            return [
                None if each is None or not needed else part(op, dy, place)
                for place, (each, needed) in enumerate(zip(slopes, op.needed, strict=True))
            ]

        return function

    return decorate
