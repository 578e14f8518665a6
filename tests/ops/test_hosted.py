"""What hosted ops give on NumPy arrays is what their compiled kernels give: dtypes, shapes, values, NaN, infinities."""

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.declarations.define import AT_ONCE
from gradtape._src.core.engine import execution, tiers
from gradtape._src.core.host.convolution import convolution
from gradtape._src.core.host.products import product
from gradtape._src.core.host.reflections import qr
from gradtape._src.core.platform import arrays
from gradtape._src.core.programs.op import ops
from gradtape._src.core.programs.program import ELEMENT
from gradtape._src.core.programs.structured import StructuredOp
from tests.fuzz.table import ELEMENTWISE
from tests.ops.hosted import LOOPS, NO_TWIN, PYTHON, Compared
from tests.ops.rows import LEADING, ROWS

CORNERS = np.float32([-np.inf, np.inf, np.nan, -0.0, 0.0, 1.0, -1.0, 30.0, -2.5])


def kernel_alone(op):
    """Return whether an op is one kernel, which a compiled program can hold among others."""
    return op is ELEMENT or (op.unhosted != PYTHON and not op.is_call and not isinstance(op, StructuredOp))


@pytest.fixture
def compared(monkeypatch):
    """Kernels are compiled together, as each program takes long to compile, and give the values of all their nodes."""
    looks, one_by_one = Compared(), execution.interpret

    def interpret(program, arguments, where, loops=None):
        if not all(kernel_alone(op) for op, *_ in program.keys):
            return one_by_one(program, arguments, where, loops)

        def nodes(*leaves):
            values = []
            for op, attrs, *references in program.keys:
                values.append(op.run([values[r] if r >= 0 else leaves[-1 - r] for r in references], attrs))
            return values

        leaves = (*arguments, *program.constants)
        values = jax.jit(nodes, compiler_options=tiers.options(program, where))(*leaves)
        for index, (op, _, *references) in enumerate(program.keys):
            if op is not ELEMENT:
                looks(program, index, [values[r] if r >= 0 else leaves[-1 - r] for r in references], values[index])
        return tuple([values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs])

    monkeypatch.setattr(tiers, "early", True)
    monkeypatch.setattr(execution, "interpret", interpret)
    execution.check_each(looks)
    yield looks
    execution.check_each(None)


def gradients(row, arrays_, order):
    """Compute a row's results and gradients up to an order."""
    arguments = [tf.constant(array) for array in arrays_]
    sources = [arguments[i] for i in row.differentiated]
    with tf.GradientTape() as outer:
        outer.watch(sources)
        with tf.GradientTape() as inner:
            inner.watch(sources)
            results = row.call(*arguments)
        first = inner.gradient(results, sources) if order > 0 and sources else []
        first = [tf.convert_to_tensor(g) for g in first if g is not None]
    second = outer.gradient(first, sources) if order > 1 and first else []
    for value in tf.nest.flatten([results, first, [g for g in second if g is not None]], expand_composites=True):
        np.asarray(value)


# Rows of ops whose kernels go another way for large arguments.
WAYS_OF_THEIR_OWN = ("pooling-max_pool1d, a window of very many cells",)


def marked(name, row):
    return pytest.param(row, id=name, marks=() if name in WAYS_OF_THEIR_OWN else pytest.mark.long)


@pytest.mark.parametrize("row", [marked(name, row) for name, row in ROWS.items() if row.ops])
def test_a_row_on_the_host(row, compared, pytestconfig, count):
    """Each op by itself, in each dtype and to second order in the long run; `test_table.py` compares results of rows."""
    long = pytestconfig.getoption("--long")
    gradients(row, row.arguments(row.dtypes[0]), row.order)
    for dtype in row.dtypes[1:] if long else ():
        gradients(row, row.arguments(dtype), min(row.order, 1))  # some have none of second order in half precision
    assert not compared.missing(row), f"ops that the row covers, which are hosted and were not compared: {compared.missing(row)}"
    count("ops compared on the host", len(compared.types))


def test_each_op_of_the_table_is_compared_or_says_why():
    """Those of the leading rows are compared in `test_table.py`; a reason is a clause that a reader understands by itself."""
    compared = {type for row in ROWS.values() if row in LEADING for type in row.ops}
    table = {type: op for type, op in ops.items() if op.kernel.__module__.startswith("gradtape._src.ops")}
    assert [type for type, op in table.items() if op.hosted and type not in compared] == []
    assert {op.unhosted for op in table.values()} == {
        "",
        NO_TWIN,
        LOOPS,
        AT_ONCE,
        PYTHON,
        "its numbers are complex",
        "it scatters",
        "NumPy has no twin of polygamma, which higher orders take",
    }


@pytest.mark.long  # `test_table.py` compares what they give on the host with the table
@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items() if row.special])
def test_special_values_on_the_host(row, compared):
    for arguments, *_ in row.special:
        listed = arguments if isinstance(arguments, tuple) else (arguments,)
        made = [tf.constant(a) for a in listed]
        for value in tf.nest.flatten(row.call(*made), expand_composites=True):
            np.asarray(value)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_infinities_zeros_and_nan_on_the_host(name, compared):
    count = len(ROWS[name].args)
    for value in tf.nest.flatten(ROWS[name].call(*map(tf.constant, np.meshgrid(*[CORNERS] * count)))):
        np.asarray(value)


