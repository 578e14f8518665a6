"""A timer for hooks, by steps or seconds."""

from __future__ import annotations

import time

from gradtape._src.core.base.public import public


class SecondOrStepTimer:
    """Triggers at first, and then `every_steps` steps or `every_secs` seconds after its last update."""

    @public
    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Reset the timer."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether the timer triggers at this step."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that it triggered at this step; return the seconds and steps since the last time, None at first."""
        now = time.time()
        elapsed = (None, None)
        if self._last_step is not None and self._last_time is not None:
            elapsed = now - self._last_time, step - self._last_step  # type: ignore[assignment]
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """Return the last step at which it triggered."""
        return self._last_step
