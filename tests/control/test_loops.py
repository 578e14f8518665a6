"""Loops, maps and branches inside of each other: gradients to order 3, Jacobians, maps over them, long loops, memory.

Each form is written once, over a module `tf`: compiled by gradtape, and unrolled by `tests.fuzz.unrolled` under `jax.grad`.
"""

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.control import bounded_scan, checkpointed_while, loop, programs
from gradtape._src.core.programs.program import Program
from gradtape._src.core.tensors.tensor import handle
from tests.fuzz import unrolled

pytestmark = pytest.mark.usefixtures("compiled_early")  # how loops run on the host: tests/engine/test_loops_on_host.py
FORMS = {}
X = np.array([0.3, -0.7, 1.1])


def form(make):
    """Enter `make(tf)`, which gives a function from a vector to a vector, into the table."""
    FORMS[make.__name__] = make
    return make


@form
def while_loop(tf):
    return lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.sin(y) * x), (tf.constant(0), x))[1]


@form
def while_statement(tf):
    def f(x):
        y = x
        while tf.reduce_sum(y * y) < 30.0:
            y = 1.3 * y + 0.2 * tf.sin(x * y)
        return y

    return f


@form
def for_statement(tf):
    def f(x):
        y = x
        for i in tf.range(tf.cast(2.5 + tf.reduce_sum(x), tf.int32)):
            y = tf.tanh(y * x) + 0.1 * tf.cast(i, tf.float64)
        return y

    return f


@form
def for_rows_with_break(tf):
    def f(x):
        y = x
        for row in tf.stack([x, 2.0 * x, x * x, 3.0 * x]):
            if tf.reduce_sum(y) > 2.0:
                break
            y = y + tf.sin(row) * row
        return y

    return f


@form
def scan(tf):
    return lambda x: tf.reduce_sum(tf.scan(lambda y, row: tf.sin(y * row) + x, tf.stack([x, 2.0 * x, x * x])), 0)


@form
def foldl(tf):
    return lambda x: tf.foldl(lambda y, row: tf.sin(y * row) + x, tf.stack([x, 2.0 * x]), initializer=tf.cos(x))


@form
def map_fn(tf):
    return lambda x: tf.reduce_sum(tf.map_fn(lambda row: tf.sin(row * x) * row, tf.stack([x, 2.0 * x])), 0)


@form
def vectorized_map(tf):
    return lambda x: tf.reduce_sum(tf.vectorized_map(lambda row: tf.sin(row * x) * row, tf.stack([x, 2.0 * x])), 0)


@form
def tensor_array(tf):
    def f(x):
        array = tf.TensorArray(tf.float64, size=3)
        y = x
        for i in tf.range(3):
            y = tf.sin(y) * x
            array = array.write(i, y * y)
        return tf.reduce_sum(array.stack(), 0)

    return f


@form
def rows_in_while(tf):
    def f(x):
        y = x
        i = tf.constant(0)
        while i < 3:
            for row in tf.stack([x, 2.0 * x]):
                y = tf.sin(y) * row + 0.5
            i += 1
        return y

    return f


@form
def while_in_while(tf):
    def f(x):
        y = x
        i = tf.constant(0)
        while i < 3:
            j = tf.constant(0)
            while j < i + 1:
                y = tf.sin(y) * x + 0.5
                j += 1
            i += 1
        return y

    return f


@form
def map_in_loop(tf):
    def f(x):
        y = x
        for _ in tf.range(3):
            y = tf.reduce_sum(tf.map_fn(lambda row: tf.sin(row * x), tf.stack([y, x])), 0)
        return y

    return f


@form
def cond_in_loop(tf):
    def f(x):
        y = x
        for _ in tf.range(4):
            if tf.reduce_sum(y) > 0.5:
                y = tf.sin(y) * x
            else:
                y = y * y + tf.cos(x)
        return y

    return f


@form
def loop_in_cond(tf):
    def f(x):
        def loop():
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), (tf.constant(0), x))[1]

        return tf.cond(tf.reduce_sum(x) > 0.5, loop, lambda: x) + tf.cond(tf.reduce_sum(x) > 5.0, lambda: x, loop)

    return f


