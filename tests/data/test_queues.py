"""Queues, `tf.queue`, with TensorFlow's answers."""

import threading
import time

import pytest

import gradtape as tf

v1 = tf.compat.v1


def test_elements_leave_in_the_order_in_which_they_came():
    queue = tf.queue.FIFOQueue(4, [tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"])
    queue.enqueue({"a": 1.0, "b": [1, 2]})
    queue.enqueue_many({"a": [1.5, 3.0, 4.0], "b": [[1, 2], [3, 4], [5, 6]]})
    assert int(queue.size()) == 4 and (queue.dtypes, queue.names) == ([tf.float32, tf.int32], ["a", "b"])
    first = queue.dequeue()
    assert first["a"].numpy() == 1 and first["b"].numpy().tolist() == [1, 2]
    assert queue.dequeue_many(2)["b"].numpy().tolist() == [[1, 2], [3, 4]]
    queue.close()
    assert bool(queue.is_closed()) and queue.dequeue_up_to(5)["a"].numpy().tolist() == [4.0]
    for ended in (queue.dequeue, lambda: queue.dequeue_many(1), lambda: queue.dequeue_up_to(2)):
        with pytest.raises(tf.errors.OutOfRangeError, match=r"is closed and has insufficient elements"):
            ended()
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        queue.enqueue({"a": 1.0, "b": [1, 2]})


def test_a_closed_queue_with_too_few_elements_keeps_them():
    queue = tf.queue.FIFOQueue(-1, tf.int32, shapes=())
    queue.enqueue_many([[1, 2]])
    queue.close()
    with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 3, current size 2"):
        queue.dequeue_many(3)
    assert queue.dequeue_many(2).numpy().tolist() == [1, 2]


def test_an_interrupt_loses_no_element(monkeypatch):
    queue = tf.queue.FIFOQueue(-1, tf.int32, shapes=())
    queue.enqueue_many([[1, 2]])
    wait, calls = threading.Condition.wait_for, []

    def interrupted(condition, predicate, timeout=None):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt("Ctrl-C")
        return wait(condition, predicate, timeout)

    monkeypatch.setattr(threading.Condition, "wait_for", interrupted)
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        queue.dequeue_many(3)
    monkeypatch.undo()
    assert int(queue.size()) == 2
    assert queue.dequeue_many(2).numpy().tolist() == [1, 2]


def test_the_smallest_number_leaves_first_and_equal_ones_in_order():
    queue = tf.queue.PriorityQueue(10, [tf.string], shapes=[()])
    for element in ((3, "c"), (1, "a"), (2, "b"), (1, "also a")):
        queue.enqueue(element)
    assert queue.dtypes == [tf.int64, tf.string] and [s.as_list() for s in queue.shapes] == [[], []]
    assert [queue.dequeue()[1].numpy() for _ in range(4)] == [b"a", b"also a", b"b", b"c"]


def test_padding():
    queue = tf.queue.PaddingFIFOQueue(10, [tf.string, tf.float32], shapes=[(None,), (None, 2)])
    for words, rows in ((["a"], [[1.0, 2.0]]), (["b", "c"], tf.zeros([0, 2]))):
        queue.enqueue((words, rows))
    words, rows = queue.dequeue_many(2)
    assert words.numpy().tolist() == [[b"a", b""], [b"b", b"c"]]
    assert rows.numpy().tolist() == [[[1.0, 2.0]], [[0.0, 0.0]]]


def _shuffled(seed):
    queue = tf.queue.RandomShuffleQueue(20, 0, tf.int32, shapes=(), seed=seed)
    queue.enqueue_many([list(range(10))])
    return queue.dequeue_many(10).numpy().tolist()


def test_random_orders_are_those_of_tensorflow():
    assert [_shuffled(1), _shuffled(5)] == [[7, 8, 1, 3, 9, 4, 2, 6, 5, 0], [1, 2, 0, 4, 8, 6, 9, 5, 7, 3]]
    tf.random.set_seed(7)
    assert [_shuffled(1), _shuffled(None), _shuffled(None)] == [
        [8, 0, 3, 4, 1, 7, 9, 2, 6, 5],
        [4, 7, 8, 5, 2, 6, 0, 1, 9, 3],
        [0, 5, 7, 4, 2, 9, 3, 8, 1, 6],
    ]


def test_calls_wait_for_another_thread():
    queue = tf.queue.FIFOQueue(1, tf.int32, shapes=())
    queue.enqueue(1)
    taken = []

    def later():
        time.sleep(0.05)
        taken.extend(int(queue.dequeue()) for _ in range(2))
        queue.close(cancel_pending_enqueues=True)

    thread = threading.Thread(target=later)
    thread.start()
    queue.enqueue(2)  # waits for room
    thread.join()
    assert taken == [1, 2]


def test_calls_in_a_function_run_in_order():
    queue = tf.queue.FIFOQueue(3, tf.int32, shapes=())

    @tf.function
    def doubled(x):
        queue.enqueue(x)
        queue.enqueue(x + 1)
        return queue.dequeue_many(2) * 2

    assert doubled(tf.constant(5)).numpy().tolist() == [10, 12]
    assert doubled(tf.constant(1)).numpy().tolist() == [2, 4] and int(queue.size()) == 0


def test_operations_of_a_graph():
    with tf.Graph().as_default():
        queue, x = tf.queue.FIFOQueue(3, tf.float32, shapes=()), v1.placeholder(tf.float32, [])
        put, two, one, rest = queue.enqueue(x), queue.enqueue_many([[2.0, 3.0]]), queue.dequeue(), queue.dequeue_up_to(5)
        assert isinstance(put, tf.Operation) and (one.shape.as_list(), queue.dequeue_many(2).shape.as_list()) == ([], [2])
        with v1.Session() as session:
            session.run(put, {x: 1.0})
            session.run(two)
            assert session.run([one, queue.size()])[0] == 1.0 and session.run(one + 1) == 3.0
            session.run(queue.close())
            assert session.run(rest).tolist() == [3.0]
            with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
                session.run(rest)


def test_one_of_several_queues():
    queues = [tf.queue.FIFOQueue(3, tf.int32), tf.queue.FIFOQueue(3, tf.int32)]
    tf.queue.QueueBase.from_list(1, queues).enqueue(4)
    assert [int(q.size()) for q in queues] == [0, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.queue.FIFOQueue(3, [tf.int32], [[None]]), ValueError, "All shapes must be fully defined"),
        (lambda: tf.queue.PaddingFIFOQueue(3, [tf.int32], [[None], [2]]), ValueError, "received 1 dtypes and 2 shapes"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, names=["a", "b"]), ValueError, "same length as the list of dtypes"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, names=["a"]).enqueue(1), ValueError, "You must enqueue a dictionary"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32).enqueue({"a": 1}), ValueError, "Queue must have names"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, names=["a"]).enqueue({"b": 1}), ValueError, "do not match names of Queue"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, [2]).enqueue([[1, 2, 3]]), ValueError, "incompatible"),
        (lambda: tf.queue.FIFOQueue(3, [tf.int32] * 2, [(), ()]).enqueue_many(([1, 2], [1])), ValueError, "incompatible"),
        (lambda: tf.queue.FIFOQueue(3, [tf.int32] * 2).enqueue(1), tf.errors.InvalidArgumentError, "2 components, received 1"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32).dequeue_many(1), tf.errors.InvalidArgumentError, "have specified shapes"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, ()).dequeue_many(-1), tf.errors.InvalidArgumentError, "-1 < 0"),
        (lambda: tf.queue.QueueBase.from_list(0, []), TypeError, "A list of queues expected"),
        (
            lambda: tf.queue.QueueBase.from_list(0, [tf.queue.FIFOQueue(3, tf.int32), tf.queue.FIFOQueue(3, tf.bool)]),
            TypeError,
            "matching component dtypes",
        ),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
