"""How functions run: effects, threads, Python in them, and the values that are part of them."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.core.engine import execution

Invalid = tf.errors.InvalidArgumentError

# -- how it runs


def test_random_numbers_differ_from_call_to_call_and_trip_to_trip():
    @tf.function
    def noise():
        rows = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(4):
            rows = rows.write(i, tf.random.normal([3]))
        return rows.stack()

    tf.random.set_seed(1)
    first, second = noise().numpy(), noise().numpy()
    assert len(np.unique(np.concatenate([first, second]))) == 24
    tf.random.set_seed(1)
    again = tf.function(noise.python_function)
    np.testing.assert_array_equal(again(), first)


@pytest.mark.parametrize("shaped_by_values", [False, True], ids=["compiled", "as eager code"])
def test_code_in_a_function_is_no_eager_code_however_it_runs(shaped_by_values):
    """TensorFlow traces such a function too. What leaves the function is eager code: `init_scope`, Python functions."""
    seen = []

    @tf.function
    def f(x):
        kept = tf.boolean_mask(x, x > 0.0) if shaped_by_values else x
        with tf.init_scope():
            lifted = tf.executing_eagerly()
        tf.py_function(lambda: inside.append(tf.executing_eagerly()), [], [])
        seen.append((tf.executing_eagerly(), tf.compat.v1.executing_eagerly(), tf.inside_function(), lifted))
        return tf.reduce_sum(kept * 2.0)

    inside = []
    assert float(f(tf.constant([1.0, -1.0, 3.0]))) == (8.0 if shaped_by_values else 6.0)
    assert set(seen) == {(False, False, True, True)} and inside == [True]
    assert tf.executing_eagerly()


def test_a_function_without_values_runs_as_one_program():
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = tf.where(x > 0, tf.sin(x), -x)
        return x

    x = tf.constant([1.0, -1.0])
    f(x)
    execution.counters.reset()
    for _ in range(5):
        f(x)
    assert (execution.counters.programs, execution.counters.kernels) == (0, 0)


def test_effects_happen_once_for_each_call_and_not_in_the_gradient():
    seen = []

    @tf.function
    def f(x):
        y = tf.numpy_function(lambda a: seen.append(1) or a, [x], tf.float64)
        return tf.reduce_sum(tf.stop_gradient(tf.ensure_shape(y, [2])) + x * x)

    x = tf.constant([1.0, 2.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 4.0]
    assert len(seen) == 1


@pytest.mark.parametrize(
    "raised, of_the_op",
    [
        (ValueError, Invalid),
        (TypeError, Invalid),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (ZeroDivisionError, tf.errors.UnknownError),
    ],
)
def test_an_error_of_a_python_function_is_the_op_s(raised, of_the_op):
    def fails(v):
        raise raised("what went wrong")

    calls = [lambda x, kind=kind: kind(fails, [x], tf.float32) for kind in (tf.py_function, tf.numpy_function)]
    for call in (calls[0], *map(tf.function, calls)):
        with pytest.raises(of_the_op, match=f"{raised.__name__}: what went wrong") as caught:
            call(tf.constant(1.0))
        assert type(caught.value.__cause__) is raised
    with pytest.raises(raised, match="what went wrong"):  # TensorFlow, too, calls it directly in eager code
        calls[1](tf.constant(1.0))


@pytest.mark.parametrize(
    "result, message",
    [(None, "0 values"), ("a", "string"), ({"a": 1.0}, "dict"), (object(), "object"), ([None, 1.0], "2 values")],
)
def test_what_a_python_function_returns_is_of_the_stated_dtypes(result, message):
    def call(kind):
        return kind(lambda: result, [], tf.float32)

    for run in (
        lambda: call(tf.py_function),
        tf.function(lambda: call(tf.py_function)),
        tf.function(lambda: call(tf.numpy_function)),
    ):
        with pytest.raises(Invalid, match=message):
            run()


def test_python_functions_as_decorators():
    @tf.py_function(Tout=tf.float32)
    def log_huber(x, m):
        return x**2 if tf.abs(x) <= m else m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(x**2))

    @tf.numpy_function(Tout=tf.float32)
    def hyperbolic(x):
        return np.sinh(x)

    x, m = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, m])
        y = log_huber(x, m)
    assert [float(t) for t in (y, *tape.gradient(y, [x, m]))] == [1.0, 2.0, 0.0]
    assert log_huber.__name__ == "log_huber"
    for call in (hyperbolic, tf.function(hyperbolic, input_signature=[tf.TensorSpec(None, tf.float32)])):
        np.testing.assert_allclose(call(x), np.sinh(np.float32(1.0)))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_python_functions_take_and_give_what_is_made_of_tensors(wrap):
    """Ragged and sparse tensors, with the gradient; TensorFlow's numbers."""
    x = tf.constant([1.0, 2.0, 3.0])
    kinds = [tf.RaggedTensorSpec([2, None], tf.float32), tf.float32]

    @wrap
    def slopes():
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.RaggedTensor.from_row_lengths(x, [2, 1])
            squares, k = tf.py_function(lambda a, k: (a * a * k, k), [rows, 2.0], kinds)
            y = tf.reduce_sum(squares * 3.0) + k
        return squares, tape.gradient(y, x)

    squares, gradient = slopes()
    assert squares.to_list() == [[2.0, 8.0], [18.0]]
    assert gradient.numpy().tolist() == [12.0, 24.0, 36.0]
    sparse = tf.SparseTensor([[0], [1]], [1.0, 2.0], [2])
    total = wrap(lambda: tf.py_function(tf.sparse.reduce_sum, [sparse], tf.float32))
    assert float(total()) == 3.0
    with pytest.raises(Invalid, match="value of type RaggedTensor, which is not of dtype float32"):
        tf.py_function(lambda a: a, [squares], tf.float32)


