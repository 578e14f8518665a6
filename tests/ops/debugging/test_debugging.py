"""Assertions, and what `tf.print` writes: TensorFlow's words and forms."""

import io
import logging
import sys

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
check = tf.debugging
ONES = tf.ones([2, 3])

PASS = [
    lambda: check.assert_equal([1, 2], tf.constant([1, 2])),
    lambda: check.assert_equal(tf.constant([2.0, 2.0]), 2),
    lambda: check.assert_equal(tf.zeros([0]), tf.zeros([0])),
    lambda: check.assert_none_equal([1, 2], [2, 1]),
    lambda: check.assert_less([0, 2], [1, 3]),
    lambda: check.assert_less_equal([1, 2], [1, 3]),
    lambda: check.assert_greater(2.0, 1.0),
    lambda: check.assert_greater_equal([1, 3], [1, 2]),
    lambda: check.assert_positive([1, 2]),
    lambda: check.assert_negative([-1.0]),
    lambda: check.assert_non_negative([0, 2]),
    lambda: check.assert_non_positive([0, -2]),
    lambda: check.assert_near([1.0, 2.0], [1.0, 2.1], rtol=0.1),
    lambda: check.assert_near([1.0, 2.0], [1.0, 2.0000001]),
    lambda: check.assert_near(tf.constant([1.0, 2.0], "float16"), tf.constant([1.0, 2.01], "float16")),
    lambda: check.assert_near(tf.constant([1j]), tf.constant([1j + 1e-16])),
    lambda: check.assert_rank(ONES, 2),
    lambda: check.assert_rank(ONES, tf.constant(2)),
    lambda: check.assert_rank_at_least(ONES, 1),
    lambda: check.assert_rank_in(ONES, [0, 2]),
    lambda: check.assert_scalar(3.0),
    lambda: check.assert_type(ONES, tf.float32),
    lambda: check.assert_integer([1]),
    lambda: check.assert_proper_iterable([ONES]),
    lambda: check.assert_same_float_dtype([ONES, None, tf.Variable(1.0)], tf.float32),
    lambda: check.assert_shapes([(ONES, ("N", 3)), (tf.zeros([3, 2]), (None, "N")), (tf.zeros([2]), "N")]),
    lambda: check.assert_shapes([(tf.zeros([2, 3, 4]), (..., 4)), (tf.zeros([2, 3, 4]), ["*", "3", "."])]),
    lambda: check.assert_shapes([(1.0, ()), ([1.0], ()), (2.0, (1,)), (ONES, None), (1.0, (...,))]),
    lambda: check.assert_shapes({}),
    lambda: tf.Assert(True, ["fine"]),
    lambda: tf.Assert(2, ["not zero"]),
    lambda: check.Assert(tf.constant([True, True]), []),
]


@pytest.mark.parametrize("call", PASS)
def test_what_holds_is_passed_over(call):
    call()


TWO_ROWS = r"\nFirst 2 elements of x:\n\[1 2\]\nFirst 2 elements of y:\n\[1 3\]"

