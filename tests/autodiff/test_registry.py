"""Gradients registered by name, and the scopes in which one op takes the gradient of another."""

import threading

import pytest

import gradtape as tf
from tests.agreement import agree


@tf.RegisterGradient("PassThrough")
def pass_through(op, dy):
    return dy


@tf.RegisterGradient("TenTimes")
def ten_times(op, dy):
    return 10.0 * dy


@tf.RegisterGradient("NoGradient")
def no_gradient(op, dy):
    return None


@tf.RegisterGradient("GuidedRelu")
def guided_relu(op, dy):
    return tf.where((dy > 0) & (op.outputs[0] > 0), dy, tf.zeros_like(dy))


@tf.RegisterGradient("SquareOfInput")
def square_of_input(op, dy):
    return dy * op.inputs[0] ** 2


def test_registering_returns_the_function():
    assert pass_through.__name__ == "pass_through"


@pytest.mark.parametrize("name", ["PassThrough", "Floor", "Sin", "MatMul"])
def test_a_name_can_be_registered_once(name):
    with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'"):
        tf.RegisterGradient(name)(pass_through)


@pytest.mark.parametrize("name", ["StraightThrough", "Silu"])
def test_a_name_that_only_an_op_of_gradtape_has_is_free(name):
    tf.RegisterGradient(name)(ten_times)
    with tf.gradient_override_map({"Floor": name}):
        agree(derivative(tf.floor, [1.5]), ([1.0], [10.0]))
    agree(derivative(tf.nn.silu, [0.0]), ([0.0], [0.5]))
    with pytest.raises(KeyError, match=f"Registering two gradient with name '{name}'"):
        tf.RegisterGradient(name)(ten_times)


@pytest.mark.parametrize("name", [3, None, pass_through])
def test_the_name_must_be_a_string(name):
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(name)


# gradient_override_map as a plain context manager


def derivative(function, x, before=None):
    """The gradient of `function` at `x`; with `before`, the tape is opened around that scope, else within any."""
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        if before is None:
            y = function(x)
        else:
            with before:
                y = function(x)
    return y, tape.gradient(y, x)


@pytest.mark.better
@pytest.mark.parametrize(
    "override, function, x, y, dx",
    [
        ({"Floor": "PassThrough"}, tf.floor, [1.5, -2.3], [1.0, -3.0], [1.0, 1.0]),
        ({"Floor": "TenTimes"}, lambda x: tf.floor(x) * 2.0, [1.5], [2.0], [20.0]),
        ({"Floor": "Identity"}, tf.floor, [1.5], [1.0], [1.0]),
        ({"Round": "PassThrough"}, tf.round, [1.6], [2.0], [1.0]),
        ({"Identity": "TenTimes"}, tf.identity, [1.5], [1.5], [10.0]),
        ({"Identity": "NoGradient"}, tf.identity, [1.5], [1.5], None),
        ({"Relu": "GuidedRelu"}, lambda x: -tf.nn.relu(x), [1.0, -1.0], [-1.0, 0.0], [0.0, 0.0]),
        ({"Relu": "GuidedRelu"}, lambda x: 3.0 * tf.nn.relu(x), [1.0, -1.0], [3.0, 0.0], [3.0, 0.0]),
        ({"Sin": "SquareOfInput"}, tf.sin, [2.0], [0.9092974], [4.0]),
        ({"Sin": "SquareOfInput"}, lambda x: tf.cos(x), [2.0], [-0.4161468], [-0.9092974]),
        ({"Sin": "TenTimes", "Cos": "PassThrough"}, lambda x: tf.sin(x) + tf.cos(x), [2.0], [0.4931506], [11.0]),
        ({}, tf.floor, [1.5], [1.0], None),
    ],
)
@pytest.mark.parametrize("tape", ["inside", "outside"])
def test_the_gradient_of_another(override, function, x, y, dx, tape):
    scope = tf.gradient_override_map(override)
    if tape == "outside":
        forward, backward = derivative(function, x, before=scope)
    else:
        with scope:
            forward, backward = derivative(function, x)
    agree(forward, y)
    agree(backward, dx)


