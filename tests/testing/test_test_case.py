"""`tf.test`: test cases as they are written for TensorFlow. Messages and numbers are TensorFlow 2.21's."""

import collections
import importlib.util
import os
import random
import sys
import unittest

import numpy as np
import pytest

import gradtape as tf
from tests import forked

v1 = tf.compat.v1
Pair = collections.namedtuple("Pair", "a b")
case = tf.test.TestCase()
gather = tf.function(lambda: tf.gather([1], [3]))


def op_error(pattern):
    with case.assertRaisesOpError(pattern):
        tf.gather([1], [3])


def incompatible(y):
    with case.assertRaisesIncompatibleShapesError():
        tf.ones([2]) + y


HOLD = [
    lambda: case.assertAllClose([1.0, 2.0], tf.constant([1.0, 2.000001])),
    lambda: case.assertAllClose({"a": [1.0, (2.0, [3.0])]}, {"a": [1.0, (2.0, [3.0])]}),
    lambda: case.assertAllClose(Pair(tf.ones([2]), 1.0), Pair([1.0, 1.0], np.float64(1.0))),
    lambda: case.assertAllClose([float("nan")], [float("nan")]),
    lambda: case.assertNotAllClose([1.0], [1.1]),
    lambda: case.assertAllCloseAccordingToType(np.float16(1.0), np.float16(1.0005)),
    lambda: case.assertAllCloseAccordingToType(tf.constant([1.0], tf.bfloat16), [1.005]),
    lambda: case.assertAllEqual(["a"], tf.constant(["a"])),
    lambda: case.assertAllEqual(tf.Variable([1, 2]), [1, 2]),
    lambda: case.assertAllEqual([float("nan")], [float("nan")]),
    lambda: case.assertAllEqual(tf.ragged.constant([[1], [2, 3]]), [[1], [2, 3]]),
    lambda: case.assertAllEqual(tf.ragged.constant([["a"], []]), tf.ragged.constant([["a"], []])),
    lambda: case.assertAllClose(tf.ragged.constant([[1.0], [2.0, 3.0]]), [[1.0], [2.0, 3.0000001]]),
    lambda: case.assertEqual(case.evaluate(tf.ragged.constant([[1], [2, 3]])).to_list(), [[1], [2, 3]]),
    lambda: case.assertNotAllEqual([1, 2], [1, 3]),
    lambda: case.assertShapeEqual(tf.ones([3]), np.ones(3)),
    lambda: case.assertDTypeEqual(tf.ones([3]), tf.float32),
    lambda: case.assertDTypeEqual([1.0], np.float64),
    lambda: case.assertAllInRange(tf.constant([1.0, 4.0]), 1, 4),
    lambda: case.assertAllInSet([1, 2, 2], {1, 2}),
    lambda: case.assertAllGreater([2, 3], 1),
    lambda: case.assertAllLess([2, 3], 4),
    lambda: case.assertAllGreaterEqual([1, 3], 1),
    lambda: case.assertAllLessEqual([1, 3], 3),
    lambda: case.assertNear(1.0, 1.1, 0.2),
    lambda: case.assertNear(float("inf"), float("inf"), 0.2),
    lambda: case.assertArrayNear([1.0], [1.1], 0.2),
    lambda: case.assertNDArrayNear(np.ones(2), np.ones(2), 0.1),
    lambda: case.assertDeviceEqual("/cpu:0", "/device:CPU:0"),
    lambda: op_error(r"indices\[0\] = 3 is not in \[0, 1\)"),
    lambda: op_error(lambda error: error.error_code == 3),
    lambda: incompatible(tf.ones([3])),
]
FAIL = [
    (lambda: case.assertAllEqual(tf.ragged.constant([[1], [2, 3]]), [[1], [2, 4]]), "Lists differ"),
    (lambda: case.assertAllEqual(tf.ragged.constant([[1], [2]]), tf.constant([[1], [2]])), "1 != 0"),
    (lambda: case.assertAllClose(tf.ragged.constant([[1.0], [2.0, 3.0]]), [[1.0], [2.0, 3.5]]), "Mismatched value"),
    (
        lambda: case.assertAllClose([1.0, 2.0], [1.0, 2.1]),
        "Not equal to tolerance rtol=1e-06, atol=1e-06\nMismatched value: a is different from b. \n(.|\n)*Mismatched elem",
    ),
    (lambda: case.assertAllClose({"a": 1.0}, {"a": 1.5}), r"Mismatched value: a\[a\] is different from b\[a\]"),
    (lambda: case.assertAllClose({"a": 1.0}, {"b": 1.0}), r"mismatched keys: a has keys dict_keys\(\['a'\]\), but b has keys"),
    (lambda: case.assertAllClose([1.0], [1.0, 2.0]), r"Shape mismatch: expected \(1,\), got \(2,\) with contents \[1\. 2\.\]"),
    (lambda: case.assertAllClose((1.0, [2.0]), (1.0, [3.0])), r"Mismatched value: a\[1\] is different from b\[1\]"),
    (lambda: case.assertAllClose(1.0, 2.0, msg="said"), "is different from b. said"),
    (lambda: case.assertNotAllClose([1.0], [1.0]), "The two values are close at all elements"),
    (lambda: case.assertAllCloseAccordingToType([1.0], [1.1]), "Not equal to tolerance rtol=1e-06"),
    (lambda: case.assertAllEqual([1, 2], [1, 3]), r"Arrays are not equal\n(.|\n)*Mismatched elements: 1 / 2 \(50%\)"),
    (
        lambda: case.assertAllEqual([1, 2], [1, 3, 4], msg="mm"),
        r"expected \(2,\), got \(3,\)\. Contents: array\(\[1, 3, 4\]\). \nmm\.",
    ),
    (lambda: case.assertNotAllEqual([1, 2], [1, 2]), "The two values are equal at all elements"),
    (lambda: case.assertShapeEqual(np.ones(3), tf.ones([2])), "Arrays are not equal"),
    (lambda: case.assertDTypeEqual(tf.ones([3]), np.float64), r"dtype\('float32'\) != <class 'numpy.float64'>"),
    (
        lambda: case.assertAllInRange([1.0, 2.0, 5.0], 1, 4, open_upper_bound=True),
        r"1 of the 3 element\(s\) are outside the range \[1, 4\)\. Subscript\(s\) and value\(s\) of the .*:\n  \[2\] : 5\.0",
    ),
    (lambda: case.assertAllInRange(["a"], 1, 2), "does not have an ordered numeric type"),
    (lambda: case.assertAllInSet([1, 2, 5], [1, 2]), r"1 unique element\(s\) are not in the set \[1, 2\]: \[5\]"),
    (lambda: case.assertAllGreater([1, 2], 1), "not greater than 1"),
    (lambda: case.assertAllLess([1, 2], 2), "not less than 2"),
    (lambda: case.assertAllGreaterEqual([0, 2], 1), "not greater than or equal to 1"),
    (lambda: case.assertAllLessEqual([1, 2], 1), "not less than or equal to 1"),
    (lambda: case.assertNear(1.0, 2.0, 0.5), r"1\.000000 != 2\.000000 \+/- 0\.500000 \(difference: 1"),
    (lambda: case.assertArrayNear([1.0], [2.0], 0.5), r"1\.000000 != 2\.000000"),
    (lambda: case.assertNDArrayNear(np.ones(2), np.zeros(2), 0.5), "is not true"),
    (lambda: case.assertDeviceEqual("/cpu:0", "/cpu:1"), "Devices /device:CPU:0 and /device:CPU:1 are not equal"),
    (lambda: op_error("zzz"), r"Exception of type .*InvalidArgumentError.*: (.|\n)*indices\[0\] = 3"),
    (lambda: incompatible(tf.ones([2])), "InvalidArgumentError not raised"),
]


