"""Formulas for the floating-point operations of an op: one table by op type. Other ops are listed in the report, never as 0.

A FLOP is one operation on real floating-point numbers. A multiply-add counts as two; a division, a square root, an
elementary function (`exp`, `tanh`, …) and a comparison count as one; moving, choosing and converting values as none, and so
do integers and booleans. Sums and products over axes take one operation less than what they add up. Of dense linear algebra
the leading terms are Golub and Van Loan's ("Matrix Computations", 4th edition: 3.2.7 LU, 4.2.5 Cholesky, 5.2.9 QR, 3.1 triangular
systems); a Fourier transform of n points counts 5·n·log₂ n (Van Loan, "Computational Frameworks for the FFT" (1992), 1.4).
Convolutions and pooling windows count as if no window left the image.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.aval import Aval, bytes_of
from gradtape._src.core.op import Attributes, Op

Formula = Callable[[Any, Sequence[Aval], Any], float]  # (attributes by name, input Avals, result's Aval) → FLOPs

# ---------------------------------------------------------------------------------------------------------------------
# Ops that move, choose or convert values: they do no arithmetic.

MOVES = frozenset(
    """
    AssignVariableOp BatchToSpaceND Bitcast BroadcastTo Cast Complex ConcatV2 Conj ConjugateTranspose Const Count
    CustomGradient CustomGradientProgram DepthToSpace Diag DiagPart DynamicPartition DynamicStitch EnsureShape ExpandDims
    ExtractImagePatches ExtractVolumePatches Eye Fill Frame GatherNd GatherV2 Identity IdentityN Imag InvertPermutation
    IsFinite IsInf IsNan MatrixBandPart MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3 MirrorPad NoOp OneHot
    OptimizationBarrier Pack Pad PadV2 Placeholder PlaceholderWithDefault PutAlongAxis RandomShuffle Range ReadAssigned
    ReadVariableOp Real Reshape ResizeNearestNeighbor ResourceScatterNdUpdate ResourceScatterUpdate
    ResourceStridedSliceAssign ReverseSequence ReverseV2 Roll SelectV2 SequenceMask Shape Shift Size Slice SliceBegin
    SpaceToBatchND SpaceToDepth SparseToDense Split SplitV Squeeze StatelessShuffle StopGradient StridedSlice
    StridedSliceGrad StridedSliceIndex TakeAlongAxis TakeRows TensorListSetItem TensorListSetItemCheck TensorScatterUpdate
    Tile Transpose TupleElement Unpack UnravelIndex Where
    """.split()
)
# Of those, the ones that XLA does by giving a value another name.
NAMES = frozenset(
    """
    AssignVariableOp CustomGradient CustomGradientProgram EnsureShape ExpandDims Identity IdentityN NoOp OptimizationBarrier
    ReadAssigned ReadVariableOp Reshape Shape Size SliceBegin Squeeze StopGradient StridedSliceIndex TupleElement
    """.split()
)

# ---------------------------------------------------------------------------------------------------------------------
# So many for each element of the result.

ELEMENTWISE = {
    1: """
       Abs Acos Acosh AddV2 Asin Asinh AssignAddVariableOp AssignSubVariableOp Atan Atan2 Atanh BiasAdd Ceil Cos Cosh DivNoNan
       Equal Erf Erfc Erfinv Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Less LessEqual Lgamma Log Log1p
       Maximum Minimum Mul MulNoNan Neg NextAfter NotEqual Pow RealDiv Reciprocal Relu ReluGrad Rint Round Rsqrt Sigmoid Sign Sin
       Sinh Sqrt Square Sub Tan Tanh TruncateDiv TruncateMod
       """,
    2: "LeakyRelu LeakyReluGrad Relu6 Relu6Grad Silu Softplus SqrtGrad SquaredDifference Xdivy Xlog1py Xlogy",
    3: "ComplexAbs Elu EluGrad ReciprocalGrad Selu SeluGrad Softsign",
    4: "RsqrtGrad SigmoidCrossEntropyWithLogits",
}  # fmt: skip
# Operations on complex numbers, in operations on real ones, for each of those above.
COMPLEX = {"AddV2": 2, "Sub": 2, "Neg": 2, "Mul": 6, "Sum": 2, "AddN": 2, "MatMul": 4, "BatchMatMulV2": 4, "Einsum": 4,
           "FFT": 1, "IFFT": 1, "FFT2D": 1, "IFFT2D": 1, "RFFT": 1, "IRFFT": 1}  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# All others


def _each(number: int) -> Formula:
    return lambda attrs, inputs, result: number * result.size


def _reduction(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    return inputs[0].size - result.size


def _mean(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    return inputs[0].size  # a sum, and a division for each result


def _rows(attrs: Any, inputs: Sequence[Aval]) -> float:
    return inputs[0].size / max(inputs[0].shape[attrs["axis"]], 1)


def _softmax(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    return 5 * inputs[0].size - 2 * _rows(attrs, inputs)  # max, subtract, exp, sum, divide


def _log_softmax(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    return 5 * inputs[0].size - _rows(attrs, inputs)  # max, subtract, exp, sum, log, subtract


def _scan_of_rows(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    return inputs[0].size - _rows(attrs, inputs)


def _matmul(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    (a, _), transposed = inputs, attrs.get("transpose_a") or attrs.get("adj_x")
    return 2 * result.size * a.shape[-2 if transposed else -1]


def _einsum(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    """Count one product over all labels; with labels that are summed, an addition beside each multiplication."""
    if len(inputs) > 2:
        return math.nan  # depends on the order of the products
    terms, _, output = attrs["equation"].partition("->")
    extents: dict[str, int] = {}
    for term, given in zip(terms.split(","), inputs, strict=True):
        before, _, after = term.partition("...")
        extents |= zip(before, given.shape, strict=False)
        extents |= zip(reversed(after), reversed(given.shape), strict=False)
    summed = math.prod([n for label, n in extents.items() if label not in output])
    return result.size * (2 * summed if summed > 1 and len(inputs) == 2 else summed - 1 if len(inputs) == 1 else 1)


def _convolution(window: int, places: int, own: int = 1) -> Formula:
    """Count two for each place of the output, channel and cell: `window` is the filter's input, `places` the output's (−1:
    result).

    `own`: how many of the filter's last axes tell the output's channels apart; 2 if each channel has filters of its own.
    """

    def formula(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
        shape = attrs["filter_sizes"] if window < 0 else inputs[window].shape
        image = result if places < 0 else inputs[places]
        return 2 * image.size * math.prod(shape[:-own])

    return formula


def _window_sums(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    """Return a product with a matrix for each spatial axis, in the order that takes the fewest operations."""
    format = attrs["data_format"]
    axes = [axis for axis in range(1, len(format)) if axis != format.index("C")]
    spread = "input_sizes" in attrs
    image, cells = (result, inputs[0]) if spread else (inputs[0], result)
    pairs = [(image.shape[axis], cells.shape[1 + k]) for k, axis in enumerate(axes)]
    if spread:
        pairs = [(after, before) for before, after in pairs]
    best = math.inf
    for order in itertools.permutations(pairs):
        size, flops = inputs[0].size, 0.0
        for before, after in order:
            flops += 2 * size * after
            size = size // before * after
        best = min(best, flops)
    return best


def _batch_norm(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    """Count mean and variance (4n) in training; subtract, multiply, add (3n); for each channel 1/√(v + ε)·γ and running
    averages.
    """
    size, channels = inputs[0].size, inputs[1].size
    if not attrs["is_training"]:
        return 3 * size + 3 * channels
    return 7 * size + (4 if attrs["exponential_avg_factor"] == 1 else 10) * channels


def _layer_norm(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    return 7 * inputs[0].size + 2 * result[1].size  # mean, centre, square, mean, three for the result; ε and root for each row


def _window(attrs: Any) -> int:
    return math.prod(attrs["ksize"])


def _solve(attrs: Any, inputs: Sequence[Aval], result: Aval) -> float:
    matrix = inputs[0]
    return result.size * 2 * matrix.shape[-1] + _lu(attrs, inputs, result)


def _lu(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    return 2 / 3 * inputs[0].size * inputs[0].shape[-1]


def _qr(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
    *batch, m, n = inputs[0].shape
    if attrs["full_matrices"]:
        return math.nan
    k = min(m, n)  # R, and the k columns of Q from its reflections
    factor = 2 * m * n * k - (m + n) * k**2 + 2 / 3 * k**3
    return math.prod(batch) * (factor + 2 * m * k**2 - 2 / 3 * k**3)


def _fourier(points: Callable[[Aval, Any], Aval], axes: int, half: bool = False) -> Formula:
    def formula(attrs: Any, inputs: Sequence[Aval], result: Any) -> float:
        whole = points(inputs[0], result)
        length = math.prod(whole.shape[-axes:])
        return (2.5 if half else 5) * whole.size * math.log2(max(length, 1))

    return formula


FORMULAS: dict[str, Formula] = {
    **{name: _each(n) for n, names in ELEMENTWISE.items() for name in names.split()},
    **dict.fromkeys(MOVES, lambda attrs, inputs, result: 0),
    **dict.fromkeys(["Sum", "Prod", "Max", "Min", "ArgMax", "ArgMin", "BiasAddGrad"], _reduction),
    **dict.fromkeys(["Cumsum", "Cumprod"], _scan_of_rows),
    **dict.fromkeys(["MatMul", "BatchMatMulV2", "BatchMatMulV3"], _matmul),
    **dict.fromkeys(["Conv2D", "Conv3D"], _convolution(1, -1)),
    **dict.fromkeys(["Conv2DBackpropInput", "Conv3DBackpropInputV2"], _convolution(0, 1)),
    **dict.fromkeys(["Conv2DBackpropFilter", "Conv3DBackpropFilterV2"], _convolution(-1, 1)),
    **dict.fromkeys(["UnsortedSegmentSum", "SegmentSum"], lambda attrs, inputs, result: inputs[0].size),
    **dict.fromkeys(["LogMatrixDeterminant", "MatrixDeterminant", "Lu"], _lu),
    **dict.fromkeys(["FFT", "IFFT"], _fourier(lambda x, y: x, 1)),
    **dict.fromkeys(["FFT2D", "IFFT2D"], _fourier(lambda x, y: x, 2)),
    **dict.fromkeys(["AvgPool", "AvgPool3D"], lambda attrs, inputs, result: result.size * _window(attrs)),
    **dict.fromkeys(["MaxPool", "MaxPool3D"], lambda attrs, inputs, result: result.size * (_window(attrs) - 1)),
    **dict.fromkeys(["AvgPoolGrad", "AvgPool3DGrad"], lambda attrs, inputs, result: inputs[0].size * (_window(attrs) + 1)),
    **dict.fromkeys(["MaxPoolGrad", "MaxPool3DGrad"], lambda attrs, inputs, result: inputs[2].size * _window(attrs)),
    **dict.fromkeys(
        ["ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv", "ResourceScatterNdAdd",
         "ResourceScatterNdSub", "TensorScatterAdd", "TensorScatterSub"],
        lambda attrs, inputs, result: inputs[2].size,
    ),
    "AddN": lambda attrs, inputs, result: (len(inputs) - 1) * result.size,
    "Mean": _mean,
    "L2Loss": lambda attrs, inputs, result: 2 * inputs[0].size,  # squares, their sum, a half
    "EuclideanNorm": lambda attrs, inputs, result: 2 * inputs[0].size,  # squares, their sum, a root for each result
    "Moments": lambda attrs, inputs, result: 4 * inputs[0].size,  # a mean, and the mean of squared differences
    "LogSumExp": lambda attrs, inputs, result: 4 * inputs[0].size,  # max, subtract, exp, sum; log and add for each result
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "Einsum": _einsum,
    "DepthwiseConv2dNative": _convolution(1, -1, own=2),
    "DepthwiseConv2dNativeBackpropInput": _convolution(0, 1, own=2),
    "DepthwiseConv2dNativeBackpropFilter": _convolution(-1, 1, own=2),
    "GatherV2Grad": lambda attrs, inputs, result: inputs[0].size,
    "ScatterNd": lambda attrs, inputs, result: inputs[1].size,
    "Gelu": lambda attrs, inputs, result: (9 if attrs["approximate"] else 4) * inputs[0].size,
    # max, subtract, exp, sum, log, subtract; with the labels a product and a sum
    "SoftmaxCrossEntropyWithLogits": lambda attrs, inputs, result: 7 * inputs[0].size - 2 * result[0].size,
    "SparseSoftmaxCrossEntropyWithLogits": lambda attrs, inputs, result: 4 * inputs[0].size,
    "FusedBatchNormV3": _batch_norm,
    "LayerNorm": _layer_norm,
    "WindowSum": _window_sums,
    "WindowSpread": _window_sums,
    "Cross": lambda attrs, inputs, result: 3 * result.size,
    "Cholesky": lambda attrs, inputs, result: inputs[0].size * inputs[0].shape[-1] / 3,
    "Qr": _qr,
    "MatrixInverse": lambda attrs, inputs, result: 2 * inputs[0].size * inputs[0].shape[-1],
    "MatrixSolve": _solve,
    "MatrixTriangularSolve": lambda attrs, inputs, result: result.size * inputs[0].shape[-1],
    "RFFT": _fourier(lambda x, y: x, 1, half=True),
    "IRFFT": _fourier(lambda x, y: y, 1, half=True),
}  # fmt: skip


def flops(op: Op, attrs: Attributes, inputs: Sequence[Any], result: Any) -> float | None:
    """Return the FLOPs of one run of an op on inputs of these Avals; None where there is no formula."""
    if op.type in MOVES:
        return 0
    results = result if type(result) is tuple else (result,)
    numbers = [a for a in (*inputs, *results) if type(a) is not tuple and a.inexact]
    if not numbers:
        return 0
    formula = FORMULAS.get(op.type)
    if formula is None:
        return None
    found = formula(dict(zip(op.attributes, attrs, strict=True)), inputs, result)
    if any(a.dtype.kind == "c" for a in numbers):
        found *= COMPLEX.get(op.type, math.nan)
    return None if math.isnan(found) else found


def moved(op: Op, inputs: Sequence[Any], result: Any) -> int:
    """Return the bytes that an op by itself reads and writes: its inputs and its result; of a slice or a gather, what it
    takes.
    """
    if op.type in NAMES:
        return 0
    results = result if type(result) is tuple else (result,)
    written = sum(map(bytes_of, results))
    if op.type in TAKING:
        return 2 * written
    return sum([bytes_of(a) for a in inputs if type(a) is not tuple]) + written


TAKING = frozenset(["GatherNd", "GatherV2", "Slice", "StridedSlice", "TakeAlongAxis", "TakeRows"])
