"""Plans for the backward pass of a Program within a memory budget: which values are kept, which are recomputed, and how often.

The Program is cut after values on which all later ones depend. For a chain of such stages there is an optimal plan, if kept
values stay until they are read: Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for heterogeneous
chains" (2019), theorem 1. A stage may keep some of its values, chosen by the greedy method of `recomputed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.autodiff.jacobian import peak_bytes
from gradtape._src.control.programs import part
from gradtape._src.core.engine import engine, execution, stages as writing, tracing
from gradtape._src.core.platform import memory, xla
from gradtape._src.core.programs.program import Program, leaf
from gradtape._src.core.programs.structured import StructuredOp, arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.derivatives.recomputed import Written, flops, is_written, recorded, run_backward, split

SLOTS = 1000  # resolution of the budget: its number of slots
LONGEST = 64  # stages of a chain, at most: the planner's time grows with their third power
SPANS = (None, 4, 16)  # values read over more than 1/4, 1/16 of the Program are held throughout, and do not prevent a cut
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of a stage's values that may be kept
SMALL = 1 / 100  # of the Program's largest value: smaller values do not prevent a cut
LIKELY = 1.6  # times the budget: above this estimate, a Program without a plan is not compiled to see whether it fits
TRIES, NEAR = 3, 0.9  # new plans of a whole Program, at most; the share of the budget that a plan should use
FLOPS_PER_BYTE = 8  # FLOPs in the time that it takes to write a byte


class Way(NamedTuple):
    """A way to differentiate a stage: the bytes that it keeps by `policy`, and the bytes and time of its backward pass.

    `measured`: whether `needs` comes from XLA, or is an estimate.
    """

    policy: Any
    kept: int
    needs: int
    time: float
    measured: bool = False


class Stage(NamedTuple):
    """A stage: its Program, input and output references, time, the bytes of its results (`gives`), and those of its run."""

    program: Program
    inputs: list[int]
    outputs: list[int]
    time: float
    gives: int
    needs: int
    ways: tuple[Way, ...]


class Kept(NamedTuple):
    """A plan of a chain that differentiates the first stage in a `way`; `rest` is the plan of the others."""

    way: Way
    rest: Any


class Again(NamedTuple):
    """A plan of a chain that recomputes the stages before `until`, by the plan `first`; `rest` is the plan of the others."""

    until: int
    first: Any
    rest: Any


class Chain:
    """The stages of a Program without calls, and plans for them. `held` bytes stay allocated throughout."""

    def __init__(self, program: Program, span: int | None) -> None:
        cuts, self.held = _cuts(program, span)
        self.program, self.ends = program, [*_chosen(program, cuts), len(program.keys)]
        self.stages: list[Stage] = []
        for made, inputs, outputs in [part(program, range(a, b)) for a, b in zip([0, *self.ends], self.ends, strict=False)]:
            self.stages.append(Stage(made, inputs, outputs, *_costs(made)))
        # XLA allocates results before it begins, so gradients take memory throughout
        self.held += sum([bytes_of(p) for p in program.parameters[: arity(program)] if p.inexact])

    def plan(self, budget: float) -> Any:
        """Return the fastest plan within a budget; None if there is none. XLA measures the memory of its stages."""
        unit = max(1.0, (budget - self.held) / SLOTS)
        while budget > self.held:
            table, last = _Table(self.stages, unit), len(self.stages)
            if not math.isfinite(table.time[0, last][SLOTS]):
                return None
            plan = table.plan(0, last, SLOTS)
            if not self._measure(plan, 0):
                return plan
        return None

    def least(self) -> int:
        """Estimate the smallest budget for which there is a plan."""
        most = max([stage.needs + stage.gives + way.kept + way.needs for stage in self.stages for way in stage.ways])
        table, last = _Table(self.stages, max(1.0, len(self.stages) * most / SLOTS)), len(self.stages)
        (slots, *_) = np.flatnonzero(np.isfinite(table.time[0, last]))
        least = self.peak(table.plan(0, last, int(slots)))
        while self.plan(least) is None:  # the estimate, or rounding to slots, was too small
            least += math.ceil((least - self.held) / 50)
        return least

    def _measure(self, plan: Any, first: int) -> bool:
        """Measure the stages of a plan that are only estimated, by XLA; return whether there were any."""
        found = False
        while plan is not None:
            if type(plan) is Kept and not plan.way.measured:
                program = self.stages[first].program
                self.stages = [_measured(s, plan.way.policy) if s.program is program else s for s in self.stages]
                found = True
            elif type(plan) is Again:
                found |= self._measure(plan.first, first)
            first, plan = first + 1 if type(plan) is Kept else plan.until, plan.rest
        return found

    def program_of(self, plan: Any) -> Program:
        """Return the Program whose gradient follows a plan."""
        program = self.program
        return self._made(plan, 0, len(self.stages), list(range(-1, -1 - arity(program), -1)), program.outputs)

    def _made(self, plan: Any, first: int, end: int, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
        """Return the Program of a plan's stages; `inputs` and `outputs` are references of the whole Program."""
        program, count = self.program, arity(self.program)
        parameters = [leaf(program.aval_of(r), None) for r in inputs]
        with tracing.inner() as trace:
            trace.overrides = None
            values = {-1 - count - k: engine.constant(c) for k, c in enumerate(program.constants)}
            values |= zip(inputs, parameters, strict=True)
            while plan is not None:
                made, taken, given, policy = self._next(plan, first)
                values |= zip(given, recorded(made, [values[r] for r in taken], policy), strict=True)
                first, plan = first + 1 if type(plan) is Kept else plan.until, plan.rest
            return execution.intern(tracing.close(trace, [values[r] for r in outputs], parameters))

    def _next(self, plan: Any, first: int) -> tuple[Program, list[int], list[int], Any]:
        """Return the first part of a plan: a Program, its input and output references, and a policy."""
        if type(plan) is Kept:
            stage = self.stages[first]
            return stage.program, stage.inputs, stage.outputs, plan.way.policy
        made = {r for stage in self.stages[first : plan.until] for r in stage.outputs}
        taken = sorted({r for stage in self.stages[first : plan.until] for r in stage.inputs} - made)
        later = {r for stage in self.stages[plan.until :] for r in stage.inputs} | set(self.program.outputs)
        given = sorted(made & later)
        return self._made(plan.first, first, plan.until, taken, given), taken, given, "nothing"

    def time(self, plan: Any, first: int = 0) -> float:
        """Estimate the time of a plan, in FLOPs."""
        time = 0.0
        while plan is not None:
            last = first + 1 if type(plan) is Kept else plan.until
            time += sum([stage.time for stage in self.stages[first:last]])
            time += plan.way.time if type(plan) is Kept else self.time(plan.first, first)
            first, plan = last, plan.rest
        return time

    def peak(self, plan: Any) -> int:
        """Return the peak memory of a plan, in bytes."""
        return self.held + self._peak(plan, 0, len(self.stages))

    def _peak(self, plan: Any, first: int, end: int) -> int:
        if plan is None:
            return 0
        stages = self.stages
        if type(plan) is Kept:
            forward, backward = _kept(stages, first, end, plan.way)
            return plan.way.kept + max(forward, backward, self._peak(plan.rest, first + 1, end))
        before = stages[plan.until - 1].gives
        rest = before + self._peak(plan.rest, plan.until, end)
        return max(_swept(stages, first, plan.until, end), rest, self._peak(plan.first, first, plan.until))


