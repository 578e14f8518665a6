"""`tf.experimental.numpy` gives what TensorFlow's gives: `answers.json`, recorded by `record.py`."""

import inspect
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from tests import forked
from tests.ops.numpy import calls, record

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text("utf-8"))
tnp = tf.experimental.numpy

# NumPy's rule holds here. In TensorFlow a constant of NumPy's, or a number, makes float64 of float32, an angle of real numbers is
# float32 whatever they are, and an int that is rounded to tens loses its last bit.
NUMPYS = (
    "tnp.angle([0.25, 0.5, -0.75])", "tnp.angle([1, 2, 3])", "tnp.angle(tf.constant([2, 1], tf.int8))",
    "tnp.angle(np.float16(0.5))",
    "tnp.angle([-1.0, 1.0], deg=True)", "tnp.log10(tf.constant([0.5, 1.0, 2.0]))", "tnp.log10(np.float16(0.5))",
    "tnp.log2(tf.constant([0.5, 1.0, 2.0]))", "tnp.log2(np.float16(0.5))", "tnp.logaddexp2(tf.constant([1.0, 2.0]), 2)",
    "tnp.logaddexp2(tf.constant([3], tf.int8), tf.constant([2.0]))", "tnp.around([15, 25, 34], -1)",
    "tnp.hypot(tf.constant([1.0, 2.0]), 2)",
)  # fmt: skip
# TensorFlow has no answer: a method that lists lack, a float64 beside a float32, no kernel, no such mode.
ANSWERED_HERE = "rad2deg heaviside logaddexp vsplit hsplit var arctan2 float_power power hypot nextafter pad".split()
ERRORS = {"NotFoundError": "InvalidArgumentError"}  # a dtype for which there is no kernel
BITS = {"float16": 10, "bfloat16": 7, "float32": 20, "float64": 40, "complex64": 20, "complex128": 40}


def agree(ours, theirs):
    """Whether two descriptions are the same, to rounding; a NumPy scalar is as good as a Python number."""
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if not isinstance(theirs, dict) or "error" in theirs:
        return ours == theirs
    if not isinstance(ours, dict):
        return theirs["shape"] == [] and [ours] == theirs["values"]
    if (ours.get("dtype"), ours.get("shape")) != (theirs["dtype"], theirs["shape"]):
        return False
    number = complex if theirs["dtype"].startswith("complex") else float
    found, wanted = [np.array([number(v) for v in each["values"]]) for each in (ours, theirs)]
    return np.allclose(found, wanted, rtol=2.0 ** -BITS.get(theirs["dtype"], 52), atol=1e-12, equal_nan=True)


def differing(answer_to, asked):
    """The calls among `asked` whose answer is another than TensorFlow's, and that have no reason for it."""
    found = []
    for call in asked:
        theirs, ours = ANSWERS[call], json.loads(json.dumps(answer_to(call)))
        if "error" in str(theirs) and any(f"tnp.{name}" in call for name in ANSWERED_HERE) and "error" not in str(ours):
            continue
        if isinstance(theirs, dict) and theirs.get("error") in ERRORS:
            theirs = {"error": ERRORS[theirs["error"]]}
        if call not in NUMPYS and not agree(ours, theirs):
            found.append((call, ours, theirs))
    return found


def test_calls(count):
    names = {"tf": tf, "np": np, "tnp": tnp}
    assert differing(lambda call: record.answer(call, dict(names)), calls.CALLS) == []
    count("calls of NumPy's functions compared with TensorFlow's", len(calls.CALLS))


def test_every_function_is_called():
    called = " ".join(calls.CALLS)
    functions = [name for name in dir(tnp) if callable(getattr(tnp, name)) and not name.startswith("_")]
    classes = [name for name in functions if isinstance(getattr(tnp, name), type)]
    others = {"finfo", "issubdtype", "experimental_enable_numpy_behavior", *classes}
    assert [name for name in functions if f"tnp.{name}(" not in called and name not in others] == []


PROGRAM = """
import inspect
import json
import math
import gradtape as tf
from tests.ops.numpy import record
print(json.dumps(record.answers(tf)))
"""


def test_tensors_behave_as_arrays_once_asked_to():
    run = forked.run([sys.executable, "-c", PROGRAM])
    assert run.returncode == 0, run.stderr
    answers = json.loads(run.stdout)
    assert differing(answers.get, (*calls.BEHAVIOR, *calls.CALLS)) == []


VECTORS = """
import numpy as np
import gradtape as tf
tf.experimental.numpy.experimental_enable_numpy_behavior()
ones = tf.ones
products = [tf.constant([1.0, 2.0]) @ tf.constant([3.0, 4.0]), ones([2, 3]) @ ones(3), ones(2) @ ones([2, 3])]
products += [np.ones(2) @ ones([2, 2], tf.float64), tf.Variable([1.0, 2.0]) @ ones(2)]
print([product.numpy().tolist() for product in products])
"""


