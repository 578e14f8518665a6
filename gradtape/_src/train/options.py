"""`CheckpointOptions`: the format of `tf.train.Checkpoint`, and saving in the background."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any


class ShardingCallback:
    """A policy of splitting a checkpoint into files. Whatever the policy, orbax writes, and each process writes its own parts.

    >>> isinstance(tf.train.experimental.ShardByTaskPolicy(), tf.train.experimental.ShardingCallback)
    True
    """

    @property
    def description(self) -> str:
        """A description of the policy."""
        return "Each process writes its own parts."


class ShardByTaskPolicy(ShardingCallback):
    """The policy by which each process writes its own parts of variables.

    >>> options = tf.train.CheckpointOptions(experimental_sharding_callback=tf.train.experimental.ShardByTaskPolicy())
    >>> options.experimental_sharding_callback.description
    'Each process writes its own parts.'
    """


@dataclass(eq=False)  # compared by identity, and assignable, as in TensorFlow
class CheckpointOptions:
    """Options for checkpoints.

    With `experimental_sharding_callback`, such as `tf.train.experimental.ShardByTaskPolicy()`, a checkpoint is a folder of
    orbax. Each process writes its own parts of variables. `enable_async` writes such a folder in the background;
    `Checkpoint.sync` waits for it. Both need `pip install '.[checkpoints]'`, and a folder that all processes can access.
    Each of `experimental_write_callbacks` is called when a checkpoint is complete, with its path if it has a parameter;
    AssertionError if it has more. The other options have no effect.

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

    def __post_init__(self) -> None:
        for callback in self.experimental_write_callbacks or ():
            if len(inspect.signature(callback).parameters) > 1:
                raise AssertionError(f"A write callback takes the path of the checkpoint, or nothing, received {callback}.")

    def __copy__(self) -> CheckpointOptions:
        return dataclasses.replace(self, experimental_write_callbacks=copy.copy(self.experimental_write_callbacks))

    def wrote(self, path: str) -> None:
        """Call the callbacks for a complete checkpoint."""
        for callback in self.experimental_write_callbacks or ():
            callback(*[path][: len(inspect.signature(callback).parameters)])

    @property
    def background(self) -> bool:
        """Whether a checkpoint is written in the background."""
        return self.enable_async or self.experimental_enable_async_checkpoint

    @property
    def in_parts(self) -> bool:
        """Whether orbax writes."""
        return self.background or self.experimental_sharding_callback is not None