def within(program: Program, budget: int) -> Program:
    """Return a Program whose backward pass stays within `budget` bytes, as its parts are recomputed; else raise ValueError."""
    key = ("within", budget)
    if key not in program.derived:
        flat = writing.written_out(program)
        if not any(flat.aval_of(r).inexact for r in flat.outputs if r >= 0):
            return program  # nothing is differentiated
        most = peak_bytes(split(flat, "everything")[1])
        if most < LIKELY * budget and (needs := _whole(flat, most)) <= budget:
            program.derived[key] = flat, needs
            return flat
        chains = {tuple(chain.ends): chain for span in reversed(SPANS) for chain in [Chain(flat, span)]}.values()
        planned = [
            (chain.time(plan), k, chain, plan) for k, chain in enumerate(chains) if (plan := chain.plan(budget)) is not None
        ]
        if planned:
            _, _, chain, plan = min(planned)
        else:
            estimated, _, chain = min([(chain.least(), k, chain) for k, chain in enumerate(chains)])
            plan = chain.plan(estimated)
        made, needs = _adapted(chain, plan, budget)
        if needs > budget:
            raise ValueError(
                f"The backward pass does not fit into memory={_said(budget)}: the least possible is about {_said(needs)}. "
                f"Gradients take {_said(chain.held)} of that. Give so much, or a part of the batch."
            )
        program.derived[key] = made, needs
    found: Program = program.derived[key][0]
    return found


