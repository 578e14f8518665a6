"""Every row of the op test table: values, dtypes, gradients of first and second order, edges, errors, what is saved."""

import contextlib
from unittest import mock

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.declarations.define import AT_ONCE
from gradtape._src.core.engine import engine, execution, tiers
from gradtape._src.core.programs.op import ops
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.core.values.ways import Path, following
from tests.ops import oracle
from tests.ops.hosted import ROUNDED, SINGLE, Compared, agree
from tests.ops.rows import BROKEN, FAMILIES, LEADING, ROWS
from tests.ops.spy import reads, recorded, several
from tests.ops.table import generator
from tests.ops.together import Together, in_step

STEP = 1e-3
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "complex64": 1e-5}
COMPLEX = {"float32": "complex64", "float64": "complex128"}
REAL = {"complex64": "float32", "complex128": "float64"}


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Kernels are compiled; what they give on the host is compared with that in test_hosted.py."""
    monkeypatch.setattr(tiers, "early", True)


def rows(condition=lambda row: True):
    """Parametrize over the rows for which `condition` holds."""
    return pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items() if condition(row)])


@pytest.fixture(scope="session")
def whole(pytestconfig):
    """Whether a row that covers nothing new is run in every way too."""
    return pytestconfig.getoption("--long")


@pytest.fixture(scope="session")
def values_by_jax():
    return Together(ROWS.values(), lambda rows: oracle.compute(rows, oracle.values))


@pytest.fixture(scope="session")
def gradients_by_jax(whole):
    return gradients_of([row for row in ROWS.values() if differentiable(row) and row.oracle], whole)


def gradients_of(rows, whole):
    """JAX's gradients; of second order only where `whole`, as they take long to compile and numeric ones say the same."""

    def traced(row):
        return oracle.gradients(Differentiated(row, order_of(row, whole) if whole else 1))

    return Together(rows, lambda rows: oracle.compute(rows, traced))


def references(row, by_jax):
    """For each dtype the reference's results at full precision, as NumPy arrays; by JAX where it can trace it."""
    try:
        found = by_jax(row)
    except Exception:  # it is written in NumPy, or looks at values
        results, arguments = oracle.values(row)
        with jax.numpy_dtype_promotion("standard"), np.errstate(all="ignore"):
            found = results(*arguments)
    return {dtype: [np.asarray(value) for value in values] for dtype, values in found.items()}


def close(received, expected, tolerance, what=""):
    assert received.shape == expected.shape, f"{what} has shape {received.shape}, not {expected.shape}"
    wide = "complex128" if "c" in (received.dtype.kind, expected.dtype.kind) else "float64"
    if received.dtype.kind in "biu" and expected.dtype.kind in "biu":
        np.testing.assert_array_equal(received, expected, err_msg=what)
    else:
        np.testing.assert_allclose(received.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance, err_msg=what)


# ---------------------------------------------------------------------------------------------------------------------
# Values and dtypes


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_can_be_imported(family):
    if family in BROKEN:
        raise BROKEN[family]


@pytest.fixture(scope="session")
def values(whole):
    return Together(ROWS.values(), lambda rows: in_step(rows, lambda row: steps_of_values(row, whole)))


def steps_of_values(row, whole):
    """The arguments for each dtype, the dtype that the row's have, the dtypes left to the host, the results for the others."""
    calls = {dtype: row.arguments(dtype) for dtype in row.dtypes}
    # Besides the program of all dtypes the arguments as they are, which mostly are those of one of the dtypes.
    own = next((dtype for dtype, arrays in calls.items() if same_dtypes(arrays, row.args)), "as given")
    calls.setdefault(own, row.args)
    on_numpy = {*calls} - {own} if not whole and row.ops and all(ops[type].hosted for type in row.ops) else set()
    compiled = {}
    for dtype, arrays in calls.items():
        if dtype not in on_numpy:
            with noted(dtype):
                compiled[dtype] = several(row.call(*[tf.constant(array) for array in arrays]))
    yield
    return calls, own, on_numpy, compiled


