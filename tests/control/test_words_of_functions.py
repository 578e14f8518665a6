"""The log names what makes a function slow: why it is traced again and again, or runs as Python in each call."""

import logging
import re

import pytest

import gradtape as tf


@pytest.fixture
def said(caplog):
    """The messages in the log."""
    with caplog.at_level(logging.WARNING, "gradtape"):
        yield lambda: [record.getMessage() for record in caplog.records]


def made_anew(i):
    tf.function(lambda x: x)(tf.constant(1.0))


@tf.function
def shapes(x):
    return x


@tf.function
def dtypes(x):
    return x


@tf.function
def numbers(x, *, rate):
    return x * rate


@tf.function
def objects(x, thing):
    return x


@tf.function
def nests(x):
    return x


@tf.function
def inside(nest):
    return nest["b"]["c"]


@tf.function
def datasets(dataset):
    return tf.constant(0)


@tf.function
def strings(x, mode):
    return x


class Method:
    @tf.function
    def call(self, x):
        return x


KINDS = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool]


@pytest.mark.parametrize(
    "call, words",
    [
        (made_anew, "is another function each time, as tf.function is called again and again: call it once, outside"),
        (lambda i: Method().call(tf.constant(1.0)), "is a method, and each object has traces of its own"),
        (lambda i: shapes(tf.ones([i])), r"'x' changed: it was float32\[3\] and is now float32\[4\]. For shapes that vary give"),
        (lambda i: dtypes(tf.zeros([], KINDS[i])), r"it was int64\[\] and is now bool\[\]. Pass tensors of one dtype"),
        (lambda i: numbers(1.0, rate=i), "'rate' changed: it was 3 and is now 4. A Python number is part of the signature"),
        (lambda i: objects(1.0, Method()), r"'thing' changed: .* is now another object \(Method\). .* identity by default"),
        (lambda i: nests([tf.constant(1.0)] * (i + 1)), "are another nest: lists or dicts of other lengths or keys"),
        (lambda i: inside({"a": 1.0, "b": {"c": tf.ones([i])}}), "'nest' changed: it was .*. For shapes that vary give"),
        (lambda i: datasets(tf.data.Dataset.from_tensors(tf.ones([i]))), "'dataset' changed.*datasets whose elements have one"),
        (lambda i: strings(1.0, str(i)), "'mode' changed: it was '3' and is now '4'. What is no tensor is part of"),
    ],
)
def test_the_cause_of_retracing(said, call, words):
    for i in range(5):
        call(i)
    (message,) = said()
    assert message.startswith("5 out of the last 5 calls to <gradtape.function ")
    assert re.search(words, message)


def test_functions_that_were_made_in_a_loop_are_the_cause_in_their_second_round(said):
    """Each is traced again for another number, which is not what is wrong."""
    made = [tf.function(lambda x, n: x * n) for _ in range(5)]
    for rate in (1, 2):
        for function in made:
            function(tf.constant(1.0), rate)
    for message in said():
        assert "another function each time" in message
    assert len(said()) == 2


v = tf.Variable(2.0)


@tf.function
def selects(x):
    y = x * 2.0
    return tf.unique(y)[0]  # <- here


@tf.function
def calls_one(x):
    return helper(x) + 1.0


def helper(x):
    return tf.unique(x)[0]  # <- here


@tf.function
def loops(dataset):
    found = tf.constant(0.0)
    for x in dataset:  # <- here
        found += x * v
    return found


@tf.function
def shaped_by_runs(x):
    y = x * v
    return tf.py_function(lambda y: y[y > 2.0], [y], tf.float32)  # <- here


def under_a_tape(function, *args):
    with tf.GradientTape():
        return function(*args)


def line_in(function):
    code = function.__code__
    with open(__file__) as file:
        lines = file.read().splitlines()
    return next(n for n in range(code.co_firstlineno, len(lines)) if lines[n - 1].endswith("# <- here"))


ROW = tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    "function, run, where, words",
    [
        (selects, lambda: selects(ROW), selects.python_function, "what Unique gives depends on values. Keep sizes"),
        (calls_one, lambda: calls_one(ROW), helper, "what Unique gives depends on values. Keep sizes"),
        (
            loops,
            lambda: under_a_tape(loops, tf.data.Dataset.from_tensor_slices([1.0])),
            loops.python_function,
            "a tape outside of the loop records each trip. Open a tape inside of the loop",
        ),
        (shaped_by_runs, lambda: under_a_tape(shaped_by_runs, ROW), shaped_by_runs.python_function, "no TensorSpec in Tout"),
    ],
    ids=["its own line", "a helper's line", "a loop under a tape", "a shape under a tape"],
)
def test_a_function_that_runs_as_python_says_so_once(said, function, run, where, words):
    run()
    run()
    (message,) = said()
    assert message.startswith(f"{function._name} runs as Python in each call")
    assert f"({__file__}:{line_in(where)})" in message and words in message
    tf.config.require_compiled_functions()
    try:
        with pytest.raises(tf.errors.UnimplementedError, match=f"{function._name} runs as Python in each call"):
            run()
    finally:
        tf.config.require_compiled_functions(False)
    run()
    assert len(said()) == 1


def test_what_is_compiled_says_nothing(said):
    tf.config.require_compiled_functions()
    try:
        assert float(loops(tf.data.Dataset.from_tensor_slices([1.0, 2.0]))) == 6.0
        assert shaped_by_runs(ROW).shape == (1,)
    finally:
        tf.config.require_compiled_functions(False)
    assert said() == []


def test_one_that_is_made_anew_says_it_once(said):
    for _ in range(2):
        tf.function(helper)(ROW)
    assert len(said()) == 1
