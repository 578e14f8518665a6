"""Every op has a gradient, a reason, or none in TensorFlow either; it has a row; and it saves no more than is read."""

from types import SimpleNamespace

import jax.numpy as jnp
import pytest

import gradtape as tf
from gradtape._src.core.programs.op import Op, ops
from tests.ops import test_table
from tests.ops.rows import ROWS
from tests.ops.spy import reads, recorded, several
from tests.ops.table import Row, real

# TensorFlow has no gradient for these either: asking for one is a LookupError there and here.
WITHOUT_GRADIENT = frozenset(
    """
    AdjustContrastv2 AdjustHue AdjustSaturation Bitcast DenseBincount DrawBoundingBoxesV2 FFTND
    IFFTND IRFFT3D IRFFTND ListDiff NonMaxSuppressionV5 RFFT3D RFFTND RandomGammaGrad
    ResizeArea TruncateMod Unique UniqueWithCounts UniqueWithCountsV2
    """.split()
)

# How many operations these take is not known: a profile lists them, and counts none.
WITHOUT_FLOPS = frozenset(
    """
    Angle BandedTriangularSolve BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1
    BesselK1e BesselRatio BesselY0 BesselY1 Betainc BetaincDerivative CTCLossDense CTCLossDenseGrad
    CTCLossDenseHessianProduct ChannelWindowSum ConvergedSolution CropAndResize CropAndResizeGradImage
    CumulativeLogsumexp Dawsn Digamma Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput Dilation2DPickFilter
    Dilation2DPickInput EagerPyFunc Eig Expint ExtractImagePatchesGrad ExtractVolumePatchesGrad
    FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel FitShape FresnelCos FresnelSin
    IRFFTGrad Igamma IgammaDerivative IgammaGradA Igammac IsotonicRegression JaxFunction LRN
    Late LinearRecurrence MatrixCofactors MatrixExponential MatrixLogarithm MatrixSolveLs MatrixSquareRoot
    MaxPool3DGradGrad MaxPoolGradGrad MaxPoolWithArgmax MirrorPadGrad Ndtri OverlapAndAdd Polygamma PseudoInverse
    QuantizeAndDequantizeV2 QuantizeAndDequantizeV4 RFFTGrad RGBToHSV RandomGamma ReduceDataset ResizeBicubic ResizeBicubicGrad
    ResizeBilinear ResizeBilinearGrad ResizeNearestNeighborGrad ScaleAndTranslate ScaleAndTranslateGrad SegmentMean
    SegmentRecurrence SelfAdjointEigV2 Sort SparseEntries SparseReduceSum SparseSegmentMean
    SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum
    SparseSegmentSumWithNumSegments SparseTensorDenseMatMul Spence SpenceSlope StatelessRandomGammaV3 Svd SymbolicGradient TopKV2
    TridiagonalMatMul TridiagonalSolve Zeta ZetaDerivative
    """.split()
)

# The reverse pass looks through these by itself.
STRUCTURE = frozenset(["Ran", "TupleElement"])

every_op = pytest.mark.parametrize("op_type", sorted(ops.keys() - STRUCTURE))
in_the_table = pytest.mark.parametrize(
    "op_type", sorted(name for name, op in ops.items() if op.kernel.__module__.startswith("gradtape._src.ops"))
)


@every_op
def test_gradient_or_reason(op_type, count):
    op = ops[op_type]
    if op_type in WITHOUT_GRADIENT:
        assert op.gradient is None, f"{op_type} has a gradient now: take it out of WITHOUT_GRADIENT"
        assert op.reason is None, f"{op_type} has a reason: without a gradient in TensorFlow it should be a LookupError"
        count("op types that TensorFlow has no gradient for")
    elif op.gradient is None:
        assert op.reason, f"{op_type} has neither a gradient nor a reason: give it `@gradient` or `not_differentiable`"
        count("op types with a reason why there is no gradient")
    else:
        assert op.reason is None, f"{op_type} has both a gradient and a reason why there is none"
        assert op.gradient.__name__ != "_", f"the gradient of {op_type} has no name for tracebacks: give it with `@gradient`"
        count("op types with a gradient")


