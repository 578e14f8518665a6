"""What a function is besides its results: its signatures, its errors, what it runs, what it leaves behind."""

import copy
import pickle
import traceback

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError


# -- signatures


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def doubled(x):
    return x * 2.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (lambda: (tf.zeros([2, 2]),), r"Can not cast TensorSpec\(shape=\(2, 2\), .* to TensorSpec\(shape=\(None, 3\)"),
        (lambda: (tf.zeros([2, 3], tf.int32),), r"Can not cast TensorSpec\(shape=\(2, 3\), dtype=tf.int32"),
        (lambda: (tf.zeros([2, 3]), 1.0), "too many positional arguments"),
        (lambda: (), "missing a required argument: 'x'"),
        (lambda: ("text",), "Binding inputs to tf.function failed"),
    ],
)
def test_arguments_that_do_not_fit_the_signature(arguments, message):
    with pytest.raises(TypeError, match=message):
        doubled(*arguments())


def test_a_signature_takes_lists_and_arrays():
    assert doubled([[1.0, 2.0, 3.0]]).numpy().tolist() == [[2.0, 4.0, 6.0]]
    assert doubled(np.ones((1, 3), np.float32)).dtype == tf.float32


def test_signatures_are_printed():
    @tf.function
    def scaled(x, factor=2.0, *, name=None):
        return {"scaled": x * factor}, None

    assert scaled.pretty_printed_concrete_signatures() == ""
    scaled(tf.zeros([2]))
    assert scaled.pretty_printed_concrete_signatures() == (
        "Input Parameters:\n"
        "  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=tf.float32, name=None)\n"
        "  factor (POSITIONAL_OR_KEYWORD): Literal[2.0]\n"
        "  name (KEYWORD_ONLY): Literal[None]\n"
        "Output Type:\n"
        "  Tuple[Dict[['scaled', TensorSpec(shape=(2,), dtype=tf.float32, name=None)]], Literal[None]]\n"
        "Captures:\n"
        "  None"
    )


def test_a_concrete_function():
    @tf.function
    def product(x, y=3.0):
        return x * y

    concrete = product.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 6.0]
    assert concrete(tf.constant([1.0])).numpy().tolist() == [3.0]
    assert concrete.structured_input_signature == ((tf.TensorSpec([2], tf.float32, name="x"), 3.0), {})
    assert concrete.outputs == [tf.TensorSpec([2], tf.float32, name="Identity:0")]
    assert "RealDiv" not in str(concrete.program) and "Mul" in str(concrete.program)
    with pytest.raises(Invalid, match=r"input #0\(zero-based\) was expected to be a float tensor but is a int32 tensor"):
        concrete(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="too many positional arguments"):
        concrete(tf.constant([1.0]), tf.constant([1.0]), tf.constant([1.0]))


def test_objects_are_told_apart_by_identity():
    seen = []

    class Config:
        scale = 2.0

    @tf.function
    def scaled(x, config):
        seen.append(config)
        return x * config.scale

    first, second = Config(), Config()
    second.scale = 3.0
    assert [float(scaled(tf.constant(1.0), c)) for c in (first, second, first)] == [2.0, 3.0, 2.0]
    assert seen == [first, second]


# -- what does not work, and where it is said


def test_errors_are_at_the_users_line():
    @tf.function
    def broken(x):
        y = x * 2.0
        if tf.reduce_sum(x) > 0:
            y = tf.matmul(x, y)
        return y

    with pytest.raises(Invalid, match="ndims must be >= 2") as raised:
        broken(tf.constant([1.0]))
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, "y = tf.matmul(x, y)")