@pytest.mark.parametrize("call", HOLD)
def test_an_assertion_that_holds(call):
    assert call() is None


@pytest.mark.parametrize("call, message", FAIL)
def test_an_assertion_that_fails(call, message):
    with pytest.raises(AssertionError, match=message):
        call()


def test_another_error_goes_through():
    with pytest.raises(ZeroDivisionError, match="division by zero"), case.assertRaisesOpError("indices"):
        _ = 1 / 0
    with pytest.raises(TypeError, match="input_a must be a Numpy ndarray, Numpy scalar, or a Tensor"):
        case.assertShapeEqual([1], tf.ones([1]))


def test_evaluate_in_eager_code():
    sparse, rows = tf.sparse.from_dense([1.0]), tf.IndexedSlices(tf.ones([1]), tf.constant([0]))
    values = case.evaluate(
        {"t": tf.constant([1.0]), "v": (tf.Variable(2), None), "f": lambda: tf.constant(3), "s": sparse, "i": rows}
    )
    assert values["t"].tolist() == [1.0] and values["v"] == (2, None) and values["f"] == 3
    assert isinstance(values["s"], v1.SparseTensorValue) and values["s"].dense_shape.tolist() == [1]
    assert isinstance(values["i"], v1.IndexedSlicesValue) and values["i"].indices.tolist() == [0]
    for value in (3, "text", object()):
        with pytest.raises(ValueError, match="Unsupported type"):
            case.evaluate(value)
    with case.session() as session:
        assert session.run(tf.constant(3)) == 3
        with pytest.raises(RuntimeError, match="Eager code has no placeholders to feed"):
            session.run(tf.constant(3), {"x": 1})
    assert case.evaluate_if_both_tensors(tf.constant(1), 2)[1] == 2


