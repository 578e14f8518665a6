"""The ways to run a Program: compiled whole, node by node, or in stages around nodes on the host; and the cache of each."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

import jax
import numpy as np

from gradtape._src.core.base import hooks, locks
from gradtape._src.core.engine import compilations, stages, tiers
from gradtape._src.core.engine.stages import Stages
from gradtape._src.core.native import twins
from gradtape._src.core.platform import allocator, arrays, devices, memory, runtime, xla
from gradtape._src.core.programs import faults, guards
from gradtape._src.core.programs.program import ELEMENT, Cache, Executable, Line, Program, precise
from gradtape._src.core.programs.structured import StructuredOp
from gradtape._src.core.values.aval import bytes_of

if TYPE_CHECKING:
    from gradtape._src.core.programs.op import Attributes, Op
    from gradtape._src.core.values.aval import Aval


class Counters:
    """The counters of the engine, for `gradtape.config.cache_info()` and the tests of it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start again from 0."""
        self.runs = self.hits = self.programs = self.kernels = self.node_by_node = self.went_over = 0
        self.most_pending = self.not_on_host = 0


counters = Counters()
logger = logging.getLogger("gradtape")
LACKING = (AttributeError, TypeError, NotImplementedError, KeyError)  # errors of a kernel that NumPy cannot run


programs = Cache(1024)  # fingerprint → Program
kernels = Cache(4096)  # (op, attributes, *input Avals) → the Executable of the op
FEW_BYTES = 1 << 15  # of a Program's values, for which it does not pay to drop them early
eager = False  # whether each op runs at once, by itself: on request, or because each is checked
precision: str | None = None  # precision of float32 products in later runs; None: the device's default
check: Callable[[Program, int, Sequence[Any], Any], None] | None = None  # takes (program, index, inputs, value) of each op
_asked = False


def run_each(run: bool) -> None:
    """Switch running op by op on or off."""
    global eager, _asked
    _asked = run
    eager = _asked or check is not None


def compute_in(wanted: str | None) -> None:
    """Compute float32 products in this precision from now on, by JAX's name for it; None: the device's default."""
    global precision
    precision = wanted


def check_each(looks: Callable[[Program, int, Sequence[Any], Any], None] | None) -> None:
    """Call `looks` after each op from now on; None ends it."""
    global eager, check
    check = looks
    eager = _asked or check is not None


BOUND = 48 << 20  # bytes of code above which a compilation drops older code
TRIM = 256  # compiled nodes after which the compiler's memory is returned to the system
IDLE = 256  # code is idle once this many runs of other code have passed
TRACED = 1 << 16  # compiled nodes after which JAX's unbounded tracing caches (2 kB for each node) are cleared
SHARE = 16  # recompiled code may take the machine's memory divided by this


class Pool:
    """The owners of compiled code, with a bound on their total bytes.

    Code that ran once, or that is idle, is dropped as more is compiled. A Program that is compiled a second time was dropped too
    early: it is kept up to a bound that depends on the machine's memory. So a loop over many shapes compiles each of them twice
    at most.
    """

    def __init__(self) -> None:
        self.runs = self._untrimmed = self._traced = 0
        self._owners: list[ref[Executable]] = []
        self._lock = locks.Lock()

    @property
    def bytes(self) -> int:
        """The total bytes of compiled code."""
        return sum([owner.code_bytes for owner in self.owners()])

    def owners(self) -> list[Executable]:
        """Return the owners that hold code, in the order of their last run."""
        alive = {id(owner): owner for reference in list(self._owners) if (owner := reference()) is not None}
        return sorted([owner for owner in alive.values() if owner.compiled is not None], key=lambda owner: owner.ran)

    def compile(
        self, owner: Executable, function: Callable[..., Any], arguments: Sequence[Any], options: Any = None, op: str = ""
    ) -> Any:
        """Compile `function` for arrays like `arguments`, and drop other code above the bound.

        It is compiled ahead of time: `jax.jit` would keep its MLIR module, which is four times the size of the code.
        """
        runtime.watch()
        return runtime.to_its_end(self._compile, owner, function, arguments, options, op)

    def _compile(self, owner: Executable, function: Callable[..., Any], arguments: Sequence[Any], options: Any, op: str) -> Any:
        begun = compilations.clock()
        code = xla.compiled(function, arguments, options)
        owner.compiled = compiled = xla.callable_for(code, arguments)
        owner.needs = memory.needed(code)
        owner.builds += 1
        compilations.note(owner, compilations.clock() - begun, op)
        owner.born = owner.ran = self.runs + 1
        with self._lock:
            self._owners.append(ref(owner))
            self._make_room(owner)
            self._traced, self._untrimmed = self._traced + owner.size, self._untrimmed + owner.size
            forget, trim = self._traced >= TRACED, self._untrimmed >= TRIM
            if forget:
                self._traced = 0
            if trim:
                self._untrimmed = 0
        if forget:
            jax.clear_caches()
        if trim and not allocator.tuned:
            allocator.give_back()
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
        self._owners = [ref(owner) for owner in owners if owner.compiled is not None]

    def clear(self) -> None:
        """Drop all code."""
        for owner in self.owners():
            owner.compiled = None
        self._owners = []


pool = Pool()


def by_placement(owner: Executable, function: Callable[..., Any], options: dict[str, Any] | None = None) -> bool:
    """Let JAX compile for each placement of the arguments; return False if it did so before.

    Code compiled ahead of time refuses arguments on other devices.
    """
    ahead = not isinstance(owner.compiled, xla.ByPlacement)
    if ahead:
        owner.compiled = xla.ByPlacement(function, options)
    return ahead


def execute(program: Program, arguments: Sequence[Any], again: bool = False) -> tuple[Any, ...]:
    """Run a Program on arrays: compiled as a whole, or node by node while that is cheaper (rule 7).

    A Program with nodes on the host, or with very many parameters and outputs, runs in stages. On a GPU, so does a Program
    whose ops fusion would repeat many times.

    `again`: the explainer runs a recorded trace again. All its values are results, so a large one is never compiled whole.
    """
    runtime.check_running()
    if precision is not None:
        program = program.in_precision(precision)
    compiled = program.compiled if check is None else None
    if program.trials and compiled is not None:
        compiled = _tried(program)
    if compiled is None and program.staged and (staged := stages.of(program, intern)) is not None:
        return _staged(staged, arguments)
    large = program.bytes > memory.CHECKED
    try:
        if compiled is None:
            runtime.watch()
            program.runs += 1
            where = tiers.place(program, arguments)
            if not eager and not again and tiers.in_pieces(program, where):
                return _staged(stages.pieces_of(program, intern), arguments)
            may_cost = math.inf if eager else tiers.allowance(program, kernels, again, where)
            if hooks.clients.together is not None and devices.elsewhere(arguments):
                may_cost = 0.0
            if may_cost and (made := _node_by_node(program, arguments, may_cost, again, where)) is not None:
                return made
            counters.programs += 1
            program.trials = tiers.trials(program, where)
            options = tiers.options(program, where, quick=program.trials > 0)
            if where != "cpu" and not program.trials:
                jax.block_until_ready(arguments)  # the compiler times kernels on the device, in its memory
            compiled = pool.compile(program, _code(program), arguments, options)
        pool.runs = program.ran = pool.runs + 1
        waits = large and memory.check(program.needs)
        if hooks.clients.together is not None and devices.elsewhere(arguments):
            what = f"{program.described}, for integers with the checksum {devices.checksum(arguments):08x}"
            values = cast(tuple[Any, ...], hooks.clients.together(what, _waiting, compiled, arguments))
        elif program.endless:
            values = runtime.call(_waiting, (compiled, arguments))
        else:
            values = compiled(*arguments)
            values = jax.block_until_ready(values) if waits else values
    except (TypeError, ValueError) as error:
        if by_placement(program, _code(program), tiers.options(program, tiers.place(program, arguments))):
            return execute(program, arguments, again)
        return execute(program, devices.brought_together(arguments, error), again)
    except jax.errors.JaxRuntimeError as error:
        raise memory.translated(error) from None
    return values if not program.guarded else _looked_at(program, arguments, values)


def _code(program: Program) -> Callable[..., tuple[Any, ...]]:
    """Return the function to compile for a Program; with checks, it also returns the number of the first failure."""
    return (lambda *arguments: guards.evaluate(program, arguments)) if program.guarded else program.evaluate


def _looked_at(program: Program, arguments: Sequence[Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the results of a compiled Program with checks; raise the error of the first check that failed.

    A second run, node by node, makes the error. Checks that the host can evaluate do not wait for the Program's results.
    """
    if not settled(program, arguments) and (number := int(values[-1])):
        index = guards.place_of(program, number)
        if hooks.clients.together is None or not devices.elsewhere(arguments):
            where = tiers.place(program, arguments)
            interpret(program.sliced(program.needed([index]), [index]), arguments, where, _Apart(0.0, math.inf, where))
        message = "It cannot take its values. They are at the limit of what it takes, or on several processes."
        raise faults.failed(program.keys[index][0], message, program.lines[index] if program.lines else faults.NOWHERE)
    return values[:-1]


