"""`SessionRunHook`: the listeners to each run of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """The additions of a hook to a run: `fetches` that it wants the values of, and a `feed_dict`."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a run for a hook: `results`, the values of its fetches."""

    results: Any
    options: Any = None
    run_metadata: Any = None


class SessionRunContext:
    """A run, as hooks see it: the caller's fetches and feeds, the session, and a way to end the training."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session, self._stop_requested = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments that the caller gave to `run`."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for runs that no hook sees."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants the training to end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Have the training end after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Base of hooks; each method does nothing unless it is overridden."""

    def begin(self) -> None:
        """Prepare before the session is made: the graph may still grow."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Act on the new session, whose variables have values."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return additions to the run that follows."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Act after a run without an error."""

    def end(self, session: Any) -> None:
        """Act after the training, which ended without an error or at the end of its data."""
