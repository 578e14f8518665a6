"""`tape.residuals()`: the forward values that the backward pass will read, with their origins and readers."""

from __future__ import annotations

from dataclasses import dataclass

from gradtape._src.autodiff.backward import Entry, active_nodes
from gradtape._src.autodiff.plan import read_by_gradients, residual_set
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import NUMBER, Node
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.explain import source as text
from gradtape._src.explain.pictures.words import called, place, rendered, size, table, variable_name

HELD, PENDING, RECOMPUTED, INPUT = "held", "pending", "recomputed", "input"


@dataclass(frozen=True)
class Residual:
    """A value of the forward pass that gradients read.

    - `value`: the type of the op that made it; for an input, the name of the variable or tensor.
    - `file`, `line`: the user's line that made it; None if it is not known.
    - `shape`, `dtype`, `bytes`: of the value.
    - `state`: "held" (it is in memory), "pending" (it will be, once the program runs), "recomputed" (it is small or cheap,
      and is computed again), or "input" (a variable or tensor from outside of the tape, which is there anyway).
    - `needed_by`: the ops whose gradients read it, as `(type, file, line)`.
    """

    value: str
    file: str | None
    line: int | None
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    state: str
    needed_by: tuple[tuple[str, str | None, int | None], ...]


class Residuals(list[Residual]):
    """A list of `Residual`; `str()` is a table."""

    @property
    def bytes(self) -> int:
        """The bytes that are or will be held for the backward pass, without inputs and recomputed values."""
        return sum(r.bytes for r in self if r.state in (HELD, PENDING))

    def __str__(self) -> str:
        rows = []
        for r in self:
            readers = ", ".join(dict.fromkeys(f"{op} {place(file, line)}" for op, file, line in r.needed_by))
            rows.append((r.value, place(r.file, r.line), f"{r.dtype}{list(r.shape)}", size(r.bytes), r.state, readers))
        title = f"{size(self.bytes)} kept for the backward pass"
        return rendered(table(title, ["value", "line", "shape", ">bytes", "state", "needed by"], rows))


class Needed:
    """The values that a tape's gradients will read: for each node the entries that read it, and its state."""

    def __init__(self, tape: GradientTape) -> None:
        self.entries, offsets = tape._entries()
        starts = tape._starts(offsets, tape._reads())
        self.active = active_nodes(self.entries, starts)
        self.maker = {entry.node: entry for entry in self.entries}
        self._kept = self._kept_by_the_engine(tape, starts)
        self.readers: dict[Node, list[Entry]] = {}
        for entry, read in read_by_gradients(self.entries, self.active):
            for node in dict.fromkeys(read):
                if node.index != NUMBER:
                    self.readers.setdefault(node, []).append(entry)
        for node in [n for n in self.readers if self.state(n) == RECOMPUTED]:
            self._pass_on(node)

    def _kept_by_the_engine(self, tape: GradientTape, starts: dict[Node, int]) -> set[Node]:
        """Return the nodes of pending programs whose values will be kept."""
        kept: set[Node] = set()
        first = 0
        for segment in tape._segments:
            entries = tape._entries_of(segment)
            if segment.trace.inputs is None:
                begins = {n: max(self.active[n] - first, 0) for n in [*segment.trace.leaves, *starts] if n in self.active}
                _, wanted = residual_set(segment.trace, entries, begins)
                kept.update([segment.trace.nodes[i] for i in wanted])
            first += len(entries)
        return kept

    def _pass_on(self, node: Node) -> None:
        """Replace the value of a cheap op by the values from which it is recomputed."""
        stack, seen = [node], {node}
        while stack:
            current = stack.pop()
            if current is not node and self.state(current) in (HELD, PENDING):
                known = self.readers.setdefault(current, [])
                known += [reader for reader in self.readers[node] if reader not in known]
            elif current in self.maker and current.op.cheap:
                new = [n for n in self.maker[current].inputs if n not in seen]
                seen.update(new)
                stack += new

    def state(self, node: Node) -> str:
        """Return the state of a node, as a `Residual` names it."""
        if node not in self.maker:
            return INPUT
        if node.value is not None:
            return HELD
        alive = node.handle is not None and node.handle() is not None
        return PENDING if node in self._kept or alive else RECOMPUTED

    def kept(self) -> dict[journal.Origin, int]:
        """Return the bytes that are or will be held for the backward pass, by the value's origin."""
        return {journal.origin_of(n): bytes_of(n.aval) for n in self.readers if self.state(n) in (HELD, PENDING)}


def residuals(tape: GradientTape) -> Residuals:
    """Return the residuals of a tape's backward pass; empty once the tape is used up. Runs nothing."""
    found = Residuals()
    if not tape._segments:
        return found
    needed = Needed(tape)
    names = {node: variable for _, _, variable, node in tape._reads()}
    for node, readers in needed.readers.items():
        line = (node.code, node.offset)
        if node in names:
            line = names[node]._made
            value = variable_name(names[node])
        elif node in needed.maker:
            value = node.op.type
        else:
            value = called(line) or "a tensor"
        of = node.aval[0] if type(node.aval) is tuple else node.aval
        needed_by = tuple([(e.node.op.type, *text.where((e.node.code, e.node.offset))) for e in readers])
        shape, dtype, count, state = tuple(of.shape), of.type.name, bytes_of(node.aval), needed.state(node)
        found.append(Residual(value, *text.where(line), shape, dtype, count, state, needed_by))
    return found
