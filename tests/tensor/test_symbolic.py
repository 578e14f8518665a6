"""What a tensor of a function, of a graph, or one that left its function, says to code that wants its value."""

import gc
import weakref

import numpy as np
import pytest

import gradtape as tf

USES = {
    "numpy": (lambda x: x.numpy(), AttributeError, "'SymbolicTensor' object has no attribute 'numpy'"),
    "bool": (bool, tf.errors.OperatorNotAllowedInGraphError, "as a Python `bool` is not allowed"),
    "float": (float, TypeError, "Python float"),
    "int": (int, TypeError, "Python int"),
    "array": (np.asarray, NotImplementedError, "Cannot convert a symbolic tf.Tensor"),
    "ufunc": (np.sin, NotImplementedError, "Cannot convert a symbolic tf.Tensor"),
    "iter": (list, tf.errors.OperatorNotAllowedInGraphError, "Iterating over a symbolic"),
    "eval": (lambda x: x.eval(), ValueError, "No default session"),
    "format": ("{:.2f}".format, TypeError, "unsupported format string"),
}


def in_function(use):
    @tf.function(autograph=False)
    def f(x):
        use(x * 2.0)
        return x

    f(tf.constant(1.0))


def after_function(use):
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2.0)
        return x

    f(tf.constant(1.0))
    use(kept[0])


def in_graph(use):
    with tf.Graph().as_default():
        use(tf.constant(1.0) * 2.0)


def after_graph(use):
    with tf.Graph().as_default():
        y = tf.constant(1.0) * 2.0
    use(y)


@pytest.mark.parametrize("where", [in_function, after_function, in_graph, after_graph], ids=lambda f: f.__name__)
@pytest.mark.parametrize("use, error, message", USES.values(), ids=USES)
def test_there_is_no_value(use, error, message, where):
    with pytest.raises(error, match=message):
        where(use)


def test_names_in_functions():
    """TensorFlow's names: arguments are called as their parameters, operators in small letters, equal names are numbered."""
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="features"), tf.TensorSpec([2], tf.float32)])
    def f(x, y):
        results = [x, y, x + y, x * y, x * 2.0, -x, x / y, tf.sin(x), tf.multiply(x, y), x**2, x > y, tf.constant(1.0)]
        seen.extend([r.name for r in results] + [repr(x * y)])
        return x

    f(tf.ones([2]), tf.ones([2]))
    assert seen == [
        "features:0", "y:0", "add:0", "mul:0", "mul_1:0", "Neg:0", "truediv:0", "Sin:0", "Mul_2:0", "pow:0", "Greater:0",
        "Const:0", "<tf.Tensor 'mul_3:0' shape=(2,) dtype=float32>",
    ]  # fmt: skip

    @tf.function
    def g(d, *rest, other):
        seen.extend([t.name for t in (d["a"], d["b"][0], *rest, other)])
        return other

    seen.clear()
    g({"a": tf.ones([2]), "b": [tf.ones([2])]}, tf.ones([2]), tf.ones([2]), other=tf.ones([2]))
    assert seen == ["d:0", "d_1:0", "rest_0:0", "rest_1:0", "other:0"]


def test_which_tensors_are_symbolic_and_where_they_are():
    seen = []

    @tf.function
    def f(x):
        seen.extend([tf.is_symbolic_tensor(x), tf.is_symbolic_tensor(tf.constant(1.0)), x.device])
        for name in ("cpu", "gpu", "numpy"):
            with pytest.raises(AttributeError, match="'SymbolicTensor' object has no attribute"):
                getattr(x, name)()
        return x

    x = f(tf.constant(2.0))
    assert seen == [True, True, ""]
    assert [tf.is_symbolic_tensor(v) for v in (x, tf.Variable(1.0), 1.0)] == [False] * 3
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x.cpu() * 3.0
    assert tape.gradient(y, x).numpy() == 3.0
    assert x.backing_device == x.device != ""
    with pytest.raises(RuntimeError, match="GPU:99 unknown device"):
        x.gpu(99)


def test_references_can_be_weak_keys():
    x = tf.constant([1.0])
    key = x.ref()
    kept = weakref.WeakKeyDictionary({key: 1})
    assert len(kept) == 1
    del key
    gc.collect()
    assert len(kept) == 0


def test_rows_of_a_graphs_tensor_are_not_python_s():
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        with pytest.raises(TypeError, match="len is not well defined"):
            len(x)
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Iterating over a symbolic"):
            _, _ = x
        assert len(tf.unstack(x)) == 2


def test_a_variable_in_a_function_has_no_value():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        return v.numpy()

    with pytest.raises(NotImplementedError, match=r"numpy\(\) is only available when eager execution is enabled"):
        f()


NONES = [
    lambda x: x + None,
    lambda x: None * x,
    lambda x: x < None,
    tf.sin,
    lambda x: tf.reshape(x, None),
    lambda x: tf.add(None, x),
]


def with_none(x):
    for use in NONES:
        with pytest.raises(ValueError, match=r"^None values not supported"):
            use(None if use is tf.sin else x)
    return x


def without_a_value(variable):
    for use in (lambda: variable.numpy(), lambda: np.array(variable)):
        with pytest.raises(NotImplementedError, match=r"^numpy\(\) is only available when eager execution is enabled"):
            use()
    assert "numpy" not in repr(variable)


def test_none_is_refused_in_the_words_of_graphs():
    tf.function(with_none)(tf.constant(1.0))
    with tf.Graph().as_default():
        with_none(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"^Attempt to convert a value \(None\) with an unsupported type"):
        tf.constant(1.0) + None


@pytest.mark.parametrize("kind", [tf.Variable, tf.keras.Variable])
def test_an_eager_variable_has_no_value_in_a_graph_or_function(kind):
    variable = kind([1.0, 2.0])
    with tf.Graph().as_default():
        without_a_value(variable)
    tf.function(lambda: without_a_value(variable))()
    assert variable.numpy().tolist() == np.array(variable).tolist() == [1.0, 2.0]
