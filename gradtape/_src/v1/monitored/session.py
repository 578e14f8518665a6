"""Sessions whose runs call hooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.base.errors import OutOfRangeError
from gradtape._src.core.base.public import public
from gradtape._src.train.state import latest_checkpoint
from gradtape._src.v1.graphs.graph import get_default_graph
from gradtape._src.v1.graphs.session import Session
from gradtape._src.v1.monitored.coordinator import Coordinator
from gradtape._src.v1.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from gradtape._src.v1.monitored.saving import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from gradtape._src.v1.monitored.scaffold import Scaffold

DEFAULT = object()  # an argument that was not passed


class SessionCreator:
    """Base of factories for the session of a MonitoredSession."""

    def create_session(self) -> Session:
        """Return a session with initialized variables."""
        raise NotImplementedError(f"{type(self).__name__} must have a create_session.")


class ChiefSessionCreator(SessionCreator):
    """Creates a session from a Scaffold; restores the latest checkpoint in `checkpoint_dir`, or initializes."""

    @public
    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._folder, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Return the session; RuntimeError if variables are uninitialized afterwards."""
        scaffold = self._scaffold.finalize()
        session = Session(self._master, config=self._config)
        path = self._path or (latest_checkpoint(self._folder) if self._folder else None)
        if path is not None:
            scaffold.saver.restore(session, path)
        else:
            if scaffold.init_op is not None:
                session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(session)
        _check_ready(session, scaffold.ready_for_local_init_op, scaffold)
        if scaffold.local_init_op is not None:
            session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        _check_ready(session, scaffold.ready_op, scaffold)
        return session


def _check_ready(session: Session, op: Any, scaffold: Scaffold) -> None:
    left = [] if op is None else session.run(op)
    if len(left):
        raise RuntimeError(
            "Init operations did not make model ready.  "
            f"Init op: {getattr(scaffold.init_op, 'name', None)}, init fn: {scaffold.init_fn}, local_init_op: "
            f"{getattr(scaffold.local_init_op, 'name', None)}, error: Variables not initialized: "
            f"{', '.join([name.decode() for name in left])}"
        )


class StepContext:
    """The argument of functions called by `run_step_fn`: the session, and runs with hooks."""

    def __init__(self, session: Session, run_with_hooks: Callable[..., Any]) -> None:
        self.session, self.run_with_hooks = session, run_with_hooks

    def request_stop(self) -> None:
        """Stop the training; the surrounding `with` ends without an error."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _Monitored:
    """A session created with hooks, which it calls before and after each run."""

    StepContext = StepContext

    def __init__(self, session_creator: Any, hooks: Sequence[SessionRunHook] | None) -> None:
        self._hooks = [*(hooks or ())]
        graph = get_default_graph()
        self._unfinalize = None if graph.finalized else graph
        self._stopped = False
        for hook in self._hooks:
            hook.begin()
        self._session: Any = (session_creator or ChiefSessionCreator()).create_session()
        self._coordinator = Coordinator()
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    @property
    def graph(self) -> Any:
        """The graph, or None after the session was closed."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Return whether the training has been stopped."""
        return self._session is None or self._stopped or self._coordinator.should_stop()

    @public
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run like `Session.run`, with the additions of hooks. RuntimeError after the training has ended."""
        if self._session is None:
            raise RuntimeError("Attempted to use a closed Session.")
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        asked, feeds = [], dict[Any, Any]()
        for hook in self._hooks:
            request = hook.before_run(context) or SessionRunArgs(None)
            asked.append([] if request.fetches is None else [request.fetches])
            for tensor, value in (request.feed_dict or {}).items():
                if tensor in feeds:
                    raise RuntimeError("Same tensor is fed by two hooks.")
                feeds[tensor] = value
        if any(tensor in feeds for tensor in feed_dict or {}):
            raise RuntimeError("Same tensor is fed by a SessionRunHook and user.")
        given, results = self._session.run([fetches, asked], {**feeds, **(feed_dict or {})})
        for hook, result in zip(self._hooks, results, strict=True):
            hook.after_run(context, SessionRunValues(result[0] if result else None, options, run_metadata))
        self._stopped = self._stopped or context.stop_requested
        return given

    @public
    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call `step_fn(step_context)`; the context has the session, and `run_with_hooks`."""
        names = list(inspect.signature(step_fn).parameters)
        if names not in (["step_context"], ["self", "step_context"]):
            raise ValueError(f"`step_fn` may either have one `step_context` argument, or `self` and it. Got {names}.")
        return step_fn(StepContext(self._session, self.run))

    def close(self) -> None:
        """End the training: first the hooks, then the session."""
        self._close(True)

    def _close(self, well: bool) -> None:
        try:
            if well:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            session, self._session = self._session, None
            if self._unfinalize is not None:
                self._unfinalize._finalized = False
            if session is None:
                raise RuntimeError("Session is already closed.")
            session.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, *reason: Any) -> bool:
        well = kind is None or issubclass(kind, (OutOfRangeError, StopIteration))  # the data, or the steps, have ended
        self._close(well)
        return well