@form
def equal_values_in_loop(tf):
    def f(x):
        y = x
        t = 0.5 * x
        for _ in tf.range(3):
            y = tf.tanh(tf.sin(y * x + tf.exp(t)) + tf.exp(t)) + tf.sin(t) * tf.sin(t)
            t += 0.3
        return y

    return f


@form
def function_in_loop(tf):
    @tf.function
    def inner(y, x):
        return tf.sin(y) * x

    def f(x):
        y = x
        for _ in tf.range(3):
            y = inner(y, x) + inner(x, y)
        return y

    return f


def derivatives(f, x, order):
    """The value of `f` (a vector), the gradient of its sum, the gradient of that one's sum…"""
    if order == 0:
        return [f(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        below = derivatives(f, x, order - 1)
        total = tf.reduce_sum(below[-1])
    return [*below, tape.gradient(total, x)]


def unrolled_derivatives(f, x, order):
    functions = [f]
    for _ in range(order):
        functions.append(jax.grad(lambda y, below=functions[-1]: jnp.sum(below(y))))
    return [function(jnp.asarray(x)) for function in functions]


def close(ours, theirs, tolerance=1e-9):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-11)


# The highest order that is tested by default, where it is not 3: each takes XLA two to three times as long as the one before.
# The first order of every form is in its Jacobian.
UP_TO = dict.fromkeys(["for_statement", "loop_in_cond", "map_in_loop", "scan", "while_loop", "while_statement"], 2)
UP_TO |= dict.fromkeys(["for_rows_with_break", "rows_in_while", "while_in_while"], 1)
orders = [pytest.param(name, 3, marks=[pytest.mark.long] if name in UP_TO else []) for name in FORMS]
orders += [pytest.param(name, 2, marks=[pytest.mark.long] if order == 1 else []) for name, order in UP_TO.items()]


@pytest.mark.parametrize(("name", "order"), orders)
def test_derivatives_are_those_of_the_unrolled_form(name, order):
    close(derivatives(tf.function(FORMS[name](tf)), tf.constant(X), order), unrolled_derivatives(FORMS[name](unrolled), X, order))


@pytest.mark.parametrize("name", FORMS)
def test_jacobian_goes_through(name):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(FORMS[name](tf))(x)
    close([tape.jacobian(y, x)], [jax.jacobian(FORMS[name](unrolled))(jnp.asarray(X))])


@pytest.mark.parametrize("name", FORMS)
def test_vectorized_map_over_it(name):
    rows = np.stack([X, 0.5 * X, -X])  # with other branches taken and other numbers of trips
    x = tf.constant(rows)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(tf.function(FORMS[name](tf)), x)
    values, grads = zip(*[unrolled_derivatives(FORMS[name](unrolled), row, 1) for row in rows], strict=True)
    close([y, tape.gradient(y, x)], [np.stack(values), np.stack(grads)])


@tf.function
def power(x, n):
    """x**n, by n trips."""
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.ones_like(x)))[1]


@tf.function
def power_by_for(x, n):
    y = tf.ones_like(x)
    for _ in tf.range(n):
        y = y * x
    return y


def powers(x, n):
    return [x**n, n * x ** (n - 1.0), n * (n - 1.0) * x ** (n - 2.0)]


TRIPS = (0, 1, 2, 63, 64, 65, 1_000, 1_023, 1_024, 1_025, 2_049, 5_000)


@pytest.mark.parametrize("function", [power, power_by_for], ids=["while_loop", "for"])
@pytest.mark.parametrize("trips", TRIPS)
def test_any_number_of_trips(function, trips):
    x = 0.9995
    n = tf.constant(trips)
    close(derivatives(lambda y: function(y, n), tf.constant(x, tf.float64), 2), powers(x, trips))


@pytest.fixture
def short_of_room(monkeypatch):
    """Loops keep 4 checkpoints, and the gradient of a part of more than 5 trips is taken by 3 blocks, of 3 blocks if need be."""
    monkeypatch.setattr(bounded_scan, "ROOM", 5)
    monkeypatch.setattr(bounded_scan, "BLOCKS", 3)
    monkeypatch.setattr(checkpointed_while, "BLOCKS", 3)
    monkeypatch.setattr(checkpointed_while, "MOST_CHECKPOINTS", 4)
    monkeypatch.setattr(checkpointed_while, "MOST_TRIPS", 100)


