"""TensorFlow 1's `Print`: a tensor that prints others when it is computed."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.ops.array.shape import identity
from gradtape._src.ops.debugging.printing import print as write


@public
def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Return `input_`; whenever it is computed, `message` and the tensors in the list `data` are printed to stderr.

    `first_n` limits the number of times; `summarize` (3) is the number of entries shown at each end of an axis. The gradient
    passes through.
    """
    times = itertools.count()

    def show(text: str) -> None:
        if first_n is None or first_n < 0 or next(times) < first_n:
            sys.stderr.write(f"{text}\n")

    shown = [tensor(value) for value in nest.flatten(data)]
    pieces = [piece for value in shown for piece in ((value,) if value.ndim else ("[", value, "]"))]
    done = write(message or "", *pieces, sep="", summarize=3 if summarize is None else summarize, output_stream=show)
    with control_dependencies([] if done is None else [done]):
        return identity(tensor(input_), name=name or "Print")
