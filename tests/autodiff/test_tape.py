"""What a `GradientTape` promises: arguments, sources, targets, what is watched."""

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
    """TensorFlow's come first; gradtape's own after them."""
    assert list(inspect.signature(getattr(tf.GradientTape, method)).parameters)[: len(parameters)] == parameters


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


@pytest.mark.parametrize("watched", [True, False])
def test_target_that_is_a_source_gets_ones_of_its_shape(watched):
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        if watched:
            tape.watch(x)
    agree(tape.gradient(x, x), [[1.0, 1.0, 1.0]])


def test_variable_that_is_target_and_source_need_not_have_been_read():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        pass
    agree(tape.gradient(v, [v, tf.Variable(1.0)]), [[1.0, 1.0], None])


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
        (lambda y, z: [y, z], [2.0], 39.0),
        (lambda y, z: y, [2.0, 10.0], 12.0),
        (lambda y, z: y, [], 6.0),
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
    agree(tape.gradient(y, x, output_gradients=3.0), [6.0, 12.0])  # it is broadcast
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"output_gradients of shape \(3,\) for a target of shape \(2,\)"):
        tape.gradient(y, x, output_gradients=tf.ones(3))


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


def test_a_cotangent_of_one_element_for_a_scalar():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x**2)
    assert tape.gradient(y, x, output_gradients=tf.constant([2.0])).numpy().tolist() == [4.0, 8.0]
