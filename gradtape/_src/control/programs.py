"""Programs derived from Programs: with fewer outputs or parameters, and a gradient's forward and backward part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.core.engine import execution
from gradtape._src.core.programs.program import ELEMENT, Line, Program, effectful
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import Aval

LONGEST_ARITHMETIC = 4  # arithmetic ops that cost less than to read one value


def selected(program: Program, outputs: Sequence[int]) -> Program:
    """Return `program` with the outputs at these positions, without ops that only other outputs need; effects stay."""
    wanted = [program.outputs[i] for i in outputs]
    kept = program.needed([*wanted, *[i for i, key in enumerate(program.keys) if effectful(key)]])
    return execution.intern(program.sliced(kept, wanted))


def narrowed(program: Program, kept: Sequence[int]) -> Program:
    """Return `program` with the parameters at the positions `kept`; it must not read others."""
    places = [*kept, *range(arity(program), len(program.parameters))]
    moved = {-1 - old: -1 - new for new, old in enumerate(places)}
    return program.sliced(range(len(program.keys)), program.outputs, moved, [program.parameters[i] for i in places])


def part(program: Program, nodes: range) -> tuple[Program, list[int], list[int]]:
    """Return the Program of consecutive nodes, and the references in `program` of its inputs and outputs.

    Its outputs are the values used by later nodes or returned by `program`. It has its own copy of constants.
    """
    read = {r for i in nodes for r in program.keys[i][2:] if r not in nodes}
    count = arity(program)
    own = sorted([r for r in read if -1 - r >= count], reverse=True)
    inputs = sorted(read.difference(own))
    later = {r for key in program.keys[nodes.stop :] for r in key[2:]} | set(program.outputs)
    outputs = [i for i in nodes if i in later]
    taken, constants = [*inputs, *own], [program.constants[-1 - r - count] for r in own]
    moved, parameters = {r: -1 - k for k, r in enumerate(taken)}, map(program.aval_of, taken)
    return execution.intern(program.sliced(nodes, outputs, moved, parameters, constants)), inputs, outputs


def linearized(
    program: Program, derived: Program, held: set[int], again: Callable[[int], bool] | None = None
) -> tuple[Program, Program, list[int]]:
    """Split the gradient `derived` of `program` into a forward part and a backward part, which needs cotangents.

    Returns `(forward, backward, carried)`. `forward` gives the outputs of `program`, then residuals; `backward` takes the
    parameters, the residuals and the cotangents. Parameters in `held` are available in the backward pass. Others that it needs
    become residuals, and `carried` has their positions. The backward pass computes cheap values again. It does so, too, for
    values that follow from held parameters, or from residuals by a few sums and products. `again` replaces this choice, for each
    reference.
    """
    count = arity(program)
    seeds = arity(derived) - count
    known: list[bool] = []
    invariant: list[bool] = []  # whether it depends on held parameters and constants only

    def of_forward(reference: int) -> bool:
        return known[reference] if reference >= 0 else not count <= -1 - reference < count + seeds

    def at_hand(reference: int) -> bool:
        return invariant[reference] if reference >= 0 else -1 - reference in held or -1 - reference >= count + seeds

    for _, _, *references in derived.keys:
        known.append(all(map(of_forward, references)))
        invariant.append(all(map(at_hand, references)))

    def frontier(anew: Callable[[int], bool]) -> tuple[set[int], set[int]]:
        """Return the known values that the backward part reads, and the nodes that it contains."""
        saved: set[int] = set()
        kept: set[int] = set()
        stack = list(derived.outputs)
        while stack:
            reference = stack.pop()
            if reference < 0:
                if of_forward(reference) and not at_hand(reference):
                    saved.add(reference)
            elif reference not in kept and reference not in saved:
                if known[reference] and not anew(reference):
                    saved.add(reference)
                else:
                    kept.add(reference)
                    stack.extend(derived.keys[reference][2:])
        return saved, kept

    if again is not None:
        saved, kept = frontier(again)
    else:
        saved, _ = frontier(lambda r: invariant[r] or _again(derived, r))
        derivable = derivable_from(derived, saved, at_hand)
        saved, kept = frontier(lambda r: r in derivable or invariant[r] or _again(derived, r))
    residuals = sorted(saved)
    shift = len(derived.parameters)
    replaced = {r: -1 - (shift + k) for k, r in enumerate(residuals)}
    backward = _with_residuals(derived, sorted(kept), [derived.aval_of(r) for r in residuals], replaced, count + seeds)
    return _forward(program, derived, residuals, count), backward, [-1 - r for r in residuals if r < 0]


def _again(program: Program, reference: int) -> bool:
    """Return whether to recompute a known value: it is cheap, or it is a residual of a loop of unknown length."""
    op, attrs, *inputs = program.keys[reference]
    if type(program.avals[reference]) is tuple:
        return True
    if op is not ELEMENT:
        return bool(op.cheap)
    source, of_loop, *_ = program.keys[inputs[0]]
    return source.kept is not None and attrs[0] >= source.kept(of_loop)


def derivable_from(program: Program, saved: set[int], at_hand: Callable[[int], bool]) -> set[int]:
    """Return the values that follow from other `saved` ones by arithmetic that costs less than reading them.

    For an LSTM the gates are saved, and the five factors of its gradient are computed from them.
    """
    derivable: set[int] = set()
    for candidate in sorted((r for r in saved if r >= 0), reverse=True):
        between: set[int] = set()
        stack = [candidate]
        while stack:
            reference = stack.pop()
            if at_hand(reference) or reference in between or (reference in saved and reference != candidate):
                continue
            if reference < 0 or Trait.ARITHMETIC not in program.keys[reference][0].traits or len(between) == LONGEST_ARITHMETIC:
                break
            between.add(reference)
            stack.extend(program.keys[reference][2:])
        else:
            derivable |= between
    return derivable


def _with_residuals(derived: Program, kept: list[int], residuals: list[Aval], replaced: dict[int, int], count: int) -> Program:
    """Return `derived` without its forward part; the residuals are parameters after its own, before its constants."""
    constants = derived.parameters[count:]
    moved = {-1 - count - k: -1 - count - len(residuals) - k for k in range(len(constants))}
    moved |= {r: -1 - count - k for k, r in enumerate(replaced)}
    parameters = (*derived.parameters[:count], *residuals, *constants)
    return execution.intern(derived.sliced(kept, derived.outputs, moved, parameters))


def _forward(program: Program, derived: Program, residuals: list[int], count: int) -> Program:
    """Return `program` with residuals as additional outputs. Its own nodes stay as they are, so `selected` gives it back."""
    kept = derived.needed(residuals)
    offset = len(program.keys)
    own = len(program.parameters)
    extra = arity(derived)

    def moved(reference: int) -> int:
        if reference >= 0:
            return number[reference]
        position = -1 - reference
        return reference if position < count else -1 - (own + position - extra)

    number = {i: offset + n for n, i in enumerate(kept)}
    keys = (*program.keys, *[(*derived.keys[i][:2], *map(moved, derived.keys[i][2:])) for i in kept])
    avals = (*program.avals, *[derived.avals[i] for i in kept])
    parameters = (*program.parameters, *derived.parameters[extra:])
    outputs = (*program.outputs, *map(moved, residuals))
    nowhere: Line = (None, 0)
    lines = (*(program.lines or [nowhere] * offset), *[derived.lines[i] if derived.lines else nowhere for i in kept])
    constants = (*program.constants, *derived.constants)
    return _merged(Program(keys, avals, parameters, outputs, constants, lines), offset, own)


def _merged(program: Program, nodes: int, parameters: int) -> Program:
    """Return `program` with equal nodes and constants merged, except for the first `nodes` and `parameters`.

    A gradient computes the forward values that it needs anew. Here they become the values of the forward part itself.
    """
    count = arity(program)
    known: dict[Any, int] = {}
    first = {-1 - k: -1 - k for k in range(count)}  # of each value the reference of the earliest equal one
    for k, constant in enumerate(program.constants):
        same = k if constant.dtype.hasobject else (constant.shape, constant.dtype, constant.tobytes())
        first[-1 - count - k] = known.setdefault(same, -1 - count - k)
    for index, key in enumerate(program.keys):
        moved = (*key[:2], *[first[r] for r in key[2:]])
        first[index] = index if effectful(key) else known.setdefault(moved, index)
    number = {r: r if -1 - parameters < r < nodes else same for r, same in first.items()}
    kept = [i for i in range(len(program.keys)) if number[i] == i]
    place = {i: n for n, i in enumerate(kept)}
    return execution.intern(program.sliced(kept, program.outputs, {r: place.get(same, same) for r, same in number.items()}))
