"""FLOPs in TensorFlow's convention, for `compat.v1.profiler.profile`: TensorFlow's registered statistics for each op of a graph.

They differ from `formulas`: a softmax is five operations per element, while moments and most activations count as none. All ops
of the graph count, whether they run or not. The gradient counts as the ops added by TensorFlow's gradient functions, even for
inputs whose gradient is not needed. (TensorFlow 2.21: profiler/internal/flops_registry.py, ops/nn_ops.py and the gradient
functions in ops/*_grad.py.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradtape._src.control.graph_def import shape_of

Shape = tuple[int, ...]
# (operation, shapes of its inputs, shape of its first output) → FLOPs, or types of several ops and the FLOPs of each
Statistic = Callable[[Any, list[Shape], Shape], float]
Several = Callable[[Any, list[Shape], Shape], list[tuple[str, float]]]


def _elementwise(operations: int) -> Statistic:
    return lambda op, inputs, output: operations * math.prod(output)


def _reduction(op: Any, inputs: list[Shape], output: Shape) -> float:
    return math.prod(inputs[0]) - math.prod(output)


def _mean(op: Any, inputs: list[Shape], output: Shape) -> float:
    return math.prod(inputs[0])


def _matmul(op: Any, inputs: list[Shape], output: Shape) -> float:
    return 2 * math.prod(inputs[0]) * output[-1]


def _convolution(op: Any, inputs: list[Shape], output: Shape) -> float:
    return 2 * math.prod(output) * math.prod(inputs[1][:-1])


def _depthwise(op: Any, inputs: list[Shape], output: Shape) -> float:
    return 2 * math.prod(output) * inputs[1][0] * inputs[1][1]


def _dilation(op: Any, inputs: list[Shape], output: Shape) -> float:
    return 2 * math.prod(output) * inputs[1][0] * inputs[1][1]


def _pooling(op: Any, inputs: list[Shape], output: Shape) -> float:
    return _window(op) * math.prod(output)


def _window(op: Any) -> int:
    _channels_last(op)
    return math.prod(op.get_attr("ksize"))


def _channels_last(op: Any) -> None:
    if op.get_attr("data_format") not in (b"NHWC", "NHWC"):
        raise Uncounted("Only NHWC format is supported in flops computations")


def _batch_matmul(op: Any, inputs: list[Shape], output: Shape) -> float:
    return 2 * inputs[0][-1] * math.prod(output)  # also for an adjoint, as in TensorFlow


class Uncounted(Exception):
    """TensorFlow has a statistic for the op type, but not for this op."""


FORWARD: dict[str, Statistic] = {
    **dict.fromkeys(
        "Reciprocal Square Log Neg AssignAdd AssignSub Add AddV2 Sub Mul RealDiv Maximum Minimum Pow".split(), _elementwise(1)
    ),
    **dict.fromkeys("GreaterEqual Greater LessEqual Less Equal NotEqual BiasAdd".split(), _elementwise(1)),
    **dict.fromkeys("Rsqrt SquaredDifference".split(), _elementwise(2)),
    "RsqrtGrad": _elementwise(4),
    "Softmax": _elementwise(5),
    "L2Loss": lambda op, inputs, output: 3 * math.prod(inputs[0]) - 1,
    "Mean": _mean,
    **dict.fromkeys("Sum ArgMax ArgMin BiasAddGrad".split(), _reduction),
    "MatMul": _matmul,
    **dict.fromkeys("BatchMatMul BatchMatMulV2 BatchMatMulV3".split(), _batch_matmul),
    **dict.fromkeys("Conv2D Conv3D".split(), _convolution),
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _dilation,
    **dict.fromkeys("AvgPool MaxPool".split(), _pooling),
    "AddN": lambda op, inputs, output: math.prod(output) * (len(inputs) - 1),
}
# Ops that are several ops in TensorFlow.
COMPOSED: dict[str, Several] = {
    "RandomUniform": lambda op, inputs, output: [("Sub", 1)],  # the difference of the bounds
    "Moments": lambda op, inputs, output: [
        (kind, n * math.prod(inputs[0])) for kind, n in (("Mean", 2), ("SquaredDifference", 2))
    ],
    "SoftmaxCrossEntropyWithLogits": lambda op, inputs, output: [("Sub", 3)],  # TensorFlow subtracts ranks to flatten shapes
}

# ---------------------------------------------------------------------------------------------------------------------
# The ops that TensorFlow's gradient functions add: their types, and the FLOPs of each.

Added = list[tuple[str, float]]


def _each(*types: str) -> Several:
    """Count an operation of each type per element of the result; gradients of broadcast operands are summed."""

    def added(op: Any, inputs: list[Shape], output: Shape) -> Added:
        size = math.prod(output)
        return [*[(kind, size) for kind in types], *[("Sum", size - math.prod(x)) for x in inputs[:2] if x != output]]

    return added


def _softmax_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    size = math.prod(output)
    return [("Mul", size), ("Sum", size - math.prod(output[:-1])), ("Sub", size), ("Mul", size)]


def _log_softmax_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    size = math.prod(output)
    return [("Sum", size - math.prod(output[:-1])), ("Mul", size), ("Sub", size)]


def _extremum_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    size = math.prod(inputs[0])
    return [("Equal", size), ("Sum", size - math.prod(output)), ("RealDiv", size), ("Mul", size)]


def _moments_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    size = math.prod(inputs[0])
    ops = "RealDiv RealDiv Mul Sub Mul Neg AddN".split()
    return [*[(kind, size) for kind in ops], ("Sum", size - math.prod(output))]


def _power_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    x, y = map(math.prod, inputs)
    return [("Sub", y), ("Greater", x), ("Log", x), *_each("Mul", "Mul", "Pow", "Mul", "Mul")(op, inputs, output)]


def _quotient_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    return [("Neg", math.prod(inputs[0])), *_each("RealDiv", "RealDiv", "RealDiv", "Mul")(op, inputs, output)]


def _batch_matmul_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    x, y = inputs
    first = {(False, False): (output, x), (False, True): (output, output), (True, False): (y, x), (True, True): (y, output)}
    added: Added = [
        (op.type, 2 * left[-1] * math.prod(output[:-2]) * math.prod(given[-2:]))
        for left, given in zip(first[op.get_attr("adj_x"), op.get_attr("adj_y")], inputs, strict=True)
    ]
    for x in inputs:
        if x[:-2] != output[:-2]:
            added.append(("Sum", (math.prod(output[:-2]) - math.prod(x[:-2])) * math.prod(x[-2:])))
    return added


def _convolution_gradient(op: Any, inputs: list[Shape], output: Shape) -> Added:
    _channels_last(op)
    image, kernel = inputs
    flops = 2 * math.prod(image[:-1]) * math.prod(kernel) / math.prod(op.get_attr("strides"))
    return [("Conv2DBackpropInput", flops), ("Conv2DBackpropFilter", flops)]


BACKWARD: dict[str, Several] = {
    **dict.fromkeys(("Add", "AddV2"), _each()),
    "Sub": _each("Neg"),
    "Mul": _each("Mul", "Mul"),
    "RealDiv": _quotient_gradient,
    "Pow": _power_gradient,
    "Maximum": _each("GreaterEqual"),
    "Minimum": _each("LessEqual"),
    "SquaredDifference": _each("Mul", "Sub", "Mul", "Neg"),
    "Square": _each("Mul", "Mul"),
    **dict.fromkeys(("Exp", "Softplus"), _each("Mul")),
    "Log": _each("Reciprocal", "Mul"),
    "Neg": _each("Neg"),
    "Rsqrt": lambda op, inputs, output: [("RsqrtGrad", 4 * math.prod(output))],
    "L2Loss": lambda op, inputs, output: [("Mul", math.prod(inputs[0]))],
    "Mean": lambda op, inputs, output: [("RealDiv", math.prod(inputs[0]))],
    **dict.fromkeys(("Max", "Min"), _extremum_gradient),
    "Moments": _moments_gradient,
    "Softmax": _softmax_gradient,
    "LogSoftmax": _log_softmax_gradient,
    "SoftmaxCrossEntropyWithLogits": lambda op, inputs, output: [(kind, math.prod(inputs[0])) for kind in ("Mul", "Neg", "Mul")],
    "SparseSoftmaxCrossEntropyWithLogits": lambda op, inputs, output: [("Mul", math.prod(inputs[0]))],
    "MatMul": lambda op, inputs, output: [("MatMul", _matmul(op, inputs, output))] * 2,
    **dict.fromkeys("BatchMatMul BatchMatMulV2 BatchMatMulV3".split(), _batch_matmul_gradient),
    **dict.fromkeys(("BroadcastTo", "Tile"), lambda op, inputs, output: [("Sum", math.prod(output) - math.prod(inputs[0]))]),
    "Conv2D": _convolution_gradient,
    "BiasAdd": lambda op, inputs, output: [("BiasAddGrad", math.prod(output) - math.prod(inputs[1]))],
    "AvgPool": lambda op, inputs, output: [("AvgPoolGrad", 2 * _window(op) * math.prod(output))],
    "MaxPool": lambda op, inputs, output: [("MaxPoolGrad", (_window(op) + 1) * math.prod(output))],
}

# ---------------------------------------------------------------------------------------------------------------------
# Counting


def shapes(op: Any) -> tuple[list[Shape], Shape] | None:
    """Return the shapes of an operation's inputs and first output; None if TensorFlow would not know all of them."""
    found = [shape_of(tensor) for tensor in (*op.inputs, *op.outputs[:1])]
    if not op.outputs or not all(shape.is_fully_defined() for shape in found):
        return None
    *inputs, output = [tuple(shape.as_list()) for shape in found]
    return inputs, output


