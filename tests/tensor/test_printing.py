"""How tensors, variables and their likes are printed: TensorFlow's forms, to the letter."""

import sys

import numpy as np
import pytest

import gradtape as tf

TENSORS = [
    (lambda: tf.constant(6.0), "6.0, shape=(), dtype=float32", "shape=(), dtype=float32, numpy=6.0"),
    (lambda: tf.constant(7), "7, shape=(), dtype=int32", "shape=(), dtype=int32, numpy=7"),
    (lambda: tf.constant(True), "True, shape=(), dtype=bool", "shape=(), dtype=bool, numpy=True"),
    (lambda: tf.constant(1 + 2j), "(1+2j), shape=(), dtype=complex128", "shape=(), dtype=complex128, numpy=(1+2j)"),
    (lambda: tf.constant("a"), "b'a', shape=(), dtype=string", "shape=(), dtype=string, numpy=b'a'"),
    (lambda: tf.constant(0.1), "0.1, shape=(), dtype=float32", "shape=(), dtype=float32, numpy=0.10000000149011612"),
    (lambda: tf.constant(0.1, tf.float64), "0.1, shape=(), dtype=float64", "shape=(), dtype=float64, numpy=0.1"),
    (lambda: tf.constant(1 / 3), "0.33333334, shape=(), dtype=float32", None),
    (lambda: tf.constant(float("nan")), "nan, shape=(), dtype=float32", "shape=(), dtype=float32, numpy=nan"),
    (lambda: tf.constant(1.5, tf.bfloat16), "1.5, shape=(), dtype=bfloat16", "shape=(), dtype=bfloat16, numpy=1.5"),
    (
        lambda: tf.constant([1.0, 2.0]),
        "[1. 2.], shape=(2,), dtype=float32",
        "shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)",
    ),
    (
        lambda: tf.constant([1.0, 2.0], tf.float64),
        "[1. 2.], shape=(2,), dtype=float64",
        "shape=(2,), dtype=float64, numpy=array([1., 2.])",
    ),
    (
        lambda: tf.constant([True]),
        "[ True], shape=(1,), dtype=bool",
        "shape=(1,), dtype=bool, numpy=array([ True])",
    ),
    (
        lambda: tf.constant([1.5], tf.bfloat16),
        "[1.5], shape=(1,), dtype=bfloat16",
        "shape=(1,), dtype=bfloat16, numpy=array([1.5], dtype=bfloat16)",
    ),
    (
        lambda: tf.constant(["a", "b"]),
        "[b'a' b'b'], shape=(2,), dtype=string",
        "shape=(2,), dtype=string, numpy=array([b'a', b'b'], dtype=object)",
    ),
    (
        lambda: tf.constant([[1.0, 2.0]]),
        "[[1. 2.]], shape=(1, 2), dtype=float32",
        "shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)",
    ),
    (
        lambda: tf.constant([[1, 2], [3, 4]]),
        "\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32",
        "shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)",
    ),
    (
        lambda: tf.zeros([0, 3]),
        "[], shape=(0, 3), dtype=float32",
        "shape=(0, 3), dtype=float32, numpy=array([], shape=(0, 3), dtype=float32)",
    ),
    (lambda: tf.zeros([1001]), "[0. 0. 0. ... 0. 0. 0.], shape=(1001,), dtype=float32", None),
]


@pytest.mark.parametrize("make, printed, represented", TENSORS, ids=[row[1] for row in TENSORS])
def test_tensors(make, printed, represented):
    assert str(make()) == f"tf.Tensor({printed})"
    if represented is not None:
        assert repr(make()) == f"<tf.Tensor: {represented}>"


def test_a_result_prints_as_a_constant_does():
    assert str(tf.constant(2.0) * 3.0) == "tf.Tensor(6.0, shape=(), dtype=float32)"


def test_print_shows_the_tensor(capsys):
    print(tf.constant(6.0), tf.constant([1, 2]))
    assert capsys.readouterr().out == ("tf.Tensor(6.0, shape=(), dtype=float32) tf.Tensor([1 2], shape=(2,), dtype=int32)\n")


def test_inside_a_list_a_tensor_shows_its_repr():
    assert str([tf.constant(1.0)]) == "[<tf.Tensor: shape=(), dtype=float32, numpy=1.0>]"


VARIABLES = [
    (lambda: tf.Variable(1.0), "'Variable:0' shape=() dtype=float32, numpy=1.0"),
    (lambda: tf.Variable(3, name="step"), "'step:0' shape=() dtype=int32, numpy=3"),
    (
        lambda: tf.Variable([1.0], name="b", trainable=False),
        "'b:0' shape=(1,) dtype=float32, numpy=array([1.], dtype=float32)",
    ),
    (
        lambda: tf.Variable(tf.zeros((3, 2)), name="w"),
        "'w:0' shape=(3, 2) dtype=float32, numpy=\narray([[0., 0.],\n       [0., 0.],\n       [0., 0.]], dtype=float32)",
    ),
    (
        lambda: tf.Variable([1.0, 2.0], shape=[None]),
        "'Variable:0' shape=(None,) dtype=float32, numpy=array([1., 2.], dtype=float32)",
    ),
]


@pytest.mark.parametrize("make, expected", VARIABLES, ids=[row[1].partition("\n")[0] for row in VARIABLES])
def test_variables(make, expected):
    assert repr(make()) == f"<tf.Variable {expected}>"
    assert str(make()) == repr(make())
    assert f"{make()}" == repr(make())


def test_a_variable_prints_its_value_of_now():
    variable = tf.Variable(1.0, name="v")
    variable.assign_add(1.0)
    assert repr(variable) == "<tf.Variable 'v:0' shape=() dtype=float32, numpy=2.0>"


