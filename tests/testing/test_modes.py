"""Decorators of tests by the names of TensorFlow's private modules `test_util` and `combinations`."""

import unittest

import pytest
from absl.testing import parameterized

import gradtape as tf
from gradtape._src.testing import combinations, modes


def run(case):
    """Run all tests of a class but `test_session`, which is a method; return the result."""
    names = unittest.defaultTestLoader.getTestCaseNames(case)
    result = unittest.TestSuite(case(name) for name in names if name != "test_session").run(unittest.TestResult())
    assert result.wasSuccessful(), result.errors + result.failures
    return result


def mode():
    return "eager" if tf.executing_eagerly() else "graph"


def test_a_test_runs_in_a_graph_and_in_eager_code():
    ran = []

    class Case(modes.TensorFlowTestCase):
        def setUp(self):
            super().setUp()
            ran.append("set up")

        @modes.run_in_graph_and_eager_modes
        def test_both(self):
            ran.append(mode())
            self.assertAllEqual(self.evaluate(tf.constant([1, 2]) * 2), [2, 4])

        @modes.run_deprecated_v1
        def test_graph(self):
            ran.append(mode())

        @modes.run_v2_only
        @modes.disable_xla("b/123: of TensorFlow's compiler")
        @modes.assert_no_new_tensors
        def test_version(self):
            ran.append(mode())

    run(Case)
    assert ran == ["set up", "graph", "set up", "eager", "set up", "graph", "set up", "eager"]


def test_a_class_runs_in_both_modes():
    ran = []

    @modes.run_all_in_graph_and_eager_modes
    class Case(modes.TensorFlowTestCase):
        def test_first(self):
            ran.append(mode())

    run(Case)
    assert ran == ["graph", "eager"]


def test_what_does_not_run_here_is_skipped():
    class Case(modes.TensorFlowTestCase):
        @modes.run_v1_only("of sessions")
        def test_version(self):
            raise AssertionError

        @modes.disable_control_flow_v2("of switches")
        def test_switch(self):
            raise AssertionError

        def test_error(self):
            with modes.skip_if_error(self, tf.errors.InvalidArgumentError, "not here"):
                raise tf.errors.InvalidArgumentError(None, None, "This is not here.")

    assert sorted(reason for _, reason in run(Case).skipped) == [
        "Skipping error: This is not here.",
        "of sessions",
        "of switches",
    ]


def test_one_tape_for_eager_code_and_graphs():
    x = tf.constant(3.0)
    with modes.AbstractGradientTape(use_tape=True) as tape:
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant(3.0)
        with modes.AbstractGradientTape(use_tape=False) as tape:
            tape.watch(x)
            y = x * x
        assert session.run(tape.gradient(y, x)) == 6.0


def test_axes_of_images():
    assert modes.NHWCToNCHW([1, 2, 3, 4]) == [1, 4, 2, 3] and modes.NCHWToNHWC([1, 4, 2, 3]) == [1, 2, 3, 4]
    assert modes.NCHWToNHWC(tf.zeros([1, 5, 2, 3, 4])).shape == [1, 2, 3, 4, 5]


def test_each_combination_is_a_test():
    ran = []

    class Case(tf.test.TestCase, parameterized.TestCase):
        @combinations.generate(
            combinations.times(
                combinations.combine(mode=["eager", "graph"], tf_api_version=[1, 2]), combinations.combine(size=[1, 2])
            )
        )
        def test_size(self, size):
            ran.append((mode(), size))

    assert run(Case).testsRun == 4
    assert sorted(ran) == [("eager", 1), ("eager", 2), ("graph", 1), ("graph", 2)]
    ran.clear()

    @combinations.generate(combinations.combine(mode="eager", thing=combinations.NamedObject("three", 3)))
    class Whole(tf.test.TestCase, parameterized.TestCase):
        def setUp(self):
            super().setUp()
            ran.append(self.id().rpartition(".")[2])

        def test_thing(self, thing):
            ran.append((mode(), repr(thing)))

    @combinations.generate(combinations.combine(mode="graph", tf_api_version=1))
    class Old(tf.test.TestCase, parameterized.TestCase):
        def test_whole(self):
            ran.append("never")

    class OldTest(tf.test.TestCase, parameterized.TestCase):
        @combinations.generate(combinations.combine(mode="graph", tf_api_version=1))
        def test_one(self):
            ran.append("never")

    assert [len(run(case).skipped) for case in (Old, OldTest)] == [1, 1]

    run(Whole)
    assert ran == ["test_thing_test_mode_eager_thing_three", ("eager", "three")]
    with pytest.raises(ValueError, match="Keys need to not overlap"):
        combinations.times(combinations.combine(a=1), combinations.combine(a=2))


def test_a_matrix_product_of_tests_is_one():
    assert modes.matmul_without_tf32([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True).numpy().tolist() == [[11.0]]
