"""In a function, a call of a function with `api_implements` is one of the function that implements the same for the device."""

import itertools

import pytest

import gradtape as tf

names = (f"api{i}" for i in itertools.count())
ONE = tf.ones([1])


def made(api, device, body):
    attributes = {"api_implements": api} | ({"api_preferred_device": device} if device else {})
    return tf.function(body, autograph=False, experimental_attributes=attributes)


def pair(device=None, other="CPU", body=lambda x: x * 0.0 + 2.0):
    """Two functions of one API: the first gives ones, the other twos."""
    api = next(names)
    return made(api, device, lambda x: x * 0.0 + 1.0), made(api, other, body)


def test_it_is_replaced_where_the_other_was_traced_before_within_the_function():
    a, b = pair("GPU")

    @tf.function
    def f(x):
        b.get_concrete_function(x)
        return a(x)

    assert f(ONE).numpy() == [2.0]


def calls_first(a, b):
    """What TensorFlow Probability does."""

    def f(x):
        y = a(x)
        b.get_concrete_function(x).add_to_graph()
        return y

    return f


def in_a_loop(a, b):
    b(ONE)

    def f(x):
        for _ in tf.range(2):
            x = x * 0.0 + a(x)
        return x

    return f


def in_a_branch(a, b):
    b(ONE)

    def f(x):
        if tf.reduce_sum(x) > 0.0:
            return a(x)
        return x

    return f


def in_a_function_inside(a, b):
    b(ONE)
    inner = tf.function(lambda x: a(x) + 0.0)
    return lambda x: inner(x)


def traced_for_another_shape(a, b):
    b(tf.ones([2, 2]))
    return lambda x: a(x)


def mapped(a, b):
    b(ONE[0])
    return lambda x: tf.map_fn(a, x)


def as_python(a, b):
    """It cannot be compiled, as a shape depends on a value. TensorFlow refuses it."""

    def f(x):
        n = tf.shape(tf.where(x > 0.0))[0]
        y = a(tf.ones(n.numpy()))
        b.get_concrete_function(y)
        return y

    return f


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None])]])
@pytest.mark.parametrize(
    "make", [calls_first, in_a_loop, in_a_branch, in_a_function_inside, traced_for_another_shape, mapped, as_python]
)
def test_it_is_replaced(make, signature):
    a, b = pair()
    assert tf.function(make(a, b), input_signature=signature)(ONE).numpy() == [2.0]


@pytest.mark.parametrize(
    ("device", "other", "expected"),
    [
        (None, "GPU", 1),
        ("GPU", "GPU", 1),
        (None, None, 1),
        ("CPU", None, 1),
        ("CPU", "GPU", 1),
        (None, "cpu", 1),
        ("CPU", "CPU", 2),
    ],
)
def test_the_device_decides(device, other, expected):
    a, b = pair(device, other)
    b(ONE)
    assert tf.function(lambda x: a(x))(ONE).numpy() == [expected]


@pytest.mark.parametrize("body", [lambda x: tf.cast(x, tf.float64) * 0 + 2.0, lambda x, y: x + y, lambda x: (x, x)])
def test_another_signature_does_not_fit(body):
    a, b = pair(body=body)
    b(*[ONE] * body.__code__.co_argcount)
    assert tf.function(lambda x: a(x))(ONE).numpy() == [1.0]


def test_shapes_are_no_part_of_the_signature():
    a, b = pair(body=lambda x: tf.zeros([3]) + 2.0 + tf.reduce_sum(x) * 0.0)
    b(ONE)
    assert tf.function(lambda x: a(x))(ONE).numpy().tolist() == [2.0, 2.0, 2.0]


def test_eager_calls_and_sessions_are_as_they_are():
    a, b = pair()
    b(ONE)
    assert a(ONE).numpy() == [1.0]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [1])
        calls = a(x), tf.function(lambda x: a(x))(x)
        assert [y.tolist() for y in session.run(calls, {x: [1.0]})] == [[1.0], [1.0]]