@rows()
def test_forward(row, whole, values, values_by_jax, count):
    """In each dtype against the reference: compiled as one program.

    Where NumPy runs the row's ops, only the arguments' own dtype is compiled by default, and the others run on the host. The
    leading row of an op that has no gradient runs there in that dtype, too; `test_gradient` does so for the others.
    """
    calls, own, on_numpy, together = values(row)
    expected = references(row, values_by_jax)
    for dtype in row.dtypes:
        with noted(dtype), contextlib.ExitStack() as stack:
            if dtype in on_numpy:
                stack.enter_context(on_host())
                together[dtype] = several(row.call(*[tf.constant(array) for array in calls[dtype]]))
            compare_with_reference(row, dtype, together[dtype], expected[dtype])
        count("op table: forward values compared")
    if whole or (row in LEADING and row.ops and not differentiable(row)):
        with on_host() as looks, noted("on the host"):
            alone = arrays_of(several(row.call(*[tf.constant(array) for array in row.args])))
        agree_with_compiled(row, alone, arrays_of(together[own]))
        if not differentiable(row):
            assert not looks.missing(row), f"hosted ops that the row covers, which did not run: {looks.missing(row)}"
        count("op table: run on the host")


def compare_with_reference(row, dtype, results, expected):
    assert len(results) == len(expected)
    names = several(row.result(dtype)) if row.result else [dtype_of(value, dtype) for value in expected]
    for result, value, name in zip(results, expected, names, strict=True):
        assert result.dtype.name == name
        computed = result.numpy()
        assert computed.dtype == result.dtype.as_numpy_dtype
        assert result.shape == computed.shape
        tolerance = max(TOLERANCE.get(dtype, 0.0), TOLERANCE.get(name, 0.0), row.tolerance * 1e-3)
        close(np.asarray(computed), value, tolerance)


@contextlib.contextmanager
def noted(case):
    """What fails inside says which case of its row it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"case: {case}")
        raise


def same_dtypes(first, second):
    return [a.dtype for a in first] == [a.dtype for a in second]


def dtype_of(value, dtype):
    """The name of the dtype of the result, in `dtype`, whose reference at full precision is `value`."""
    real_part = REAL.get(dtype, dtype)
    if value.dtype == np.float64 and (real_part.startswith("float") or real_part == "bfloat16"):
        return real_part
    return COMPLEX.get(real_part, "complex128") if value.dtype == np.complex128 else value.dtype.name


@pytest.fixture(scope="session")
def special_values():
    return Together([row for row in ROWS.values() if row.special], lambda rows: in_step(rows, steps_of_special))


def steps_of_special(row):
    calls = call_special(row)
    yield
    return calls


@rows(lambda row: row.special)
def test_special(row, special_values, count):
    """Compiled, and on the host."""
    compare_special(row, special_values(row))
    with on_host(), noted("on the host"):
        compare_special(row, call_special(row))
    count("op table: special values", len(row.special))


def call_special(row):
    """The results, and their gradients, for each of the row's special arguments."""
    calls = []
    for arguments, _, *gradient in row.special:
        tensors = [tf.constant(a) for a in (arguments if isinstance(arguments, tuple) else (arguments,))]
        with tf.GradientTape() as tape:
            tape.watch([x for x in tensors if inexact(x)])
            results = several(row.call(*tensors))
        received = tape.gradient([result for result in results if inexact(result)], tensors) if gradient else []
        calls.append((results, [None if dx is None else tf.convert_to_tensor(dx) for dx in received]))
    return calls


def compare_special(row, calls):
    for (arguments, value, *gradient), (results, received) in zip(row.special, calls, strict=True):
        for result, number in zip(results, several(value) if isinstance(value, tuple) else (value,), strict=True):
            close(np.asarray(result.numpy()), np.asarray(number), special_tolerance(result), str(arguments))
        if gradient:
            expected = gradient[0] if isinstance(arguments, tuple) else (gradient[0],)
            for dx, number in zip(received, expected, strict=True):
                assert (dx is None) == (number is None), f"gradient at {arguments}: {dx}, not {number}"
                if dx is not None:
                    close(dx.numpy(), np.asarray(number), special_tolerance(dx), f"gradient at {arguments}")


def special_tolerance(result):
    """How far a result may be from a literal: that many digits should be written."""
    return TOLERANCE[result.dtype.name] if result.dtype.size == 2 else 2e-6


