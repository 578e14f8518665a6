"""What a `GradientTape` promises: arguments, sources, targets, what is watched, what is refused."""

import inspect
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

Pair = namedtuple("Pair", "left right")


@dataclass
class Box:
    """A dataclass that takes part in nests, by TensorFlow's protocol."""

    left: object
    right: object

    def __tf_flatten__(self):
        return (), (self.left, self.right)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*components)


@pytest.fixture
def product():
    """A persistent tape over `y = v * w` at 2 and 3, and `y`, `v`, `w`: the gradients are 3 and 2."""
    v = tf.Variable(2.0)
    w = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * w
    return tape, y, v, w


# The interface


@pytest.mark.parametrize(
    "method, parameters",
    [
        ("__init__", ["self", "persistent", "watch_accessed_variables"]),
        ("watch", ["self", "tensor"]),
        ("gradient", ["self", "target", "sources", "output_gradients", "unconnected_gradients"]),
        (
            "jacobian",
            ["self", "target", "sources", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor"],
        ),
        (
            "batch_jacobian",
            ["self", "target", "source", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor"],
        ),
        ("stop_recording", ["self"]),
        ("reset", ["self"]),
        ("watched_variables", ["self"]),
    ],
)
def test_parameters(method, parameters):
    assert list(inspect.signature(getattr(tf.GradientTape, method)).parameters) == parameters


def test_positional_arguments():
    v = tf.Variable(2.0)
    with tf.GradientTape(True, False) as tape:
        y = v * v
        tape.watch(v)
        z = v * v
    assert tape.gradient(y, v) is None
    agree(tape.gradient(z, v), 4.0)
    agree(tape.gradient(z, v, tf.constant(10.0), "zero"), 40.0)


# Sources


@pytest.mark.parametrize(
    "structure",
    [
        lambda v, w: [v, w],
        lambda v, w: (v, w),
        lambda v, w: {"b": v, "a": w},
        lambda v, w: OrderedDict([("b", v), ("a", w)]),
        lambda v, w: defaultdict(list, {"b": v, "a": w}),
        lambda v, w: Pair(v, w),
        lambda v, w: [Pair(v, [w]), (v, {"again": w})],
        lambda v, w: {"deep": [[(v,)], w], "empty": []},
        lambda v, w: [v, v, w],
    ],
)
def test_gradients_have_the_structure_of_the_sources(product, structure):
    tape, y, v, w = product
    gradients = tape.gradient(y, structure(v, w))
    assert type(gradients) is type(structure(v, w))
    tf.nest.assert_same_structure(gradients, structure(0, 0))
    agree(gradients, structure(3.0, 2.0))


def test_one_source_gives_one_tensor(product):
    tape, y, v, w = product
    agree(tape.gradient(y, v), 3.0)
    agree(tape.gradient(y, w), 2.0)


def test_no_sources(product):
    tape, y, _, _ = product
    assert tape.gradient(y, []) == []
    assert tape.gradient(y, {}) == {}


def test_named_tuple_keeps_its_fields(product):
    tape, y, v, w = product
    agree(tape.gradient(y, Pair(v, w)).right, 2.0)


def test_dataclass(product):
    tape, y, v, w = product
    gradients = tape.gradient(y, {"box": Box(v, w)})["box"]
    assert type(gradients) is Box
    agree([gradients.left, gradients.right], [3.0, 2.0])


# Targets


@pytest.mark.parametrize(
    "targets, dx",
    [
        (lambda x, y, z: y, 6.0),
        (lambda x, y, z: [y, z], 33.0),
        (lambda x, y, z: (y, [z, {"again": y}]), 39.0),
        (lambda x, y, z: [y, y], 12.0),
        (lambda x, y, z: x, 1.0),
        (lambda x, y, z: [x, y], 7.0),
        (lambda x, y, z: [x, x], 2.0),
        (lambda x, y, z: [], None),
    ],
)
def test_targets_are_summed(targets, dx):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
        z = x**3
    agree(tape.gradient(targets(x, y, z), x), dx)


def test_target_that_is_a_variable(product):
    tape, y, v, w = product
    agree(tape.gradient(v, [v, w]), [1.0, None])
    agree(tape.gradient([y, v, v], [v, w]), [5.0, 2.0])


def test_target_that_is_a_source_gets_ones_of_its_shape():
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
    agree(tape.gradient(x, x), [[1.0, 1.0, 1.0]])


def test_target_whose_source_lies_before_and_in_it():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * x
    agree(tape.gradient([y, z], [x, y]), [16.0, 3.0])


@pytest.mark.parametrize(
    "target, dx",
    [
        (lambda x: x * [1.0, 2.0, 3.0], [6.0]),
        (lambda x: x * tf.ones([2, 3]), [6.0]),
        (lambda x: [x * 2.0, x * tf.ones([4])], [6.0]),
        (lambda x: tf.zeros([0]) * x, [0.0]),
    ],
)
def test_target_that_is_no_scalar_gives_the_gradient_of_its_sum(target, dx):
    x = tf.constant([5.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = target(x)
    agree(tape.gradient(y, x), dx)


# Output gradients


@pytest.mark.parametrize(
    "target, output_gradients, dx",
    [
        (lambda y, z: y, 2.0, 12.0),
        (lambda y, z: y, [2.0], 12.0),
        (lambda y, z: y, None, 6.0),
        (lambda y, z: [y, z], [2.0, 10.0], 282.0),
        (lambda y, z: [y, z], [0.0, 1.0], 27.0),
        (lambda y, z: {"z": z, "y": y}, {"y": 2.0, "z": 10.0}, 282.0),
    ],
)
def test_output_gradients(target, output_gradients, dx):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
        z = x**3
    if output_gradients is not None:
        output_gradients = tf.nest.map_structure(tf.constant, output_gradients)
    agree(tape.gradient(target(y, z), x, output_gradients=output_gradients), dx)


def test_output_gradient_weighs_the_elements():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    agree(tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0, 100.0])), [2.0, 40.0, 600.0])


def test_output_gradient_may_be_a_python_number_or_an_array():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
        total = tf.reduce_sum(y)
    agree(tape.gradient(total, x, output_gradients=2.0), [4.0, 8.0])
    agree(tape.gradient(y, x, output_gradients=np.array([1.0, 10.0], np.float32)), [2.0, 40.0])


@pytest.mark.better
@pytest.mark.parametrize("output_gradients, dx", [([None, 10.0], 276.0), ([2.0, None], 39.0), ([None, None], 33.0)])
def test_output_gradient_none_means_ones(output_gradients, dx):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
        z = x**3
    given = [None if number is None else tf.constant(number) for number in output_gradients]
    agree(tape.gradient([y, z], x, output_gradients=given), dx)


# What is watched


def test_watched_variables_come_in_order_of_their_creation():
    variables = [tf.Variable(float(i), name=f"v{i}") for i in range(3)]
    integer = tf.Variable(1, name="integer")
    fixed = tf.Variable(1.0, name="fixed", trainable=False)
    passed_by = tf.Variable(1.0, name="passed_by", trainable=False)
    tf.Variable(1.0, name="unread")
    with tf.GradientTape() as tape:
        assert tape.watched_variables() == ()
        _ = variables[2] * 1.0 + passed_by
        _ = integer * 1
        _ = variables[0] * 1.0 + variables[2]
        tape.watch(variables[1])
        tape.watch(fixed)
    watched = tape.watched_variables()
    assert isinstance(watched, tuple)
    assert [variable.name for variable in watched] == ["v0:0", "v1:0", "v2:0", "integer:0", "fixed:0"]
    assert watched[0] is variables[0]


@pytest.mark.parametrize(
    "read",
    [
        lambda v: v + 1.0,
        lambda v: v.read_value(),
        lambda v: v.value(),
        tf.identity,
        tf.convert_to_tensor,
        tf.reduce_sum,
        lambda v: v[0],
    ],
)
def test_every_way_to_read_a_variable_watches_it(read):
    v = tf.Variable([2.0])
    with tf.GradientTape() as tape:
        y = read(v)
    assert [watched is v for watched in tape.watched_variables()] == [True]
    agree(tape.gradient(y, v), [1.0])


def test_a_fixed_variable_is_watched_when_asked_for():
    v = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    agree(tape.gradient(y, v), 6.0)


def test_nothing_is_watched_automatically_when_switched_off():
    v = tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = v * v
    assert tape.watched_variables() == ()
    assert tape.gradient(y, v) is None


@pytest.mark.parametrize("structure", [lambda x, z: [x, z], lambda x, z: (x, [z]), lambda x, z: {"x": x, "z": z}])
def test_watch_takes_a_nest(structure):
    x = tf.constant(2.0)
    z = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(structure(x, z))
        y = x * z
    agree(tape.gradient(y, [x, z]), [3.0, 2.0])


def test_watch_after_the_op_is_too_late():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    agree(tape.gradient(z, x), 4.0)


def test_watch_an_intermediate_value():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(y)
        z = y * y
    agree(tape.gradient(z, [x, y]), [None, 8.0])


def test_equal_constants_are_different_sources():
    x = tf.constant(2.0)
    same = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, same])
        y = x * x
    agree(tape.gradient(y, [x, same]), [4.0, None])


