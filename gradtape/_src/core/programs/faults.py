"""The errors about values that an op cannot take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, of_op
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs import guards, journal
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import Line

NOWHERE: Line = (None, 0)


def verify(op: Op, attrs: Attributes, values: Sequence[np.ndarray], line: Line = NOWHERE) -> None:
    """Raise the op's error if it cannot take these values of its checked inputs. For an op of a function, `line` is its line."""
    message = guards.refused(op, attrs, values)
    if message is not None:
        raise failed(op, message, line)


def failed(op: Op, message: str, line: Line) -> InvalidArgumentError:
    """Return the error of an op that cannot take its values."""
    return InvalidArgumentError.saying(of_op(message, op.type) + detected_at(line))


def detected_at(line: Line) -> str:
    """Return the sentence of an error about the line of an op; empty if the line is unknown."""
    code, _ = line
    file, number = journal.file_and_number(line)
    return "" if code is None else f"\nDetected at {place(file, number)}, in {code.co_name}"
