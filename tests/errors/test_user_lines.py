"""Errors point at the user's line: the library's own frames are not shown."""

import builtins
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

PACKAGE = str(Path(tf.__file__).parent) + os.sep
pytestmark = pytest.mark.better  # TensorFlow shows some frames of its own


def frames(error):
    """`(file, function, line of code)` of every frame shown."""
    return [(frame.filename, frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def matmul(x):
    return tf.matmul(x, x)  # the line to blame


def operator(x):
    return x + tf.ones([4])  # the line to blame


def reflected(x):
    return np.ones(4) * x  # the line to blame


def mixed_dtypes(x):
    return x * tf.constant([1, 2, 3])  # the line to blame


def nested(x):
    return operator(x)


def constant(x):
    return tf.constant([[1, 2], [3]])  # the line to blame


def conversion(x):
    return tf.reduce_sum(object())  # the line to blame


def dtype_of_the_argument(x):
    return tf.sqrt(tf.constant([1, 2]))  # the line to blame


def gather(x):
    return tf.gather(x, tf.constant([0]) + 9)  # the line to blame


def division(x):
    return tf.constant([1]) // tf.constant([0])  # the line to blame


def indexing(x):
    return x[5]  # the line to blame


def truth(x):
    return bool(x)  # the line to blame


def hashing(x):
    return hash(x)  # the line to blame


def iteration(x):
    return list(x[0, 0])  # the line to blame


def assignment(x):
    return tf.Variable([1.0]).assign([1.0, 2.0])  # the line to blame


def wrong_keyword(x):
    return tf.reduce_sum(x, axes=1)  # the line to blame


def second_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    return tape.gradient(y, x)  # the line to blame


def watching_a_number(x):
    with tf.GradientTape() as tape:
        tape.watch(1.0)  # the line to blame


def missing_name(x):
    return tf.rehsape(x, [3])  # the line to blame


FAILING = [
    (matmul, tf.errors.InvalidArgumentError, "Matrix size-incompatible"),
    (operator, tf.errors.InvalidArgumentError, "Incompatible shapes"),
    (reflected, tf.errors.InvalidArgumentError, "Incompatible shapes"),
    (mixed_dtypes, tf.errors.InvalidArgumentError, "cannot compute"),
    (nested, tf.errors.InvalidArgumentError, "Incompatible shapes"),
    (constant, ValueError, "non-rectangular"),
    (conversion, ValueError, "unsupported type"),
    (dtype_of_the_argument, tf.errors.InvalidArgumentError, "not in the list of allowed values"),
    (gather, tf.errors.InvalidArgumentError, "is not in"),
    (division, tf.errors.InvalidArgumentError, "division by zero"),
    (indexing, tf.errors.InvalidArgumentError, "out of bounds"),
    (truth, ValueError, "ambiguous"),
    (hashing, TypeError, "unhashable"),
    (iteration, TypeError, "scalar tensor"),
    (assignment, ValueError, "Shape mismatch"),
    (wrong_keyword, TypeError, "unexpected keyword"),
    (second_gradient, RuntimeError, "non-persistent"),
    (watching_a_number, ValueError, "float"),
    (missing_name, AttributeError, "rehsape"),
]


@pytest.mark.parametrize("function, error, message", FAILING, ids=[row[0].__name__ for row in FAILING])
def test_the_last_frame_is_the_users(function, error, message):
    with pytest.raises(error, match=message) as raised:
        function(tf.ones([2, 3]))
    shown = frames(raised.value)
    assert shown[-1][0] == __file__
    assert shown[-1][2].endswith("# the line to blame")
    assert {file for file, _, _ in shown} == {__file__}


def test_no_cause_from_inside_is_shown():
    """Neither `__cause__` nor an unsuppressed `__context__` leads back into the library."""
    for function, error, message in FAILING:
        with pytest.raises(error, match=message) as raised:
            function(tf.ones([2, 3]))
        shown = "".join(traceback.format_exception(raised.value))
        assert PACKAGE not in shown, function.__name__
        assert "jax" not in shown, function.__name__


def test_frames_of_user_code_that_the_library_called_are_kept():
    def double(x):
        return nested(x) * 2.0

    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes") as raised:
        tf.nest.map_structure(double, [tf.ones([2, 3])])
    names = [name for _, name, _ in frames(raised.value)]
    assert names[-3:] == ["double", "nested", "operator"]
    assert {file for file, _, _ in frames(raised.value)} == {__file__}


def test_the_body_of_a_function_is_shown():
    @tf.function
    def compute(x):
        return operator(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes") as raised:
        compute(tf.ones([2, 3]))
    assert frames(raised.value)[-1][1] == "operator"
    assert {file for file, _, _ in frames(raised.value)} == {__file__}


def test_a_users_gradient_function_is_shown():
    @tf.custom_gradient
    def wrong(x):
        def gradient(upstream):
            return upstream + tf.ones([7])  # the line to blame

        return x * 1.0, gradient

    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = wrong(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes") as raised:
        tape.gradient(y, x)
    assert frames(raised.value)[-1][2] == "return upstream + tf.ones([7])  # the line to blame"


def test_a_users_exception_passes_through():
    class Mine(Exception):
        pass

    def fail(leaf):
        raise Mine("mine")

    with pytest.raises(Mine, match="mine") as raised:
        tf.nest.map_structure(fail, [1])
    assert frames(raised.value)[-1][1] == "fail"


PROGRAM = """
import gradtape as tf

def compute(x):
    return tf.matmul(x, x)

compute(tf.ones([2, 3]))
"""


@pytest.mark.parametrize("full", [False, True], ids=["cut", "full"])
def test_an_environment_variable_brings_the_frames_back(tmp_path, full):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "GRADTAPE_FULL_TRACEBACK"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(PACKAGE).parent), environment.get("PYTHONPATH", "")])
    if full:
        environment["GRADTAPE_FULL_TRACEBACK"] = "1"
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "Matrix size-incompatible" in run.stderr.splitlines()[-2]
    assert f'File "{script}", line 5, in compute' in run.stderr
    assert f'File "{script}", line 7, in <module>' in run.stderr
    assert (PACKAGE in run.stderr) is full


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda: tf.reshape(tf.ones([3]), [2]), "gradtape.errors.InvalidArgumentError"),
        (lambda: tf.complex(1, 2), "TypeError"),
        (
            lambda: tf.function(lambda x: 1.0 if x else x, autograph=False)(tf.constant(True)),
            "gradtape.errors.OperatorNotAllowedInGraphError",
        ),
        (lambda: tf.autodiff.vjp(tf.function(lambda x: 1 / 0), tf.ones([2])), "ZeroDivisionError"),
        (
            lambda: tf.autodiff.check_gradients(tf.custom_gradient(lambda x: (x, lambda dy: 2.0 * dy)), [np.ones(2)]),
            "gradtape.autodiff.GradientMismatch",
        ),
    ],
)
def test_a_traceback_names_the_class_that_a_user_can_catch(call, shown):
    with pytest.raises(Exception, match=r"\w") as found:
        call()
    assert "".join(traceback.format_exception_only(found.value)).startswith(f"{shown}: ")
    name = shown.rpartition(".")[2]
    assert isinstance(found.value, getattr(tf.errors, name, None) or getattr(tf.autodiff, name, None) or getattr(builtins, name))
    assert isinstance(pickle.loads(pickle.dumps(found.value)), Exception)
