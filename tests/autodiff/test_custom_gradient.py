"""`custom_gradient`, `stop_gradient`, `grad_pass_through` and `recompute_grad`."""

import inspect

import pytest

import gradtape as tf
from tests.agreement import agree


def gradients(function, *values):
    """The gradients of `function` with respect to its arguments, at `values`."""
    arguments = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        target = function(*arguments)
    return tape.gradient(target, arguments)


def derivatives(function, x, order):
    """`function(x)` and its derivatives up to `order`."""
    if order == 0:
        return [function(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        lower = derivatives(function, x, order - 1)
    return [*lower, tape.gradient(lower[-1], x)]


# custom_gradient: the gradient that was given is the one that is used


@tf.custom_gradient
def log1pexp(x):
    """log(1 + eˣ) with a gradient that does not overflow."""
    exponential = tf.exp(x)

    def backward(dy):
        return dy * (1 - 1 / (1 + exponential))

    return tf.math.log(1 + exponential), backward


def test_a_stable_gradient():
    agree(gradients(lambda x: tf.math.log(1 + tf.exp(x)), 100.0), [float("nan")])
    agree(gradients(log1pexp, 100.0), [1.0])


def test_orders_through_the_ops_of_the_backward_function():
    agree(derivatives(log1pexp, tf.constant(1.0), 3), [1.3132616, 0.7310586, 0.1966119, -0.0908578], rtol=2e-5)


def test_the_backward_function_gets_the_incoming_gradient():
    @tf.custom_gradient
    def doubled(x):
        return x * 2.0, lambda dy: dy * 100.0

    agree(gradients(lambda x: 3.0 * doubled(x * 5.0), 1.0), [1500.0])
    agree(doubled(tf.constant(4.0)), 8.0)


def test_without_a_tape_only_the_value_is_computed():
    calls = []

    @tf.custom_gradient
    def f(x):
        def backward(dy):
            calls.append("backward")
            return dy

        calls.append("forward")
        return x + 1.0, backward

    agree(f(tf.constant(1.0)), 2.0)
    assert calls == ["forward"]


def test_several_arguments():
    @tf.custom_gradient
    def product(x, y):
        return x * y, lambda dy: (dy * 10.0, dy * 20.0)

    agree(gradients(product, 2.0, 3.0), [10.0, 20.0])


def test_several_results():
    seen = []

    @tf.custom_gradient
    def both(x):
        def backward(da, db):
            seen.append((da, db))
            return da * 10.0 + db * 100.0

        return [x * 2.0, x * 3.0], backward

    agree(gradients(both, 1.0), [110.0])
    agree(gradients(lambda x: both(x)[0], 1.0), [10.0])
    agree(seen, [(1.0, 1.0), (1.0, 0.0)])


def test_results_keep_their_structure():
    @tf.custom_gradient
    def named(x):
        return {"b": x * 2.0, "a": (x * 3.0,)}, lambda *dys: dys[0] * 10.0

    agree(named(tf.constant(3.0)), {"b": 6.0, "a": (9.0,)})


def test_a_nest_as_argument():
    @tf.custom_gradient
    def product(pair):
        return pair[0] * pair[1], lambda dy: [dy * 10.0, dy * 20.0]

    agree(gradients(lambda x, y: product([x, y]), 2.0, 3.0), [10.0, 20.0])


def test_keyword_arguments():
    @tf.custom_gradient
    def scaled(x, *, scale=2.0):
        return x * scale, lambda dy: dy * scale * 100.0

    agree(scaled(tf.constant(3.0), scale=3.0), 9.0)
    agree(gradients(lambda x: scaled(x, scale=3.0), 1.0), [300.0])
    agree(gradients(scaled, 1.0), [200.0])


@pytest.mark.parametrize(
    ("given", "kind"), [(lambda x: x * 2, TypeError), (lambda x: (x * 2,), ValueError), (lambda x: (x * 2, 3.0), TypeError)]
)
def test_a_function_that_returns_no_gradient_function_is_told_so(given, kind):
    with pytest.raises(kind, match=r"returns its result and its gradient function; it returned .* Write `return result, grad`"):
        tf.custom_gradient(given)(tf.constant(1.0))


@pytest.mark.parametrize("other", [3.0, 3, "mode"])
def test_arguments_that_are_no_tensors(other):
    @tf.custom_gradient
    def f(x, other):
        return x * 2.0, lambda dy: (dy * 7.0, None)

    agree(gradients(lambda x: f(x, other), 1.0), [7.0])


def test_a_backward_function_may_give_none():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda dy: (None, dy)

    agree(gradients(f, 2.0, 3.0), [None, 1.0])
    agree(gradients(tf.custom_gradient(lambda x: (x * 2.0, lambda dy: None)), 1.0), [None])


def test_a_python_number_as_gradient():
    f = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: 4.0))
    agree(gradients(lambda x: f(x * 3.0), 1.0), [12.0])