@rows(lambda row: row.errors)
def test_errors(row, count):
    for function, error, match in row.errors:
        with pytest.raises(error, match=match):
            function()
        count("op table: errors")


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def inexact(x):
    return x.dtype.is_floating or x.dtype.is_complex


def random_like(value, what):
    """Random numbers of the shape and dtype of an array or a tensor, of size around 1."""
    shape, dtype = tuple(value.shape), tf.as_dtype(value.dtype)
    random = generator(what, shape, 0)
    numbers = random.uniform(0.3, 1.0, shape) * random.choice([-1.0, 1.0], shape)
    if dtype.is_complex:
        numbers = numbers + 1j * random.uniform(-1.0, 1.0, shape)
    return np.asarray(numbers).astype(dtype.as_numpy_dtype)


def inner(xs, ys):
    """Σ Re(conj(x)·y) over lists of arrays: by how much a direction changes what has this gradient (None: 0)."""
    return sum(float(np.sum((np.conj(x) * y).real)) for x, y in zip(xs, ys, strict=True) if x is not None)


class Differentiated:
    """A row as a function of its float arguments `x` and of a cotangent `c` for each float result."""

    def __init__(self, row, order):
        self.row = row
        self.order = order
        self.positions = row.differentiated
        self.x = [row.args[i] for i in self.positions]
        floating = [r for r in several(row.call(*[tf.constant(a) for a in row.args])) if inexact(r)]
        assert floating, f"{row.name}: no result is floating; say order=0"
        self.c = [random_like(r, f"cotangent {i}") for i, r in enumerate(floating)]
        self.u = [random_like(x, f"projection {i}") for i, x in enumerate(self.x)]

    def call(self, x):
        """The float results for float arguments `x` (tensors)."""
        arguments = list(self.row.args)
        for position, value in zip(self.positions, x, strict=True):
            arguments[position] = value
        tensors = [a if isinstance(a, tf.Tensor) else tf.constant(a) for a in arguments]
        return [r for r in several(self.row.call(*tensors)) if inexact(r)]

    def gradient(self, x, c):
        """`(results, gradients)`, a gradient for each of `x`, dense or None."""
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = self.call(x)
        gradients = tape.gradient(y, x, output_gradients=c)
        return y, [None if dx is None else tf.convert_to_tensor(dx) for dx in gradients]

    def derivatives(self, x, c):
        """For arrays `x` and `c` the float results `y(x)`, their gradients, and those of `⟨u, gradient(x, c)⟩` to x and to c.

        All are lists of tensors (None: nothing flows), of one program, which is the same for other numbers.
        """
        x, c = [tf.constant(a) for a in x], [tf.constant(a) for a in c]
        if self.order < 2:
            return (*self.gradient(x, c), None, None)
        with tf.GradientTape() as tape:
            tape.watch([x, c])
            y, gradients = self.gradient(x, c)
        received = [(dx, u) for dx, u in zip(gradients, self.u, strict=True) if dx is not None]
        to_x, to_c = tape.gradient([dx for dx, _ in received], [x, c], output_gradients=[tf.constant(u) for _, u in received])
        return y, gradients, to_x, to_c

    def scalars(self, y, gradients, *_):
        """`⟨c, y(x)⟩` and `⟨u, gradient(x, c)⟩`: what first and second order differentiate."""
        return inner(y, self.c), inner(gradients, self.u)


def arrays_of(tensors):
    return [None if t is None else np.asarray(tf.convert_to_tensor(t)) for t in tensors]


def read(lists):
    return [None if tensors is None else arrays_of(tensors) for tensors in lists]


def slope(at, step=STEP):
    """The derivative at 0 of several numbers, of which `at` has those at some steps, to fourth order in the step."""
    near, far = [np.subtract(at[h], at[-h]) for h in (step, 2 * step)]
    return (8 * near - far) / (12 * step)


def differentiable(row):
    return row.order >= 1 and row.differentiated


def order_of(row, whole):
    """To which order the gradients of a row are tested: the second in the leading row of an op (by default not in those of
    functions made of ops)."""
    return min(row.order, 2 if whole or (row in LEADING and row.ops) else 1)