@pytest.mark.parametrize(
    "value, specification, expected",
    [
        (lambda: tf.constant(3.0), ".2f", "3.00"),
        (lambda: tf.constant(3.14159), "8.3f", "   3.142"),
        (lambda: tf.constant(7), "03d", "007"),
        (lambda: tf.constant(3.0), "", "3.0"),
        (lambda: tf.constant([1.0, 2.0]), "", "[1. 2.]"),
        (lambda: tf.constant(True), "", "True"),
    ],
    ids=["float", "width", "int", "scalar", "vector", "bool"],
)
def test_format(value, specification, expected):
    assert format(value(), specification) == expected


def test_percent_formatting():
    assert "%.2f" % tf.constant(3.0) == "3.00"  # noqa: UP031
    assert "%d" % tf.constant(3) == "3"  # noqa: UP031


@pytest.mark.parametrize(
    "shape, printed, represented",
    [
        ([2, 3], "(2, 3)", "TensorShape([2, 3])"),
        ([2], "(2,)", "TensorShape([2])"),
        ([], "()", "TensorShape([])"),
        ([None, 2], "(None, 2)", "TensorShape([None, 2])"),
        (None, "<unknown>", "TensorShape(None)"),
    ],
    ids=str,
)
def test_shapes(shape, printed, represented):
    assert str(tf.TensorShape(shape)) == printed
    assert repr(tf.TensorShape(shape)) == represented


def test_dtypes():
    assert str(tf.float32) == "<dtype: 'float32'>"
    assert repr(tf.float32) == "tf.float32"
    assert f"{tf.constant(1).dtype!r}" == "tf.int32"


@pytest.mark.parametrize(
    "spec, expected",
    [
        (lambda: tf.TensorSpec([2, 3]), "TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)"),
        (lambda: tf.TensorSpec([None], tf.int32, "a"), "TensorSpec(shape=(None,), dtype=tf.int32, name='a')"),
        (lambda: tf.TensorSpec(None), "TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)"),
    ],
    ids=["known", "named", "unknown"],
)
def test_specs(spec, expected):
    assert repr(spec()) == expected


def test_indexed_slices():
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([2]), tf.constant([3, 2]))
    assert str(slices) == (
        "IndexedSlices(indices=tf.Tensor([2], shape=(1,), dtype=int32), "
        "values=tf.Tensor([[1. 2.]], shape=(1, 2), dtype=float32), "
        "dense_shape=tf.Tensor([3 2], shape=(2,), dtype=int32))"
    )


def test_references():
    assert repr(tf.constant(1.0).ref()) == "<Reference wrapping <tf.Tensor: shape=(), dtype=float32, numpy=1.0>>"


class TestPrint:
    """`tf.print` writes to stderr, arrays without commas."""

    @pytest.mark.parametrize(
        "arguments, expected",
        [
            ((1, "a", 2.5), "1 a 2.5\n"),
            ((tf.constant(3.0),), "3\n"),
            ((tf.constant([1.0, 2.5]),), "[1 2.5]\n"),
            (([tf.constant(1), tf.constant(2)],), "[1, 2]\n"),
            (({"loss": tf.constant(0.5)},), "{'loss': 0.5}\n"),
            ((tf.constant(True), tf.constant([[1, 2], [3, 4]])), "1 [[1 2]\n [3 4]]\n"),
        ],
        ids=["python", "scalar", "vector", "list", "dict", "matrix"],
    )
    def test_forms(self, capfd, arguments, expected):
        tf.print(*arguments)
        assert capfd.readouterr().err == expected

    def test_separator_and_end(self, capfd):
        tf.print(1, 2, sep=", ", end="!")
        assert capfd.readouterr().err == "1, 2!"

    def test_summarize(self, capfd):
        tf.print(tf.range(10))
        tf.print(tf.range(10), summarize=2)
        tf.print(tf.range(10), summarize=-1)
        assert capfd.readouterr().err == "[0 1 2 ... 7 8 9]\n[0 1 ... 8 9]\n[0 1 2 3 4 5 6 7 8 9]\n"

    def test_a_variable(self, capfd):
        tf.print(tf.Variable([1.0, 2.0]))
        assert capfd.readouterr().err == "[1 2]\n"

    def test_a_stream_object(self, capfd):
        tf.print("x", tf.constant(1), output_stream=sys.stdout)
        assert capfd.readouterr().out == "x 1\n"

    def test_a_file(self, tmp_path):
        path = tmp_path / "log"
        tf.print("x", tf.constant(1), output_stream=f"file://{path}")
        tf.print("y", output_stream=f"file://{path}")
        assert path.read_text() == "x 1\ny\n"


def test_numpy_print_options_are_obeyed():
    with np.printoptions(precision=2):
        assert str(tf.constant([1 / 3])) == "tf.Tensor([0.33], shape=(1,), dtype=float32)"


def test_inside_of_a_function_there_is_no_value_to_print():
    """As in TensorFlow but for the names of tensors; asking for the text does not make the function run as eager code."""
    v, seen = tf.Variable(1.0, name="v"), []

    @tf.function
    def f(x):
        y = x * v
        seen.extend([str(x), repr(y), f"{y}", str(v)])
        return y

    f(tf.ones([2])), f(tf.ones([2]))
    assert seen == [
        'Tensor("x:0", shape=(2,), dtype=float32)',
        "<tf.Tensor 'mul:0' shape=(2,) dtype=float32>",
        'Tensor("mul:0", shape=(2,), dtype=float32)',
        "<tf.Variable 'v:0' shape=() dtype=float32>",
    ]
