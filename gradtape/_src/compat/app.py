"""`tf.compat.v1.app.run`. It needs absl, so this module is imported on first use."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from absl import app, flags


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> NoReturn:
    """Parse the flags in `argv` (`sys.argv`), call `main` with the rest, and exit the process with its result.

    The default of `main` is that of the script. As in TensorFlow, undefined flags are passed on to it.

    >>> tf.compat.v1.app.run(lambda arguments: print(arguments), ["script", "--other=1", "file"])
    Traceback (most recent call last):
    SystemExit
    """
    app.run(main or sys.modules["__main__"].main, argv, flags_parser=_known)


def _known(argv: Sequence[str]) -> list[str]:
    rest: list[str] = flags.FLAGS(argv, known_only=True)
    return rest