def test_what_was_traced_later_is_too_late():
    a, b = pair()
    f = tf.function(lambda x: a(x))
    assert f(ONE).numpy() == [1.0]
    b(ONE)
    assert f(ONE).numpy() == [1.0]


def test_what_is_gone_is_not_chosen():
    a, b = pair()
    b(ONE)
    del b
    assert tf.function(lambda x: a(x))(ONE).numpy() == [1.0]


def test_what_used_the_results_or_changed_a_variable_stays():
    """TensorFlow replaces these, too."""
    v = tf.Variable(0.0)
    api = next(names)
    a, b = [made(api, device, lambda x, n=n: x * v.assign_add(1.0) * 0.0 + n) for device, n in ((None, 1.0), ("CPU", 2.0))]
    assert tf.function(calls_first(a, b))(ONE).numpy() == [1.0]
    assert v.numpy() == 1.0
    c, d = pair()

    @tf.function
    def f(x):
        y = c(x) + 10.0
        d.get_concrete_function(x)
        return y

    assert f(ONE).numpy() == [11.0]


def test_an_argument_that_is_returned_stays_what_it_is():
    api = next(names)
    a, b = made(api, None, lambda x, n: x), made(api, "CPU", lambda x, n: x + tf.ones(n))

    @tf.function
    def f(x):
        n = tf.constant([1])
        y = a(x, n)
        b.get_concrete_function(x, n)
        return x, y

    assert [t.numpy() for t in f(ONE)] == [[1.0], [2.0]]


def test_its_gradient_is_that_of_the_one_that_is_called():
    api = next(names)
    a, b = made(api, None, lambda x: x * 1.0), made(api, "CPU", lambda x: x * 2.0)

    def with_gradients(x):
        y = a(x)
        traced = b.get_concrete_function(x)
        traced.add_to_graph()
        traced.add_gradient_functions_to_graph()
        return y

    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = with_gradients(x)
        return y, tape.gradient(y, x)

    assert [r.numpy() for r in tf.function(inside)(ONE)] == [[2.0], [2.0]]
    with tf.GradientTape() as tape:
        tape.watch(ONE)
        y = tf.function(with_gradients)(ONE)
    assert (y.numpy(), tape.gradient(y, ONE).numpy()) == ([2.0], [2.0])


def test_a_shape_that_is_a_tensor_is_known_to_both():
    """As of samplers: in eager code such a function runs as Python."""

    def sample(shape, seed):
        api = next(names)
        a = made(api, None, lambda shape, seed: tf.ones(shape) + tf.random.stateless_uniform(shape, seed) * 0.0)
        b = made(api, "CPU", lambda shape, seed: tf.random.stateless_normal(shape, seed))
        y = a(shape=shape, seed=seed)
        b.get_concrete_function(shape=shape, seed=seed).add_to_graph()
        return y

    sample = tf.function(sample, autograph=False)
    expected = tf.random.stateless_normal([2], [1, 2]).numpy().tolist()
    assert sample(tf.constant([2]), tf.constant([1, 2])).numpy().tolist() == expected
    assert tf.function(lambda: sample(tf.constant([2]), tf.constant([1, 2])))().numpy().tolist() == expected


def test_methods_and_saved_models_have_it(tmp_path):
    a, b = pair()
    b(ONE)

    class Caller(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([1])])
        def __call__(self, x):
            return a(x)

    caller = Caller()
    tf.saved_model.save(caller, str(tmp_path))
    assert (caller(ONE).numpy(), tf.saved_model.load(str(tmp_path))(ONE).numpy()) == ([2.0], [2.0])


@pytest.mark.parametrize(
    ("attributes", "error", "words"),
    [
        ({"foo": 1}, ValueError, "foo is not supported by tf.function as an attribute"),
        ({"api_implements": object()}, ValueError, "Attribute api_implements must be bool, int, float, string"),
        (3, TypeError, "'int' object is not iterable"),
    ],
)
def test_other_attributes_are_errors(attributes, error, words):
    with pytest.raises(error, match=words):
        tf.function(lambda x: x, experimental_attributes=attributes)
    assert tf.function(lambda x: x, experimental_attributes={"api_implements": b"x"})(ONE).numpy() == [1.0]