FAIL = [
    (
        lambda: check.assert_equal([1, 2], [1, 3], message="hello"),
        r"^hello\nCondition x == y did not hold.\nIndices of first 1 different values:\n\[\[1\]\]\n"
        r"Corresponding x values:\n\[2\]\nCorresponding y values:\n\[3\]" + TWO_ROWS,
    ),
    (
        lambda: check.assert_equal(tf.range(10), tf.zeros([10], tf.int32), summarize=2),
        r"Indices of first 2 different values:\n\[\[1\]\n \[2\]\]\nCorresponding x values:\n\[1 2\]\n.*\n\[0 0\]\n"
        r"First 2 elements of x:\n\[0 1\]\n",
    ),
    (
        lambda: check.assert_equal(tf.range(4), tf.zeros([4], tf.int32), summarize=-1),
        r"First 4 elements of x:\n\[0 1 2 3\]",
    ),
    (
        lambda: check.assert_equal(tf.range(3), 1),
        r"did not hold.\nFirst 3 elements of x:\n\[0 1 2\]\nFirst 1 elements of y",
    ),
    (lambda: check.assert_equal(tf.range(3), tf.range(4)), r"Incompatible shapes: \[3\] vs. \[4\]"),
    (lambda: check.assert_equal(tf.range(3), tf.range(3.0)), "cannot compute Equal as input #1"),
    (lambda: check.assert_none_equal([1, 2], [1, 3]), r"x != y did not hold.\nIndices of first 1 .*\n\[\[0\]\]"),
    (
        lambda: check.assert_less([1, 2], [1, 3]),
        r"x < y did not hold.\nIndices of first 1 different values:\n\[\[0\]\]",
    ),
    (lambda: check.assert_less_equal([1, 4], [1, 3]), r"x <= y did not hold.\nIndices of first 1 .*\n\[\[1\]\]"),
    (lambda: check.assert_greater([1, 2], [1, 3], "m"), r"m\nCondition x > y did not hold.\nIndices of first 2 "),
    (lambda: check.assert_greater_equal([1, 2], [1, 3]), r"x >= y did not hold.\nIndices of first 1 .*\n\[\[1\]\]"),
    (lambda: check.assert_greater(1.0, np.nan), "x > y did not hold"),
    (
        lambda: check.assert_near([1.0, 2.0], [1.0, 2.1], message="m"),
        r"m.  x and y not equal to tolerance rtol = 1.19\d*e-06, atol = 1.19\d*e-06\n"
        r"x \(shape=\(2,\) dtype=float32\) = \n\['1.0', '2.0'\]\ny \(shape=\(2,\) dtype=float32\) = \n\['1.0', '2.1'\]$",
    ),
    (
        lambda: check.assert_positive([1, -2], "m"),
        r"^m.  \nCondition x > 0 did not hold element-wise:\nx \(shape=\(2,\) dtype=int32\) = \n\['1', '-2'\]$",
    ),
    (lambda: check.assert_negative([-1.0, 0.0]), "Condition x < 0 did not hold element-wise"),
    (lambda: check.assert_non_negative([-1.0, 0.0]), "Condition x >= 0 did not hold element-wise"),
    (lambda: check.assert_non_positive([1.0, 0.0]), "Condition x <= 0 did not hold element-wise"),
    (
        lambda: tf.Assert(tf.constant(False), ["a", 1.5, tf.range(20)], summarize=2),
        r"Expected 'tf.Tensor\(False, shape=\(\), dtype=bool\)' to be true. Summarized data: b'a'\n1.5\n0, 1, \.\.\.$",
    ),
    (
        lambda: tf.Assert(False, [[1.0, 2.5], [True, False]]),
        "^Expected 'False' to be true. Summarized data: 1.0, 2.5\nTrue, False$",
    ),
    (
        lambda: check.assert_less(3, 2),
        r"^Condition x < y did not hold.\nFirst 1 elements of x:\n\[3\]\nFirst 1 elements of y:\n\[2\]$",
    ),
]


@pytest.mark.parametrize("call, message", FAIL)
def test_what_does_not_hold_raises(call, message):
    with pytest.raises(Invalid, match=message):
        call()


STATIC = [
    (lambda: check.assert_near([1], [2]), ValueError, "int32 not inexact: .*Use assert_equal"),
    (
        lambda: check.assert_rank(ONES, 1, "m"),
        ValueError,
        r"m.  Tensor  must have rank 1.  Received rank 2, shape \(2, 3\)",
    ),
    (lambda: check.assert_rank(ONES, 1.5), TypeError, "tensor must be of type tf.int32; got tf.float32"),
    (lambda: check.assert_rank(ONES, [1]), ValueError, "Rank must be a scalar"),
    (lambda: check.assert_rank_at_least(ONES, 3), ValueError, "must have rank at least 3.  Received rank 2"),
    (lambda: check.assert_rank_in(ONES, [0, 3]), ValueError, r"must have rank in \(0, 3\).  Received rank 2"),
    (lambda: check.assert_scalar([1]), ValueError, r"Expected scalar shape, saw shape: \(1,\)"),
    (lambda: check.assert_type(1.0, tf.int32, "m"), TypeError, "m.  tensor must be of type tf.int32; got tf.float32"),
    (
        lambda: check.assert_integer(1.0),
        TypeError,
        'Expected "x" to be integer type.  Found: tensor of dtype <dtype: .float32',
    ),
    (lambda: check.assert_proper_iterable(ONES), TypeError, 'to be a "proper" iterable.  Found: <class .*EagerTensor'),
    (lambda: check.assert_proper_iterable("a"), TypeError, 'to be a "proper" iterable.  Found: <class .str'),
    (lambda: check.assert_proper_iterable(5), TypeError, "to be iterable.  Found: <class .int"),
    (
        lambda: check.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, "float64")]),
        ValueError,
        "must be of the same type .*float32.* as tf.Tensor",
    ),
    (
        lambda: check.assert_same_float_dtype([ONES], tf.float64),
        ValueError,
        r"must be of the same type \(<dtype: .float64.>\)",
    ),
    (
        lambda: check.assert_same_float_dtype([tf.constant(1)]),
        ValueError,
        "Expected floating point type, got <dtype: .int32",
    ),
    (
        lambda: check.assert_shapes([([1, 2], ("N",)), (tf.zeros([3, 2]), ("N", "Q"))]),
        ValueError,
        r"Specified by tensor shape=\(2,\) dtype=int32 dimension 0.  Tensor shape=\(3, 2\) dtype=float32 dimension 0 "
        r"must have size 2.  Received size 3, shape \(3, 2\)",
    ),
    (
        lambda: check.assert_shapes([([1, 2], (3,))], message="m"),
        ValueError,
        "m.  Specified explicitly.  .*must have size 3",
    ),
    (lambda: check.assert_shapes([([1, 2], ("N", "Q"))]), ValueError, "must have rank 2.  Received rank 1"),
    (lambda: check.assert_shapes([(ONES, ("N",))]), ValueError, r"must have rank in \(0, 1\).  Received rank 2"),
    (lambda: check.assert_shapes([(ONES, (..., 1, 2, 3))]), ValueError, "must have rank at least 3"),
    (lambda: check.assert_shapes([(ONES, ("N", "N"))]), ValueError, "dimension 1 must have size 2.  Received size 3"),
    (
        lambda: check.assert_shapes([(ONES, (2, ...))]),
        ValueError,
        "index 1.  Symbol .* only allowed as the first entry",
    ),
    (lambda: check.assert_shapes([(ONES, 5)]), ValueError, "must be an iterable.  Received specified shape: 5"),
]