def test_gradient_to_every_intermediate_tensor():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = x * 3.0
        b = tf.sin(a)
        c = b * a
        y = c * c
    agree(tape.gradient(y, [x, a, b, c]), [-55.13925, -18.379749, -20.117916, -3.352986])
    agree(tape.gradient(c, [a, b]), [5.481606, 6.0])
    assert tape.gradient(b, c) is None


def test_a_value_used_many_times():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(10):
            y = y + y
    agree(tape.gradient(y, x), 1024.0)


# Leaving and entering


def test_ops_after_the_tape_are_not_recorded():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    z = y * y
    assert tape.gradient(z, x) is None
    agree(tape.gradient(y, x), 6.0)


def test_entering_again_after_exit():
    x = tf.constant(3.0)
    tape = tf.GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    gap = y * 2
    with tape:
        z = gap * x + y
    agree(tape.gradient(z, [x, y, gap]), [24.0, 1.0, None])
    assert tape.gradient(gap, x) is None


def test_entering_again_without_persistence():
    x = tf.constant(3.0)
    tape = tf.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y + x
    agree(tape.gradient(z, x), 7.0)


def test_gradient_inside_the_tape():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        dy_dx = tape.gradient(x * x, x)
    agree(dy_dx, 6.0)


def test_gradient_inside_a_persistent_tape_is_recorded_by_it():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        dy_dx = tape.gradient(x**3, x)
    agree(dy_dx, 27.0)
    agree(tape.gradient(dy_dx, x), 18.0)


