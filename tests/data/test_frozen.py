"""A dataset's function reads the names around it as they were when the dataset was made, as in TensorFlow."""

import functools

import gradtape as tf

D = tf.data.Dataset
SCALE = 1


def listed(datasets):
    return [[int(x) for x in dataset] for dataset in datasets]


def test_closures_of_a_loop():
    datasets = [D.range(3).map(lambda x: x * i) for i in range(3)]  # noqa: B023  (the name is read late)
    assert listed(datasets) == [[0, 0, 0], [0, 1, 2], [0, 2, 4]]
    datasets = [D.range(6).filter(lambda x: x % 3 == i) for i in range(3)]  # noqa: B023  (the name is read late)
    assert listed(datasets) == [[0, 3], [1, 4], [2, 5]]
    datasets = [D.range(2).flat_map(lambda x: D.from_tensors(x + i)) for i in range(2)]  # noqa: B023  (the name is read late)
    assert listed(datasets) == [[0, 1], [1, 2]]


def scaled(x):
    return x * SCALE


def test_globals_and_the_functions_that_are_called():
    global SCALE
    datasets = []
    for SCALE in (1, 2):
        datasets.append(D.range(3).map(lambda x: scaled(x) + SCALE))  # noqa: B023  (the name is read late)
    SCALE = 5
    assert listed(datasets) == [[1, 2, 3], [2, 4, 6]]


def test_functions_in_closures_and_variables():
    added, base = tf.Variable(0, dtype=tf.int64), 1

    def inner(x):
        return x + base + added

    dataset = D.range(2).map(lambda x: inner(x))
    base = 100
    assert listed([dataset]) == [[1, 2]]
    added.assign(5)
    assert listed([dataset]) == [[6, 7]]


def test_python_in_the_middle_reads_the_names_as_they_are():
    """The bodies of `py_function`, `numpy_function` and generators are not traced: they run for each element."""
    global SCALE
    added = 0

    def by_global(x):
        return x * SCALE

    datasets = [
        D.range(2).map(lambda x: tf.py_function(lambda x: x + added, [x], tf.int64)),
        D.range(2).map(lambda x: tf.numpy_function(lambda x: x + added, [x], tf.int64)),
        D.range(2).map(lambda x: tf.numpy_function(functools.partial(by_global), [x], tf.int64)),
        D.range(2).flat_map(lambda x: D.from_generator(lambda: [added], output_signature=tf.TensorSpec([], tf.int64))),
    ]
    before, added, SCALE = SCALE, 5, 3
    try:
        assert listed(datasets) == [[5, 6], [5, 6], [0, 3], [5, 5]]
    finally:
        SCALE = before


def test_names_that_the_function_assigns_are_shared():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x

    dataset = D.range(3).map(counted)
    before = count
    assert listed([dataset]) == [[0, 1, 2]] and count == before + 3


def test_a_function_that_calls_itself():
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    dataset = D.range(3).map(lambda x: power(x, 3))
    power = repr  # noqa: F811
    assert listed([dataset]) == [[0, 1, 8]]