def _counted(table: dict[str, Several], op: Any) -> list[tuple[str, int]]:
    known = shapes(op) if op.type in table else None
    if known is None:
        return []
    try:
        return [(kind, int(flops)) for kind, flops in table[op.type](op, *known)]
    except Uncounted:
        return []


_FORWARD: dict[str, Several] = COMPOSED | {
    kind: lambda op, inputs, output, statistic=statistic: [(op.type, statistic(op, inputs, output))]
    for kind, statistic in FORWARD.items()
}


def forward(operations: Sequence[Any]) -> list[tuple[str, str, int]]:
    """Count the operations of a graph: (name of the operation, type, FLOPs).

    An optimizer's updates of variables are left out, as each is a single op without a statistic in TensorFlow.
    """
    updates = tuple([f"{op.name}/" for op in operations if op.type == "NoOp" and any(map(_assigns, op.control_inputs))])
    counted = [op for op in operations if not (updates and op.name.startswith(updates))]
    return [(op.name, kind, flops) for op in counted for kind, flops in _counted(_FORWARD, op)] + _scaled(counted)


def _assigns(op: Any) -> bool:
    return op.type.startswith("Assign")


def _scaled(operations: Sequence[Any]) -> list[tuple[str, str, int]]:
    """Count the scaling by 1 and shift by 0 of normal samples, which TensorFlow computes and gradtape does not."""
    takers: dict[str, list[Any]] = {}
    for op in operations:
        for tensor in op.inputs:
            takers.setdefault(tensor.name, []).append(op)
    added = []
    for op in operations:
        if op.type in ("RandomStandardNormal", "TruncatedNormal") and (known := shapes(op)) is not None:
            last = op
            for kind in ("Mul", "AddV2"):
                following = takers.get(last.outputs[0].name, [])
                if len(following) == 1 and following[0].type == kind:
                    last = following[0]
                else:
                    added.append((op.name, kind, math.prod(known[1])))
    return added


def between(operations: Sequence[Any], targets: Iterable[Any], sources: Iterable[Any]) -> list[Any]:
    """Return the operations on paths from `sources` to `targets`, including these, in topological order."""
    reached = set(sources)
    for op in operations:
        if any(tensor.op in reached and _differentiable(tensor) for tensor in op.inputs):
            reached.add(op)
    needed = set(targets)
    for op in reversed(operations):
        if op in needed and op in reached:
            needed.update([tensor.op for tensor in op.inputs])
    return [op for op in operations if op in reached and op in needed]


def _differentiable(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def gradient(operations: Sequence[Any]) -> list[tuple[str, str, int]]:
    """Count the operations that the gradients of operations from `between` add: (name of the operation, type, FLOPs)."""
    added = [(op.name, kind, flops) for op in operations for kind, flops in _counted(BACKWARD, op)]
    uses = Counter(tensor.name for op in operations for tensor in op.inputs)
    for op in operations:
        for tensor in op.outputs:
            shape = shape_of(tensor)
            if uses[tensor.name] > 1 and shape.is_fully_defined():
                added.append((op.name, "AddN", (uses[tensor.name] - 1) * math.prod(shape.as_list())))
    return added
