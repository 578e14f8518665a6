"""Compiled code: how it is made of a function of arrays, and how much of it is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import jax

from gradtape._src.core import allocator, interruptible, memory, runtime

# What XLA holds for a compiled program on the host, as measured: 0.24 to 0.8 MB with up to 10 nodes, 2 to 5 MB with 500.
PROGRAM_BYTES = 300_000
NODE_BYTES = 10_000
BOUND = 48 << 20  # bytes of code from which on some of it is dropped when more is compiled
TRIM = 32  # dropped programs after which their memory is given back to the system
IDLE = 256  # runs of any code after which code that was not run counts as idle
TRACED = (
    8192  # nodes in compiled programs after which JAX forgets what it traced for them, some 2 kB each, which it would never do
)
SHARE = 16  # this part of the memory is the bound of the code that had to be compiled again


class Executable:
    """An owner of compiled code, which it loses once it was not run for long: `compiled` is None then.

    `size` is the number of nodes, `builds` how often it was compiled. `born` and `ran` are the numbers of its first and its
    last run since, among the runs of all code.
    """

    __slots__ = ("__weakref__", "born", "builds", "compiled", "ran", "size")
    compiled: Any
    size: int
    builds: int
    born: int
    ran: int

    def __init__(self, size: int) -> None:
        self.size, self.compiled, self.builds, self.born, self.ran = size, None, 0, 0, 0

    @property
    def code_bytes(self) -> int:
        """The host memory that the compiled code takes, as estimated by the number of nodes."""
        return 0 if self.compiled is None else PROGRAM_BYTES + NODE_BYTES * self.size


class Pool:
    """The owners of compiled code, and the bound of the bytes that they hold together.

    Code that ran once, or that is idle, is dropped as more is compiled. What is compiled a second time was dropped too early:
    it is kept up to a bound that depends on the machine's memory. So a loop over many shapes compiles each of them twice at
    most.
    """

    def __init__(self) -> None:
        self.runs = self._dropped = self._traced = 0
        self._owners: list[ref[Executable]] = []
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Return the bytes of code that are held."""
        return sum([owner.code_bytes for owner in self.owners()])

    def owners(self) -> list[Executable]:
        """Return the owners that hold code, in the order of their last run."""
        alive = {id(owner): owner for reference in list(self._owners) if (owner := reference()) is not None}
        return sorted([owner for owner in alive.values() if owner.compiled is not None], key=lambda owner: owner.ran)

    def compile(
        self, owner: Executable, function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any] | None = None
    ) -> Any:
        """Compile `function` for arrays such as `arguments`, and drop other code if there is too much of it.

        It is compiled ahead of time: `jax.jit` would keep its MLIR module, which is four times the size of the code.
        """
        runtime.prune_cache()
        interruptible.watch()
        return interruptible.to_its_end(self._compile, owner, function, arguments, options)

    def _compile(self, owner: Executable, function: Callable[..., Any], arguments: Sequence[Any], options: Any) -> Any:
        compiled = jax.jit(function, compiler_options=options).lower(*arguments).compile()
        owner.compiled = compiled
        owner.builds += 1
        owner.born = owner.ran = self.runs + 1
        with self._lock:
            self._owners.append(ref(owner))
            self._make_room(owner)
            self._traced += owner.size
            forget = self._traced >= TRACED
            if forget:
                self._traced = 0
        if forget:
            jax.clear_caches()
        return compiled

    def _make_room(self, latest: Executable) -> None:
        owners = self.owners()
        held = sum([owner.code_bytes for owner in owners])
        most = max(BOUND, memory.limit() // SHARE)
        for owner in owners:
            if held <= BOUND:
                break
            needed_again = owner.builds > 1 and held <= most
            recent = owner.ran > owner.born and self.runs - owner.ran <= IDLE and held <= most
            if owner is not latest and not needed_again and not recent:
                held -= owner.code_bytes
                owner.compiled = None
                self._dropped += 1
        if self._dropped >= TRIM:
            self._dropped = 0
            if not allocator.tuned:
                allocator.give_back()
        self._owners = [ref(owner) for owner in owners if owner.compiled is not None]

    def clear(self) -> None:
        """Drop all code."""
        for owner in self.owners():
            owner.compiled = None
        self._owners = []


pool = Pool()


def by_placement(owner: Executable, function: Callable[..., Any], options: dict[str, Any] | None = None) -> bool:
    """Leave it to JAX to compile for each placement of the arguments; return whether that is new.

    Code that was compiled ahead refuses arguments on other devices than those that it was compiled for.
    """
    ahead = isinstance(owner.compiled, jax.stages.Compiled)
    if ahead:
        owner.compiled = jax.jit(function, compiler_options=options)
    return ahead