def test_a_vector_in_a_product_is_a_row_or_a_column():
    run = forked.run([sys.executable, "-c", VECTORS])
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [11.0, [3.0, 3.0], [2.0, 2.0, 2.0], [2.0, 2.0], 3.0]  # as in TensorFlow


def test_the_new_promotion_is_not_there():
    with pytest.raises(tf.errors.UnimplementedError, match="it is 'legacy', NumPy's rules, or 'off'"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="safe")


def test_gradients_in_a_function():
    weights = tf.Variable(tnp.ones([2, 2], tnp.float32))

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            hidden = tnp.tanh(tnp.matmul(tnp.vstack([x, x]), weights))
            loss = (
                tnp.sum(tnp.where(hidden > 0, hidden**2, 0))
                + tnp.var(weights, ddof=1)
                + tnp.take_along_axis(weights, [[0], [1]], 1)[0, 0]
            )
        return tape.gradient(loss, weights)

    numeric = tf.test.compute_gradient(
        lambda w: tnp.sum(tnp.tanh(tnp.matmul([[1.0, 2.0]] * 2, w)) ** 2) + tnp.var(w, ddof=1) + w[0, 0], [tnp.ones([2, 2])]
    )[1][0]
    np.testing.assert_allclose(slope(tf.constant([1.0, 2.0])), numeric.reshape(2, 2), atol=1e-5)


def test_open_extents():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def scores(x):
        centred = x - tnp.mean(x, axis=0, keepdims=True)
        return tnp.argsort(tnp.sum(tnp.square(centred), axis=1))

    assert scores(tf.constant([[1.0, 2, 3], [9, 9, 9], [2, 2, 2]])).numpy().tolist() == [2, 0, 1]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None, 3])
        fetched = session.run(tnp.cumsum(tnp.flip(x, 0), 0), {x: [[1, 2, 3], [4, 5, 6]]})
    assert fetched.tolist() == [[4, 5, 6], [5, 7, 9]]


def test_maximum_with_zero_is_relu_whose_gradient_at_zero_is_zero():
    x = tf.constant([-1.0, 0.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = tnp.maximum(x, 0.0), tnp.maximum(0.0, x)
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.0, 1.0]
    assert y.dtype is tf.float32 and y.numpy().tolist() == z.numpy().tolist() == [0.0, 0.0, 2.0]


@pytest.mark.parametrize("axis", [2, -3, 5])
@pytest.mark.parametrize(
    "call",
    [
        lambda axis: tnp.moveaxis(np.ones((2, 3)), axis, 0),
        lambda axis: tnp.moveaxis(np.ones((2, 3)), 0, axis),
        lambda axis: tnp.swapaxes(np.ones((2, 3)), 0, axis),
        lambda axis: tnp.flip(np.ones((2, 3)), axis),
        lambda axis: tnp.rot90(np.ones((2, 3)), 1, (0, axis)),
        lambda axis: tnp.diagonal(np.ones((2, 3)), 0, 0, axis),
        lambda axis: tnp.trace(np.ones((2, 3)), 0, axis, 1),
        lambda axis: tnp.compress([True, False], np.ones((2, 3)), axis),
        lambda axis: tnp.take_along_axis(np.ones((2, 3)), np.zeros((2, 3), int), axis),
        lambda axis: tnp.cross(np.ones((2, 3)), np.ones((2, 3)), axisa=axis),
        lambda axis: tnp.geomspace(1.0, [8.0], 4, axis=axis),
    ],
)
def test_an_axis_out_of_range_is_refused(call, axis):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{axis} is out of range for a tensor of rank 2: it must be in"):
        call(axis)


@pytest.mark.parametrize(
    "shape, said", [((2,), "must have one rank"), ((2, 2, 1), "must have one rank"), ((3, 1), "Incompatible shapes")]
)
def test_indices_along_an_axis_that_do_not_fit_are_refused(shape, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        tnp.take_along_axis(np.ones((2, 3)), np.zeros(shape, int), 1)


@pytest.mark.better
@pytest.mark.parametrize(
    "call, shape, tensorflows",
    [
        (lambda: tnp.stack(tf.zeros([4, 2, 3]), axis=2), [2, 3, 4], [3, 2, 4]),
        (lambda: tnp.eye(3, 0), [3, 0], [3, 3]),
    ],
)
def test_shapes_are_numpys(call, shape, tensorflows):
    assert call().shape == shape != tensorflows


def test_functions_have_numpys_answers_under_either_policy():
    assert tnp.pad([1, 2, 3], 1, "wrap").numpy().tolist() == [3, 1, 2, 3, 1]
    assert [part.numpy().tolist() for part in tnp.split([1, 2, 3], [-1, 9])] == [[1, 2], [3], []]
    with pytest.raises(ValueError, match="must not become smaller"):
        tnp.split([1, 2, 3], [2, 1])
    assert tnp.concatenate([[[1, 2]], [3]], axis=None).numpy().tolist() == [1, 2, 3]
    assert tnp.hypot(1e200, 1e200).numpy() == pytest.approx(math.sqrt(2) * 1e200)
    assert "policy" not in str(inspect.signature(tnp.add))
