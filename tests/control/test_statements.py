"""What a loop or branch of a function may bind, assign and leave behind; TensorFlow's answers and exceptions."""

import linecache

import numpy as np
import pytest

import gradtape as tf


def function_of(statements):
    """The function that one of the programs below is, converted."""
    return tf.function(statements)


def test_a_condition_that_assigns_is_asked_once_for_each_trip_and_once_more():
    v = tf.Variable(0)

    def while_statement(n):
        i = 0
        while v.assign_add(1) < n:
            i += 1
        return i

    def while_loop(n):
        def goes_on(i):
            v.assign(v.read_value() + 1)
            return v.read_value() < n

        return tf.while_loop(goes_on, lambda i: i + 1, [0])[0]

    for program in (while_statement, while_loop):
        for _ in range(2):
            v.assign(0)
            assert (function_of(program)(tf.constant(5)).numpy(), v.numpy()) == (4, 5)


def test_gradients_through_a_loop_whose_condition_assigns():
    count, x = tf.Variable(0.0), tf.Variable(3.0)

    @tf.function
    def f(n):
        y = tf.constant(1.0)
        while count.assign_add(1.0) < n:
            y *= x
        return y

    with tf.GradientTape() as tape:
        y = f(tf.constant(3.0))
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (9.0, 6.0)


def returns(n):
    i, s = 0, 0
    while i < n:
        i += 1
        s += i
        if s > 4:
            return s
    return -1


def test_a_loop_that_starts_from_python_numbers_may_return():
    assert [function_of(returns)(tf.constant(n)).numpy() for n in (0, 2, 4)] == [-1, -1, 6]


def test_what_a_range_binds_is_its_start_where_there_are_no_trips():
    def last(n):
        s = 0
        for i in tf.range(3, n, 2):
            s += i
        return i, s

    assert [tuple(map(int, function_of(last)(tf.constant(n)))) for n in (3, 8)] == [(3, 0), (7, 15)]


def appended(n):
    rows, i = [], tf.constant(0)
    while i < n:
        rows.append(i * 2)
        i += 1
    return rows


def in_a_branch(n):
    rows = []
    tf.cond(n > 0, lambda: rows.append(n * 2) or n, lambda: n)
    return rows[0] + 1


def in_a_function(n):
    rows = []

    @tf.function
    def inner(m):
        rows.append(m * 2)
        return m

    inner(n)
    return rows[0] + 1


@pytest.mark.parametrize("statements", [appended, in_a_branch, in_a_function])
def test_a_tensor_that_is_out_of_scope(statements):
    with pytest.raises(ValueError, match=r"^The result of Mul \(int32, shape \(\)\) at \S+:\d+ is out of scope") as caught:
        function_of(statements)(tf.constant(3))
    assert type(caught.value).__name__ == "InaccessibleTensorError"


def breaks_a_python_for(numbers):
    s = 0
    for c in numbers:
        if tf.greater(c % 2, 0):
            break
        s += c
    return s


def another_structure(numbers):
    s = {"a": tf.constant(0)}
    while tf.constant(True):
        s = tf.constant(7.0)
    return s


def grows(numbers):
    s = [tf.constant(0)]
    for _ in tf.constant(numbers):
        s = s + [tf.constant(0)]
    return s


def reads_before_it_binds(numbers):
    for i in tf.constant(numbers):
        if i == 2:
            a = 1
        else:
            a = a + 1
    return a


@pytest.mark.parametrize(
    ("statements", "error", "words"),
    [
        (breaks_a_python_for, NotImplementedError, "not supported in Python for"),
        (another_structure, TypeError, "'s' does not have the same nested structure"),
        (grows, TypeError, "'s' does not have the same nested structure"),
        (reads_before_it_binds, ValueError, "must be defined before the loop"),
    ],
)
def test_what_a_loop_cannot_do(statements, error, words):
    with pytest.raises(error, match=words):
        function_of(statements)([2, 4])


def binds_first(rows):
    for row in rows:
        y = row * 2
    return y


