"""What cannot be compiled as a whole: shapes that depend on values, effects."""

import numpy as np
import pytest

import gradtape as tf2
import gradtape.compat.v1 as tf
from tests.graph.values import same


def test_boolean_mask_and_its_gradient(session):
    x = tf.placeholder(tf.float32, [None])
    chosen = tf.boolean_mask(x * x, x > 1.0)
    assert chosen.shape.as_list() == [None]
    (dx,) = tf.gradients(chosen, x)
    same(session.run([chosen, dx], {x: [1.0, 2.0, 3.0]}), [[4.0, 9.0], [0.0, 4.0, 6.0]])
    same(session.run(chosen, {x: [5.0, 0.0]}), [25.0])


def test_training_through_a_mask(session):
    v = tf.Variable([1.0, -2.0, 3.0])
    loss = tf.reduce_sum(tf.square(tf.boolean_mask(v, v > 0)))
    step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    session.run(v.initializer)
    assert session.run([step, loss])[1] == 10.0
    same(session.run(v), [0.5, -2.0, 1.5])


def test_places_and_unique_values(session):
    x = tf.placeholder(tf.int32, [None])
    values, index = tf.unique(x)
    places = tf.where(x > 2)
    assert places.shape.as_list() == [None, 1]
    same(session.run([values, index, places], {x: [3, 1, 3]}), [[3, 1], [0, 1, 0], [[0], [2]]])


def test_a_python_function(session):
    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(lambda a: a * 2, [x], tf.float32)
    same(session.run(y + 1.0, {x: [1.0, 2.0]}), [3.0, 5.0])


def test_printing_is_an_operation(session, capsys):
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf2.print("x is", x)]):
        y = tf.identity(x)
    z = x * 2
    session.run(z, {x: 1.0})
    assert capsys.readouterr().err == ""
    assert session.run(y, {x: 3.0}) == 3.0
    assert capsys.readouterr().err == "x is 3\n"


def test_a_running_total(session):
    total = tf.Variable(0.0)
    session.run(total.initializer)
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([total.assign_add(tf.reduce_sum(x))]):
        mean = total / tf.cast(tf.shape(x)[0], tf.float32)
    assert session.run(mean, {x: np.ones(4)}) == 1.0
    assert session.run(mean, {x: np.ones(2)}) == 3.0


def test_an_array_of_as_many_entries_as_are_fed(session):
    count = tf.placeholder(tf.int32, [])
    _, array = tf.while_loop(
        lambda i, a: i < count,
        lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2.0)),
        [0, tf.TensorArray(tf.float32, count)],
    )
    numbers = array.stack()
    assert [session.run(numbers, {count: n}).tolist() for n in (3, 1)] == [[0.0, 2.0, 4.0], [0.0]]


@pytest.mark.parametrize("call", [lambda array: array.read(-1), lambda array: array.write(5, 1.0).stack()])
def test_an_entry_out_of_range(session, call):
    with pytest.raises(tf2.errors.InvalidArgumentError, match="in a list with 3 elements"):
        session.run(call(tf.TensorArray(tf.float32, 3, element_shape=[])))


FED_NUMBERS = {
    "a frame step": (
        lambda n: tf.signal.overlap_and_add(tf.ones([3, 4]), n),
        {1: [1, 2, 3, 3, 2, 1], 2: [1, 1, 2, 2, 2, 2, 1, 1], 3: [1, 1, 1, 2, 1, 1, 2, 1, 1, 1], 4: [1] * 12},
    ),
    "a frame length": (
        lambda n: tf.signal.frame(tf.range(5.0), n, 2),
        {2: [[0, 1], [2, 3]], 3: [[0, 1, 2], [2, 3, 4]], 4: [[0, 1, 2, 3]]},
    ),
    "a band": (lambda n: tf.linalg.band_part(tf.ones([2, 2]), n, 0), {0: np.eye(2), 1: [[1, 0], [1, 1]]}),
    "a diagonal": (lambda n: tf.linalg.diag(tf.ones([1]), k=n), {0: [[1]], 1: [[0, 1], [0, 0]], -1: [[0, 0], [1, 0]]}),
}


@pytest.mark.parametrize("use, expected", FED_NUMBERS.values(), ids=FED_NUMBERS)
def test_a_number_that_is_fed_says_what_the_shape_is(session, use, expected):
    n = tf.placeholder(tf.int32, [])
    result = use(n)
    for number, value in expected.items():
        same(session.run(result, {n: number}), np.float32(value))


@pytest.mark.parametrize("over_rows", [tf.map_fn, tf.vectorized_map], ids=["map_fn", "vectorized_map"])
def test_what_needs_values_over_rows_whose_shapes_are_known(session, over_rows):
    boxes = np.float32([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]])
    scores = tf.placeholder(tf.float32, [2, 3])
    soft = tf2.image.non_max_suppression_with_scores
    found = over_rows(lambda row: soft(boxes, row, 3, soft_nms_sigma=0.5)[1], scores)
    expected = [[0.9, 0.8, 0.3584033], [0.3, 0.2, 0.05120048]]
    same(session.run(found, {scores: [[0.9, 0.7, 0.8], [0.1, 0.2, 0.3]]}), expected)


def test_how_many_numbers_a_range_of_floats_has_depends_on_them(session):
    first = tf.placeholder(tf.float64, [])
    numbers = tf.reshape(tf.range(first, 2.0, 0.5), [-1])
    assert numbers.shape.as_list() == [None]
    same(session.run(numbers, {first: 0.0}), [0.0, 0.5, 1.0, 1.5])
    same(session.run(numbers, {first: 1.0}), [1.0, 1.5])