@pytest.fixture(scope="session")
def derivatives(whole):
    return derivatives_of(ROWS.values(), whole)


def derivatives_of(rows, whole):
    """What `steps_of_derivatives` gives for a row. Those of one order are as many programs, which rows can share."""

    def compute(some):
        return in_step(some, lambda row: steps_of_derivatives(row, order_of(row, whole)))

    of_order = [[row for row in rows if differentiable(row) and order_of(row, whole) == order] for order in (1, 2)]
    first, second = [Together(some, compute) for some in of_order]
    return lambda row: (first if order_of(row, whole) == 1 else second)(row)


def steps_of_derivatives(row, order):
    """A `Differentiated`, its derivatives as arrays, and pairs of one and its numeric value: `{what: (received, number)}`."""
    it = Differentiated(row, order)
    yield  # so that the first program has no more than the others

    def computed(x, c):
        found = it.derivatives(x, c)
        yield
        return read(found)

    v = [random_like(x, f"direction {i}") for i, x in enumerate(it.x)]
    w = [random_like(c, f"second direction {i}") for i, c in enumerate(it.c)]
    found = _, first, to_x, to_c = yield from computed(it.x, it.c)
    at = {}
    for h in (STEP, -STEP, 2 * STEP, -2 * STEP):
        at[h] = it.scalars(*(yield from computed([x + h * d for x, d in zip(it.x, v, strict=True)], it.c)))
    along_x = slope(at)
    pairs = {"first order": (inner(first, v), along_x[0])}
    if it.order == 2:
        along_c = it.scalars(*(yield from computed(it.x, w)))[1]  # the gradient is linear in c
        pairs["second order"] = inner(to_x, v), along_x[1]
        pairs["second order, to the incoming gradient"] = inner(to_c, w), along_c
    return it, found, pairs


@rows(differentiable)
def test_gradient(row, whole, derivatives, gradients_by_jax, count):
    """Against the numeric derivative in a random direction, to second order in the leading rows; and against JAX's.

    In the leading row of an op also op by op on the host, of first order unless the row has ops that only the second has.
    """
    it, (y, first, to_x, to_c), pairs = derivatives(row)
    for x, dx in zip(it.x, first, strict=True):
        assert dx is None or (dx.shape, dx.dtype) == (x.shape, x.dtype), f"gradient is {dx.dtype}{dx.shape}"
    for what, (received, number) in pairs.items():
        numbers(received, number, row.tolerance * (1 if what == "first order" else 10), what)
    if row.oracle:
        compare_with_jax(it, [first, to_x, to_c], gradients_by_jax(row))
    if whole or (row in LEADING and row.ops):
        it.order = 1
        with on_host() as looks, noted("on the host"):
            alone = read(it.derivatives(it.x, it.c))
        agree_with_compiled(row, alone[0] + alone[1], y + first)
        if looks.missing(row):
            it.order = row.order
            with on_host(looks), noted("on the host"):
                read(it.derivatives(it.x, it.c))
        assert not looks.missing(row), f"hosted ops that the row covers, which did not run: {looks.missing(row)}"
    count("op table: gradients of first order")
    if "second order" in pairs:
        count("op table: gradients of second order")


def numbers(received, expected, tolerance, what):
    assert abs(received - expected) <= tolerance * (1 + abs(expected)), f"{what}: {received}, numerically {expected}"


def compare_with_jax(it, received, expected):
    """Gradients of the first order, and of the second to the arguments and to the incoming gradient, where JAX gives them."""
    tolerance = it.row.tolerance * 1e-3
    what = ("first order", "second order", "second order, to the incoming gradient")
    for order, ours, theirs in zip(what, received, expected, strict=False):
        for dx, number in zip(ours, theirs, strict=True):
            number = np.asarray(number)
            close(np.zeros_like(number) if dx is None else dx, number, tolerance, f"{order}, against JAX")


@rows(lambda row: row.order <= 0 and row.differentiated)
def test_no_gradient(row):
    tensors = [tf.constant(array) for array in row.args]
    sources = [tensors[i] for i in row.differentiated]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        results = several(row.call(*tensors))
    if row.order == 0:
        # None, or zeros for an integer result of an op whose other result has a gradient
        assert not any(np.any(dx) for dx in tape.gradient(results, sources) if dx is not None)
    else:
        with pytest.raises(LookupError, match="gradient registry has no entry for: "):
            tape.gradient(results, sources)