class Sample(tf.test.TestCase):
    __test__ = False  # run by what stands below

    def test_numbers(self):
        self.numbers = [*tf.random.uniform([2]).numpy().tolist(), np.random.rand(), random.random()]

    def test_sessions(self):
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [])
            with self.cached_session() as session, self.cached_session() as again, self.test_session() as third:
                self.assertIs(session, again)
                self.assertIs(session, third)
                self.assertEqual(session.run(x + 1.0, {x: 2.0}), 3.0)
                self.assertEqual(self.evaluate(tf.constant(4)), 4)
                self.assertAllClose(tf.constant([1.0]) * 2.0, [2.0])
            with self.assertRaisesRegex(ValueError, "The graph used to get the cached session is different"):
                self.enterContext(self.cached_session(graph=tf.Graph()))
            with self.session() as other:
                self.assertIsNot(other, session)
        with tf.Graph().as_default():
            self.assertEqual(session.graph is v1.get_default_graph(), False)

    def test_threads_and_files(self):
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        with self.assertRaisesRegex(AssertionError, "Error in checkedThread: division by zero"):
            thread.join()
        self.assertFalse(thread.is_alive())
        self.directory = self.get_temp_dir()
        self.assertTrue(os.path.isdir(self.directory) and self.get_temp_dir() == self.directory)
        for i in range(2):
            with self.subTest(i=i):
                self.assertAllInSet([i], [0, 1])


def run(name):
    sample, result = Sample(name), unittest.TestResult()
    sample.run(result)
    assert not result.errors and not result.failures, [*result.errors, *result.failures]
    return sample, result


def test_each_test_starts_with_tensorflows_seeds():
    for _ in range(2):
        sample, _ = run("test_numbers")
        np.testing.assert_allclose(
            sample.numbers, [0.5836374759674072, 0.2972298860549927, 0.18463433217903202, 0.3499765785632496]
        )


def test_sessions_of_graphs():
    run("test_sessions")


def test_a_directory_is_removed_with_its_test():
    sample, _ = run("test_threads_and_files")
    assert not os.path.exists(sample.directory)


def test_the_method_test_session_is_no_test():
    _, result = run("test_session")
    assert [reason for _, reason in result.skipped] == ["Not a test."]


def test_decorators():
    class Skipped(tf.test.TestCase):
        @tf.test.disable_with_predicate(lambda: True, "not now")
        def test_never(self):
            self.fail("it ran")

    result = unittest.TestResult()
    tf.test.with_eager_op_as_function(Skipped)("test_never").run(result)
    assert [reason for _, reason in result.skipped] == ["not now"]
    assert tf.test.with_eager_op_as_function(only_as_function=True)(Skipped) is Skipped


def test_what_there_is_to_run_on():
    gpus = tf.config.list_physical_devices("GPU")
    assert tf.test.is_gpu_available() is v1.test.is_gpu_available() is bool(gpus)
    assert tf.test.is_gpu_available(min_cuda_compute_capability=(99, 0)) is False
    assert tf.test.gpu_device_name() == ("/device:GPU:0" if gpus else "")
    assert tf.test.is_built_with_xla() is True
    assert tf.test.is_built_with_gpu_support() is (tf.test.is_built_with_cuda() or tf.test.is_built_with_rocm())
    assert tf.test.is_cpu_target_available("x86") or not tf.test.is_cpu_target_available("none")
    assert isinstance(tf.test.benchmark_config(), v1.ConfigProto)
    assert tf.test.experimental.sync_devices() is None
    assert v1.test.TestCase is tf.test.TestCase and v1.test.mock is unittest.mock