def test_functions_of_an_object_do_not_keep_it():
    class Model:
        def __init__(self):
            self.w = tf.Variable(2.0)

        @tf.function
        def __call__(self, x):
            return x * self.w

    model = Model()
    assert model(tf.constant(3.0)).numpy() == 6.0
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_threads_call_one_function():
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        return x * v

    results = {}

    def work(number):
        results[number] = float(f(tf.constant(float(number))))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: 2.0 * n for n in range(8)}
    assert f.experimental_get_tracing_count() == 1


def test_a_long_loop_is_differentiated_in_bounded_memory():
    """5,000 trips through 1,024 checkpoints: the gradient of x·a^n is a^n and n·x·a^(n-1)."""

    @tf.function
    def power(x, a, n):
        i = 0
        while i < n:
            x = x * a
            i += 1
        return x

    x, a = tf.constant(2.0, tf.float64), tf.constant(1.0001, tf.float64)
    for n in (0, 1, 1023, 1024, 1025, 5000):
        with tf.GradientTape() as tape:
            tape.watch([x, a])
            y = power(x, a, tf.constant(n))
        dx, da = tape.gradient(y, [x, a])
        np.testing.assert_allclose([y, dx, da], [2 * 1.0001**n, 1.0001**n, 2 * n * 1.0001 ** (n - 1)], 1e-9)


def test_do_not_convert():
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="as a Python `bool`"):
        tf.function(plain)(tf.constant(1.0))


def test_a_result_whose_shape_depends_on_values_keeps_its_place_when_a_function_takes_it():
    double, table = tf.function(lambda x: x * 2), tf.constant([5.0, 6.0, 7.0])
    found = []
    for number in (9.0, 10.0, 11.0):
        rows = tf.where(tf.constant([number - 9.0, 1.0, number - 10.0]) > 0.5)
        before = tf.gather(table, rows[:, 0])
        doubled = double(rows)
        after = tf.gather(table, rows[:, 0])
        found.append([x.numpy().ravel().tolist() for x in (before, doubled, after)])
    assert found == [[[6], [2], [6]], [[5, 6], [0, 2], [5, 6]], [[5, 6, 7], [0, 2, 4], [5, 6, 7]]]


ARGUMENTS_THAT_ARE_STRUCTURE = [
    (tf.pad, [[1.0, 2.0]], [[1, 0], [1, 1]], [[0, 0, 0, 0], [0, 1, 2, 0]]),
    (lambda x, p: tf.pad(x, p, "REFLECT"), [[1.0, 2.0], [3.0, 4.0]], [[1, 0], [0, 1]], [[3, 4, 3], [1, 2, 1], [3, 4, 3]]),
    (lambda x, p: tf.pad(x, p, constant_values=2.0), [[1.0]], [[1, 0], [0, 1]], [[2, 2], [1, 2]]),
    (lambda x, a: tf.tensordot(x, x, a), [[1.0, 2.0], [3.0, 4.0]], [[0], [1]], [[7, 15], [10, 22]]),
    (tf.image.central_crop, [[[0.0], [1.0], [2.0], [3.0]]] * 4, 0.5, [[[1], [2]]] * 2),
    (lambda x, r: x * tf.signal.linear_to_mel_weight_matrix(1, 3, r), 1.0, 8000.0, [[0], [0.6022291780], [0]]),
]