@pytest.mark.better
def test_what_counts_is_where_the_op_was_run():
    x = tf.constant([1.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        before = tf.floor(x)
        with tf.gradient_override_map({"Floor": "PassThrough"}):
            within = tf.floor(x)
        after = tf.floor(x)
    agree([tape.gradient(y, x) for y in (before, within, after)], [None, [1.0], None])
    with tf.gradient_override_map({"Floor": "TenTimes"}):
        agree([tape.gradient(y, x) for y in (before, within, after)], [None, [1.0], None])


@pytest.mark.better
def test_the_inner_scope_wins_and_the_outer_one_returns():
    x = tf.constant([1.5])
    with tf.GradientTape(persistent=True) as tape, tf.gradient_override_map({"Floor": "TenTimes", "Sin": "TenTimes"}):
        tape.watch(x)
        first = tf.floor(x)
        with tf.gradient_override_map({"Floor": "PassThrough"}):
            second = tf.floor(x)
            third = tf.sin(x)
        fourth = tf.floor(x)
    agree([tape.gradient(y, x) for y in (first, second, third, fourth)], [[10.0], [1.0], [10.0], [10.0]])


@pytest.mark.better
def test_an_exception_ends_the_scope():
    with pytest.raises(ZeroDivisionError, match="division"), tf.gradient_override_map({"Floor": "PassThrough"}):
        1 / 0  # noqa: B018
    agree(derivative(tf.floor, [1.5])[1], None)


@pytest.mark.better
def test_the_scope_belongs_to_its_thread():
    results = []
    with tf.gradient_override_map({"Floor": "PassThrough"}):
        thread = threading.Thread(target=lambda: results.append(derivative(tf.floor, [1.5])[1]))
        thread.start()
        thread.join()
        results.append(derivative(tf.floor, [1.5])[1])
    agree(results, [None, [1.0]])


@pytest.mark.better
def test_the_override_has_a_derivative_of_its_own():
    x = tf.constant(3.0)
    with tf.gradient_override_map({"Floor": "SquareOfInput"}), tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.floor(x) * x
        dy_dx = inner.gradient(y, x)
    # y' = x · x² + floor(x); its derivative takes the override again for floor: 3 x² + x²
    agree(dy_dx, 30.0)
    agree(outer.gradient(dy_dx, x), 36.0)


@pytest.mark.better
def test_what_a_gradient_function_sees():
    seen = {}

    @tf.RegisterGradient("Onlooker")
    def onlooker(op, dy):
        seen.update(type=op.type, inputs=list(op.inputs), outputs=list(op.outputs))
        seen.update(transposed=(op.get_attr("transpose_a"), op.get_attr("transpose_b")))
        return dy @ op.inputs[1], None

    x = tf.constant([[1.0, 2.0]])
    w = tf.constant([[3.0, 4.0], [5.0, 6.0]])
    with tf.gradient_override_map({"MatMul": "Onlooker"}), tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.matmul(x, w, transpose_b=True)
    agree(tape.gradient(y, [x, w]), [[[8.0, 10.0]], None])
    assert seen["type"] == "MatMul"
    assert seen["transposed"] == (False, True)
    agree(seen["inputs"], [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    agree(seen["outputs"], [[[11.0, 17.0]]])


@pytest.mark.better
def test_the_same_program_with_and_without_an_override():
    rounds = []
    for override in ({}, {"Floor": "PassThrough"}, {"Floor": "TenTimes"}, {}):
        with tf.gradient_override_map(override):
            rounds.append(derivative(lambda x: tf.floor(x) * 2.0 + x, [1.5])[1])
    agree(rounds, [[1.0], [3.0], [21.0], [1.0]])


@pytest.mark.better
def test_an_override_by_a_name_that_nobody_registered():
    with (
        pytest.raises(LookupError, match="gradient registry has no entry for: Nobody"),
        tf.gradient_override_map({"Floor": "Nobody"}),
    ):
        derivative(tf.floor, [1.5])


@pytest.mark.better
def test_an_override_by_a_name_that_is_registered_later_or_never():
    x = tf.constant([1.5])
    with tf.GradientTape(persistent=True) as tape, tf.gradient_override_map({"Round": "RegisteredLater", "Ceil": "Never"}):
        tape.watch(x)
        y, z = tf.round(x), tf.math.ceil(x)
    agree([y, z], [[2.0], [2.0]])
    with pytest.raises(LookupError, match="gradient registry has no entry for: RegisteredLater"):
        tape.gradient(y, x)
    tf.RegisterGradient("RegisteredLater")(lambda op, dy: dy * 5.0)
    agree(tape.gradient(y, x), [5.0])
    with pytest.raises(LookupError, match="gradient registry has no entry for: Never"):
        tape.gradient(z, x)


@pytest.mark.better
@pytest.mark.parametrize("override", [3, {"Floor": 3}, {3: "PassThrough"}, {"Floor": pass_through}])
def test_the_map_must_be_of_strings(override):
    with (
        pytest.raises(TypeError, match=r"op_type_map .* strings"),
        tf.gradient_override_map(override),
    ):
        pass
