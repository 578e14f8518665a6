"""Which compiler options a program gets: by what it holds, and only if this jaxlib takes them."""

from unittest import mock

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import engine, execution, tiers
from gradtape._src.core.platform import lowerings
from gradtape._src.core.programs.program import CALL, Program
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array import shape as array
from gradtape._src.ops.math import arithmetic, reduction
from gradtape._src.ops.nn.convolution import DENSE

pytestmark = pytest.mark.usefixtures("compiled_early")

FLOAT = np.dtype(np.float32)
IMAGES, FILTERS, RESULT = [aval(shape, FLOAT) for shape in ((1, 3, 3, 2), (2, 2, 2, 1), (1, 2, 2, 1))]
GEOMETRY = (1, 1, 1, 1), "VALID", (), "NHWC", (1, 1, 1, 1)
CONVOLVING, UNFOLDED, ROUNDING = [lowerings.compiling[name].flags for name in ("convolving", "unfolded", "rounding")]

CONVOLUTION = Program(((DENSE[2].forward.op, GEOMETRY, -1, -2),), (RESULT,), (IMAGES, FILTERS), (0,))
CALLED = Program(((CALL, (CONVOLUTION,), -1, -2),), ((RESULT,),), (IMAGES, FILTERS), (0,))
REDUCE_MAX, BROADCAST = reduction._max.op, array._broadcast_to.op
SINE = Program(((tf.sin.op, (), -1),), (IMAGES,), (IMAGES,), (0,))


@pytest.fixture(autouse=True)
def asked_anew():
    tiers.accepted.cache_clear()
    yield
    tiers.accepted.cache_clear()


@pytest.mark.parametrize("program", [CONVOLUTION, CALLED], ids=["convolution", "a call of one"])
def test_a_convolution_gets_options(program):
    with mock.patch.object(tiers, "accepted", return_value=True):
        assert tiers.options(program, "cpu") == CONVOLVING


def test_what_was_accepted_compiles():
    options = tiers.options(CONVOLUTION, "cpu")
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in CONVOLUTION.parameters]
    assert options in (None, CONVOLVING)
    assert jax.jit(CONVOLUTION.evaluate, compiler_options=options).lower(*shapes).compile()


@pytest.mark.parametrize("which", ["unfolded", "in order", "quick"])
def test_options_that_much_depends_on_are_accepted(which):
    """A value of the wrong kind is refused by jaxlib, and then the option is left out without a word."""
    assert tiers.accepted(which)


def test_other_programs_get_none():
    assert tiers.options(SINE, "cpu") is None


def chain(length, results):
    """A chain of sines of which every `length // results`-th value is a result."""
    keys = tuple([(tf.sin.op, (), k - 1) for k in range(length)])
    return Program(keys, (IMAGES,) * length, (IMAGES,), tuple(range(length - 1, -1, -(length // results))))


@pytest.mark.parametrize(("length", "results", "again"), [(200, 1, False), (200, 8, False), (30, 30, False), (200, 200, True)])
def test_fusion_would_repeat_a_chain_of_results(length, results, again):
    assert tiers.is_fused_again(chain(length, results)) is again


def test_a_chain_of_results_runs_node_by_node():
    program = chain(100, 100)
    images = np.linspace(0, 1, 18, dtype=np.float32).reshape(1, 3, 3, 2)
    before = execution.counters.node_by_node
    for _ in range(3):
        assert len(execution.execute(program, [images])) == 100
    assert execution.counters.node_by_node == before + 3


def test_updates_of_many_variables_are_fused():
    """Results that lead to no others, each by a few ops of its own: fusion repeats nothing."""
    keys = tuple([(tf.sin.op, (), k - 1 if k % 4 else -1) for k in range(240)])
    updates = Program(keys, (IMAGES,) * 240, (IMAGES,), tuple(range(3, 240, 4)))
    assert not tiers.is_fused_again(updates)


SCALAR = aval((), FLOAT)
ONE = np.ones((), np.float32)


def maximum_of(extent, *, of_parameter=False):
    """The maximum of a number repeated `extent` times, plus the parameter: the number is a constant, or the parameter."""
    wide = aval((extent,), FLOAT)
    keys = (
        (BROADCAST, ((extent,),), -1 if of_parameter else -2),
        (REDUCE_MAX, ((0,), False), 0),
        (arithmetic.sum_of_two.op, (), 1, -1),
    )
    return Program(keys, (wide, SCALAR, SCALAR), (SCALAR, SCALAR), (2,), (ONE,))


def called(program):
    return Program(((CALL, (program,), -1),), ((SCALAR,),), (SCALAR,), (0,))


def called_with_a_constant(extent):
    """A call whose argument is made of a constant outside of it."""
    wide = aval((extent,), FLOAT)
    inner = Program(((REDUCE_MAX, ((0,), False), -1),), (SCALAR,), (wide,), (0,))
    keys = (BROADCAST, ((extent,),), -2), (CALL, (inner,), 0)
    return Program(keys, (wide, (SCALAR,)), (SCALAR, SCALAR), (1,), (ONE,))


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (maximum_of(tiers.LARGE_CONSTANT), UNFOLDED),
        (called(maximum_of(tiers.LARGE_CONSTANT)), UNFOLDED),
        (called_with_a_constant(tiers.LARGE_CONSTANT), UNFOLDED),
        (maximum_of(tiers.LARGE_CONSTANT - 1), None),
        (maximum_of(tiers.LARGE_CONSTANT, of_parameter=True), None),
    ],
    ids=["large", "in a call", "passed to a call", "small", "of a parameter"],
)
def test_ops_on_large_constants_are_not_computed_by_the_compiler(program, options):
    with mock.patch.object(tiers, "accepted", return_value=True):
        assert tiers.options(program, "cpu") == options


def test_a_function_that_reduces_a_large_constant():
    with mock.patch.object(tiers, "options", wraps=tiers.options) as asked:
        total = tf.function(lambda x: tf.reduce_max(tf.fill([tiers.LARGE_CONSTANT], 3.0)) * x)(tf.constant(2.0))
        assert total.numpy() == 6.0
    assert [tiers.options(*call.args) for call in asked.call_args_list] == [UNFOLDED]


def test_another_platform_gets_none_of_them():
    assert tiers.options(CONVOLUTION, "gpu") == ROUNDING


@pytest.mark.parametrize(
    "unknown", [{"xla_cpu_no_such_flag": "1"}, {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_NONE_SUCH"}]
)
def test_a_jaxlib_without_the_flag_goes_on(unknown):
    images, filters = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1])
    row = lowerings.compiling["convolving"]._replace(flags=unknown)
    with mock.patch.dict(lowerings.compiling, convolving=row):
        assert tiers.options(CONVOLUTION, "cpu") is None
        engine.flush()
        for _ in range(2):
            assert tf.nn.conv2d(images, filters, 1, "VALID").numpy().max() == 8.0


def test_the_question_is_asked_once():
    with mock.patch.object(jax, "jit", wraps=jax.jit) as jit:
        for _ in range(3):
            tiers.options(CONVOLUTION, "cpu")
    assert jit.call_count <= 1
