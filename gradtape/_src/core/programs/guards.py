"""The checks of values that a compiled Program makes while it runs. `faults` makes the errors.

A Program with guarded ops (`Op.guarded`) is compiled with an additional result: the number of the first failed check. A branch
or loop passes on whether a check inside of it failed, so a check needs no separate run or wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.platform import arrays
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.op import Attributes, Op

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Program


class _Fields:
    """The flags of the checks in the Program that the thread compiles; None where no flags are collected."""

    check_flags: Flags | None = field(None, per_replica=True)


_local = declare(_Fields)


class Flags:
    """The flags of the checks in a Program under compilation. `places` has, for each, the index of its node in `program`."""

    def __init__(self, program: Program | None = None) -> None:
        self.program, self.at = program, 0
        self.places: list[int] = []
        self._found: list[Any] = []

    def note(self, flag: Any) -> None:
        """Note whether a check failed."""
        self.places.append(self.at)
        self._found.append(flag)

    def enter(self, program: Program, index: int, inputs: Sequence[Any]) -> None:
        """Set the current node, whose inputs are JAX arrays, and note its flag if it is guarded."""
        op, attrs = program.keys[index][:2]
        if program is self.program:
            self.at = index
        if op.guards:
            assert op.wrong is not None
            self.note(jnp.any(op.wrong(*checked(op, inputs), **dict(zip(op.attributes, attrs, strict=True)))))

    def any(self) -> Any:
        """Return whether any check failed."""
        return jnp.any(jnp.stack(self._found)) if self._found else jnp.zeros((), bool)

    def first(self) -> Any:
        """Return the number of the first check that failed, from 1 on; 0 if none did."""
        if not self._found:
            return jnp.zeros((), np.int32)
        flags = jnp.stack(self._found)
        return jnp.where(jnp.any(flags), jnp.argmax(flags) + 1, 0).astype(np.int32)


def collecting() -> Flags | None:
    """Return the flags of the Program that this thread compiles; None where no flags are collected."""
    return _local.check_flags


def begin(*programs: Program) -> Any:
    """Return the initial flag, "no failure", of a branch or loop on these Programs; None if they have no checks to collect."""
    return jnp.zeros((), bool) if _local.check_flags is not None and any(p.guarded for p in programs) else None


def run(program: Program, flag: Any, *inputs: Any) -> tuple[tuple[Any, ...], Any]:
    """Evaluate a Program of a branch or loop; return its results, and `flag` or whether one of its checks failed."""
    if flag is None:
        return program.evaluate(*inputs), None
    flags = Flags()
    with setting(check_flags=flags):
        return program.evaluate(*inputs), flag | flags.any()


def note(flag: Any) -> None:
    """Note the flag of a branch or loop, or an array of flags of many runs."""
    if flag is not None and _local.check_flags is not None:
        _local.check_flags.note(jnp.any(flag))


def evaluate(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate a Program on JAX arrays; return its results, and the number of the first check that failed.

    The node index of each check is stored in `Program.derived`, for `place_of`.
    """
    flags = Flags(program)
    with setting(check_flags=flags):
        results = program.evaluate(*arguments)
    program.derived["checks"] = flags.places
    return (*results, flags.first())


def place_of(program: Program, number: int) -> int:
    """Return the index of the node that makes the check with this number."""
    place: int = program.derived["checks"][number - 1]
    return place


def checked(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of an op that its check takes."""
    names = (*op.parameters, *[op.parameters[-1]] * (len(inputs) - len(op.parameters)))
    return [value for value, name in zip(inputs, names, strict=False) if name in op.checked]


def holds(op: Op, attrs: Attributes, values: Sequence[np.ndarray]) -> bool:
    """Return whether an op can take these values of its checked inputs, NumPy arrays."""
    assert op.wrong is not None
    return not np.count_nonzero(arrays.called_on_host(op.wrong, values, dict(zip(op.attributes, attrs, strict=True))))
