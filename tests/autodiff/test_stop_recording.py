"""`stop_recording` and `reset`."""

import contextlib

import pytest

import gradtape as tf
from tests.agreement import agree


def test_what_runs_in_between_is_a_constant():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = y * x
        total = y + z
    agree(total, 12.0)
    agree(tape.gradient(total, x), 4.0)


def test_values_from_in_between_can_be_targets_of_nothing():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape, tape.stop_recording():
        y = x * x
    assert tape.gradient(y, x) is None
    assert tape.watched_variables() == ()


def test_variables_read_only_in_between_are_not_watched():
    x = tf.Variable(2.0, name="x")
    y = tf.Variable(3.0, name="y")
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            hidden = y * 2.0
        z = x * hidden
    agree(tape.gradient(z, [x, y]), [6.0, None])
    assert [variable.name for variable in tape.watched_variables()] == ["x:0"]


def test_recording_goes_on_with_what_was_watched_before():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        with tape.stop_recording():
            pass
        z = y * x
    agree(tape.gradient(z, x), 12.0)


def test_several_gaps():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in range(6):
            if i % 2:
                with tape.stop_recording():
                    hidden = y * 10.0
                y = y + hidden
            else:
                y = y * 2.0
    agree(y, 8.0 * 11.0**3)
    agree(tape.gradient(y, x), 8.0)


def test_an_outer_tape_goes_on_recording():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            with inner.stop_recording():
                y = x * x
            z = y * x
    agree(inner.gradient(z, x), 9.0)
    agree(outer.gradient(z, x), 27.0)


def test_an_inner_tape_goes_on_recording():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with outer.stop_recording(), tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        z = y * x
    agree(inner.gradient(y, x), 6.0)
    agree(outer.gradient(z, x), 9.0)


def test_the_gradient_of_what_was_recorded_so_far():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            dy_dx = tape.gradient(y, x)
        z = y * dy_dx
    agree(dy_dx, 6.0)
    agree(tape.gradient(z, x), 36.0)
    assert tape.gradient(dy_dx, x) is None


def test_an_exception_in_between_ends_the_gap():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(ZeroDivisionError, match="division"), tape.stop_recording():
            1 / 0  # noqa: B018
        z = y * x
    agree(tape.gradient(z, x), 27.0)


def test_the_same_program_with_and_without_a_gap():
    def run(gap):
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            if gap:
                with tape.stop_recording():
                    y = x * x
            else:
                y = x * x
            z = y * x
        return tape.gradient(z, x)

    agree([run(False), run(True), run(False), run(True)], [27.0, 9.0, 27.0, 9.0])


def test_reset_forgets_ops_and_watched_tensors():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        forgotten = x * y
        tape.watch(x)
        z = x * y
    agree([tape.gradient(target, x) for target in (y, forgotten, z)], [None, None, 9.0])


def test_reset_forgets_watched_variables():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
        tape.reset()
    assert tape.watched_variables() == ()
    assert tape.gradient(y, v) is None


def test_reset_between_rounds_inside_one_context():
    v = tf.Variable(1.0)
    gradients = []
    with tf.GradientTape(persistent=True) as tape:
        for _ in range(3):
            tape.reset()
            y = v**3
            gradients.append(tape.gradient(y, v))
            v.assign_add(1.0)
    agree(gradients, [3.0, 12.0, 27.0])


@pytest.mark.parametrize("read", [False, True])
def test_what_is_computed_again_while_a_tape_pauses_is_on_it_nevertheless(read):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = tf.reduce_prod(x) ** 2

        def along(direction):
            with tf.GradientTape() as transposed:
                cotangent = tf.ones([])
                transposed.watch(cotangent)
                gradient = inner.gradient(y, x, output_gradients=cotangent)
            return transposed.gradient(gradient, cotangent, output_gradients=tf.constant(direction))

        with tape.stop_recording():
            first = along([1.0, 0.0])  # opens a tape where none is open: the product is computed again here
            if read:
                assert first.numpy() == 8.0
        second = along([0.0, 1.0])
    assert tape.gradient(second, x).numpy().tolist() == [8.0, 2.0]


