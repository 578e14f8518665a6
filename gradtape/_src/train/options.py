"""`CheckpointOptions`: how `tf.train.Checkpoint` saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class ShardingCallback:
    """A policy of cutting a checkpoint into files, as in TensorFlow. Here orbax cuts: each process writes what it has.

    >>> isinstance(tf.train.experimental.ShardByTaskPolicy(), tf.train.experimental.ShardingCallback)
    True
    """

    @property
    def description(self) -> str:
        """The policy in words."""
        return "Each process writes its own parts."


class ShardByTaskPolicy(ShardingCallback):
    """The policy by which each process writes the parts of variables that it has.

    >>> options = tf.train.CheckpointOptions(experimental_sharding_callback=tf.train.experimental.ShardByTaskPolicy())
    >>> options.experimental_sharding_callback.description
    'Each process writes its own parts.'
    """


@dataclass(frozen=True)
class CheckpointOptions:
    """Options for checkpoints.

    With `experimental_sharding_callback`, as `tf.train.experimental.ShardByTaskPolicy()`, a checkpoint is a folder of orbax's.
    Each process writes its own parts of variables. With `enable_async` it is one, too, and is written beside the training:
    `Checkpoint.sync` waits for it. Both need `pip install '.[checkpoints]'`, and a folder that all processes see.
    The other options are accepted.

    >>> options = tf.train.CheckpointOptions(experimental_io_device="/job:localhost")
    >>> tf.train.Checkpoint(w=tf.Variable(1.0)).write("with options", options)
    'with options'
    """

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: Any = None
    enable_async: bool = False
    experimental_sharding_callback: Any = None
    experimental_skip_slot_variables: bool = False

    @property
    def background(self) -> bool:
        """Whether a checkpoint is written beside the training."""
        return self.enable_async or self.experimental_enable_async_checkpoint

    @property
    def in_parts(self) -> bool:
        """Whether orbax writes."""
        return self.background or self.experimental_sharding_callback is not None