@pytest.mark.parametrize("function, x, structure, expected", ARGUMENTS_THAT_ARE_STRUCTURE)
def test_structure_may_be_a_tensor_that_a_function_takes(function, x, structure, expected):
    result = tf.function(function)(tf.constant(x), tf.constant(structure))
    np.testing.assert_allclose(result.numpy(), expected, 1e-5)


def test_a_function_inside_takes_its_structure_from_values_that_the_function_around_knows():
    draw = tf.function(lambda shape, x: tf.random.stateless_uniform(tf.concat([shape, tf.shape(x)], 0), [1, 2]) * x)
    through = tf.function(lambda shape, x: draw(shape, x))  # asked for once more, inside of one that knows

    def around(x):
        registered = draw.get_concrete_function(np.array([3], np.int32), x)
        y = draw(np.array([3], np.int32), x) + through(tf.constant([3]), x)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: y + draw([3], x), lambda: y) + 0.0 * registered(tf.constant([3]), x)

    x = tf.constant([1.0, 2.0])
    concrete = tf.function(around).get_concrete_function(x)
    assert concrete.structured_outputs.shape == (3, 2)  # it does not run as eager code
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = concrete(x)
    drawn = tf.random.stateless_uniform([3, 2], [1, 2])
    np.testing.assert_allclose(y.numpy(), 3 * (drawn * x).numpy(), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 3 * tf.reduce_sum(drawn, 0).numpy(), rtol=1e-6)
    assert draw(tf.constant([4]), x).shape == (4, 2)


# -- values that are part of a function

ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)
BANDS = np.array([[1.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, 1.0, 1.0]], np.float32)


@pytest.mark.parametrize(
    "use",
    [
        lambda i: tf.signal.frame(tf.constant(ROWS), 2, 1)[i],
        lambda i: tf.image.crop_and_resize(tf.constant(ROWS[None, ..., None]), [[0.0, 0.0, 1.0, 1.0]], [i], [2, 2]),
        lambda i: tf.sparse.segment_sum(tf.constant(ROWS), [i, i + 1], [0, 0]),
        lambda i: tf.linalg.tridiagonal_solve(tf.constant(BANDS), tf.ones([3]) + tf.cast(i, tf.float32)),
    ],
    ids=["frame", "crop_and_resize", "segment_sum", "tridiagonal_solve"],
)
def test_a_constant_made_inside_is_an_array_like_any_other(use):
    i = tf.constant(0)
    np.testing.assert_allclose(tf.function(use)(i).numpy(), use(i).numpy(), rtol=1e-6)


def loop(step):
    """`step` three times, in a loop of trips that are not known before."""
    return lambda x, y: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, step(x, y)), (0, x))[1]


SECOND = [  # of each first derivative, to x and to y, the second ones to x and to y; as TensorFlow gives them
    (lambda x, y: x + 1.0, [[None, None], None]),
    (lambda x, y: x * 2.0, [[0, None], None]),
    (lambda x, y: -x, [[None, None], None]),
    (lambda x, y: tf.reduce_mean(x), [[None, None], None]),
    (lambda x, y: tf.linalg.matvec(tf.constant([[1.0, 2.0], [3.0, 4.0]]), x), [[0, None], None]),
    (lambda x, y: x * y, [[0, 2], [2, 0]]),
    (lambda x, y: x - 2.0 * y, [[0, 0], [0, 0]]),
    (lambda x, y: x * x + y, [[4, 0], [0, 0]]),
    (lambda x, y: x + y, [[None, None], [None, None]]),
    (lambda x, y: tf.maximum(x, 0.0), [[None, None], None]),
    (lambda x, y: x * tf.stop_gradient(x), [[0, None], None]),
    (lambda x, y: tf.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x * 3.0), [[None, None], None]),
    (lambda x, y: tf.cond(x[0] > 0.0, lambda: x * y, lambda: x + y), [[0, 2], [2, 0]]),
    (lambda x, y: tf.cond(x[0] > 0.0, lambda: x - y, lambda: x + y), [[None, None], [None, None]]),
    (loop(lambda x, y: x + y), [[None, None], [None, None]]),
    (loop(lambda x, y: -x), [[None, None], None]),
    (loop(lambda x, y: 2.0 * x), [[0, None], None]),
    (lambda x, y: tf.map_fn(lambda row: row * 2.0, x), [[0, None], None]),
    (lambda x, y: tf.map_fn(lambda row: row + 2.0, x), [[None, None], None]),
    (lambda x, y: tf.function(lambda z: z + 2.0)(x), [[None, None], None]),
    (lambda x, y: tf.function(lambda z: z * 2.0)(x), [[0, None], None]),
]


