"""`CheckpointOptions`, which TensorFlow's checkpoints take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CheckpointOptions:
    """Options for checkpoints, on several machines or beside the training. They are accepted, as one way serves."""

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: Any = None
    enable_async: bool = False
    experimental_sharding_callback: Any = None
    experimental_skip_slot_variables: bool = False
