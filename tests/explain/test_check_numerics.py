"""`enable_check_numerics`: the first op that gives an infinity or a NaN raises, with the user's line."""

import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def checked():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def raised(call, op, line, *words):
    """That `call` raises for `op`, at the line whose source is `line`."""
    with pytest.raises(Invalid) as caught:
        call()
    text = str(caught.value)
    for word in (f'op "{op}" (# of outputs: ', f"\n        {line}\n", "Detected Infinity or NaN in output 0 of", *words):
        assert word in text, text


def root_of(x):
    return tf.sqrt(x)


def test_an_op_of_eager_code():
    x = tf.Variable([-1.0, 4.0])
    raised(
        lambda: root_of(x),
        "Sqrt",
        "return tf.sqrt(x)",
        "eagerly-executing",
        "# of +NaN elements: 1",
        "shape: (2,)",
        "Tensor had NaN",
    )
    assert (x * 2).numpy().tolist() == [-2.0, 8.0]  # what failed is not run again


def divided(x):
    return tf.constant([x, 1.0]) / 0.0


def test_infinities_by_their_sign():
    raised(
        lambda: divided(-1.0),
        "RealDiv",
        "return tf.constant([x, 1.0]) / 0.0",
        "-Inf elements: 1",
        "+Inf elements: 1",
        "[-1.  1.]",
    )


def test_a_function_and_its_state():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        return tf.math.log(v - 4.0)

    raised(lambda: f(tf.constant(1.0)), "Log", "return tf.math.log(v - 4.0)", "graph op", "Tensor had -Inf values")
    assert v.numpy() == 3.0
    assert f(tf.constant(2.0)).numpy() == 0.0


def test_a_gradient_by_the_line_of_the_forward_pass():
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.sqrt(x)
    raised(lambda: tape.gradient(y, x), "SqrtGrad", "y = tf.sqrt(x)", "+Inf elements: 1")


def test_what_hands_on_elements_is_not_to_blame():
    x = tf.constant([float("nan"), float("inf")])
    assert tf.reshape(tf.stack([x, x])[0], [2, 1]).shape == [2, 1]


def test_a_compiled_program_is_looked_at_too():
    tf.debugging.disable_check_numerics()
    f = tf.function(lambda x: tf.math.log(x) * 2.0)
    for _ in range(3):
        assert f(tf.constant(1.0)).numpy() == 0.0
    tf.debugging.enable_check_numerics()
    with pytest.raises(Invalid, match='graph op "Log"'):
        f(tf.constant(-1.0))
    tf.debugging.disable_check_numerics()
    assert str(f(tf.constant(-1.0)).numpy()) == "nan"


def test_the_line_is_that_of_the_op_that_failed():
    """Not the line of an earlier op of the same kind, whose compiled program it runs."""

    def elsewhere(x):
        return tf.math.sqrt(x)

    x = tf.Variable([1.0, 4.0])
    assert elsewhere(x).numpy().tolist() == [1.0, 2.0]
    x.assign([-1.0, 4.0])
    raised(lambda: root_of(x), "Sqrt", "return tf.sqrt(x)")
    raised(lambda: elsewhere(x), "Sqrt", "return tf.math.sqrt(x)")
