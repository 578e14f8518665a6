"""`CheckpointManager`: a folder with the latest checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.train.checkpoint import Checkpoint
from gradtape._src.train.sources import remove
from gradtape._src.train.state import Saved, read_state, update_state
from gradtape._src.train.values import held


class CheckpointManager:
    """Saves checkpoints into `directory` and keeps the last `max_to_keep` of them (None: all).

    With `keep_checkpoint_every_n_hours` one checkpoint per period is kept permanently. With `checkpoint_interval`, `save` does
    nothing until `step_counter` has grown by that much. `init_fn` is called by `restore_or_initialize` if there is no
    checkpoint.

    >>> w = tf.Variable(1.0)
    >>> manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), "managed", max_to_keep=2)
    >>> for step in range(3):
    ...     path = manager.save()
    >>> print(len(manager.checkpoints), manager.latest_checkpoint)
    2 managed/ckpt-3
    """

    @public
    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Variable | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if step_counter is None and checkpoint_interval is not None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None: the variable of the step.")
        self._checkpoint, self._directory, self._max_to_keep = checkpoint, os.fspath(directory), max_to_keep
        self._hours, self._name, self._init_fn = keep_checkpoint_every_n_hours, checkpoint_name, init_fn
        self._step_counter, self._interval, self._last_step = step_counter, checkpoint_interval, last_checkpoint_step
        self._saved, kept_until = read_state(self._directory)
        self._kept_until = time.time() if kept_until is None else kept_until

    @property
    def directory(self) -> str:
        """The directory."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The Checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The least number of steps between two checkpoints."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the kept checkpoints, the oldest first, without those that are kept permanently."""
        return [path for path, _ in self._saved]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, or None."""
        return self._saved[-1][0] if self._saved else None

    @public
    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Save a checkpoint and delete superfluous ones; return its path, or None before the interval is over.

        Without `check_interval` only a second checkpoint of one step is refused. `checkpoint_number` replaces the checkpoint's
        own counter.
        """
        step = None if self._step_counter is None else int(held(self._step_counter))
        if step is not None and self._last_step is not None and self._interval is not None:
            soon = check_interval and step < self._last_step + self._interval
            if soon or step == self._last_step:
                return None
        with self._checkpoint.counting() as number:
            number = number if checkpoint_number is None else int(checkpoint_number)
            path = os.path.join(self._directory, f"{self._name}-{number}")
            self._checkpoint.written(path, options, lambda: self._note(path))
        self._last_step = step
        return path

    def _note(self, path: str) -> None:
        """Note a complete checkpoint, and delete superfluous ones."""
        self._saved = [entry for entry in self._saved if entry[0] != path] + [(path, time.time())]
        superfluous = self._superfluous()
        update_state(self._directory, self._saved, self._kept_until)
        for old, _ in superfluous:  # only now, as the state file no longer names them
            remove(old)

    def sync(self) -> None:
        """Wait until checkpoints that are saved in the background are on the disk."""
        self._checkpoint.sync()

    def _superfluous(self) -> list[Saved]:
        """Remove checkpoints beyond `max_to_keep` from the list; return those to delete."""
        over = [] if self._max_to_keep is None else self._saved[: -self._max_to_keep]
        self._saved = self._saved[len(over) :]
        deleted = []
        for path, saved_at in over:
            if self._hours is not None and saved_at is not None and saved_at - self._hours * 3600 >= self._kept_until:
                self._kept_until = saved_at
            else:
                deleted.append((path, saved_at))
        return deleted

    @public
    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint and return its path; without one call `init_fn` and return None."""
        latest = self.latest_checkpoint
        if latest is not None:
            self._checkpoint.restore(latest)
            self._last_step = None if self._step_counter is None else int(held(self._step_counter))
        elif self._init_fn is not None:
            self._init_fn()
        return latest