def test_a_pause_in_a_function_does_not_pause_the_tape_outside():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)

        @tf.function
        def traced(x):
            with tape.stop_recording():
                doubled = x * 2.0
            return doubled * x

        y = traced(x)
    agree(tape.gradient(y, x), 12.0)


@pytest.mark.parametrize("staged", [lambda step: step, tf.function], ids=["eager", "function"])
def test_a_variable_that_was_assigned_before_a_pause_counts_once(staged):
    v = tf.Variable(2.0)

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            v.assign_add(0.1 * x)
            with tape.stop_recording():
                doubled = v.value() * 2.0
            y = v.value() * x + doubled * x
        return tape.gradient(y, [x, v])

    agree(staged(step)(tf.constant(3.0)), [6.9, 3.0])


def test_an_init_scope_pauses_the_tapes_around_it():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as forward, tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tf.init_scope():
            y, z, made = x * x, v * v, tf.Variable(1.0)
        after, product = y * x, made * x
    assert [tape.gradient(*pair) for pair in [(y, x), (z, v)]] == [None, None] and forward.jvp(y) is None
    assert [float(tape.gradient(*pair)) for pair in [(after, x), (product, made), (product, x)]] == [9.0, 3.0, 1.0]


# For a product of a value that is computed in the pause with v: its gradient by the inner tape, that gradient's gradient by the
# outer one, and the product's gradient by the outer one. The numbers are TensorFlow's 2.21, at v = 2.
@pytest.mark.parametrize("staged", [lambda step: step, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("stops_outer", "stops_inner", "expected"),
    [
        (False, False, [32.0, 48.0, 32.0]),
        (True, False, [32.0, 12.0, 8.0]),
        (False, True, [8.0, 12.0, 32.0]),
        (True, True, [8.0, None, 8.0]),
    ],
)
def test_a_variable_that_is_read_while_one_of_two_tapes_pauses(staged, stops_outer, stops_inner, expected):
    v = tf.Variable(2.0)

    def step():
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner, contextlib.ExitStack() as pauses:
                for tape, stops in ((outer, stops_outer), (inner, stops_inner)):
                    if stops:
                        pauses.enter_context(tape.stop_recording())
                y = v * v * v
                pauses.close()
                z = y * v
            gradient = inner.gradient(z, v)
        return [gradient, outer.gradient(gradient, v), outer.gradient(z, v)]

    agree(staged(step)(), expected)


READS = {
    "a gather": (lambda v, f: tf.gather(v, [1, 1]), [6.0, 6.0]),
    "a function": (lambda v, f: f(), [32.0, 108.0]),
    "a branch": (lambda v, f: tf.cond(tf.reduce_sum(v) > 0.0, f, lambda: v), [32.0, 108.0]),
    "a tensor": (lambda v, f: tf.convert_to_tensor(v), [4.0, 6.0]),
    "a slice": (lambda v, f: v[:1], [4.0, 4.0]),
}


@pytest.mark.parametrize("kind", READS)
def test_reads_of_all_kinds_in_a_pause(kind):
    """The outer tape's gradient of the inner one's, as TensorFlow 2.21 computes it."""
    read, expected = READS[kind]
    v = tf.Variable([2.0, 3.0])
    square = tf.function(lambda: v * v)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            with outer.stop_recording():
                y = read(v, square)
            z = y * y * v
        gradient = inner.gradient(z, v)
    agree(outer.gradient(gradient, v), expected)


def test_a_tensor_of_a_variable_from_a_pause_is_a_constant():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with tape.stop_recording():
            held = tf.convert_to_tensor(v)
        y = held * held * v
    agree(tape.gradient(y, v), 4.0)


def test_a_tape_that_pauses_cannot_be_paused_or_reset():
    with tf.GradientTape() as tape, tape.stop_recording():
        with pytest.raises(ValueError, match=r"^Tape is not recording"), tape.stop_recording():
            pass
        with pytest.raises(ValueError, match="tape is not recording"):
            tape.reset()
    with tf.autodiff.ForwardAccumulator(v := tf.Variable(2.0), tf.constant(1.0)) as forward:
        y = v * v
        with tf.init_scope():
            agree([forward.jvp(y), forward.jvp(v * v)], [4.0, None])
