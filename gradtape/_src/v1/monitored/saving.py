"""Hooks that write checkpoints, summaries and the speed of training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.summary import messages
from gradtape._src.v1 import messages as logging
from gradtape._src.v1.graphs.collections import GraphKeys, get_collection
from gradtape._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from gradtape._src.v1.monitored.hooks import step_for, step_of
from gradtape._src.v1.monitored.timer import SecondOrStepTimer
from gradtape._src.v1.summary import FileWriterCache


class CheckpointSaverListener:
    """Base of listeners to checkpoints; `after_save` may return True to stop the training."""

    def begin(self) -> None:
        """Prepare before the session is created."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Act before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Act after a checkpoint was written; return True to stop the training."""
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Act after the training."""


class _TimedHook(SessionRunHook):
    """A hook that reads the global step after each run, and acts when its timer triggers."""

    _timer: SecondOrStepTimer
    _step: Any

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(run_values.results + 1):
            self.act(run_context, step_of(run_context.session, self._step))

    def act(self, run_context: SessionRunContext, step: int) -> None:
        """Act at this step if the timer triggers."""
        raise NotImplementedError


class CheckpointSaverHook(_TimedHook):
    """Writes a checkpoint at the start, every `save_steps` steps or `save_secs` seconds, and at the end."""

    @public
    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._path = os.path.join(os.fspath(checkpoint_dir), checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver, self._scaffold, self._listeners = saver, scaffold, [*(listeners or ())]

    def begin(self) -> None:
        self._step = step_for("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = step_of(session, self._step)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def act(self, run_context: SessionRunContext, step: int) -> None:
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = step_of(session, self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        for listener in self._listeners:
            listener.before_save(session, step)
        self._known_saver().save(session, self._path, global_step=step)
        ends = [listener.after_save(session, step) for listener in self._listeners]  # every listener is called
        return any(ends)

    def _known_saver(self) -> Any:
        if self._saver is None and self._scaffold is not None:
            return self._scaffold.saver
        if self._saver is None:
            savers = get_collection(GraphKeys.SAVERS)
            if len(savers) != 1:
                raise RuntimeError(
                    f"There are {len(savers)} items in the collection SAVERS. Please provide one, or a scaffold, to "
                    "CheckpointSaverHook."
                )
            self._saver = savers[0]
        return self._saver


def _timer(every_n_steps: int | None, every_n_secs: float | None) -> SecondOrStepTimer:
    if (every_n_steps is None) == (every_n_secs is None):
        raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
    return SecondOrStepTimer(every_n_secs, every_n_steps)


class StepCounterHook(_TimedHook):
    """Logs steps per second, and writes them as a summary if there is a folder or writer."""

    @public
    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        self._timer, self._folder, self._writer = _timer(every_n_steps, every_n_secs), output_dir, summary_writer

    def begin(self) -> None:
        self._step = step_for("StepCounterHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._timer.reset()

    def act(self, run_context: SessionRunContext, step: int) -> None:
        seconds, steps = self._timer.update_last_triggered_step(step)
        if seconds and steps is not None:
            logging.info("global_step/sec: %g", steps / seconds)
            if self._writer is None and self._folder is not None:
                self._writer = FileWriterCache.get(self._folder)
            if self._writer is not None:
                kind = messages.tensorboard().Summary
                self._writer.add_summary(kind(value=[kind.Value(tag="global_step/sec", simple_value=steps / seconds)]), step)


class SummarySaverHook(SessionRunHook):
    """Writes the graph's summaries every `save_steps` steps or `save_secs` seconds."""

    @public
    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._timer, self._folder, self._writer = SecondOrStepTimer(save_secs, save_steps), output_dir, summary_writer
        self._scaffold, self._summary_op = scaffold, summary_op

    def begin(self) -> None:
        self._step, self._next = step_for("SummarySaverHook"), 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._wanted = self._timer.should_trigger_for_step(self._next)
        op = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        wanted = [] if op is None or not self._wanted else list(op) if isinstance(op, (list, tuple)) else [op]
        return SessionRunArgs([self._step, wanted])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale, summaries = run_values.results
        step = int(stale) + 1
        if self._next == 0 or self._wanted:
            step = step_of(run_context.session, self._step)
        if self._wanted:
            self._timer.update_last_triggered_step(step)
        if summaries:
            if self._writer is None:
                self._writer = FileWriterCache.get(self._folder)
            for summary in summaries:
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()