@pytest.mark.parametrize("call, error, message", STATIC)
def test_shapes_and_dtypes_are_checked(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_results():
    assert check.assert_equal(1, 1) is None
    assert check.assert_scalar(3) is None
    assert int(tf.compat.v1.assert_scalar(3)) == 3
    assert check.assert_same_float_dtype() is tf.float32
    assert check.assert_same_float_dtype([tf.constant(1.0, "float16")]) is tf.float16


@pytest.mark.parametrize("x, numeric", [(tf.constant(1), True), (tf.constant(1j), True), (tf.constant("a"), False)])
def test_is_numeric(x, numeric):
    assert check.is_numeric_tensor(x) is numeric


def test_is_numeric_asks_for_tensors():
    assert not check.is_numeric_tensor(tf.constant(True))
    assert not check.is_numeric_tensor(1)


def test_assertions_in_a_function_are_made_when_it_is_called():
    @tf.function
    def positive(x):
        check.assert_positive(x, "in a function")
        tf.Assert(tf.reduce_any(x > 1.0), [x, "too small"])
        return x * 2.0

    assert positive(tf.constant([1.0, 3.0])).numpy().tolist() == [2.0, 6.0]
    with pytest.raises(Invalid, match=r"in a function.  \nCondition x > 0 did not hold element-wise:\n.*= \n\['1.0', '-1.0'\]"):
        positive(tf.constant([1.0, -1.0]))
    with pytest.raises(Invalid, match=r"to be true. Summarized data: 0.5, 1.0\nb'too small'"):
        positive(tf.constant([0.5, 1.0]))


def test_numerics_of_a_gradient_are_checked():
    x = tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.debugging.check_numerics(x, "here") * 2.0
    assert float(tape.gradient(y, x)) == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# tf.print


def printed(*values, **options):
    stream = io.StringIO()
    tf.print(*values, output_stream=stream, **options)
    return stream.getvalue()


def grid(*shape):
    return tf.reshape(tf.range(int(np.prod(shape))), shape)


WRITTEN = [
    ((tf.constant(1),), "1"),
    ((tf.constant(1.5), tf.constant([1, 2, 3])), "1.5 [1 2 3]"),
    (("a", tf.constant("b"), tf.constant(["x", "y"])), 'a "b" ["x" "y"]'),
    ((tf.range(6),), "[0 1 2 3 4 5]"),
    ((tf.range(7),), "[0 1 2 ... 4 5 6]"),
    ((grid(2, 7),), "[[0 1 2 ... 4 5 6]\n [7 8 9 ... 11 12 13]]"),
    (
        (grid(7, 2),),
        "[[0 1]\n [2 3]\n [4 5]\n ...\n [8 9]\n [10 11]\n [12 13]]",
    ),
    ((grid(2, 2, 2),), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"),
    (
        (grid(2, 2, 2, 2),),
        "[[[[0 1]\n   [2 3]]\n\n  [[4 5]\n   [6 7]]]\n\n\n [[[8 9]\n   [10 11]]\n\n  [[12 13]\n   [14 15]]]]",
    ),
    (
        ([tf.constant(1), tf.constant(2)], {"b": [4, 5], "a": tf.constant(3)}, (tf.constant(1),)),
        "[1, 2] {'a': 3, 'b': [4, 5]} (1,)",
    ),
    ((None, True, tf.constant(True), tf.constant([True, False])), "None True 1 [1 0]"),
    ((tf.Variable([1.0, 2.0]), tf.Variable(3)), "[1 2] 3"),
    ((tf.constant([1e-8, 1e8, 123456789.0, 0.1, 1 / 3]),), "[1e-08 1e+08 123456792 0.1 0.333333343]"),
    ((tf.constant([1.0, 100000.0, 1e6, 1234567.0]),), "[1 100000 1e+06 1234567]"),
    ((tf.constant(1 / 3, "float64"), tf.constant(3.14159265358979, "float64")), "0.33333333333333331 3.14159265358979"),
    ((tf.constant([np.nan, np.inf, -np.inf, -0.0]),), "[nan inf -inf -0]"),
    ((tf.constant(1.5, "bfloat16"), tf.constant(0.1, "float16")), "1.5 0.0999755859"),
    ((tf.constant(1, "int8"), tf.constant(255, "uint8")), "1 255"),
    ((tf.constant(1 + 2j),), "(1,2)"),
    ((tf.zeros([0]),), "[]"),
    ((np.arange(3), np.float32(1.5), 1e10, 0.1), "array([0, 1, 2]) np.float32(1.5) 10000000000.0 0.1"),
    (("%s {}", tf.constant(1)), "%s {} 1"),
    ((["a", tf.constant("b")],), "['a', \"b\"]"),
    ((tf.constant([b"\xff"]),), '["�"]'),
    ((tf.int32, tf.TensorShape([1, 2])), "tf.int32 TensorShape([1, 2])"),
    ((), ""),
]


@pytest.mark.parametrize("values, text", WRITTEN)
def test_what_is_written(values, text):
    assert printed(*values) == text + "\n"


def test_options():
    assert printed(1, tf.constant(2), sep=",", end="!") == "1,2!"
    assert printed(tf.range(10), summarize=1) == "[0 ... 9]\n"
    assert printed(tf.range(10), summarize=-1) == "[0 1 2 3 4 5 6 7 8 9]\n"
    assert printed(1, name="ignored") == "1\n"


def test_streams(capsys, tmp_path, caplog):
    tf.print("first")
    tf.print("second", output_stream=sys.stdout)
    tf.print("third", output_stream=f"file://{tmp_path}/text")
    tf.print("fourth", output_stream=f"file://{tmp_path}/text")
    with caplog.at_level(logging.INFO):
        tf.print("fifth", output_stream=logging.getLogger("test").info)
    captured = capsys.readouterr()
    assert (captured.err, captured.out) == ("first\n", "second\n")
    assert (tmp_path / "text").read_text() == "third\nfourth\n"
    assert caplog.messages == ["fifth"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"foo": 2}, "Unrecognized keyword arguments for tf.print: {'foo': 2}"),
        ({"output_stream": 5}, "Unsupported output stream, logging level, or file: 5"),
    ],
)
def test_print_errors(options, message):
    with pytest.raises(ValueError, match=message):
        tf.print(1, **options)


