"""The checks of values that a compiled Program makes while it runs. `faults` makes the errors.

A Program with guarded ops (`Op.guarded`) is compiled with an additional result: the number of the first failed check. A branch
or loop passes on whether a check inside of it failed, so a check needs no separate run or wait.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.platform import arrays
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.op import Attributes, Op, Refusals

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
            flags = [jnp.any(wrong) for wrong, _ in _refusals(op, attrs, checked(op, inputs))]
            self.note(functools.reduce(operator.or_, flags))

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
    """Return the inputs of an op that its check takes: those of `Op.checked`."""
    names = (*op.parameters, *[op.parameters[-1]] * (len(inputs) - len(op.parameters)))
    return [value for value, name in zip(inputs, names, strict=False) if name in op.checked]


def _refusals(op: Op, attrs: Attributes, values: Sequence[Any]) -> Refusals:
    """Return what an op refuses of these values of its checked inputs."""
    assert op.refuses is not None
    return op.refuses(*values, **{name: attrs[place] for name, place in op.consulted})


def refusal(refusals: Refusals) -> str | None:
    """Return the message about the first of these values, NumPy arrays, that is refused; None if none is."""
    for wrong, message in refusals:
        if np.count_nonzero(wrong):
            return message if isinstance(message, str) else message()
    return None


def refused(op: Op, attrs: Attributes, values: Sequence[np.ndarray]) -> str | None:
    """Return the message if an op cannot take these values of its checked inputs, NumPy arrays; else None."""
    message: str | None = arrays.called_on_host(_refused, (op, attrs, values), {})
    return message


def _refused(op: Op, attrs: Attributes, values: Sequence[Any]) -> str | None:
    return refusal(_refusals(op, attrs, values))