def test_the_build_is_looked_at_once(monkeypatch):
    known = tf.test.is_built_with_cuda()
    monkeypatch.setattr(importlib.util, "find_spec", None)
    assert tf.test.is_built_with_cuda() is known


SCRIPT = """
import sys
import gradtape as tf
assert "absl" not in sys.modules

class Square(tf.test.TestCase):
    def test_square(self):
        self.assertAllClose(tf.square([2.0, 3.0]), [4.0, 9.0])

if __name__ == "__main__":
    tf.test.main()
"""


def test_main(tmp_path):
    script = tmp_path / "square_test.py"
    script.write_text(SCRIPT)
    done = forked.run([sys.executable, script])
    assert done.returncode == 0 and "[       OK ] Square.test_square" in done.stderr, done.stderr


JACOBIANS = [
    (lambda x: x * x, lambda: [tf.constant([1.0, 2.0])], [[[2.0, 0.0], [0.0, 4.0]]]),
    (
        tf.matmul,
        lambda: [tf.constant([[1.0, 2.0]]), np.array([[3.0], [4.0]], np.float32)],
        [[[3.0, 4.0]], [[1.0, 2.0]]],
    ),
    (lambda x: tf.gather(x, [0, 0]), lambda: [tf.constant([1.0, 2.0], tf.float64)], [[[1.0, 0.0], [1.0, 0.0]]]),
]


@pytest.mark.parametrize("f, arguments, expected", JACOBIANS)
def test_compute_gradient_in_a_session(f, arguments, expected):
    with tf.Graph().as_default(), v1.Session():
        theoretical, numerical = tf.test.compute_gradient(f, arguments())
    for found in (theoretical, numerical):
        assert len(found) == len(expected)
        for matrix, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(matrix, wanted, atol=1e-3)


def test_eager_tensors_are_compared_in_a_graph():
    """They have their values, where the session of the graph could not fetch them."""
    eager = tf.constant([1.0, 2.0])

    class Case(tf.test.TestCase):
        def test_values(self):
            with tf.Graph().as_default(), self.session():
                self.assertAllClose(eager, tf.constant([0.5, 1.0]) * 2.0)
                self.assertAllEqual([eager, eager], [[1.0, 2.0], [1.0, 2.0]])
                self.assertAllGreater(tf.constant([3.0]), eager[1] + 0.5)
                self.assertAllLess(tf.constant([3.0]), tf.constant(2.0) * 2.0)
                self.assertAllGreaterEqual(tf.constant([3.0]), tf.constant(1.0) * 3.0)
                self.assertAllLessEqual(tf.constant([3.0]), tf.constant(1.0) * 3.0)

    Case("test_values").debug()


def test_compute_gradient_in_a_graph_without_a_session():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="compute_gradient in a graph needs a default session"):
        tf.test.compute_gradient(tf.square, [tf.constant([1.0])])


def test_what_is_written_to_a_stream_is_collected(capfd):
    class Case(tf.test.TestCase):
        def test_stream(self):
            with self.captureWritesToStream(sys.stderr) as written:
                print("first", file=sys.stderr)
                assert written.contents() == "first\n"
                os.write(sys.stderr.fileno(), b"second\n")
            assert written.contents() == "first\nsecond\n"
            print("third", file=sys.stderr)

    Case("test_stream").debug()
    assert capfd.readouterr().err == "third\n"


def test_messages_are_compared_with_texts():
    message = tf.train.Int64List(value=[1, 2])

    class Case(tf.test.TestCase):
        def test_message(self):
            self.assertProtoEquals("value: 1 value: 2", message)
            self.assertProtoEquals(tf.train.Int64List(value=[1, 2]), message)
            with self.assertRaisesRegex(AssertionError, "value: 3"):
                self.assertProtoEquals("value: 3", message)
            with self.assertRaisesRegex(AssertionError, "The messages are of"):
                self.assertProtoEquals(tf.train.FloatList(), message)

    Case("test_message").debug()
