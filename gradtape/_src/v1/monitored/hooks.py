"""Hooks that stop and monitor training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.v1 import messages as logging
from gradtape._src.v1.graphs.graph import get_default_graph
from gradtape._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from gradtape._src.v1.monitored.timer import SecondOrStepTimer
from gradtape._src.v1.optimizers.rates import get_global_step


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


def step_for(hook: str) -> Any:
    """Return the global step, or raise if there is none for this hook."""
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}. Call tf.compat.v1.train.get_or_create_global_step().")
    return step


def step_of(session: Any, step: Any) -> int:
    """Return the present value of the global step in a session."""
    return int(session.run(step))


class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` steps, or at step `last_step`."""

    @public
    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._step = step_for("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None and self._num_steps is not None:
            self._last_step = step_of(session, self._step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        last = self._last_step
        if last is not None and run_values.results + 1 >= last and step_of(run_context.session, self._step) >= last:
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors every few runs or seconds, or at the end.

    The tensors are a list, or a dict with names to show. `formatter` makes the message of a dict of values.
    """

    @public
    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = tensors if isinstance(tensors, Mapping) else {item: item for item in tensors}
        self._tensors, self._formatter, self._at_end = dict(named), formatter, at_end
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        if self._timer is not None:
            self._timer.reset()
        self._runs, self._wanted = 0, False
        graph = get_default_graph()
        self._found = {tag: graph.as_graph_element(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._wanted = self._timer is not None and self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._found) if self._wanted else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._wanted:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._found))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds = None if self._timer is None else self._timer.update_last_triggered_step(self._runs)[0]
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        with np.printoptions(suppress=True):
            message = ", ".join([f"{getattr(tag, 'name', tag)} = {values[tag]}" for tag in self._tensors])
        if seconds is None:
            logging.info("%s", message)
        else:
            logging.info("%s (%.3f sec)", message, seconds)


class NanTensorHook(SessionRunHook):
    """Stops if the loss is NaN, with or without an error."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops` at the end, and stores their values in `final_ops_values`."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops, self._feed_dict = final_ops, final_ops_feed_dict
        self.final_ops_values: Any = None

    def end(self, session: Any) -> None:
        if self._final_ops is not None:
            self.final_ops_values = session.run(self._final_ops, self._feed_dict)


class FeedFnHook(SessionRunHook):
    """Feeds each run the values from `feed_fn()`."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(None, self.feed_fn())
