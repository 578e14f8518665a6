"""Bad input: TensorFlow's exceptions, and a message that says how to mend it."""

import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf


def x_of(shape):
    return tf.placeholder(tf.float32, shape, name="x")


def of_another_graph():
    with tf.Graph().as_default():
        return tf.constant(1.0)


BAD = {
    "not fed": (
        lambda s: s.run(x_of([None, 2]) * 2),
        tf.errors.InvalidArgumentError,
        r"(?s)You must feed a value for placeholder tensor 'x' with dtype float and shape \[\?,2\].*node x",
    ),
    "fed a wrong shape": (
        lambda s: s.run(x_of([None, 2]) * 2, {"x:0": [1.0, 2.0, 3.0]}),
        ValueError,
        r"Cannot feed value of shape \(3,\) for Tensor x:0, which has shape \(None, 2\)",
    ),
    "fed a tensor": (
        lambda s: s.run(x_of([]), {"x:0": tf.constant(1.0)}),
        TypeError,
        "The value of a feed cannot be a tf.Tensor object",
    ),
    "fed what is not there": (lambda s: s.run(x_of([]), {"q:0": 1.0}), TypeError, "Cannot interpret feed_dict key as Tensor"),
    "fed another graph's": (
        lambda s: s.run(x_of([]), {of_another_graph(): 1.0}),
        TypeError,
        "Cannot interpret feed_dict key as Tensor: .* is not an element of this graph",
    ),
    "fed a list": (lambda s: s.run(x_of([]), [1.0]), TypeError, "feed_dict must be a mapping"),
    "fetched by an unknown name": (lambda s: (x_of([]), s.run("q:0")), ValueError, "The operation, 'q', does not exist"),
    "fetched from another graph": (
        lambda s: (x_of([]), s.run(of_another_graph())),
        ValueError,
        "cannot be interpreted as a Tensor.*is not an element of this graph",
    ),
    "fetched None": (lambda s: (x_of([]), s.run([None])), TypeError, '`fetch` = None has invalid type "NoneType"'),
    "fetched a number": (lambda s: (x_of([]), s.run(3)), TypeError, 'has invalid type "int" must be a string or Tensor'),
    "an input of another graph": (lambda s: tf.constant(1.0) + of_another_graph(), ValueError, "must be from the same graph"),
    "an empty graph": (lambda s: s.run([]), RuntimeError, "The Session graph is empty"),
    "shapes that do not fit": (lambda s: tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3])), ValueError, "Matrix size-incompatible"),
    "a tensor as a bool": (
        lambda s: bool(tf.constant(1.0) > 0),
        tf.errors.OperatorNotAllowedInGraphError,
        "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed",
    ),
    "iterating": (
        lambda s: list(x_of([None])),
        tf.errors.OperatorNotAllowedInGraphError,
        "Iterating over a symbolic `tf.Tensor` is not allowed",
    ),
    "a Python float": (lambda s: float(x_of([])), TypeError, "A symbolic tf.Tensor cannot be a Python float"),
    "a Python index": (lambda s: range(tf.placeholder(tf.int32, [])), TypeError, "A symbolic tf.Tensor cannot be a Python index"),
    "a numpy array": (lambda s: x_of([2]).__array__(), NotImplementedError, "symbolic tf.Tensor to a numpy array"),
    "the value of a tensor": (lambda s: x_of([]).numpy(), AttributeError, "In a function or graph a tensor has no value yet"),
    "the value of a variable": (lambda s: tf.Variable(1.0).numpy(), NotImplementedError, "numpy.. is only available when eager"),
    "an index out of range": (
        lambda s: s.run(tf.gather(tf.constant([1.0, 2.0]), tf.placeholder(tf.int32, [None], name="i")), {"i:0": [5]}),
        tf.errors.InvalidArgumentError,
        r"indices\[0\] = 5 is not in \[0, 2\)",
    ),
    "an assertion": (
        lambda s: s.run(asserted(), {"x:0": -1.0}),
        tf.errors.InvalidArgumentError,
        "Expected .* to be true",
    ),
    "a session that was closed": (lambda s: closed().run(x_of([])), RuntimeError, "Attempted to use a closed Session"),
    "no graph for a session": (lambda s: tf.Session(graph=3), TypeError, "Argument `graph` must be a tf.Graph"),
}


def asserted():
    x = x_of([])
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        return tf.identity(x)


def closed():
    session = tf.Session()
    session.close()
    return session


@pytest.mark.parametrize("do, error, message", BAD.values(), ids=BAD)
def test_bad_input(session, do, error, message):
    with pytest.raises(error, match=message):
        do(session)


def test_an_assertion_that_holds(session):
    assert session.run(asserted(), {"x:0": 1.0}) == 1.0


def test_no_default_session():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match=r"Cannot evaluate tensor using `eval\(\)`: No default session is registered"):
            x.eval()
        with pytest.raises(ValueError, match=r"Cannot execute operation using `run\(\)`: No default session is registered"):
            tf.no_op().run()


def test_a_placeholder_needs_a_graph():
    with pytest.raises(RuntimeError, match=r"tf.placeholder\(\) is not compatible with eager execution"):
        tf.placeholder(tf.float32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'Placeholder'"):
        tf2.function(lambda: tf.placeholder(tf.float32, []))()


def test_reset_of_a_nested_graph():
    with tf.Graph().as_default(), pytest.raises(AssertionError, match="clear nested graphs"):
        tf.reset_default_graph()


def test_a_false_assertion_is_an_operation_that_fails_in_a_run():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        checked = tf.Assert(tf.constant(10) < 10, [10])
        with pytest.raises(tf.errors.InvalidArgumentError, match="to be true"):
            session.run(checked)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.roll([1, 2], 1, -3), "is out of range"),
        (lambda: tf.roll([1, 2], [[1]], 0), "shift must be a scalar or a 1-D vector"),
        (lambda: tf.broadcast_to([1, 2], [2, 1]), "Unable to broadcast tensor of shape"),
        (lambda: tf.broadcast_to(tf.zeros([2, 3]), [3, 3]), "Incompatible shapes"),
    ],
)
def test_what_a_graph_refuses_is_also_an_invalid_argument(call, words):
    with tf.Graph().as_default():
        for kind in (ValueError, tf.errors.InvalidArgumentError):
            with pytest.raises(kind, match=words):
                call()
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call()