@every_op
def test_flops_or_none_on_purpose(op_type):
    op = ops[op_type]
    if op_type in WITHOUT_FLOPS:
        assert op.flops is None, f"{op_type} states its FLOPs now: take it out of WITHOUT_FLOPS"
    elif op.gradient is not None and not op.structured:  # of an op that holds Programs, theirs are counted
        assert op.flops is not None, f"{op_type} states no FLOPs: give it `flops=`, or enter it in WITHOUT_FLOPS"


def test_what_a_new_op_forgets_is_said(monkeypatch, count):
    monkeypatch.setitem(ops, "Versine", Op("Versine", lambda x: 1 - jnp.cos(x)))
    for check, forgotten in ((lambda kind: test_gradient_or_reason(kind, count), "neither a gradient"), (test_row, "no row of")):
        with pytest.raises(AssertionError, match=forgotten):
            check("Versine")
    monkeypatch.setitem(ops, "Versine", Op("Versine", lambda x: 1 - jnp.cos(x), gradient=lambda op, dy: dy))
    with pytest.raises(AssertionError, match="states no FLOPs"):
        test_flops_or_none_on_purpose("Versine")


def test_an_op_states_only_what_there_is():
    with pytest.raises(TypeError, match=r"Versine states LINAER, flop: an op has traits, flops, .*RENAMES"):
        Op("Versine", lambda x: x, flop=1, traits="linaer")


def test_an_op_is_declared_once():
    with pytest.raises(AttributeError, match=r"<Op Tanh> is declared already, and its cheap cannot be set"):
        tf.tanh.op.cheap = True


def test_a_gradient_bears_its_ops_name():
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        tf.tanh.op.gradient(SimpleNamespace(outputs=(object(),)), 1.0)
    assert "gradient_of_Tanh" in [entry.name for entry in raised.traceback]


def test_ops_without_gradient_exist():
    assert sorted(WITHOUT_GRADIENT - ops.keys()) == []


@in_the_table
def test_row(op_type):
    covering = [name for name, row in ROWS.items() if op_type in row.ops]
    assert covering, f"no row of the op test table has {op_type} among its ops"


@in_the_table
def test_what_is_saved_is_read(op_type):
    """Over all rows of an op, its gradient reads exactly what `saves` names: nothing is kept for nothing."""
    op = ops[op_type]
    if op.gradient is None or op.impure:
        assert op.saves == () or op.impure
        return
    read = set()
    for row in ROWS.values():
        if op_type in row.ops:
            with recorded() as seen:
                row.call(*[tf.constant(array) for array in row.args])
            for recorded_op, attrs, avals, result in seen:
                if recorded_op is op and any(a.inexact for a in several(result)):
                    read |= reads(op, attrs, avals, result)
    assert read == set(op.saves)


class TestTheTableFindsMistakes:
    """A gradient that is 0.1 % off, of the wrong shape or dtype, or missing, fails the row."""

    @pytest.mark.parametrize(
        "wrong, size",
        [
            (lambda op, dy: dy * 1.001 * (1 - op.outputs[0] * op.outputs[0]), 5),
            (lambda op, dy: None, 6),
            (lambda op, dy: dy * (1 - tf.stop_gradient(op.outputs[0] * op.outputs[0])), 7),
        ],
        ids=["0.1 % off", "missing", "no second order"],
    )
    @pytest.mark.parametrize("oracle", [True, False])
    def test_gradient(self, wrong, size, oracle):
        row = Row("tanh", tf.tanh, (real(size + 10 * oracle),), jnp.tanh, oracle=oracle)
        right = tf.tanh.op.gradient
        tf.tanh.op.declare(gradient=wrong)
        try:
            with pytest.raises(AssertionError, match="order"):
                of = [make([row], True) for make in (test_table.derivatives_of, test_table.gradients_of)]
                test_table.test_gradient(row, True, *of, lambda what: None)
        finally:
            tf.tanh.op.declare(gradient=right)