def test_printing_in_a_function(capsys):
    """What a function prints is written each time it runs, in order, and not when it is traced."""

    @tf.function
    def show(x):
        tf.print("x:", x, output_stream=sys.stdout)
        for i in tf.range(2):
            tf.print("trip", i, output_stream=sys.stdout)
        return x * 2.0

    show.get_concrete_function(tf.TensorSpec([2]))
    assert capsys.readouterr().out == ""
    for _ in range(2):
        assert show(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
        assert capsys.readouterr().out == "x: [1 2]\ntrip 0\ntrip 1\n"
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = show(x)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 2.0]
    assert capsys.readouterr().out == "x: [1 2]\ntrip 0\ntrip 1\n"


def test_printing_tensors_of_strings():
    assert printed(tf.constant("alone")) == "alone\n"
    assert printed("a", tf.constant("w"), tf.constant(["p", "q"])) == 'a "w" ["p" "q"]\n'


def test_strings_are_written_and_asserted_in_functions_and_graphs():
    stream = io.StringIO()

    @tf.function
    def show(x):
        tf.print("a", tf.constant("w"), x, output_stream=stream)
        tf.debugging.Assert(x > 0.0, ["x is", x, tf.constant("bad")])
        return x

    show(tf.constant(1.0))
    assert stream.getvalue() == 'a "w" 1\n'
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        written = tf.print("a", tf.constant(["p", "q"]), x, output_stream=stream)
        with tf.control_dependencies([written, tf.debugging.Assert(x > 0.0, ["x is", x, tf.constant("bad")])]):
            y = tf.compat.v1.Print(x + 1.0, [tf.constant("s"), x], "m")
        with tf.compat.v1.Session() as session:
            assert session.run(y, {x: 1.0}) == 2.0
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)x is.*bad"):
                session.run(y, {x: -1.0})
    assert 'a ["p" "q"] 1\n' in stream.getvalue()