def table_of_errors():
    def undefined(x):
        if x > 0:
            y = x
        return y

    def dtypes(x):
        if x > 0:
            y = x
        else:
            y = tf.cast(x, tf.int32)
        return y

    def loop_dtype(x):
        while x < 10.0:
            x = tf.cast(x, tf.int32)
        return x

    def loop_shape(x):
        for _ in tf.range(3):
            x = tf.stack([x, x])
        return x

    def structure(x):
        return tf.cond(x > 0, lambda: (x, x), lambda: x)

    def not_bool(x):
        return tf.cond(x, lambda: x, lambda: x)

    def not_scalar(x):
        return tf.cond(tf.stack([x, x]) > 0, lambda: x, lambda: x)

    def value(x):
        return x.numpy()

    def array(x):
        return np.sin(x)

    def made_again(x):
        return tf.Variable(1.0) + x

    def an_object(x):
        return object()

    def python_loop(x):
        for i in range(3):
            if x > i:
                break
        return x

    def endless(x):
        while x > 0:
            pass
        return x

    return [
        (undefined, ValueError, "'y' must also be initialized in the else branch"),
        (dtypes, TypeError, "'y' has dtype float32 in the main branch, but dtype int32 in the else branch"),
        (loop_dtype, TypeError, "'x' has dtype float32 before the loop, but dtype int32 after one iteration"),
        (loop_shape, ValueError, r"'x' has shape \(\) before the loop, but shape \(2,\) after one iteration"),
        (structure, ValueError, "Lengths of branch outputs must match"),
        (not_bool, Invalid, "Input 'pred' passed float expected bool"),
        (not_scalar, Invalid, r"must be a scalar, but it has shape \(2,\)"),
        (value, AttributeError, "object has no attribute 'numpy'\nIn a function or graph"),
        (array, NotImplementedError, "Cannot convert a symbolic tf.Tensor to a numpy array"),
        (made_again, ValueError, "only supports singleton tf.Variables created on the first call"),
        (an_object, TypeError, "must return zero or more Tensors .* found return value of type object"),
        (python_loop, NotImplementedError, "Loop over a tensor instead: `for i in tf.range"),
        (endless, ValueError, "changes no tensor and no variable, so it would never end"),
    ]


@pytest.mark.parametrize("function, error, message", table_of_errors(), ids=lambda p: getattr(p, "__name__", None))
def test_bad_functions(function, error, message):
    with pytest.raises(error, match=message) as raised:
        tf.function(function)(tf.constant(2.0))
    assert raised.type.__module__ == "builtins"  # as in TensorFlow: no class of the library's own


def test_without_autograph_a_tensor_is_no_bool():
    @tf.function(autograph=False)
    def choose(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="as a Python `bool` is not allowed"):
        choose(tf.constant(1.0))


def test_a_tensor_that_leaves_its_function():
    kept = []

    @tf.function
    def leak(x):
        kept.append(x * 2.0)
        return x

    leak(tf.constant(1.0))
    with pytest.raises(
        TypeError,
        match=r"^The result of Mul \(float32, shape \(\)\) at .*test_functions.py:\d+ is out of scope .* used outside of it",
    ):
        kept[0] + 1.0


def test_an_argument_that_leaves_its_function():
    kept = []
    tf.function(lambda x: kept.append(x))(tf.constant([1.0]))
    with pytest.raises(TypeError, match=r"^An argument \(float32, shape \(1,\)\) is out of scope"):
        kept[0] + 1.0


def test_a_tensor_of_the_other_branch():
    @tf.function
    def leak(x):
        kept = []

        def then():
            kept.append(x * 2.0)
            return kept[0]

        return tf.cond(x > 0.0, then, lambda: kept[0] + 1.0)

    with pytest.raises(
        ValueError,
        match=r"^The result of \w+ \(.*\) at .*:\d+ was computed in one branch, .* accessed from another one beside it",
    ):
        leak(tf.constant(1.0))


def test_only_what_can_be_called_is_a_py_function():
    for make in (tf.py_function, tf.numpy_function):
        with pytest.raises(ValueError, match=r"Expected func to be callable\. Received func=3"):
            make(3, [1.0], tf.float32)


def test_checks_of_values_are_made_in_functions():
    @tf.function
    def taken(x, i):
        return tf.gather(x, i + 1)

    x = tf.constant([1.0, 2.0, 3.0])
    assert taken(x, tf.constant(1)).numpy() == 3.0
    with pytest.raises(Invalid, match=r"indices = 3 is not in \[0, 3\)"):
        taken(x, tf.constant(2))
    with tf.GradientTape() as tape, pytest.raises(Invalid, match=r"indices = 6 is not in \[0, 3\)"):
        tape.watch(x)
        taken(x, tf.constant(5))


def test_a_failed_call_changes_no_variable():
    v = tf.Variable(1.0)

    @tf.function
    def update(x):
        v.assign_add(x)
        tf.debugging.assert_less(v, 10.0)
        return v.read_value()

    update(tf.constant(2.0))
    with pytest.raises(Invalid, match="Condition x < y did not hold"):
        update(tf.constant(20.0))
    assert v.numpy() == 3.0


# -- better than the reference


def test_a_loop_may_end_on_a_tensor():
    @tf.function
    def grow(x):
        n = 0
        while True:
            x = x * 2.0
            n += 1
            if x > 50.0:
                break
        return x, n

    assert [v.numpy() for v in grow(tf.constant(3.0))] == [96.0, 5]


def test_a_return_in_a_loop():
    @tf.function
    def first_above(x, bound):
        for value in x:
            if value > bound:
                return value
        return tf.constant(-1.0)

    x = tf.constant([1.0, 5.0, 9.0])
    assert [first_above(x, tf.constant(b)).numpy() for b in (0.0, 4.0, 10.0)] == [1.0, 5.0, -1.0]


