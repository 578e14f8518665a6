"""Plans for the backward pass of a Program within a memory budget: which values are kept, which are recomputed, and how often.

The Program is cut after values on which all later ones depend. For a chain of such stages there is an optimal plan, if kept
values stay until they are read: Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, "Optimal checkpointing for heterogeneous
chains" (2019), theorem 1. A stage may keep some of its values, chosen by the greedy method of `recomputed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from gradtape._src.autodiff.backward import differentiable_parts, vjp_program
from gradtape._src.autodiff.jacobian import peak_bytes
from gradtape._src.control.programs import part
from gradtape._src.core.engine import engine, stages as writing, tracing
from gradtape._src.core.platform import memory, xla
from gradtape._src.core.programs.program import Node, Program, memoized
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


class Again(NamedTuple):
    """A step of a plan that runs the stages before `until` again in the backward pass, by a `plan` of their own."""

    until: int
    plan: Plan


Plan = list[Way | Again]  # the steps for a chain of stages: a way to differentiate the next stage, or several that run again


def _placed(plan: Plan, first: int) -> Iterator[tuple[Way | Again, int, int]]:
    """Yield the steps of a plan whose first stage is `first`, with the first stage of each and the one behind its last."""
    for step in plan:
        end = step.until if isinstance(step, Again) else first + 1
        yield step, first, end
        first = end


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

    def plan(self, budget: float) -> Plan | None:
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

    def _measure(self, plan: Plan, first: int) -> bool:
        """Measure the stages of a plan that are only estimated, by XLA; return whether there were any."""
        found = False
        for step, at, _ in _placed(plan, first):
            if isinstance(step, Again):
                found |= self._measure(step.plan, at)
            elif not step.measured:
                program = self.stages[at].program
                self.stages = [_measured(s, step.policy) if s.program is program else s for s in self.stages]
                found = True
        return found

    def program_of(self, plan: Plan) -> Program:
        """Return the Program whose gradient follows a plan."""
        program = self.program
        return self._made(plan, 0, list(range(-1, -1 - arity(program), -1)), program.outputs)

    def _made(self, plan: Plan, first: int, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
        """Return the Program of a plan's stages; `inputs` and `outputs` are references of the whole Program."""
        program, count = self.program, arity(self.program)
        parts = [self._part(step, at, end) for step, at, end in _placed(plan, first)]

        def record(*given: Node) -> list[Node]:
            values = {-1 - count - k: engine.constant(c) for k, c in enumerate(program.constants)}
            values |= zip(inputs, given, strict=True)
            for made, taken, results, policy in parts:
                values |= zip(results, recorded(made, [values[r] for r in taken], policy), strict=True)
            return [values[r] for r in outputs]

        return tracing.program_of(record, list(map(program.aval_of, inputs)))

    def _part(self, step: Way | Again, first: int, end: int) -> tuple[Program, list[int], list[int], Any]:
        """Return the Program of a step of a plan, its input and output references, and its policy."""
        if isinstance(step, Way):
            stage = self.stages[first]
            return stage.program, stage.inputs, stage.outputs, step.policy
        made = {r for stage in self.stages[first:end] for r in stage.outputs}
        taken = sorted({r for stage in self.stages[first:end] for r in stage.inputs} - made)
        later = {r for stage in self.stages[end:] for r in stage.inputs} | set(self.program.outputs)
        results = sorted(made & later)
        return self._made(step.plan, first, taken, results), taken, results, "nothing"

    def time(self, plan: Plan, first: int = 0) -> float:
        """Estimate the time of a plan, in FLOPs."""
        time = 0.0
        for step, at, end in _placed(plan, first):
            time += sum([stage.time for stage in self.stages[at:end]])
            time += self.time(step.plan, at) if isinstance(step, Again) else step.time
        return time

    def peak(self, plan: Plan) -> int:
        """Return the peak memory of a plan, in bytes."""
        return self.held + self._peak(plan, 0, len(self.stages))

    def _peak(self, plan: Plan, first: int, end: int) -> int:
        most, stages = 0, self.stages
        for step, at, until in reversed(list(_placed(plan, first))):
            if isinstance(step, Again):
                most = max(_swept(stages, at, until, end), stages[until - 1].gives + most, self._peak(step.plan, at, until))
            else:
                most = step.kept + max(*_kept(stages, at, end, step), most)
        return most