def _adapted(chain: Chain, plan: Any, budget: int) -> tuple[Program, int]:
    """Return the Program of a plan and the bytes that it needs as a whole, or those of another plan nearer to the budget.

    XLA fuses elementwise ops and reuses memory across stages, too. So the whole is compiled, and planned again with a budget
    corrected by the error of the estimate.
    """
    made, time = chain.program_of(plan), chain.time(plan)
    needs = _whole(made, chain.peak(plan))
    for _ in range(TRIES):
        if NEAR * budget <= needs <= budget:
            break
        other = chain.plan(budget * chain.peak(plan) / needs)
        if other is None or (needs < budget and chain.time(other) >= time):
            break
        instead = chain.program_of(other)
        then = _whole(instead, chain.peak(other))
        if then > max(budget, needs):
            break
        plan, made, needs, time = other, instead, then, chain.time(other)
    return made, needs


def _whole(program: Program, estimated: int) -> int:
    """Return the bytes that a Program with its gradients to all parameters needs besides these, as measured by XLA."""
    parameters = [leaf(a, None) for a in program.parameters[: arity(program)]]
    with tracing.inner() as trace:
        trace.overrides = None
        kept = tracing.close(trace, recorded(program, parameters, "everything"), parameters)
    given = tuple([i for i, r in enumerate(kept.outputs) if kept.aval_of(r).inexact])
    needed = tuple([i for i, a in enumerate(kept.parameters[: arity(kept)]) if a.inexact])
    derived, _ = vjp_program(execution.intern(kept), given, needed)
    return estimated if derived.hosted else memory.needed(_compiled(derived))


def _around(stages: list[Stage], end: int) -> int:
    """Return the bytes of the cotangent that waits while the stages before `end` run."""
    return stages[end - 1].gives if end < len(stages) else 0


def _kept(stages: list[Stage], first: int, end: int, way: Way) -> tuple[int, int]:
    """Return the bytes of a stage's forward and backward pass, without those that it keeps."""
    return stages[first].needs + _around(stages, end), way.needs + stages[first].gives


def _swept(stages: list[Stage], first: int, until: int, end: int) -> int:
    """Return the bytes that it takes to run stages without keeping their intermediate values."""
    runs = [stages[k].needs + stages[k].gives + (stages[k - 1].gives if k > first else 0) for k in range(first, until)]
    return max(runs) + _around(stages, end)