LARGE = {  # equation → extents; beyond those of the table, where sums of products are products of matrices
    "btnh,bsnh->bnts": {"b": 3, "t": 11, "s": 13, "n": 4, "h": 8},
    "abc,cde->adbe": {"a": 5, "b": 12, "c": 16, "d": 4, "e": 7},
    "nhwc,ih,jw->nijc": {"n": 4, "h": 12, "w": 14, "c": 3, "i": 5, "j": 6},
    "ij,kl,jk->il": {"i": 30, "j": 40, "k": 20, "l": 10},
    "aij,jk->k": {"a": 9, "i": 10, "j": 30, "k": 8},
    "iij,jk->ki": {"i": 17, "j": 12, "k": 11},
    "ab,cb,b->ac": {"a": 20, "b": 30, "c": 25},
    "ij,jk->ik": {"i": 70, "j": 130, "k": 90},  # more than BLAS would compute by one thread
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int32"])
@pytest.mark.parametrize("equation", LARGE)
def test_sums_of_many_products_on_the_host(equation, dtype):
    extents, rng = LARGE[equation], np.random.default_rng(0)
    shapes = [[extents[label] for label in labels] for labels in equation.partition("->")[0].split(",")]
    values = [rng.integers(-8, 9, shape) for shape in shapes]  # exact in bfloat16
    operands = [value.astype(tf.as_dtype(dtype).as_numpy_dtype) for value in values]
    expected = np.einsum(equation, *values)
    with arrays.on_host():
        received = arrays.jnp.einsum(equation, *operands)
    assert received.dtype == operands[0].dtype
    np.testing.assert_array_equal(received, expected.astype(operands[0].dtype))


def test_products_in_blocks():
    rng = np.random.default_rng(0)
    for x, y in [((200, 300), (300, 150)), ((2, 3, 40, 500), (3, 500, 70)), ((1, 9000), (9000, 200)), ((4000, 70), (70, 3))]:
        x = np.swapaxes(rng.integers(-8, 9, (*x[:-2], x[-1], x[-2])), -1, -2).astype(np.float32)  # transposed
        y = rng.integers(-8, 9, y).astype(np.float32)
        np.testing.assert_array_equal(product(x, y), x.astype(np.float64) @ y.astype(np.float64))


# Convolutions of images with zeros between their elements: extents, cells of the window, holes, dilations, padding, groups.
HOLES = [
    ((5, 7), (3, 2), (2, 3), (1, 1), ((1, 2), (0, 1)), 1),
    ((4,), (5,), (3,), (2,), ((-1, 4),), 1),
    ((3, 3), (4, 4), (2, 2), (1, 1), ((3, 3), (3, 3)), 2),
    ((2, 3, 2), (2, 1, 3), (1, 2, 2), (2, 1, 1), ((2, 0), (-1, 0), (1, 1)), 3),
    ((1, 1), (2, 2), (4, 4), (1, 1), ((0, 0), (0, 0)), 1),  # no place
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("shape", [(300, 100), (100, 300), (130, 65), (97, 97), (8200, 1)])
def test_a_large_qr_has_the_signs_of_lapack(shape, complete, dtype):
    x = np.random.default_rng(8).normal(size=shape).astype(dtype)
    complete = complete and shape[0] < 1000
    for received, expected in zip(qr(x, complete), np.linalg.qr(x, "complete" if complete else "reduced"), strict=True):
        assert (received.dtype, received.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(received, expected, 0, (1e-5 if dtype == "float32" else 1e-13) * abs(expected).max())


def test_a_large_qr_of_zeros_of_a_triangle_and_of_huge_numbers():
    zeros, triangle = np.zeros((100, 100)), np.triu(np.random.default_rng(9).normal(size=(100, 100)))
    np.testing.assert_array_equal(qr(zeros, False)[0], np.eye(100))
    for factor, expected in zip(qr(triangle, False), (np.eye(100), triangle), strict=True):
        np.testing.assert_array_equal(factor, expected)
    huge = np.random.default_rng(10).normal(size=(100, 100)) * 1e200
    q, r = qr(huge, False)
    np.testing.assert_allclose(q @ (r / 1e200), huge / 1e200, 0, 1e-12)


@pytest.mark.parametrize("case", HOLES, ids=range(len(HOLES)))
def test_convolutions_with_holes_on_the_host(case):
    extents, cells, holes, spread, padding, groups = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 2 * groups, *extents)).astype(np.float32)
    filters = rng.standard_normal((3 * groups, 2, *cells)).astype(np.float32)
    ones = (1,) * len(extents)
    expected = jax.lax.conv_general_dilated(x, filters, ones, padding, holes, spread, feature_group_count=groups)
    received = convolution(x, filters, ones, padding, holes, spread, feature_group_count=groups)
    assert received.shape == expected.shape
    np.testing.assert_allclose(received, expected, rtol=1e-5, atol=1e-5)
