"""Queues of elements: `tf.queue`."""

from gradtape._src.data.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