def test_an_exception_leaves_the_tape():
    x = tf.constant(3.0)
    tape = tf.GradientTape(persistent=True)
    with pytest.raises(ZeroDivisionError, match="division"), tape:
        tape.watch(x)
        y = x * x
        1 / 0  # noqa: B018
    z = y * x
    agree(tape.gradient(y, x), 6.0)
    assert tape.gradient(z, x) is None


# What is refused

SPENT = "A non-persistent GradientTape can only be used to compute one set of gradients"


@pytest.mark.parametrize("first", ["gradient", "jacobian"])
@pytest.mark.parametrize("second", ["gradient", "jacobian"])
def test_a_tape_is_spent_after_one_use(first, second):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    getattr(tape, first)(y, x)
    with pytest.raises(RuntimeError, match=SPENT):
        getattr(tape, second)(y, x)


def test_a_tape_that_recorded_nothing():
    x = tf.constant(3.0)
    with pytest.raises(RuntimeError, match=SPENT):
        tf.GradientTape().gradient(x, x)
    assert tf.GradientTape().watched_variables() == ()


def test_watch_before_the_context():
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute"):
        tf.GradientTape().watch(tf.constant(1.0))


@pytest.mark.parametrize(
    "value, named",
    [(1.0, "float"), (1, "int"), ("text", "str"), (np.ones(2), "ndarray"), (None, "NoneType"), ([2.0], "float")],
)
def test_watch_refuses_what_is_no_tensor(value, named):
    message = f"of type '{named}', not tf.Tensor or tf.Variable or ExtensionType"
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=message):
        tape.watch(value)