def test_the_argument_returned_as_it_is():
    identity = tf.custom_gradient(lambda x: (x, lambda dy: dy * 9.0))
    agree(gradients(identity, 1.0), [9.0])
    agree(gradients(lambda x: x + identity(x), 1.0), [10.0])
    x = tf.constant(1.0)
    assert identity(x) is not x


def test_a_result_that_does_not_depend_on_its_argument():
    agree(gradients(tf.custom_gradient(lambda x: (5.0, lambda dy: dy * 9.0)), 1.0), [9.0])


def test_ways_to_decorate():
    def f(x):
        """Documented."""
        return x, lambda dy: dy * 9.0

    decorated = tf.custom_gradient(f)
    assert decorated.__name__ == "f"
    assert decorated.__doc__ == "Documented."
    assert inspect.unwrap(decorated) is f
    agree(gradients(tf.custom_gradient()(f), 1.0), [9.0])


def test_a_method():
    class Scale:
        factor = 50.0

        @tf.custom_gradient
        def __call__(self, x):
            return x * 2.0, lambda dy: dy * self.factor

        @tf.custom_gradient
        def apply(self, x):
            return x * 2.0, lambda dy: dy * self.factor

    agree(gradients(Scale().apply, 1.0), [50.0])
    agree(gradients(Scale(), 1.0), [50.0])


def test_ops_inside_are_not_differentiated():
    x = tf.constant(1.5)
    inner = []

    @tf.custom_gradient
    def f(x):
        inner.append(x * 3.0)
        return tf.floor(inner[-1]), lambda dy: dy * 2.0

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    agree(y, 4.0)
    agree(tape.gradient(y, x), 2.0)


def test_a_clip_that_lets_the_gradient_through():
    @tf.custom_gradient
    def clip(x):
        return tf.clip_by_value(x, 0.0, 1.0), lambda dy: dy

    agree(gradients(clip, [-1.0, 0.5, 2.0]), [[1.0, 1.0, 1.0]])


def test_gradient_reversal():
    @tf.custom_gradient
    def reverse(x):
        return tf.identity(x), lambda dy: -2.0 * dy

    agree(gradients(lambda x: reverse(x**2) + x, 3.0), [-11.0])


# custom_gradient: orders


def test_a_custom_second_derivative():
    @tf.custom_gradient
    def f(x):
        def first(dy):
            @tf.custom_gradient
            def slope(x, dy):
                return dy * 10.0 * x, lambda ddy: (ddy * 1000.0, ddy * 10.0 * x)

            return slope(x, dy)

        return x * 1.0, first

    x = tf.constant(2.0)
    agree(derivatives(f, x, 2), [2.0, 20.0, 1000.0])


def test_one_inside_another():
    inner = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 5.0))

    @tf.custom_gradient
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        slope = tape.gradient(y, x)
        return y, lambda dy: dy * slope * 3.0

    agree(gradients(outer, 1.0), [15.0])
    agree(gradients(lambda x: inner(outer(x)), 1.0), [75.0])


def test_a_gradient_that_depends_on_the_incoming_one_differentiates_in_it():
    f = tf.custom_gradient(lambda x: (x * 1.0, lambda dy: dy**2))
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x) * x
        first = inner.gradient(y, x)
    # y' = x² (what f makes of the incoming x) + f(x), whose derivative is 2 x + 1² through f again
    agree(first, 12.0)
    agree(outer.gradient(first, x), 7.0)


# custom_gradient: variables


def test_a_captured_variable_needs_the_keyword():
    weight = tf.Variable(2.0, name="weight")

    @tf.custom_gradient
    def f(x):
        return x * weight, lambda dy: dy

    with pytest.raises(TypeError, match=r"grad_fn must accept keyword argument 'variables'.*'weight:0'"):
        gradients(f, 1.0)