class _Table:
    """The times of the best plans by stages (first, end) and by slots of memory, with the first step of each plan."""

    def __init__(self, stages: list[Stage], unit: float) -> None:
        self.time: dict[tuple[int, int], np.ndarray] = {}
        self._begin: dict[tuple[int, int], np.ndarray] = {}
        self._stages, self._unit = stages, unit
        for length in range(1, len(stages) + 1):
            for first in range(len(stages) - length + 1):
                self._fill(first, first + length)

    def _slots(self, count: float) -> int:
        return min(math.ceil(count / self._unit), SLOTS + 1)

    def _fill(self, first: int, end: int) -> None:
        """Find the best plans of a chain: each begins with a way of its first stage (−1 − way), or recomputes up to a stage."""
        stage, stages = self._stages[first], self._stages
        best, begin = np.full(SLOTS + 1, math.inf), np.zeros(SLOTS + 1, np.int32)

        def offer(time: np.ndarray, needs: float, which: int) -> None:
            slots = self._slots(needs)
            better = time[slots:] < best[slots:]
            best[slots:][better] = time[slots:][better]
            begin[slots:][better] = which

        for number, way in enumerate(stage.ways):
            rest = self._less(first + 1, end, way.kept) if end > first + 1 else 0.0
            time = stage.time + way.time + rest + np.zeros(SLOTS + 1)
            offer(time, way.kept + max(_kept(stages, first, end, way)), -1 - number)
        swept = 0.0
        for until in range(first + 1, end):
            swept += stages[until - 1].time
            time = swept + self.time[first, until] + self._less(until, end, stages[until - 1].gives)
            offer(time, _swept(stages, first, until, end), until)
        self.time[first, end], self._begin[first, end] = best, begin

    def _less(self, first: int, end: int, count: float) -> np.ndarray:
        """Return the times of a chain's plans, indexed by the memory available before `count` bytes are taken."""
        slots = self._slots(count)
        return np.concatenate([np.full(min(slots, SLOTS + 1), math.inf), self.time[first, end][: SLOTS + 1 - slots]])

    def plan(self, first: int, end: int, slots: int) -> Any:
        """Return the best plan of a chain for `slots` of memory; None for an empty chain."""
        if first == end:
            return None
        begin = int(self._begin[first, end][slots])
        if begin < 0:
            way = self._stages[first].ways[-1 - begin]
            return Kept(way, self.plan(first + 1, end, slots - self._slots(way.kept)))
        rest = self.plan(begin, end, slots - self._slots(self._stages[begin - 1].gives))
        return Again(begin, self.plan(first, begin, slots), rest)


def _cuts(program: Program, span: int | None) -> tuple[list[int], int]:
    """Return the possible cuts of a Program, as indices of the next node, and the bytes of values that are held throughout.

    A single value crosses a cut. Values read over a long `span` of the Program, and small values, are not counted.
    """
    end = len(program.keys)
    last = {r: index for index, key in enumerate(program.keys) for r in key[2:]} | dict.fromkeys(program.outputs, end)
    small = SMALL * max(map(bytes_of, program.avals), default=0)
    held = {i for i in range(end) if span is not None and (last.get(i, i) - i) * span > end > last[i]}
    crossing, tuples, cuts = set[int](), 0, []
    for index in range(end - 1):
        if type(program.avals[index]) is tuple:
            tuples = max(tuples, last.get(index, index))  # no cut between a tuple and its elements
        elif last.get(index, index) > index and index not in held and bytes_of(program.avals[index]) > small:
            crossing.add(index)
        crossing = {i for i in crossing if last[i] > index}
        if crossing == {index} and tuples <= index and (is_written(program, index) or _joins(program, index)):
            cuts.append(index + 1)
    return cuts, sum([bytes_of(program.avals[i]) for i in held])


def _joins(program: Program, index: int) -> bool:
    """Return whether a node combines several values of its own shape, as at the end of a residual branch."""
    of = program.avals[index]
    return type(of) is not tuple and sum([program.aval_of(r) == of for r in program.keys[index][2:]]) > 1


def _chosen(program: Program, cuts: list[int]) -> list[int]:
    """Choose cuts for at most `LONGEST` stages, and drop those that make short stages."""
    before = np.cumsum([0.0, *[_time_of(program, index) for index in range(len(program.keys))]])
    chosen = list(cuts)
    while chosen:
        places = [0, *chosen, len(program.keys)]
        lengths = [before[b] - before[a] for a, b in zip(places, places[2:], strict=False)]
        shortest = int(np.argmin(lengths))
        if len(chosen) < LONGEST and lengths[shortest] * LONGEST > before[-1]:
            break
        del chosen[shortest]
    return chosen