class MonitoredSession(_Monitored):
    """A session that initializes or restores its variables, and calls hooks; a context manager that closes it.

    The end of the data, an OutOfRangeError in the `with`, ends the training without an error. There is only one process, so that
    nothing is recreated after a failure of others.
    """

    @public
    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks)


class SingularMonitoredSession(_Monitored):
    """A MonitoredSession made from a Scaffold; `raw_session()` is the plain session."""

    @public
    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        super().__init__(ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path), hooks)

    def raw_session(self) -> Any:
        """Return the plain session, without hooks."""
        return self._session


@public
def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = DEFAULT,
    save_summaries_steps: Any = DEFAULT,
    save_summaries_secs: Any = DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Return a MonitoredSession that saves and restores checkpoints in `checkpoint_dir`, and writes summaries there.

    By default a checkpoint is written every ten minutes, and a summary every 100 steps. ValueError for `is_chief=False`, as there
    are no workers.

    >>> with tf.Graph().as_default():
    ...     step = tf.compat.v1.train.get_or_create_global_step()
    ...     w = tf.compat.v1.get_variable("w", initializer=4.0)
    ...     loss = w**2
    ...     train = tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)
    ...     stop = tf.compat.v1.train.StopAtStepHook(last_step=2)
    ...     with tf.compat.v1.train.MonitoredTrainingSession(hooks=[stop]) as session:
    ...         while not session.should_stop():
    ...             _, value = session.run([train, loss])
    ...     float(value)
    4.0
    """
    if not is_chief:
        raise ValueError("is_chief=False: there are no workers, one process trains. Leave is_chief out.")
    if save_summaries_steps is DEFAULT and save_summaries_secs is DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    if save_checkpoint_secs is DEFAULT and save_checkpoint_steps is DEFAULT:
        save_checkpoint_secs, save_checkpoint_steps = 600, None
    steps, seconds, summary_steps, summary_seconds = [
        None if value is DEFAULT else value
        for value in (save_checkpoint_steps, save_checkpoint_secs, save_summaries_steps, save_summaries_secs)
    ]
    scaffold = scaffold or Scaffold()
    every: list[SessionRunHook] = [*(chief_only_hooks or ())]
    folder = summary_dir or checkpoint_dir
    if folder:
        if log_step_count_steps and log_step_count_steps > 0:
            every.append(StepCounterHook(log_step_count_steps))
        if (summary_steps and summary_steps > 0) or (summary_seconds and summary_seconds > 0):
            every.append(SummarySaverHook(summary_steps, summary_seconds, folder, scaffold=scaffold))
    if checkpoint_dir and ((seconds and seconds > 0) or (steps and steps > 0)):
        every.append(CheckpointSaverHook(checkpoint_dir, seconds, steps, scaffold=scaffold))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*every, *(hooks or ())])