def settled(program: Program, arguments: Sequence[Any]) -> bool:
    """Return whether the host can evaluate all checks of a Program, by a few ops on integers, and all of them hold.

    Thus the labels and indices of a batch are checked without waiting for the training step. An unknown argument is None.
    """
    checks = stages.steered(program)
    return checks is not None and hold(checks, arguments)


def hold(checks: stages.Checks, arguments: Sequence[Any]) -> bool:
    """Return whether the values that checks need are in this process, and all checks hold; one run computes what they look at."""
    part = checks.part
    if any((value := arguments[i]) is None or not getattr(value, "is_fully_addressable", True) for i in part.reads):
        return False
    if part.whole or part.few:
        values = iter(_on_host(part, arguments))
    else:
        values = map(np.asarray, execute(part.program, [arguments[i] for i in part.reads]))
    return all(guards.refused(op, attrs, [next(values) for _ in references]) is None for op, attrs, references in checks.made)


def _on_host(part: stages.Part, arguments: Sequence[Any]) -> list[Any]:
    """Return the values of a part of a Program, node by node on NumPy."""
    program, hosted = part.program, part.hosted
    leaves: tuple[Any, ...] = (*[np.asarray(arguments[i]) for i in part.reads], *program.constants)
    given: list[Any] = [None] * len(leaves)
    values: list[Any] = []
    with arrays.on_host():
        while (index := len(values)) < len(hosted):
            if hosted[index]:
                run_hosted(program.keys, program.avals, hosted, (), values, leaves, given, len(hosted))
            else:
                _, (place,), reference = program.keys[index]
                values.append(values[reference][place])
    return [values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]