@pytest.mark.parametrize("keywords", [False, True])
def test_gradients_of_captured_variables(keywords):
    weight = tf.Variable(2.0)
    seen = []

    @tf.custom_gradient
    def f(x):
        def backward(dy, variables=None):
            seen.append(variables)
            return dy * 10.0, [dy * 100.0]

        def backward_with_keywords(dy, **keywords):
            seen.append(keywords["variables"])
            return dy * 10.0, [dy * 100.0]

        return x * weight, backward_with_keywords if keywords else backward

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    agree(y, 6.0)
    agree(tape.gradient(y, [x, weight]), [10.0, 100.0])
    assert [[variable is weight for variable in variables] for variables in seen] == [[True]]


def test_without_captured_variables_the_keyword_is_not_passed():
    seen = []

    @tf.custom_gradient
    def f(x):
        def backward(dy, variables="not passed"):
            seen.append(variables)
            return dy

        return x * 2.0, backward

    gradients(f, 1.0)
    assert seen == ["not passed"]


def test_a_variable_as_argument_is_no_captured_one():
    weight = tf.Variable(2.0)
    product = tf.custom_gradient(lambda x, w: (x * w, lambda dy: (dy * 10.0, dy * 20.0)))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = product(x, weight)
    agree(tape.gradient(y, [x, weight]), [10.0, 20.0])


def test_a_gradient_for_each_captured_variable():
    first, second = tf.Variable(2.0), tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        def backward(dy, variables=None):
            return dy, [dy]

        return x * first * second, backward

    with pytest.raises(ValueError, match="Must return gradient for each variable from @custom_gradient grad_fn"):
        gradients(f, 1.0)


# custom_gradient: what is refused


@pytest.mark.parametrize(
    "function, values, message",
    [
        (lambda x: (x * 2.0, lambda dy: []), [1.0], "expected to return 1 gradients, but returned 0 instead"),
        (lambda x: (x * 2.0, lambda dy: (dy, dy)), [1.0], "expected to return 1 gradients, but returned 2 instead. Return one"),
        (lambda x, y: (x * y, lambda dy: dy), [1.0, 2.0], "expected to return 2 gradients, but returned 1 instead"),
    ],
)
def test_wrong_number_of_gradients(function, values, message):
    with pytest.raises(ValueError, match=f"custom_gradient function {message}"):
        gradients(tf.custom_gradient(function), *values)


def test_an_error_in_the_backward_function_reaches_the_caller():
    def backward(dy):
        raise RuntimeError("from the backward function")

    with pytest.raises(RuntimeError, match="from the backward function"):
        gradients(tf.custom_gradient(lambda x: (x, backward)), 1.0)


# stop_gradient


@pytest.mark.parametrize(
    "function, dx",
    [
        (lambda x: x * tf.stop_gradient(x), 3.0),
        (lambda x: tf.stop_gradient(x) ** 2 + x, 1.0),
        (lambda x: x * x - tf.stop_gradient(x * x), 6.0),
        (lambda x: tf.exp(x - tf.stop_gradient(x)), 1.0),
        (tf.stop_gradient, None),
        (lambda x: tf.stop_gradient(x * x) * 2.0, None),
    ],
)
def test_stop_gradient(function, dx):
    agree(gradients(function, 3.0), [dx])


@pytest.mark.parametrize("value, numbers", [([1.0, 2.0], [1.0, 2.0]), (3, 3), (tf.Variable(2.0), 2.0)])
def test_stop_gradient_is_the_identity(value, numbers):
    result = tf.stop_gradient(value)
    assert isinstance(result, tf.Tensor)
    agree(result, numbers)


def test_straight_through():
    agree(gradients(lambda x: x + tf.stop_gradient(tf.round(x) - x), [1.2, 2.7]), [[1.0, 1.0]])
    agree(derivatives(lambda x: (x + tf.stop_gradient(tf.round(x) - x)) ** 2, tf.constant(1.2), 2), [1.0, 2.0, 2.0])


# grad_pass_through


def test_pass_through_an_assignment():
    average = tf.Variable(1.0)
    z = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(average.assign)(z**2)
    agree([y, average], [9.0, 9.0])
    agree(tape.gradient(y, z), 6.0)


