"""The checks of values that a compiled Program makes while it runs. The errors are made in `faults`.

A Program that holds guarded ops (`Op.guarded`) is compiled with one result more: the number of the first check that failed. A
branch or loop hands on whether one inside of it did, so a check costs no run and no wait of its own.
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
    """The flags of the checks in what the thread compiles; None where nobody looks at them."""

    check_flags: Flags | None = field(None, per_replica=True)


_local = declare(_Fields)


class Flags:
    """The flags of the checks in what is being compiled. `places` has for each the node of `program` in which it stands."""

    def __init__(self, program: Program | None = None) -> None:
        self.program, self.at = program, 0
        self.places: list[int] = []
        self._found: list[Any] = []

    def note(self, flag: Any) -> None:
        """Note whether a check failed."""
        self.places.append(self.at)
        self._found.append(flag)

    def enter(self, program: Program, index: int, inputs: Sequence[Any]) -> None:
        """Begin with a node, of which the inputs are JAX arrays: note the flag of one that is guarded."""
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
    """Return the flags of what this thread compiles; None where nobody looks at them."""
    return _local.check_flags


def begin(*programs: Program) -> Any:
    """Return the flag of a branch or loop on these Programs, which says that nothing failed; None if nothing is checked."""
    return jnp.zeros((), bool) if _local.check_flags is not None and any(p.guarded for p in programs) else None


def run(program: Program, flag: Any, *inputs: Any) -> tuple[tuple[Any, ...], Any]:
    """Evaluate a Program of a branch or loop; return its results, and the flag, which says whether a check has failed by now."""
    if flag is None:
        return program.evaluate(*inputs), None
    flags = Flags()
    with setting(check_flags=flags):
        return program.evaluate(*inputs), flag | flags.any()


def note(flag: Any) -> None:
    """Note the flag of a branch or loop, or those of many runs."""
    if flag is not None and _local.check_flags is not None:
        _local.check_flags.note(jnp.any(flag))


def evaluate(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate a Program on JAX arrays; return its results, and the number of the first check that failed.

    The node in which each check stands is entered with the Program, for `place_of`.
    """
    flags = Flags(program)
    with setting(check_flags=flags):
        results = program.evaluate(*arguments)
    program.derived["checks"] = flags.places
    return (*results, flags.first())


def place_of(program: Program, number: int) -> int:
    """Return the index of the node in which the check with this number stands."""
    place: int = program.derived["checks"][number - 1]
    return place


def checked(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Return those of an op's inputs by which its values are checked."""
    names = (*op.parameters, *[op.parameters[-1]] * (len(inputs) - len(op.parameters)))
    return [value for value, name in zip(inputs, names, strict=False) if name in op.checked]


def holds(op: Op, attrs: Attributes, values: Sequence[np.ndarray]) -> bool:
    """Return whether an op can take these values of its checked inputs, NumPy arrays."""
    assert op.wrong is not None
    return not arrays.called_on_host(op.wrong, values, dict(zip(op.attributes, attrs, strict=True))).any()
