"""`tf.compat.v1.app.run`: it stands on absl, so it is imported when it is first used."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from absl import app, flags


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Parse the flags in `argv` (`sys.argv`), call `main` with the rest, and end the process with what it returns.

    Without `main` that of the script. A flag that nobody defined stays in the rest, as in TensorFlow.

    >>> tf.compat.v1.app.run(lambda arguments: print(arguments), ["script", "--other=1", "file"])
    Traceback (most recent call last):
    SystemExit
    """
    app.run(main or sys.modules["__main__"].main, argv, flags_parser=_known)


def _known(argv: Sequence[str]) -> list[str]:
    rest: list[str] = flags.FLAGS(argv, known_only=True)
    return rest