def test_recompute_grad_has_second_derivatives_in_functions():
    @tf.function
    def f(x):
        return tf.recompute_grad(lambda x: tf.sin(x) * x)(x)

    x = tf.constant(0.5, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        d = tape.gradient(y, x)
    np.testing.assert_allclose(d, np.sin(0.5) + 0.5 * np.cos(0.5), 1e-12)
    np.testing.assert_allclose(outer.gradient(d, x), 2 * np.cos(0.5) - 0.5 * np.sin(0.5), 1e-12)


def test_overrides_hold_in_functions():
    name = "FloorOfFunctionTest"

    @tf.RegisterGradient(name)
    def _(op, dy):
        return dy * 7.0

    @tf.function
    def f(x):
        return tf.floor(x) * 2.0

    x = tf.constant(1.5)

    def gradient(function):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    assert gradient(f) is None
    with tf.gradient_override_map({"Floor": name}):
        assert gradient(f).numpy() == 14.0
    assert gradient(f) is None

    @tf.function
    def inside(x):
        with tf.gradient_override_map({"Floor": name}), tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.floor(x)
        return tape.gradient(y, x)

    assert inside(x).numpy() == 7.0

    @tf.function
    def scope_inside(x):
        with tf.gradient_override_map({"Floor": name}):
            y = tf.floor(x)
        return y * 2.0 + tf.floor(x)

    assert gradient(scope_inside).numpy() == 14.0

    @tf.function
    def tape_inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.floor(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    assert tape_inside(x).numpy() == 0.0
    with tf.gradient_override_map({"Floor": name}):
        assert tape_inside(x).numpy() == 7.0


def test_print_shows_the_name_of_a_tensor_once_for_each_trace(capsys):
    @tf.function
    def traced(x, y):
        print("Tracing with", x, [y], x + y)
        if tf.reduce_sum(x) > 0.0:
            print("positive", x.shape)
        return x * y

    for number in (1.0, 2.0):
        traced(tf.fill([2], number), tf.constant(3.0))
    assert capsys.readouterr().out.splitlines() == [
        "Tracing with Tensor(\"x:0\", shape=(2,), dtype=float32) [<tf.Tensor 'y:0' shape=() dtype=float32>] "
        'Tensor("add:0", shape=(2,), dtype=float32)',
        "positive (2,)",
    ]


def test_a_result_that_nobody_differentiates_may_have_no_gradient():
    x, v = tf.constant([3.0, 4.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def both(x):
        return tf.reduce_sum(x), tf.truncatemod(v, x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        total, _ = both(x)
    assert tape.gradient(total, [x, v], unconnected_gradients="zero")[0].numpy().tolist() == [1.0, 1.0]


def test_a_function_counts_a_long_range_and_does_not_hold_it():
    function = tf.function(lambda: (tf.range(70_000, 0, -1), tf.range(5, 400_000, 3, dtype=tf.int64)))
    down, up = function()
    np.testing.assert_array_equal(down, np.arange(70_000, 0, -1, np.int32), strict=True)
    np.testing.assert_array_equal(up, np.arange(5, 400_000, 3), strict=True)
    assert {op.type for op in function.get_concrete_function().graph.get_operations()} >= {"Range"}


def incremented(x):
    return x + 1.0


def test_a_function_is_pickled_without_its_traces():
    function = tf.function(incremented, input_signature=[tf.TensorSpec([None])], reduce_retracing=True)
    function(tf.ones([2]))
    read = pickle.loads(pickle.dumps(function))
    assert read.input_signature == function.input_signature and read.__name__ == "incremented"
    assert read.experimental_get_tracing_count() == 0
    assert read(tf.ones([3])).numpy().tolist() == [2.0, 2.0, 2.0]


class Scale(tf.Module):
    def __init__(self):
        self.factor = tf.Variable(2.0)
        self.made, self.kept = tf.function(self.times), self.decorated

    def times(self, x):
        return self.factor * x

    @tf.function
    def decorated(self, x):
        return self.factor * x + 1.0


def test_the_functions_of_a_copied_object_are_of_the_copy():
    scale = Scale()
    assert [float(scale.made(3.0)), float(scale.kept(3.0))] == [6.0, 7.0]
    copied = copy.deepcopy(scale)
    copied.factor.assign(10.0)
    assert [float(copied.made(3.0)), float(copied.kept(3.0)), float(copied.decorated(3.0))] == [30.0, 31.0, 31.0]
    assert [float(scale.made(3.0)), float(scale.kept(3.0)), float(scale.decorated(3.0))] == [6.0, 7.0, 7.0]