def test_entering_an_active_tape():
    message = "Tape is still recording, This can happen if you try to re-enter an already-active tape."
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=message), tape:
        pass


@pytest.mark.parametrize("use", ["stop_recording", "reset"])
def test_control_of_a_tape_that_is_not_recording(use):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(ValueError, match="Tape is not recording"):
        if use == "reset":
            tape.reset()
        else:
            with tape.stop_recording():
                pass


def test_target_none():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(TypeError, match="Argument `target` should be a list or nested structure of Tensors, Variables"):
        tape.gradient(None, x)


@pytest.mark.parametrize("sources", [None, [None]])
def test_source_none(sources):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match="None"):
        tape.gradient(y, sources)


def test_unknown_value_for_unconnected_gradients():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'ones'"):
        tape.gradient(y, x, unconnected_gradients="ones")


# Dtypes


@pytest.mark.parametrize(
    "value, named", [(3, "int32"), ([1, 2], "int32"), (np.int64(3), "int64"), (True, "bool"), ("text", "string")]
)
def test_watching_what_is_not_floating_warns(value, named, caplog):
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert f"The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.{named}" in caplog.text
    assert tape.gradient(tf.constant(1.0), x) is None


@pytest.mark.parametrize("value", [1.0, np.float64(1.0), np.float16(1.0), 1.0 + 1.0j])
def test_watching_what_is_floating_does_not_warn(value, caplog):
    with tf.GradientTape() as tape:
        tape.watch(tf.constant(value))
    assert caplog.text == ""


@pytest.mark.parametrize("value, zeros", [(3, 0), ([1, 2], [0, 0])])
def test_an_integer_source_gives_none_or_integer_zeros(value, zeros):
    x = tf.constant(value)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    gradient = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert gradient.dtype == tf.int32
    agree(gradient, zeros)


def test_an_integer_target_gives_none():
    x = tf.constant(2.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.int32)
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradients_keep_the_dtype_of_their_source(dtype):
    x = tf.constant([1.0, 2.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    gradient = tape.gradient(y, x)
    assert gradient.dtype == tf.as_dtype(dtype)
    agree(tf.cast(gradient, tf.float32), [2.0, 4.0])


def test_gradient_through_a_cast_between_floats():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.float64) ** 2
    assert y.dtype == tf.float64
    gradient = tape.gradient(y, x)
    assert gradient.dtype == tf.float32
    agree(gradient, 6.0)


@pytest.mark.parametrize(
    "function, dz",
    [
        (lambda z: z * z, 2 - 4j),
        (lambda z: z**3, -9 - 12j),
        (tf.exp, -1.1312044 - 2.4717266j),
        (tf.sin, 2.0327230 + 3.0518978j),
        (lambda z: 1 / z, 0.12 - 0.16j),
        (tf.abs, 0.4472136 + 0.8944272j),
        (tf.math.real, 1.0),
        (tf.math.imag, 1j),
        (tf.math.conj, 1.0),
        (lambda z: tf.abs(z) ** 2, 2 + 4j),
    ],
)
def test_complex_gradients_are_conjugate(function, dz):
    z = tf.constant(1 + 2j, tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = function(z)
    gradient = tape.gradient(y, z)
    assert gradient.dtype == tf.complex64
    agree(gradient, dz)