def test_checkpoints_move_apart_when_they_are_full_and_blocks_lie_between_them(short_of_room):
    x = 0.9
    loop = tf.function(power.python_function)
    for trips in (0, 3, 4, 5, 8, 9, 12, 15, 16, 17, 32, 33, 63, 64, 65, 100, 128):
        after = functools.partial(loop, n=tf.constant(trips))
        close(derivatives(after, tf.constant(x, tf.float64), 2), powers(x, trips))


def test_beyond_the_room_of_all_blocks_the_gradient_is_nan_not_wrong(short_of_room):
    loop = tf.function(power.python_function)
    value, gradient = derivatives(lambda y: loop(y, tf.constant(129)), tf.constant(0.9, tf.float64), 1)
    np.testing.assert_allclose(value, 0.9**129)
    assert np.isnan(gradient)


@tf.function
def flow(x, n):
    """x' = sin x over a time of 1, by n steps: tan(y / 2) = e tan(x / 2)."""
    step = 1.0 / tf.cast(n, x.dtype)
    return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + step * tf.sin(y)), (tf.constant(0), x))[1]


@pytest.mark.parametrize(
    "trips, order", [(1_200_000, 1), *[pytest.param(10**7, order, marks=pytest.mark.long) for order in (1, 2)]]
)
def test_millions_of_trips(trips, order):
    y = 2.0 * np.arctan(np.e * np.tan(0.5))
    slope = np.sin(y) / np.sin(1.0)
    expected = [y, slope, slope * (np.cos(y) - np.cos(1.0)) / np.sin(1.0)]
    found = derivatives(lambda x: flow(x, tf.constant(trips)), tf.constant(1.0, tf.float64), order)
    np.testing.assert_allclose(found, expected[: order + 1], 1e-6)


def test_memory_of_a_gradient_of_100_000_trips_is_that_of_its_checkpoints():
    """At 8 kB for each trip 800 MB would be needed to keep all; the checkpoints and one part of the loop take some 16 MB."""

    @tf.function
    def gradient(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * x), (tf.constant(0), x))[1]
        return tape.gradient(y, x)

    concrete = gradient.get_concrete_function(tf.TensorSpec([1_000], tf.float64), tf.TensorSpec([], tf.int32))
    assert lowered(concrete).compile().memory_analysis().temp_size_in_bytes < 64e6


def lowered(concrete):
    program = concrete._traced.program
    arguments = [
        jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.parameters[: len(program.parameters) - len(program.constants)]
    ]
    return jax.jit(program.evaluate).lower(*arguments)


def nested(x, depth):
    """Return what loops in loops compute; they end together, beyond 4."""
    if depth == 0:
        return x + tf.exp(-x)
    return tf.while_loop(lambda y: y < 5.0 - depth, lambda y: [nested(y, depth - 1)], [x])[0]


def test_a_body_in_three_loops_is_compiled_once_without_a_gradient():
    f = tf.function(lambda x: nested(x, 3))
    concrete = f.get_concrete_function(tf.TensorSpec([], tf.float64))
    text = lowered(concrete).as_text()
    assert text.count("stablehlo.exponential") == 1
    assert "dynamic_update_slice" not in text  # no checkpoints
    y = 0.5
    while y < 4:
        y += np.exp(-y)
    np.testing.assert_allclose(f(tf.constant(0.5, tf.float64)), y)


def test_what_is_derived_for_loops_in_loops_grows_as_their_programs_do(monkeypatch):
    derived = []

    def counted(program, given, needed):
        derived.append(program)
        return vjp_program(program, given, needed)

    monkeypatch.setattr(bounded_scan, "vjp_program", counted)

    def effort(depth):
        derived.clear()
        f = tf.function(lambda x: derivatives(lambda y: nested(y, depth), x, 1))
        f.get_concrete_function(tf.TensorSpec([], tf.float64))
        return len(derived)

    counts = [effort(depth) for depth in (1, 2, 3, 4)]
    assert all(after <= 3 * before for before, after in itertools.pairwise(counts))


