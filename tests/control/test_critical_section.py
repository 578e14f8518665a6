"""`tf.CriticalSection`: one thread at a time is in it, in eager code and in functions."""

import threading

import pytest

import gradtape as tf

THREADS, TIMES = 6, 40


def _in_threads(*steps):
    errors = []

    def work(step):
        try:
            for _ in range(TIMES):
                step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[steps[i % len(steps)]]) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_no_update_is_lost_between_eager_code_and_functions():
    section, v = tf.CriticalSection(), tf.Variable(0.0)

    def step():
        section.execute(lambda: v.assign(v.read_value() + 1.0))

    _in_threads(step, tf.function(step))
    assert float(v) == THREADS * TIMES


def test_a_function_with_effects_is_in_the_section_from_the_read_on():
    section, v, seen = tf.CriticalSection(), tf.Variable(0.0), []

    @tf.function
    def step():
        def counted():
            before = v.read_value()
            tf.py_function(lambda x: seen.append(float(x)), [before], [])
            return v.assign(before + 1.0)

        section.execute(counted)

    _in_threads(step)
    assert seen == [float(n) for n in range(THREADS * TIMES)]


def test_sections_of_one_shared_name_are_one():
    first, second = tf.CriticalSection(shared_name="tests_shared"), tf.CriticalSection(shared_name="tests_shared")
    with pytest.raises(ValueError, match="Attempting to lock a CriticalSection in which we are already running"):
        first.execute(lambda: second.execute(lambda: 1.0))
    assert float(second.execute(lambda: 1.0)) == 1.0


def test_functions_that_call_each_other_and_branches_hold_the_lock():
    section, v = tf.CriticalSection(), tf.Variable(0.0)
    inner = tf.function(lambda: section.execute(lambda: v.assign_add(1.0)))

    @tf.function
    def outer(x):
        if x > 0.0:
            inner()
        return x

    outer(1.0), outer(2.0)
    assert float(v) == 2.0
    for function in (inner, lambda: outer(1.0)):
        with pytest.raises(ValueError, match="already running"):
            section.execute(function)
    assert float(v) == 2.0


def test_results_are_tensors_and_have_gradients():
    section, v = tf.CriticalSection(), tf.Variable(3.0)
    for run in (lambda f: f(), lambda f: tf.function(f)()):
        with tf.GradientTape() as tape:
            square, three = run(lambda: section.execute(lambda: [v * v, 3]))
        assert isinstance(square, tf.Tensor) and three.dtype == tf.int32
        assert float(tape.gradient(square, v)) == 6.0
    assert section.execute(lambda: None) is None
    assert isinstance(section.execute(lambda: v.assign(1.0)), tf.Tensor)


def test_an_error_leaves_the_section():
    section = tf.CriticalSection()

    def fails():
        raise RuntimeError("mine")

    for run in (section.execute, tf.function(section.execute, autograph=False)):
        with pytest.raises(RuntimeError, match="mine"):
            run(fails)
    assert int(section.execute(lambda: 2)) == 2


def test_bad_calls():
    with pytest.raises(TypeError, match="'int' object is not callable"):
        tf.CriticalSection().execute(3)
    with pytest.raises(ValueError, match="`critical_section_def` is not supported"):
        tf.CriticalSection(critical_section_def=1)
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError, match="is for eager code and functions"):
        tf.CriticalSection().execute(lambda: 1.0)