def starts_from_none(rows):
    y = None
    for row in rows:
        y = row
    return y


def another_dtype(rows):
    s = 0
    for row in rows:
        s = tf.cast(row, tf.float32)
    return s


def a_numpy_number(rows):
    s = 0
    for _ in rows:
        s = np.float64(1.5)
    return s


def a_longer_list(rows):
    s = [0]
    for _ in rows:
        s = s + [1]
    return s


def only_with_values(rows):
    while tf.size(tf.boolean_mask(rows, rows > 1)) > 5:
        y = 1
    return y


def only_with_values_another_dtype(rows):
    n = 0
    while tf.size(tf.boolean_mask(rows, rows > tf.cast(n, tf.int32))) > 1:
        n = n + 0.5
    return n


ROWS = (tf.constant([1, 2]), tf.data.Dataset.from_tensor_slices([1, 2]))


@pytest.mark.parametrize(
    ("statements", "rows", "error", "words"),
    [
        (binds_first, ROWS[1], ValueError, "'y' must be defined before the loop"),
        (starts_from_none, ROWS[1], ValueError, "'y' is not allowed to be None before the loop"),
        (only_with_values, ROWS[0], tf.errors.InvalidArgumentError, "must iterate at least once to initialize y"),
        (only_with_values_another_dtype, ROWS[0], TypeError, "'n' has dtype int32 before the loop, but dtype float32 after"),
        *[(another_dtype, rows, TypeError, "'s' has dtype int32 before the loop, but dtype float32 after") for rows in ROWS],
        *[(a_numpy_number, rows, TypeError, "'s' has dtype int32 before the loop, but dtype float64 after") for rows in ROWS],
        *[(a_longer_list, rows, TypeError, "'s' does not have the same nested structure") for rows in ROWS],
    ],
)
def test_the_rules_of_a_loop_hold_where_a_function_runs_as_eager_code(statements, rows, error, words):
    for of in (rows, iter(rows)) if rows is ROWS[1] else (rows,):
        with pytest.raises(error, match=words):
            function_of(statements)(of)


def test_builtins_of_tensors():
    x = tf.constant([2, 3, 1])
    assert function_of(lambda v: sorted(v, reverse=True))(x).numpy().tolist() == [3, 2, 1]
    assert function_of(lambda v: sorted(v, key=lambda e: -e))(x).numpy().tolist() == [3, 2, 1]
    assert function_of(lambda: len(ROWS[1]))().dtype == tf.int64
    with pytest.raises(ValueError, match="only supports only 1D tensors"):
        function_of(lambda v: sorted(v))(x[None])
    with pytest.raises(ValueError, match="len requires a non-scalar tensor"):
        function_of(lambda v: len(v))(x[0])
    with pytest.raises(NotImplementedError, match="base 2 not supported"):
        function_of(lambda v: int(v, 2))(x[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="definitive cardinality"):
        function_of(lambda: len(ROWS[1].repeat()))()


def test_a_loop_of_so_many_trips_at_the_most():
    def over_rows(n):
        x = tf.constant(1.0)
        for _ in tf.range(5):
            tf.autograph.experimental.set_loop_options(maximum_iterations=2, parallel_iterations=1)
            x *= 2.0
        return x

    def over_a_range(n):
        x = tf.constant(1.0)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iterations=2)
            if i > 4:
                break
            x *= 2.0
        return x

    def while_true(n):
        x = tf.constant(1.0)
        while x < 100.0:
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            x *= 2.0
        return x

    assert [function_of(f)(tf.constant(5)).numpy() for f in (over_rows, over_a_range, while_true)] == [4.0, 4.0, 8.0]


def test_numbers_are_no_conditions():
    one, two = tf.constant(1), tf.constant(2)
    with pytest.raises(TypeError, match="expected to be a bool tensor"):
        tf.function(lambda a: not a)(one)
    with pytest.raises(tf.errors.InvalidArgumentError, match="take bool tensors"):
        tf.function(lambda a, b: a and b)(one, two)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a bool tensor"):
        tf.logical_not(one)