def test_derivatives_of_loops_in_loops():
    y, first, second = 0.5, 1.0, 0.0
    while y < 4:
        slope, bend = 1 - np.exp(-y), np.exp(-y)
        y, first, second = y + np.exp(-y), slope * first, slope * second + bend * first**2
    close(derivatives(tf.function(lambda x: nested(x, 2)), tf.constant(0.5, tf.float64), 2), [y, first, second])


@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_maximum_iterations(most):
    @tf.function
    def f(x):
        body = lambda y: (y * x,)  # noqa: E731
        return tf.while_loop(lambda y: y < 30.0, body, (x,), maximum_iterations=most)[0]

    x, trips = 1.5, min(most, 8)  # 1.5⁹ is the first power beyond 30
    close(derivatives(f, tf.constant(x, tf.float64), 2), powers(x, trips + 1))


def test_vectorized_map_over_a_loop_whose_number_of_trips_differs_by_row():
    @tf.function
    def f(x):
        return tf.while_loop(lambda y: y < 30.0, lambda y: (y * x,), (x,))[0]

    x = np.array([1.1, 1.5, 3.0, 40.0])
    trips = np.ceil(np.log(30.0) / np.log(x))
    close(derivatives(lambda rows: tf.vectorized_map(f, rows), tf.constant(x), 2), powers(x, trips))


def test_the_loop_of_an_lstm_keeps_its_gates_and_the_reverse_loop_writes_no_row_twice():
    @tf.function
    def gradients(inputs, weights):
        def cell(state, z):
            i, f, g, o = tf.split(z + tf.matmul(state[0], weights), 4, axis=1)
            memory = tf.sigmoid(f) * state[1] + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(memory), memory

        with tf.GradientTape() as tape:
            tape.watch([inputs, weights])
            hidden, _ = tf.scan(cell, inputs, (tf.zeros([2, 3]), tf.zeros([2, 3])))
        return tape.gradient(hidden, [inputs, weights])

    concrete = gradients.get_concrete_function(tf.TensorSpec([4, 2, 12]), tf.TensorSpec([3, 12]))
    pending, scans = [concrete.program], []
    while pending:
        for op, attrs, *_ in pending.pop().keys:
            if op is bounded_scan.SCAN:
                scans.append(attrs)
            pending += [a for a in attrs if isinstance(a, Program)]
    (forward,) = [attrs for attrs in scans if not attrs[4]]
    (backward,) = [attrs for attrs in scans if attrs[4]]
    assert forward[6] == 7  # four gates, tanh of the memory, the state and the memory before; not the factors made of them
    rows = backward[0].outputs[backward[2] : len(backward[0].outputs) - backward[6]]
    assert len(rows) == len(set(rows)) == 1


# ---------------------------------------------------------------------------------------------------------------------
# What a branch's gradient is, and what a loop takes from around it. The numbers are TensorFlow's 2.21.


def rows(gradient):
    """IndexedSlices as lists."""
    assert isinstance(gradient, tf.IndexedSlices)
    return gradient.values.numpy().tolist(), gradient.indices.numpy().tolist()


def test_branches_that_look_rows_up_have_rows_for_gradients():
    table = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))

    @tf.function
    def slope(ids, pred):
        with tf.GradientTape() as tape:
            found = tf.cond(pred, lambda: tf.gather(table, ids), lambda: tf.gather(table, ids + 1) * 2.0)
        return tape.gradient(found, table)

    ids = tf.constant([0, 2])
    assert rows(slope(ids, tf.constant(True))) == ([[1.0] * 3, [1.0] * 3], [0, 2])
    assert rows(slope(ids, tf.constant(False))) == ([[2.0] * 3, [2.0] * 3], [1, 3])


