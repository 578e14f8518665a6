"""Bad calls of every public name: an error of Python's classes or the library's at the user's line, or a result.

`make test-long` calls each public name; the default suite a sample. No process may end, hang, or take 6 GiB.
"""

import numpy as np
import pytest

import gradtape as tf
from tests.errors import any_call

pytestmark = pytest.mark.better  # TensorFlow ends the process for some of them

# Classes that only the library makes, where the message says so, or Python does; and one that is NumPy's, as in TensorFlow.
NOT_CALLED = (
    "tf.Tensor(", "tf.Operation(", "tf.compat.v1.Operation(", "tf.TypeSpec(", "tf.types.experimental.TraceType(",
    "tf.experimental.numpy.iinfo(", "tf.experimental.numpy.ndarray(",
)  # fmt: skip


def check(batches, count):
    """Run batches of calls, and compare their outcomes with what is allowed."""
    results = [result for batch in batches for result in any_call.run(batch)]
    kept = [result for result in results if not result[0].startswith(NOT_CALLED)]
    bad = [" | ".join(result) for result in kept if result[1] not in (any_call.ACCEPTED, any_call.REFUSED)]
    assert not bad, "\n".join([f"{len(bad)} of {len(kept)} bad calls:", *bad[:50]])
    count("bad calls of public names", len(kept))
    count("bad calls of public names: refused", sum(result[1] == any_call.REFUSED for result in kept))


def test_some(count):
    chosen = [name for name in any_call.names(tf) if ".v1." not in name][::16]
    check(any_call.batches(tf, chosen, 1, size=1_000)[:1], count)  # without those that change settings


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_all(part, count):
    check(any_call.batches(tf, any_call.names(tf)[part::8], 10, size=1_000), count)


def own():
    raise KeyError("mine")


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            lambda: tf.Assert(1, 3),
            TypeError,
            "^Assert cannot take these arguments: 'int' object is not iterable. Received: condition=1, data=3.$",
        ),
        (
            lambda: tf.linalg.LinearOperatorAdjoint(tf.ones([2])),
            AttributeError,
            r"^LinearOperatorAdjoint .* Received: operator=<EagerTensor of dtype float32 and shape \(2,\)>",
        ),
        (lambda: tf.space_to_batch([1, 2], [[1.0], [2.0, 3.0]], 0), ValueError, "^space_to_batch .*inhomogeneous"),
        (lambda: tf.map_fn(lambda x: own(), tf.ones([2])), KeyError, "^'mine'$"),
        (lambda: tf.map_fn(lambda x: np.ones(2) + np.ones(3), tf.ones([2])), ValueError, "^operands could not be broadcast"),
        (lambda: tf.sort(), TypeError, r"^sort\(\) missing 1 required positional argument"),
        (lambda: tf.Variable(1.0, name=2), ValueError, "^The name of a variable must be a string"),
        (lambda: tf.as_dtype([1]), TypeError, "^Cannot convert the argument"),
        (lambda: tf.compat.v1.ones_initializer(range(3)), TypeError, "^Cannot convert the argument"),
        (
            lambda: tf.compat.v1.profiler.ProfileOptionBuilder([[]]),
            ValueError,
            "^ProfileOptionBuilder .*has length 0; 2 is required",
        ),
        (lambda: tf.compat.v1.train.Coordinator(3), TypeError, "^Coordinator .*'int' object is not iterable"),
    ],
)
def test_an_error_of_python_names_the_function_and_what_it_received(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert caught.traceback[-1].path.name == "test_any_call.py"


SHOWN = {
    "tf.sin(1.0)": any_call.ACCEPTED,
    "tf.sin()": any_call.REFUSED,
    "no_name": "internal",
    "np.ones(2) + 'a'": "bare",
    "np.linalg.inv(np.zeros((2, 2)))": "frames",
    "iter(()).__next__()": "empty",
    "__import__('os')._exit(3)": "ended",
    "__import__('time').sleep(60)": "hung",
    "bytearray(2**40)": "empty",  # NumPy and the library say how much memory is missing
}


def test_what_is_wrong_is_found():
    assert {call: kind for call, kind, _ in any_call.run(SHOWN, 2, module="numpy")} == SHOWN
