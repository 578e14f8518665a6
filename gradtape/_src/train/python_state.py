"""`PythonState`: state of Python objects that is saved as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import DataLossError
from gradtape._src.core.declarations.module import State, Stateful


class PythonState(Stateful):
    """Base of objects whose state a checkpoint saves as one string: `serialize` returns it, `deserialize` takes it back.

    >>> class Count(tf.train.experimental.PythonState):
    ...     number = 3
    ...
    ...     def serialize(self):
    ...         return str(self.number)
    ...
    ...     def deserialize(self, string_value):
    ...         self.number = int(string_value)
    >>> count = Count()
    >>> path = tf.train.Checkpoint(count=count).write("checkpoints/count")
    >>> count.number = 0
    >>> status = tf.train.Checkpoint(count=count).read(path)
    >>> count.number
    3
    """

    saved_as = "py_state"

    def serialize(self) -> Any:
        """Return the state, a str or bytes."""
        raise NotImplementedError

    def deserialize(self, string_value: bytes) -> None:
        """Restore the state from the bytes that `serialize` returned."""
        raise NotImplementedError

    def saved_state(self) -> State:
        """Return the result of `serialize` as a scalar string."""
        text = self.serialize()
        if not isinstance(text, str | bytes):
            raise TypeError(f"{type(self).__name__}.serialize() returns a str or bytes, received {text!r}.")
        return {"": np.array(text.encode() if isinstance(text, str) else text, object)}

    def restored(self, state: State) -> Callable[[], None]:
        """Return a function that passes the saved bytes to `deserialize`."""
        text = state[""][()] if "" in state else None
        if not isinstance(text, bytes):
            raise DataLossError.saying(f"What a checkpoint has for a {type(self).__name__} is no string, but {text!r}.")
        return lambda: self.deserialize(text)