def test_a_branch_without_rows_gives_all_of_them():
    table = tf.Variable([[1.0], [2.0], [3.0]])

    @tf.function
    def slope(k):
        with tf.GradientTape() as tape:
            found = tf.switch_case(k, [lambda: tf.gather(table, [2]), lambda: tf.reduce_sum(table) * tf.ones([1, 1])])
        return tape.gradient(found, table)

    dense = [tf.convert_to_tensor(slope(tf.constant(k))).numpy().ravel().tolist() for k in (0, 1)]
    assert dense == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    assert rows(slope(tf.constant(1))) == ([[1.0], [1.0], [1.0]], [0, 1, 2])


def test_constants_of_a_function_are_sources_inside_of_its_loops():
    @tf.function(autograph=False)
    def slopes():
        x = tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            branch = tf.cond(tf.constant(True), lambda: x * x, lambda: x)
            loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, 1.0))[1]
            mapped = tf.map_fn(lambda row: row * x, tf.constant([1.0, 2.0]))
        return [tape.gradient(y, x) for y in (branch, loop, mapped)], tf.gradients(loop, x)[0]

    found, symbolic = slopes()
    assert [float(d) for d in found] == [4.0, 12.0, 3.0] and float(symbolic) == 12.0


def test_a_loop_with_residuals_holds_its_body_as_it_was():
    """A gradient takes the body out of the loop, and derives it again: the residuals must be those that the loop gives."""

    def body(carry, _):
        y, t = map(handle, carry)
        return [tf.sin(t) * y + tf.exp(t) + tf.exp(t) * tf.sin(t), t + 0.3]

    _, (plain,) = loop.trace_body(body, [tf.constant(x).node for x in (X, X)]).bind()
    whole, saved = bounded_scan.with_residuals(plain, 0, 2)
    again = programs.selected(whole, range(len(plain.outputs)))
    assert saved
    assert again.keys == plain.keys
    assert bounded_scan.with_residuals(again, 0, 2)[1] == saved


def test_a_condition_of_one_element_is_a_scalar():
    @tf.function
    def f():
        (last,) = tf.while_loop(lambda v: v < 45.0, lambda v: [v * 3.0], [tf.constant([[5.0]])])
        return last, tf.cond(tf.constant([True]), lambda: 1, lambda: 2)

    last, chosen = f()
    assert last.numpy().tolist() == [[45.0]] and int(chosen) == 1


def test_sparse_loop_variables():
    def doubled():
        x = tf.SparseTensor([[0], [3]], [2.0, 4.0], [5])
        return tf.sparse.to_dense(
            tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x.with_values(x.values * 2.0)), [0, x])[1]
        )

    for f in (doubled, tf.function(doubled)):
        assert f().numpy().tolist() == [8.0, 0.0, 0.0, 16.0, 0.0]


class Pair(NamedTuple):
    count: Any
    value: Any


def test_a_named_tuple_is_spread_as_any_tuple():
    def run():
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: Pair(i + 1, x * 2.0), Pair(tf.constant(0), tf.constant(1.0)))

    for f in (run, tf.function(run)):
        last = f()
        assert type(last) is Pair and [t.numpy() for t in last] == [3, 8.0]


@pytest.mark.parametrize(
    ("loop_vars", "body", "error"),
    [
        ([0], lambda i: i + 1, TypeError),  # a function takes it, eager code does not
        ([tf.constant([1.0, 2.0])], lambda x: x + 3.0, ValueError),
        ([0, 1.0], lambda i, x: None, TypeError),
        (tf.constant(1), lambda i: i + 1, TypeError),
        ({"a": 1}, lambda a: a, TypeError),
        (None, lambda: None, ValueError),
    ],
    ids=["number", "vector", "None", "tensor", "dict", "nothing"],
)
def test_what_an_eager_loop_does_not_take(loop_vars, body, error):
    with pytest.raises(error, match=r"list or tuple|must be provided"):
        tf.while_loop(lambda *state: tf.reduce_all(state[0] < 3), body, loop_vars)


def test_tensorflow_1_takes_one_variable_without_its_list():
    assert tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]).numpy() == 3
    with pytest.raises(TypeError, match="list or tuple"):
        tf.compat.v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], return_same_structure=True)