@memoized
def within(program: Program, budget: int) -> tuple[Program, int]:
    """Return a Program whose backward pass stays within `budget` bytes, as its parts are recomputed, and the bytes it needs.

    ValueError if no plan stays within the budget.
    """
    flat = writing.written_out(program)
    if not any(flat.aval_of(r).inexact for r in flat.outputs if r >= 0):
        return program, 0  # nothing is differentiated
    most = peak_bytes(split(flat, "everything")[1])
    if most < LIKELY * budget and (needs := _whole(flat, most)) <= budget:
        return flat, needs
    chains = {tuple(chain.ends): chain for span in reversed(SPANS) for chain in [Chain(flat, span)]}.values()
    plans = [(chain.time(plan), k, chain, plan) for k, chain in enumerate(chains) if (plan := chain.plan(budget)) is not None]
    if plans:
        _, _, chain, plan = min(plans)
    else:
        estimated, _, chain = min([(chain.least(), k, chain) for k, chain in enumerate(chains)])
        plan = chain.plan(estimated)
        assert plan is not None
    made, needs = _adapted(chain, plan, budget)
    if needs > budget:
        raise ValueError(
            f"The backward pass does not fit into memory={_said(budget)}: the least possible is about {_said(needs)}. "
            f"Gradients take {_said(chain.held)} of that. Give so much, or a part of the batch."
        )
    return made, needs


def _adapted(chain: Chain, plan: Plan, budget: int) -> tuple[Program, int]:
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
    kept = tracing.program_of(lambda *given: recorded(program, given, "everything"), program.parameters[: arity(program)])
    derived, _ = vjp_program(kept, *differentiable_parts(kept))
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

    def plan(self, first: int, end: int, slots: int) -> Plan:
        """Return the best plan of a chain for `slots` of memory."""
        plan: Plan = []
        while first < end:
            begin = int(self._begin[first, end][slots])
            if begin < 0:
                way = self._stages[first].ways[-1 - begin]
                plan.append(way)
                first, slots = first + 1, slots - self._slots(way.kept)
            else:
                plan.append(Again(begin, self.plan(first, begin, slots)))
                first, slots = begin, slots - self._slots(self._stages[begin - 1].gives)
        return plan


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


@memoized
def _costs(program: Program) -> tuple[float, int, int, tuple[Way, ...]]:
    """Return the time of a stage, the bytes of its results and of its run, and the ways to differentiate it."""
    gives = sum([bytes_of(program.aval_of(r)) for r in program.outputs])
    most = _way(program, Written(1 << 62))
    ways = [_way(program, Written(int((most.kept - gives) * share))) for share in SHARES]
    ways = [most, *[w for w, less in itertools.pairwise(ways) if less.kept > w.kept]]
    time = sum([_time_of(program, index) for index in range(len(program.keys))])
    return time, gives, max(peak_bytes(program) - gives, 0), tuple(ways)


def _way(program: Program, policy: Any) -> Way:
    forward, backward, _ = split(program, policy)
    values = _values(forward)
    kept = {values[r]: r for r in forward.outputs if r >= 0 and values[r] >= 0}
    time = sum([_time_of(backward, index) for index in range(len(backward.keys))])
    return Way(policy, sum([bytes_of(forward.avals[r]) for r in kept.values()]), peak_bytes(backward), time)


def _measured(stage: Stage, policy: Any) -> Stage:
    """Return a stage with its memory under a policy as measured by XLA."""
    needs, backward_needs = _needs(stage.program, policy)
    flows = sum([bytes_of(stage.program.parameters[k]) for k, r in enumerate(stage.inputs) if r >= 0])
    ways = [w._replace(needs=backward_needs + flows, measured=True) if w.policy == policy else w for w in stage.ways]
    return stage._replace(needs=needs, ways=tuple(ways))


@memoized
def _needs(program: Program, policy: Any) -> tuple[int, int]:
    """Return the bytes that the forward and the backward pass under a policy need, as measured by XLA."""
    forward, backward, _ = split(program, policy)
    inputs, residuals = forward.parameters[: arity(forward)], map(forward.aval_of, forward.outputs[len(program.outputs) :])
    seeds = [of for of in map(program.aval_of, program.outputs) if of.inexact]
    first, behind = len(inputs), len(inputs) + len(seeds)

    def record(*given: Node) -> list[Node]:
        return run_backward(backward, given[:first], given[behind:], given[first:behind])

    return _temporary(forward), _temporary(tracing.program_of(record, [*inputs, *seeds, *residuals]))


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
