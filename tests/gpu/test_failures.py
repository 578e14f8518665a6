"""What goes wrong on a card is an error that says so, and leaves variables as they were."""

import os
import signal
import threading

import pytest

import gradtape as tf

pytestmark = pytest.mark.gpu


@pytest.mark.sample
def test_a_tensor_too_large_for_the_card(card):
    kept = tf.Variable([1.0, 2.0])
    kept.assign_add([1.0, 1.0])
    assert kept.numpy().tolist() == [2.0, 3.0]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
        large = tf.ones([1 << 22, 1 << 22])  # 64 TiB
        kept.assign(kept + tf.reduce_sum(tf.sin(large * kept[0])))
        kept.numpy()
    assert kept.numpy().tolist() == [2.0, 3.0]
    kept.assign_add([1.0, 1.0])
    assert kept.numpy().tolist() == [3.0, 4.0]


def test_more_than_the_card_has_left(card):
    """Tensors that fit one by one, until one does not."""
    stats = card.memory_stats() or {}
    if "bytes_limit" not in stats:
        pytest.skip("the device does not say how much memory it has")
    quarter, held = stats["bytes_limit"] // 16, []
    kept = tf.Variable([1.0])
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory"):
        for _ in range(8):
            held.append(tf.random.uniform([quarter]))
            held[-1][0].numpy()
    held.clear()
    assert (kept + tf.reduce_sum(tf.ones([quarter // 4]))).numpy() > 0


@pytest.mark.sample
def test_interrupted(card):
    kept = tf.Variable(0.0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        while True:
            kept.assign_add(1.0)
            kept.numpy()
    before = kept.numpy()
    kept.assign_add(1.0)
    assert kept.numpy() == before + 1


@pytest.mark.sample
def test_a_device_that_is_not_there(card):
    with tf.device("GPU:99"):  # placed softly, as in TensorFlow
        x = tf.constant(1.0) + 1
    assert x.numpy() == 2.0
    with pytest.raises(RuntimeError, match="GPU:99 unknown device"):
        x.gpu(99)