def test_a_first_gradient_asks_for_no_second():
    """The second derivative of `lgamma` is `polygamma`, which takes no half precision."""
    x = tf.constant([1.5, 2.0, 2.5], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(tf.math.lgamma, x)
    assert tape.gradient(y, x).numpy().tolist() == tf.math.digamma(x).numpy().tolist()


@pytest.mark.parametrize("draws", [False, True])
def test_a_loop_counts_its_trips_if_its_body_draws_random_numbers(draws):
    def trip(x):
        return x + (tf.random.uniform([2]) if draws else 1.0)

    looped = tf.function(lambda x: tf.while_loop(lambda x: x[0] < 9.0, lambda x: (trip(x),), (x,)))
    mapped = tf.function(lambda x: tf.map_fn(lambda row: row + trip(tf.zeros([2]))[0], x))
    x = tf.constant([0.0, 1.0])
    (loop,) = [attrs for op, attrs, *_ in looped.get_concrete_function(x).program.keys if op is checkpointed_while.WHILE]
    (scan,) = [attrs for op, attrs, *_ in mapped.get_concrete_function(x).program.keys if op is bounded_scan.SCAN]
    assert checkpointed_while.While(*loop).carry == 1 + draws
    assert len(bounded_scan.Scan(*scan).body.parameters) - len(bounded_scan.Scan(*scan).body.constants) == 1 + draws + draws


def test_the_gradient_of_a_loop_does_not_repeat_what_the_loop_does(capfd):
    @tf.function
    def rows(x, r):
        for e in r:
            tf.print("row", e)
            x = tf.sin(x) * e
        return x

    @tf.function
    def steps(x, r):
        i = 0
        while i < tf.size(r):
            tf.print("step", i)
            x = tf.sin(x) * r[i]
            i += 1
        return x

    x, r = tf.constant(3.0), tf.constant([1.0, 2.0])
    for function, said in ((rows, ["row 1", "row 2"]), (steps, ["step 0", "step 1"])):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, r)
        assert capfd.readouterr().err.splitlines() == said
        np.testing.assert_allclose(tape.gradient(y, x), -1.9603021, rtol=1e-5)
        assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["while", "scan"])
def test_a_program_that_gives_a_whole_loop_makes_its_checkpoints(kind):
    """A trace that is cut between a loop and its gradient: what only the gradient reads was left out, and read after all."""

    @tf.function
    def f(x):
        if kind == "scan":
            return tf.scan(lambda a, b: tf.tanh(a * b), x)
        while tf.reduce_sum(x) < 9.0:
            x = x * x + tf.tanh(x)
        return x

    program = f.get_concrete_function(x := tf.ones([4, 3])).program
    (index,) = [i for i, key in enumerate(program.keys) if key[0] in (checkpointed_while.WHILE, bounded_scan.SCAN)]
    whole = Program(program.keys, program.avals, program.parameters, (index,), program.constants, program.lines)
    (results,) = whole.evaluate(x.numpy())
    assert [result.shape for result in results] == [tuple(aval.shape) for aval in program.avals[index]]


def test_states_and_results_of_eager_loops():
    x = tf.constant([1.0, 2.0, 3.0])
    for fold, wanted in ((tf.foldl, [0.0, 1.0, 2.0, 3.0]), (tf.foldr, [0.0, 3.0, 2.0, 1.0])):
        found = fold(lambda state, row: tf.concat([state, [row]], 0), x, initializer=tf.zeros([1]))
        np.testing.assert_array_equal(found, wanted)
    numbers = tf.map_fn(lambda row: 1, x)
    assert numbers.dtype == tf.float32 and numbers.numpy().tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match=r"Incompatible shape for value \(\(2,\)\), expected \(\(1,\)\)"):
        tf.map_fn(lambda row: tf.ones([tf.cast(row, tf.int32)]), x)


def test_a_map_without_rows_draws_no_random_numbers():
    def drawn(*maps):
        tf.random.set_seed(1)
        for rows in maps:
            assert tf.map_fn(lambda x: x + tf.random.uniform([2]), rows).shape == [0, 2]
        return tf.random.uniform([]).numpy()

    assert drawn(tf.zeros([0])) == drawn()