def none_in_both(x):
    if x > 0.0:
        y = None
    else:
        y = None
    return y, x


def none_in_a_nest(x):
    if x > 0.0:
        y = (x, None)
    else:
        y = (-x, None)
    return y


def none_of_which_a_part_changes(x):
    y = (None, x)
    if x > 0.0:
        y = (y[0], x + 1.0)
    return y


def none_in_a_loop(x):
    y = None
    for _ in tf.range(3):
        y = None
        x += 1.0
    return x, y


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (none_in_both, "'y' is None at the end of the main branch"),
        (none_in_a_nest, "'y' is None at the end of the main branch"),
        (none_of_which_a_part_changes, "'y' is None at the end of the main branch"),
        (none_in_a_loop, "'y' is not allowed to be None before the loop"),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_none_is_no_tensor(statements, words):
    with pytest.raises(ValueError, match=words):
        tf.function(statements)(tf.constant(1.0))


def test_nobody_asks_for_a_none_that_stays_inside():
    @tf.function
    def local(x):
        if x > 0.0:
            y, _unused = x, None
        else:
            y, _unused = -x, None
        return y

    assert local(tf.constant(-1.0)).numpy() == 1.0


def test_a_name_for_one_string_or_another():
    @tf.function
    def sign(x):
        if x > 0.0:
            name = "positive"
        else:
            name = "negative"
        return x, name

    @tf.function
    def last(x):
        name = "none"
        for _ in tf.range(3):
            name = "one"
            x += 1.0
        return x, name

    assert [sign(tf.constant(x))[1].numpy() for x in (1.0, -1.0)] == [b"positive", b"negative"]
    assert [x.numpy() for x in last(tf.constant(1.0))] == [4.0, b"one"]


@pytest.mark.parametrize("name", ["<ipython-input-3-1d2e>", "<python-input-4>", "/tmp/ipykernel_7/23.py"])
def test_a_function_of_a_notebook_has_its_source(name):
    cell = "@tf.function\ndef f(x):\n    if x > 0:\n        return x\n    return -2 * x\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    names = {"tf": tf, "__name__": "__main__"}
    exec(compile(cell, name, "exec"), names)
    assert [names["f"](tf.constant(x)).numpy() for x in (3, -2)] == [3, 4]


def doubled_or_negated(row):
    if row > 0:
        return row * 2
    return -row


class Rows:
    def doubled_or_negated(self, row):
        if row > 0:
            return row * 2
        return -row


MAPPED = {
    "by name": lambda x: tf.map_fn(doubled_or_negated, x),
    "a method": lambda x: tf.map_fn(Rows().doubled_or_negated, x),
    "a lambda": lambda x: tf.map_fn(lambda row: doubled_or_negated(row), x),
    "in another": lambda x: tf.map_fn(lambda r: tf.map_fn(doubled_or_negated, tf.stack([r, r])), x)[:, 0],
}


@pytest.mark.parametrize("mapped", MAPPED.values(), ids=MAPPED)
@pytest.mark.parametrize("where", ["function", "graph", "function in a graph"])
def test_map_fn_converts_what_it_maps(mapped, where):
    x = [1.0, -2.0, 3.0]
    if where == "function":
        assert tf.function(mapped)(tf.constant(x)).numpy().tolist() == [2.0, 2.0, 6.0]
        return
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.float32, [None])
        y = (mapped if where == "graph" else tf.function(mapped))(fed)
        assert session.run(y, {fed: x}).tolist() == [2.0, 2.0, 6.0]


def test_nothing_is_converted_where_autograph_is_off():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [3])
        for function in [
            tf.function(MAPPED["by name"], autograph=False),
            tf.autograph.experimental.do_not_convert(MAPPED["by name"]),
        ]:
            with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="as a Python `bool` is not allowed"):
                function(x)
        inner = tf.function(doubled_or_negated)
        assert tf.function(lambda x: inner(x[0]), autograph=False)(x).shape == []  # a function of its own is