# ---------------------------------------------------------------------------------------------------------------------
# The engine's view of it


@contextlib.contextmanager
def on_host(looks=None):
    """Each op runs by itself: on NumPy where it can, and its kernel where not. Yields the `Compared` that sees all."""
    engine.flush()
    looks = looks or Compared()
    execution.check_each(looks)
    try:
        with mock.patch.object(tiers, "early", False):
            yield looks
            engine.flush()
    finally:
        execution.check_each(None)


def agree_with_compiled(row, received, expected):
    for a, b in zip(received, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            tolerance = max(row.tolerance * 1e-3, 0.0 if SINGLE.isdisjoint(row.ops) else ROUNDED["float32"])
            same = agree(a, b, row.args, tolerance) if b.dtype.name in ROUNDED else np.array_equal(a, b)
            assert same, f"{a}, compiled {b}"


@contextlib.contextmanager
def run_one_by_one():
    engine.flush()
    execution.run_each(True)
    try:
        yield
    finally:
        execution.run_each(False)


def agree_to_rounding(received, expected):
    for a, b in zip(received, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            close(a, b, 1e-9, "one by one")


@pytest.mark.long
@rows(differentiable)
def test_gradients_one_by_one_are_the_same(row):
    """Recorded ops, run together, agree with each op run at once."""

    def run():
        tensors = [tf.constant(array) for array in row.args]
        sources = [tensors[i] for i in row.differentiated]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = several(row.call(*tensors))
        return arrays_of(tape.gradient([r for r in results if inexact(r)], sources))

    together = run()
    with run_one_by_one():
        agree_to_rounding(run(), together)


class Known(Path):
    """A path that answers as for these extents."""

    def __init__(self, extents):
        super().__init__(())
        self.extents = extents

    def holds(self, relation, d):
        value = d.substituted(self.extents)
        return value == 0 if relation == "==" else value < 0

    def number(self, d):
        return d.substituted(self.extents)


def on_symbols(op, attrs, avals):
    """What the shape rule of an op says of symbols in the place of extents above 1, with the extents put in."""
    symbols = {e: unknown() for a in avals for e in a.shape if e > 1}
    extents = {dim.symbol: e for e, dim in symbols.items()}
    given = [aval([symbols.get(e, e) for e in a.shape], a.dtype) for a in avals]
    with following(Known(extents)):
        found = op.infer(*given, **dict(zip(op.attributes, attrs, strict=True)))
    return [aval([e if isinstance(e, int) else e.substituted(extents) for e in a.shape], a.dtype) for a in several(found)]


@rows()
def test_ops_are_what_they_declare(row, count):
    """The covered op types occur; aval rules give what tracing the kernel gives; gradients read what is saved."""
    with recorded() as seen:
        tensors = [tf.constant(array) for array in row.args]
        row.call(*tensors)
    missing = set(row.ops) - {op.type for op, *_ in seen}
    assert not missing, f"the call records no {', '.join(sorted(missing))}"
    for op, attrs, avals, result in dict.fromkeys(seen):
        assert op is ops[op.type]
        if op.infer is not None:
            known = several(result)
            assert len(known) == len(told := on_symbols(op, attrs, avals))
            assert all(a == b or (op.unhosted == AT_ONCE and a.may_be(b)) for a, b in zip(told, known, strict=True)), (
                op,
                told,
                known,
            )
            count("op table: shape rules on symbols")
        if op.infer is not None and op.unhosted != AT_ONCE:
            traced = op._traced(avals, attrs)
            op.avals.pop((attrs, *avals), None)
            stated = op.result(avals, attrs)
            assert stated == traced, f"{op.type} on {avals}: the rule says {stated}, the kernel gives {traced}"
            count("op table: shape rules compared with the kernel")
        if op.gradient is not None and any(a.inexact for a in several(result)):
            read = reads(op, attrs, avals, result)
            assert read <= set(op.saves), f"the gradient of {op.type} reads {sorted(read)}, it saves {op.saves}"