@pytest.mark.parametrize(
    "function, dx",
    [
        (tf.floor, [1.0, 1.0]),
        (lambda x: x * 100.0, [1.0, 1.0]),
        (lambda x: tf.stop_gradient(x), [1.0, 1.0]),
        (lambda x: x.numpy() * 2.0, [1.0, 1.0]),
    ],
)
def test_pass_through(function, dx):
    agree(gradients(tf.grad_pass_through(function), [1.5, 2.5]), [dx])


def test_pass_through_changes_nothing_in_front():
    agree(gradients(lambda x: 2.0 * tf.grad_pass_through(tf.floor)(x**2) ** 2, 1.5), [24.0])


def test_pass_through_several_arguments():
    doubled = tf.grad_pass_through(lambda pair: [pair[0] * 2.0, pair[1] * 3.0])
    agree(gradients(lambda x, y: doubled([x, y]), 1.5, 2.5), [1.0, 1.0])


# recompute_grad


def test_recompute_gives_the_same_gradients():
    w = tf.Variable(1.5)
    x = tf.constant(2.0)
    again = tf.recompute_grad(lambda x: tf.sin(x * w))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = again(x)
    agree(y, 0.1411200)
    agree(tape.gradient(y, [x, w]), [-1.4849887, -1.979985])


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec(None)]])
def test_recompute_a_function(signature):
    """What the function object keeps of its own does not get in the way."""
    again = tf.recompute_grad(tf.function(lambda x: 2.0 * x * x, input_signature=signature))
    x = tf.constant([1.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = again(x)
    assert tape.gradient(y, x).numpy().tolist() == [4.0, 12.0]


def test_recompute_blocks_in_blocks_in_a_function():
    """Each block counts by itself; only a gradient function that uses its own function has a highest order."""
    block = tf.sin
    for _ in range(6):
        block = tf.recompute_grad(lambda x, inner=block: 1.1 * inner(x))

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = block(x)
        return tape.gradient(y, x)

    agree(slope(tf.constant(0.5)), 1.5546912)


def test_recompute_several_arguments_results_and_keywords():
    again = tf.recompute_grad(lambda x, y, scale=1.0: (x * y * scale, x + y))
    agree(gradients(lambda x, y: again(x, y, scale=10.0), 2.0, 3.0), [31.0, 21.0])
    agree(gradients(lambda x, y: again(x, y)[0], 2.0, 3.0), [3.0, 2.0])


def test_recompute_a_chain_of_blocks():
    w = tf.Variable([[0.5, -0.2], [0.1, 0.8]])
    x = tf.constant([[1.0, 2.0]])

    def run(block):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(4):
                y = block(y)
            loss = tf.reduce_sum(y**2)
        return [loss, *tape.gradient(loss, [x, w])]

    def block(x):
        return tf.tanh(x @ w)

    expected = [0.0695761, [[-0.0230696, 0.0223090]], [[0.0397096, 0.3624201], [0.0367922, 0.5390615]]]
    agree(run(block), expected, rtol=5e-5)
    agree(run(tf.recompute_grad(block)), expected, rtol=5e-5)


@pytest.mark.parametrize("where", ["eager", "function", "tape in a function", "graph"])
def test_a_gradient_has_the_shape_of_its_input(where):
    @tf.custom_gradient
    def double(x):
        return x * 2.0, lambda dy: tf.ones([2, 2])

    def run(f, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    runs = {
        "eager": lambda x: run(double, x),
        "function": lambda x: run(tf.function(lambda x: double(x)), x),
        "tape in a function": tf.function(lambda x: run(double, x)),
    }
    with pytest.raises(ValueError, match=r"returned shape \(2, 2\) for (an )?input"):
        if where == "graph":
            with tf.Graph().as_default():
                x = tf.ones([3])
                tf.gradients(double(x), x)
        else:
            runs[where](tf.ones([3]))


def test_a_source_that_is_constant_by_design():
    """What flows into such a source ends there, also where another source is among what it was computed from."""
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.stop_gradient(x * 2.0)
        tape.watch(y)
        z = y * 3.0 + x
    agree(tape.gradient(z, [x, y]), [1.0, 3.0])
    assert tape.gradient(y, [x, y])[0] is None
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        b = tf.constant(2.0)
        d = tf.stop_gradient(b * 3.0)
        found = tf.gradients(d, [b, d])
        assert found[0] is None
        assert session.run(found[1]) == 1.0


@pytest.mark.parametrize("one", [1.0, 1], ids=["float", "int"])
@pytest.mark.parametrize("inside", [False, True], ids=["eager", "function"])
def test_a_number_is_the_gradient_of_every_element(one, inside):
    @tf.custom_gradient
    def doubled(x):
        return x * 2.0, lambda dy: one

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = doubled(x * x)
        return tape.gradient(y, x)

    slope = tf.function(slope) if inside else slope
    assert slope(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]


def test_libraries_find_the_signature_and_the_function():
    def scaled(x, factor=2.0):
        return x * factor, lambda dy: dy

    class Layer:
        scaled = tf.custom_gradient(lambda self, x: (x, lambda dy: dy))

    call = tf.custom_gradient(scaled)
    assert inspect.getfullargspec(call) == inspect.getfullargspec(scaled)
    assert inspect.getfullargspec(Layer().scaled).args == ["x"]
    assert call.__wrapped__ is scaled and call.__original_wrapped__ is scaled
    assert tf.recompute_grad(scaled).__wrapped__ is scaled


def test_a_gradient_function_that_raises_does_so_when_a_gradient_is_asked_for():
    @tf.custom_gradient
    def doubled(x):
        def grad(dy):
            raise ValueError("no gradient of this")

        return 2.0 * x, grad

    call = tf.function(lambda x: doubled(x))
    x = tf.constant(3.0)
    assert call(x).numpy() == 6
    with tf.GradientTape() as tape:
        tape.watch(x)
        assert tape.gradient(call(tf.stop_gradient(x)), x) is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    with pytest.raises(ValueError, match="no gradient of this"):
        tape.gradient(y, x)


@pytest.mark.parametrize("decorate", [lambda f: f, tf.function])
def test_ragged_arguments_and_results_have_ragged_gradients(decorate):
    @decorate
    @tf.custom_gradient
    def squares(x, y):
        return (x * x, 2.0 * y), lambda *dy: (3.0 * dy[0], 4.0 * dy[1])

    x, y = tf.ragged.constant([[1.0, 2.0], [3.0]]), tf.ragged.constant([[4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch([x.flat_values, y.flat_values])
        results = squares(x, y)
    assert [r.to_list() for r in results] == [[[1.0, 4.0], [9.0]], [[8.0], [10.0, 12.0]]]
    assert [d.to_list() for d in tape.gradient(results, [x, y])] == [[[3.0, 3.0], [3.0]], [[4.0], [4.0, 4.0]]]


def test_a_ragged_argument_beside_a_tensor():
    @tf.custom_gradient
    def scaled(x, w):
        return tf.reduce_sum(x * w, axis=1), lambda dy: (x.with_flat_values(x.flat_values * 0.0 + 7.0), tf.constant(5.0))

    x, w = tf.ragged.constant([[1.0, 2.0], [3.0]]), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x.flat_values, w])
        result = scaled(x, w)
    of_x, of_w = tape.gradient(result, [x, w])
    assert result.numpy().tolist() == [6.0, 6.0] and of_x.to_list() == [[7.0, 7.0], [7.0]] and float(of_w) == 5.0


@pytest.mark.parametrize(
    "wrap, slope", [(tf.recompute_grad, [1.3817732, 0.07700378, -2.8288574]), (tf.grad_pass_through, [1.0] * 3)]
)
def test_functions_of_ragged_tensors_are_wrapped(wrap, slope):
    x = tf.ragged.constant([[1.0, 2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x.flat_values)
        result = wrap(lambda v: tf.sin(v) * v)(x)
    assert tape.gradient(result, x).flat_values.numpy().tolist() == pytest.approx(slope, rel=1e-5)


def test_variables_come_by_name_in_a_function():
    w, u = tf.Variable(2.0, name="w"), tf.Variable(5.0, name="u")

    @tf.custom_gradient
    def f(x):
        return x * w + u, lambda dy, variables: (dy, [dy * 2, dy * 3])

    with tf.GradientTape() as tape:
        y = tf.function(f)(tf.constant(3.0))
    assert [float(d) for d in tape.gradient(y, [w, u])] == [3.0, 2.0]