def _costs(program: Program) -> tuple[float, int, int, tuple[Way, ...]]:
    """Return the time of a stage, the bytes of its results and of its run, and the ways to differentiate it."""
    found: tuple[float, int, int, tuple[Way, ...]] | None = program.derived.get("stage")
    if found is None:
        gives = sum([bytes_of(program.aval_of(r)) for r in program.outputs])
        most = _way(program, Written(1 << 62))
        ways = [_way(program, Written(int((most.kept - gives) * share))) for share in SHARES]
        ways = [most, *[w for w, less in itertools.pairwise(ways) if less.kept > w.kept]]
        time = sum([_time_of(program, index) for index in range(len(program.keys))])
        found = program.derived["stage"] = time, gives, max(peak_bytes(program) - gives, 0), tuple(ways)
    return found


def _way(program: Program, policy: Any) -> Way:
    forward, backward, _ = split(program, policy)
    values = _values(forward)
    kept = {values[r]: r for r in forward.outputs if r >= 0 and values[r] >= 0}
    time = sum([_time_of(backward, index) for index in range(len(backward.keys))])
    return Way(policy, sum([bytes_of(forward.avals[r]) for r in kept.values()]), peak_bytes(backward), time)


def _measured(stage: Stage, policy: Any) -> Stage:
    """Return a stage with its memory under a policy as measured by XLA."""
    key = ("needs", policy)
    program, count = stage.program, len(stage.program.outputs)
    if key not in program.derived:
        forward, backward, _ = split(program, policy)
        inputs = [leaf(a, None) for a in forward.parameters[: arity(forward)]]
        residuals = [leaf(forward.aval_of(r), None) for r in forward.outputs[count:]]
        seeds = [leaf(program.aval_of(r), None) for r in program.outputs if program.aval_of(r).inexact]
        with tracing.inner() as trace:
            trace.overrides = None
            outputs = run_backward(backward, inputs, residuals, seeds)
            whole = tracing.close(trace, outputs, [*inputs, *seeds, *residuals])
        program.derived[key] = _temporary(forward), _temporary(whole)
    needs, backward_needs = program.derived[key]
    flows = sum([bytes_of(program.parameters[k]) for k, r in enumerate(stage.inputs) if r >= 0])
    ways = [w._replace(needs=backward_needs + flows, measured=True) if w.policy == policy else w for w in stage.ways]
    return stage._replace(needs=needs, ways=tuple(ways))


def _temporary(program: Program) -> int:
    """Return the bytes that a compiled Program needs besides its arguments and results."""
    if program.hosted:
        return peak_bytes(program)
    analysis = _compiled(program).memory_analysis()
    return 0 if analysis is None else int(analysis.temp_size_in_bytes)


def _compiled(program: Program) -> Any:
    return xla.compiled(program.evaluate, [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.parameters[: arity(program)]])


def _values(program: Program) -> list[int]:
    """Return a number for each node, equal for nodes with the same computation, and for a renamed value."""
    numbers: dict[Any, int] = {}
    found: list[int] = []
    for index, (op, attrs, *references) in enumerate(program.keys):
        inputs = [found[r] if r >= 0 else r for r in references]
        renames = (
            Trait.RENAMES in op.traits and inputs and bytes_of(program.aval_of(references[0])) == bytes_of(program.avals[index])
        )
        found.append(inputs[0] if renames else numbers.setdefault((op, attrs, *inputs), index))
    return found


def _time_of(program: Program, index: int) -> float:
    """Estimate the time of a node, in FLOPs."""
    op, attrs, *_ = program.keys[index]
    if isinstance(op, StructuredOp):
        return sum([trips * _time_of(inner, i) for inner, trips in op.runs(attrs) for i in range(len(inner.keys))])
    return 0.0 if Trait.RENAMES in op.traits else flops(program, index) + FLOPS_PER_BYTE * bytes_of(program.avals[index])


def _said(count: float) -> str:
    """Return a number of bytes, rounded up, in the notation of a budget."""
    size, unit = next(((n, u) for n, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if count >= n), (1.0, "B"))
    return f"{math.ceil(10 * count / size) / 10:g} {unit}"
