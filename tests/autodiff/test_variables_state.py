"""Variables are state: a gradient uses the value that was read, and never passes an assignment."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def test_assign_after_the_tape():
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v**3
    v.assign(5.0)
    agree(tape.gradient(y, v), 12.0)
    v.assign_add(1.0)
    agree(tape.gradient(y, v), 12.0)
    agree(v, 6.0)


def test_assign_inside_the_tape_after_the_read():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
        v.assign(5.0)
    agree(y, 4.0)
    agree(tape.gradient(y, v), 4.0)


def test_reads_before_and_after_an_assign_both_count():
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v
        v.assign(5.0)
        z = v * v
        total = y + z
    agree(total, 29.0)
    agree([tape.gradient(target, v) for target in (y, z, total)], [4.0, 10.0, 14.0])


def test_a_product_of_the_old_and_the_new_value():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        old = v * 1.0
        v.assign_add(1.0)
        y = old * v
    agree(y, 6.0)
    agree(tape.gradient(y, v), 5.0)


@pytest.mark.parametrize(
    "update, value, gradient",
    [
        (lambda v, x: v.assign(x * 3.0), 6.0, 36.0),
        (lambda v, x: v.assign_add(x), 7.0, 42.0),
        (lambda v, x: v.assign_sub(x), 3.0, 18.0),
    ],
)
def test_an_assignment_cuts_the_path_to_its_value(update, value, gradient):
    x = tf.Variable(2.0)
    v = tf.Variable(5.0)
    with tf.GradientTape() as tape:
        update(v, x)
        y = 3.0 * v**2
    agree(v, value)
    agree(tape.gradient(y, [x, v]), [None, gradient])


def test_a_new_variable_cuts_the_path_to_its_initial_value():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        w = tf.Variable(v * 2)
        y = w * w
    agree(y, 16.0)
    agree(tape.gradient(y, [v, w]), [None, 8.0])


def test_the_result_of_assign_is_the_variable():
    x = tf.constant(3.0)
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = v.assign(x * 2) * v
    agree(y, 36.0)
    agree(tape.gradient(y, [x, v]), [None, 12.0])


def test_assign_watches_its_variable():
    v = tf.Variable(2.0, name="v")
    with tf.GradientTape() as tape:
        v.assign(3.0)
    assert [variable.name for variable in tape.watched_variables()] == ["v:0"]


def test_a_variable_made_inside_the_tape():
    with tf.GradientTape() as tape:
        v = tf.Variable([1.0, 2.0])
        y = tf.reduce_sum(v**2)
    agree(tape.gradient(y, v), [2.0, 4.0])


def test_an_element_assigned():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        v[0].assign(9.0)
        v[1:].assign([5.0, 6.0])
        y = tf.reduce_sum(v**2)
    agree(v, [9.0, 5.0, 6.0])
    agree(tape.gradient(y, v), [18.0, 10.0, 12.0])


def test_scattered_updates():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        v.scatter_nd_update([[0]], [9.0])
        v.scatter_update(tf.IndexedSlices(tf.constant([7.0]), tf.constant([1])))
        v.scatter_sub(tf.IndexedSlices(tf.constant([1.0, 1.0]), tf.constant([2, 2])))
        y = tf.reduce_sum(v**2)
    agree(v, [9.0, 7.0, 1.0])
    agree(tape.gradient(y, v), [18.0, 14.0, 2.0])


def test_a_tensor_read_from_a_variable_keeps_its_value():
    v = tf.Variable([1.0, 2.0])
    read = v.read_value()
    alias = tf.convert_to_tensor(v)
    array = v.numpy()
    v.assign([10.0, 20.0])
    agree([read, alias, v], [[1.0, 2.0], [1.0, 2.0], [10.0, 20.0]])
    assert array.tolist() == [1.0, 2.0]


def test_an_array_changed_after_assign():
    array = np.array([1.0, 2.0], np.float32)
    v = tf.Variable([0.0, 0.0])
    v.assign(array)
    array[0] = 100.0
    agree(v, [1.0, 2.0])


def test_the_gradient_to_a_read_and_to_its_variable():
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        read = v.read_value()
        y = read * v
    agree(tape.gradient(y, [v, read]), [4.0, 2.0])


def test_trainable_false_is_not_watched_but_its_value_is_used():
    v = tf.Variable(2.0)
    fixed = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * fixed
        fixed.assign(100.0)
    agree(tape.gradient(y, [v, fixed]), [3.0, None])


def test_two_variables_swapped():
    a = tf.Variable(2.0)
    b = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = a**2 * b
        value = a.read_value()
        a.assign(b)
        b.assign(value)
        z = a**2 * b
    agree([y, z], [12.0, 18.0])
    # y: 2ab, a² at (2, 3); z: 2ab, a² at (3, 2)
    agree(tape.gradient([y, z], [a, b]), [12.0 + 12.0, 4.0 + 9.0])


@pytest.mark.parametrize("read_loss", [False, True])
def test_gradient_descent(read_loss):
    w = tf.Variable([2.0, -1.0])
    b = tf.Variable(0.5)
    x = tf.constant([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    wanted = tf.constant([1.0, 0.0, 2.0])
    losses = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            error = tf.linalg.matvec(x, w) + b - wanted
            loss = tf.reduce_mean(error**2)
        losses.append(float(loss) if read_loss else loss)
        for variable, gradient in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            variable.assign_sub(0.1 * gradient)
    numbers = [float(loss) for loss in losses]
    expected = [19.166667, 3.1415741, 1.4785706, 0.9696471, 0.7672192]
    assert numbers[:5] == pytest.approx(expected, rel=1e-5)
    assert numbers[-1] == pytest.approx(0.5482276, rel=1e-5)
    agree([w, b], [[-0.0259327, 0.4138624], 0.6352892], rtol=2e-5)


def test_gradients_wait_for_their_use():
    v = tf.Variable(1.0)
    gradients = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            y = v**2
        gradients.append(tape.gradient(y, v))
        v.assign(v * 2.0)
    agree(gradients, [2.0, 4.0, 8.0, 16.0])
    agree(v, 16.0)


@pytest.mark.parametrize(
    "assign, error, message",
    [
        (lambda v: v.assign([1.0, 2.0, 3.0]), ValueError, r"Cannot assign value to variable ' ?v:0': Shape mismatch"),
        (lambda v: v.assign(tf.constant([1, 2])), ValueError, "float32"),
    ],
)
def test_a_variable_keeps_its_shape_and_dtype(assign, error, message):
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(error, match=message):
        assign(v)
    agree(v, [1.0, 2.0])


def test_a_variable_that_holds_a_number_is_watched():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    v.assign(5.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([x, v])
        y = x * v
    assert [d.numpy() for d in tape.gradient(y, [x, v])] == [5.0, 3.0]
