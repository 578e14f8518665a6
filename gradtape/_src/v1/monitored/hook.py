"""`SessionRunHook`: a listener to the runs of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """Additions of a hook to a run: `fetches` and a `feed_dict`."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a hook's fetches in a run."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """A run as seen by hooks: the caller's fetches and feeds, the session, and a way to stop the training."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session, self._stop_requested = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments of the caller's `run`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for runs without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested the end of training."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Stop the training after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Base of hooks, whose methods do nothing by default."""

    def begin(self) -> None:
        """Prepare before the session is created, while the graph can still change."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Act on the new session, with initialized variables."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return additions to the next run, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Act after a successful run."""

    def end(self, session: Any) -> None:
        """Act after the training has ended without an error, or at the end of its data."""