def _tried(program: Program) -> Any:
    """Count a run of quickly compiled code and return the code; None when the Program is due to be compiled for good."""
    program.trials -= 1
    if not program.trials:
        program.compiled = None
    return program.compiled


def _node_by_node(program: Program, arguments: Sequence[Any], may_cost: float, again: bool, where: str) -> tuple[Any, ...] | None:
    """Run a Program node by node on the platform `where`; None if a long loop makes it cheaper to compile and start again."""
    counters.node_by_node += 1
    costs = tiers.costs(program, where)
    loops = None if again else _Apart(costs.own, may_cost, where)
    hosted = check is None and tiers.all_hosted(program, where)
    try:
        with arrays.on_host() if hosted else contextlib.nullcontext():
            values = interpret(program, arguments, where, loops)
    except GoesOn:
        counters.went_over += 1
        return None
    if loops is not None and not eager:
        tiers.spend(program, loops.spent - costs.least)
    return values


def _waiting(compiled: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
    values: tuple[Any, ...] = jax.block_until_ready(compiled(*arguments))
    return values


def _staged(staged: Stages, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Run a Program stage by stage: Programs, and single nodes that run on the host."""
    values: dict[int, Any] = {-1 - k: a for k, a in enumerate((*arguments, *staged.constants))}
    for what, inputs, outputs, done in staged.made:
        given = [values[r] for r in inputs]
        if type(what) is Program:
            values.update(zip(outputs, execute(what, given), strict=True))
        else:
            op, attrs, line = what
            values[outputs[0]] = run_outside(op, attrs, given, line)
        for reference in done:
            del values[reference]
    return tuple([values[r] for r in staged.outputs])


class OnHost:
    """The Interpreter that runs each body as a Program of its own, on arrays."""

    residuals = True

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run a body."""
        return execute(program, inputs)

    def holds(self, program: Program, inputs: Sequence[Any]) -> bool:
        """Run a condition."""
        return bool(self.call(program, inputs)[0])

    def number(self, value: Any) -> Any:
        """Return a scalar as a Python number."""
        return np.asarray(value).item()

    def extent(self, value: Any) -> int:
        """Return how many rows a value has."""
        return int(value.shape[0])

    def row(self, value: Any, at: int) -> Any:
        """Return one row of an array."""
        return np.asarray(value)[at, ...]

    def stacked(self, rows: Sequence[Any], of: Aval, count: int) -> Any:
        """Stack rows into one array of `count` rows; missing rows at the end are zeros or empty strings."""
        made = np.zeros((count, *of.shape), of.dtype)
        if of.dtype.hasobject:
            made.fill(b"")
        for at, row in enumerate(rows):
            made[at, ...] = row
        return arrays.frozen(made)

    def constant(self, number: int) -> Any:
        """Return an int64 scalar."""
        return np.array(number, np.int64)


ON_HOST = OnHost()


class GoesOn(Exception):
    """Raised when a loop, run node by node, has cost as much as compiling it."""


class _Apart(OnHost):
    """The Interpreter that runs bodies node by node; it raises GoesOn once their cost exceeds `may_cost`."""

    def __init__(self, spent: float, may_cost: float, where: str) -> None:
        self.spent, self.may_cost, self.where = spent, may_cost, where

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run a body."""
        self.spent += tiers.call_cost(program) + tiers.costs(program, self.where).own
        if self.spent > self.may_cost:
            raise GoesOn
        return interpret(program, inputs, self.where, self)


def run_outside(op: Op, attrs: Attributes, inputs: Sequence[Any], line: Line = faults.NOWHERE) -> Any:
    """Run an op outside of XLA, because it or a Program inside of it has effects or strings."""
    if op.guards:
        _verify(op, attrs, inputs, line)
    if isinstance(op, StructuredOp):
        return op.interpret(ON_HOST, attrs, inputs)
    assert op.host is not None
    return op.host(*inputs, **dict(zip(op.attributes, attrs, strict=True)))


def interpret(program: Program, arguments: Sequence[Any], where: str, loops: OnHost | None = None) -> tuple[Any, ...]:
    """Run each node of a Program on NumPy, or by its kernel for the platform `where`; `loops` runs branches and loops."""
    leaves = (*arguments, *program.constants)
    given: list[Any] = [None] * len(leaves)
    large = program.bytes > memory.CHECKED
    values: list[Any] = []
    hosted, ends = tiers.costs(program, where).hosted, program.ends if program.bytes > FEW_BYTES else ()
    count = len(program.keys)
    while (index := len(values)) < count:
        op, attrs, *references = program.keys[index]
        inputs = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
        if op.guards:
            _verify(op, attrs, inputs, program.lines[index] if program.lines else faults.NOWHERE)
        if hosted[index]:
            _run_on_numpy(program, hosted, ends, values, leaves, given, count if check is None else index + 1)
            if check is not None:
                check(program, index, inputs, values[index])
            continue
        if op.is_call:
            values.append(interpret(attrs[0], inputs, where, loops))
        elif loops is not None and isinstance(op, StructuredOp):
            values.append(op.interpret(loops, attrs, inputs))
        elif op is ELEMENT:
            values.append(inputs[0][attrs[0]])
        else:
            size = bytes_of(program.avals[index]) if large else 0
            waits = size > memory.CHECKED and memory.check(size)
            value = _run_compiled(op, attrs, tuple([program.aval_of(r) for r in references]), inputs)
            value = jax.block_until_ready(value) if waits else value
            values.append(value)
            if check is not None:
                check(program, index, inputs, value)
        for r in ends[index] if ends else ():
            values[r] = None
    return tuple([values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs])


def _run_on_numpy(
    program: Program,
    hosted: tuple[bool, ...],
    ends: tuple[tuple[int, ...], ...],
    values: list[Any],
    leaves: tuple[Any, ...],
    given: list[Any],
    stop: int,
) -> None:
    """Run nodes as `run_hosted` does; compile a node whose kernel needs a function that only JAX has."""
    try:
        with arrays.on_host():
            run_hosted(program.keys, program.avals, hosted, ends, values, leaves, given, stop)
    except LACKING as error:
        op, attrs, *references = program.keys[len(values)]
        inputs = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
        values.append(_in_its_place(error, op, attrs, [program.aval_of(r) for r in references], inputs))
        for r in ends[len(values) - 1] if ends else ():
            values[r] = None


@twins.in_c
def run_hosted(
    keys: tuple[Any, ...],
    avals: tuple[Any, ...],
    hosted: tuple[bool, ...],
    ends: tuple[tuple[int, ...], ...],
    values: list[Any],
    leaves: tuple[Any, ...],
    given: list[Any],
    stop: int,
) -> None:
    """Run nodes on NumPy and append their values to `values`; the thread's kernels must be in NumPy mode already.

    It begins with the first node that was not run. It ends at `stop`, or before a later node that is checked or not `hosted`.
    `given` caches the leaves as host arrays, each from its first use on. A value that is not read again, by `ends`, becomes None:
    the next one then takes its memory, which is in the caches and need not be asked from the system. Empty `ends` keep all.
    """
    for index in range(first := len(values), stop):
        op, attrs, *references = keys[index]
        if index > first and (op.guards or not hosted[index]):
            return
        for r in references:
            if r < 0 and given[-1 - r] is None:
                given[-1 - r] = arrays.given(leaves[-1 - r])
        inputs = [values[r] if r >= 0 else given[-1 - r] for r in references]
        values.append(arrays.run(op, attrs, inputs, avals[index]))
        for r in ends[index] if ends else ():
            values[r] = None


def _verify(op: Op, attrs: Attributes, inputs: Sequence[Any], line: Line) -> None:
    faults.verify(op, attrs, [np.asarray(value) for value in guards.checked(op, inputs)], line)


def run_kernel(op: Op, attrs: Attributes, avals: tuple[Any, ...], inputs: Sequence[Any]) -> Any:
    """Run one op by itself, on the host or compiled; `avals` are those of its inputs."""
    if tiers.hosts(op, avals, inputs):
        try:
            return arrays.run(op, attrs, inputs, op.avals.get((attrs, *avals)) or op.result(avals, attrs))
        except LACKING as error:
            return _in_its_place(error, op, attrs, avals, inputs)
    return _run_compiled(op, attrs, avals, inputs)


def from_values(node: Any) -> Any:
    """Compute a pending node by one op on the host, if all its inputs have values; else return None.

    Running a Program of one node would take twice as long.
    """
    op, attrs, *_ = node.key
    values = [n.value for n in node.inputs]
    if op is ELEMENT and values[0] is not None:
        return values[0][attrs[0]]
    if not op.hosted or eager or any(v is None for v in values):
        return None
    avals = tuple([n.aval for n in node.inputs])
    return run_kernel(op, attrs, avals, values) if tiers.hosts(op, avals, values) else None


def count(node: Any, most: int) -> bool:
    """Compute a pending node on the host, if at most `most` ops on integers lead to it from values; return whether they do.

    The nodes in between keep their values. Thus a batch whose columns index many tables is split only once.
    """
    trace, stack = node.trace, [node]
    needed: dict[int, tuple[Any, stages.Part | None]] = {}
    while stack:
        current = stack.pop()
        if current.value is None and current.index not in needed:
            source = current.inputs[0] if current.op is ELEMENT else None
            if current.trace is not trace or len(needed) == most or not stages.is_whole(current.aval):
                return False
            if source is None or source.value is not None or not source.op.is_call:
                part = None
                stack.extend(current.inputs)
            elif (part := stages.of_integers(source.attrs[0], current.attrs[0])) is None:
                return False
            else:
                stack.extend([source.inputs[i] for i in part.reads])
            needed[current.index] = current, part
    for _, (current, part) in sorted(needed.items()):
        given = [n.value for n in current.inputs[0].inputs] if part is not None else []
        current.value = from_values(current) if part is None else _on_host(part, given)[0]
        if current.value is None:
            return False
        trace.early.append(current)
    return True


def _in_its_place(error: Exception, op: Op, attrs: Attributes, avals: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Compile and run an op whose kernel needs a function that NumPy lacks; count it, and log a warning."""
    counters.not_on_host += 1
    logger.warning(
        "%s does not run on NumPy (%s: %s), so it was compiled: please report this.", op.type, type(error).__name__, error
    )
    with arrays.on_device():
        return _run_compiled(op, attrs, tuple(avals), inputs)


def _run_compiled(op: Op, attrs: Attributes, avals: tuple[Any, ...], inputs: Sequence[Any]) -> Any:
    """Run one op by itself, compiled."""
    op = op.plain
    key = (op, attrs, *avals) if precision is None else (op, attrs, *avals, precision)
    kernel: Executable = kernels.find(key) or kernels.keep(key, Executable(1))
    compiled = kernel.compiled
    if compiled is None:
        counters.kernels += 1
        compiled = pool.compile(kernel, _kernel(op, attrs), inputs, tiers.options_of_kernel(inputs), op.type)
    pool.runs = kernel.ran = pool.runs + 1
    try:
        return compiled(*inputs)
    except (TypeError, ValueError):
        if by_placement(kernel, _kernel(op, attrs), tiers.options_of_kernel(inputs)):
            return kernel.compiled(*inputs)
        raise


def _kernel(op: Op, attrs: Attributes) -> Callable[..., Any]:
    """Return the function to compile for an op, in the precision of this moment."""
    wanted = precision

    def kernel(*inputs: Any) -> Any:
        with precise(wanted):
            return op.run(inputs, attrs)

    return kernel


def intern(program: Program) -> Program:
    """Return the earliest Program with the same computation and lines, so that it is compiled once."""
    constants = tuple([(c.shape, c.dtype, tuple(c.flat) if c.dtype.hasobject else c.tobytes()) for c in program.constants])
    lines = tuple([(id(code), offset) for code, offset in program.lines])  # a cached Program keeps its code alive: ids are unique
    return first_made(program, constants, lines)


def first_made(program: Program, *more: Any) -> Program:
    """Return the earliest Program with this structure and the same `more`."""
    fingerprint = (program.keys, program.parameters, program.outputs, *more)
    found: Program = programs.find(fingerprint) or programs.keep(fingerprint, program)
    return found