@pytest.mark.parametrize(("body", "expected"), SECOND)
def test_a_derivative_that_uses_values_of_the_forward_pass_has_one_of_zeros(body, expected):
    function = tf.function(body)
    xs = [tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0])]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(xs)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = function(*xs)
        first = tape.gradient(y, xs)
    second = [None if d is None else [e if e is None else float(tf.reduce_sum(e)) for e in outer.gradient(d, xs)] for d in first]
    assert second == expected


def test_a_function_has_its_own_tensor_for_a_value_from_eager_code():
    outer, variable = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])

    @tf.function
    def one(x):
        own, made = tf.convert_to_tensor(outer), tf.constant([1.0, 2.0])
        assert own is not outer and tf.convert_to_tensor(outer) is own and tf.convert_to_tensor(own) is own
        assert tf.convert_to_tensor(outer, tf.float32) is own
        assert tf.convert_to_tensor(x) is x and tf.convert_to_tensor(made) is made
        assert tf.convert_to_tensor(read := variable.read_value()) is read

        def branch():
            assert tf.convert_to_tensor(x) is x and tf.convert_to_tensor(own) is not outer
            return tf.convert_to_tensor(outer) * x

        with tf.GradientTape(persistent=True) as tape:
            tape.watch([outer, own])
            y = tf.cond(x[0] > 0.0, branch, lambda: x) * own
        return tape.gradient(y, outer), tape.gradient(y, own)

    assert tf.convert_to_tensor(outer) is outer
    for gradient in one(tf.constant([3.0, 4.0])):
        assert gradient.numpy().tolist() == [6.0, 16.0]


def test_what_a_library_remembers_of_eager_code_is_computed_again_in_a_function():
    remembered = {}

    def square(x):
        x = tf.convert_to_tensor(x)
        if x.ref() not in remembered:
            remembered[x.ref()] = x * x
        return remembered[x.ref()]

    x = tf.constant([1.0, 2.0])
    square(x)

    @tf.function
    def slope():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        return tape.gradient(y, x)

    assert slope().numpy().tolist() == [2.0, 4.0]
    assert tf.vectorized_map(lambda _: slope(), tf.zeros([2])).numpy().tolist() == [[2.0, 4.0]] * 2


def test_results_of_python_functions_whose_shape_a_run_tells_need_one_trace():
    traced = []

    @tf.function
    def repeated(x):
        traced.append(1)
        twice, first = tf.numpy_function(lambda a: (np.repeat(a, 2), a[0]), [x], [tf.float32, tf.float32])
        return {"twice": twice, "again": tf.py_function(lambda a: a[:2] * 10.0, [twice], tf.float32), "x": x + 1.0}, first

    for x in ([1.0, 2.0], [3.0, 4.0]):
        found, first = repeated(tf.constant(x))
        assert found["twice"].numpy().tolist() == [x[0], x[0], x[1], x[1]]
        assert found["again"].numpy().tolist() == [10 * x[0]] * 2
        assert found["again"].shape == [2]
        assert (found["x"].numpy().tolist(), first.shape, first.numpy()) == ([x[0] + 1, x[1] + 1], [], x[0])
    assert len(traced) == 1


def test_where_the_shape_of_a_python_function_matters_its_caller_runs_as_eager_code():
    @tf.py_function(Tout=tf.float32)
    def doubled(x):
        return 2.0 * x

    called = tf.function(lambda x: doubled(x))
    called(tf.constant(1.0))
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = called(x)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 2.0]
    assert tf.function(lambda x: called(x) + 1.0)(x).numpy().tolist() == [3.0, 5.0]
    assert tf.function(lambda x: tf.zeros(doubled(x).shape))(x).shape == [2]