v1 = tf.compat.v1


@pytest.mark.parametrize("pair", [(check.assert_rank, 1), (check.assert_rank_at_least, 1), (check.assert_rank_in, [0, 1])])
def test_ranks_in_a_graph(pair):
    function, rank = pair
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32)
        assert isinstance(function(tf.constant([1]), rank), v1.Operation)
        with pytest.raises(ValueError, match="must have rank"):
            function(tf.constant(1 if rank == 1 else [[1]]), rank)
        with tf.control_dependencies([function(x, rank)]):
            y = tf.identity(x)
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
            session.run(function(x, 3 if rank == 1 else [3] if isinstance(rank, list) else 2), {x: [1.0]})


def test_extents_in_a_graph():
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.float32, [None])
        checked = v1.debugging.assert_shapes([(x, ("N", 2)), (y, ("N",))])
        session.run(checked, {x: [[1.0, 2.0]], y: [1.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="x == y"):
            session.run(checked, {x: [[1.0, 2.0]], y: [1.0, 2.0]})
        with pytest.raises(ValueError, match="must have size 3"):
            check.assert_shapes([(x, ("N", 3))])


def test_what_is_false_whatever_is_fed_raises_at_once_in_a_graph():
    with tf.Graph().as_default():
        for call in (lambda: check.assert_equal(1, 2), lambda: check.assert_positive([0]), lambda: check.assert_less(2, 1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
                call()
        v1.Session().run([check.assert_equal(1, 1), v1.assert_type(1, tf.int32), v1.assert_integer(1)])


def in_a_loop(x):
    for _ in tf.range(2):
        x = tf.sqrt(tf.debugging.check_numerics(x, "m"))
    return x


@pytest.mark.parametrize("how", ["eager", "around a function", "in a function", "in a loop", "jacobian", "graph"])
def test_check_numerics_checks_the_gradient(how):
    def loss(x):
        return tf.reduce_sum(tf.sqrt(tf.debugging.check_numerics(x, "m")))

    def slope(x, loss=loss, ask=tf.GradientTape.gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x)
        return ask(tape, y, x)

    def in_graph(x):
        with tf.Graph().as_default():
            fed = tf.compat.v1.placeholder(tf.float32, [2])
            gradients = tf.compat.v1.gradients(loss(fed), [fed])
            return tf.compat.v1.Session().run(gradients[0], {fed: x.numpy()})

    ask = {
        "eager": slope,
        "around a function": lambda x: slope(x, tf.function(loss)),
        "in a function": tf.function(slope),
        "in a loop": lambda x: slope(x, tf.function(in_a_loop)),
        "jacobian": lambda x: slope(x, lambda x: tf.sqrt(tf.debugging.check_numerics(x, "m")), tf.GradientTape.jacobian),
        "graph": in_graph,
    }[how]
    message = r"Not a number \(NaN\) or infinity \(Inf\) values detected in gradient. b'm' : Tensor had Inf values"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ask(tf.constant([0.0, 4.0]))
    found = np.asarray(ask(tf.constant([1.0, 4.0])))
    expected = {"jacobian": [[0.5, 0.0], [0.0, 0.25]], "in a loop": [0.25, 0.08838835]}.get(how, [0.5, 0.25])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_assert_all_finite_does_not_check_its_gradient():
    x = tf.constant([0.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(tf.debugging.assert_all_finite(x, "m"))
    assert tape.gradient(y, x).numpy().tolist() == [np.inf, 0.25]
    with pytest.raises(tf.errors.InvalidArgumentError, match="m : Tensor had NaN"):
        tf.debugging.assert_all_finite([np.nan], "m")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.float32, [])
        with pytest.raises(tf.errors.InvalidArgumentError, match="m : Tensor had Inf"):
            session.run(tf.debugging.assert_all_finite(fed, "m"), {fed: np.inf})


def test_gradients_of_a_loop_with_an_assert():
    @tf.function
    def root(x):
        for _ in tf.range(2):
            tf.debugging.Assert(tf.reduce_sum(x) < 100.0, [x])
            x = tf.sqrt(x)
        return x

    x = tf.constant([4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = root(x)
    np.testing.assert_allclose(tape.gradient(y, x), [0.08838835], rtol=1e-6)
