"""The ways to run a Program: compiled whole, node by node, or in stages around nodes on the host; and the cache of each."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np

from gradtape._src.core import arrays, devices, hooks, interruptible, memory, runtime, stages, tiers, tuning
from gradtape._src.core.aval import bytes_of
from gradtape._src.core.executables import Executable, by_placement, pool
from gradtape._src.core.program import ELEMENT, Program
from gradtape._src.core.stages import Stages
from gradtape._src.core.structured import StructuredOp, is_call

if TYPE_CHECKING:
    from gradtape._src.core.aval import Aval
    from gradtape._src.core.op import Attributes, Op


class Counters:
    """The counters of the engine, for `gradtape.config.cache_info()` and the tests of it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start again from 0."""
        self.runs = self.hits = self.programs = self.kernels = self.node_by_node = self.went_over = self.plans = 0
        self.most_pending = self.not_on_host = 0

    def planned(self) -> None:
        """Count a plan of a gradient."""
        self.plans += 1


counters = Counters()
logger = logging.getLogger("gradtape")
LACKING = (AttributeError, TypeError, NotImplementedError, KeyError)  # what a kernel raises for what NumPy's side does not have
caches: list[Cache] = []


class Cache(OrderedDict[Any, Any]):
    """A table of bounded size that forgets what was not used for longest."""

    def __init__(self, bound: int) -> None:
        super().__init__()
        caches.append(self)
        self.bound = bound
        self.lock = threading.Lock()

    def find(self, key: Any) -> Any:
        """Return the value under `key`, or None. It becomes the most recent, once the table is half full: to hash a trace
        takes long.
        """
        value = self.get(key)
        if value is not None and 2 * len(self) > self.bound:
            with contextlib.suppress(KeyError):
                self.move_to_end(key)
        return value

    def keep(self, key: Any, value: Any) -> Any:
        """Enter `value` and return it."""
        with self.lock:
            self[key] = value
            while len(self) > self.bound:
                self.popitem(last=False)
        return value


programs = Cache(1024)  # fingerprint → Program
kernels = Cache(4096)  # (op, attributes, *input Avals) → the Executable of the op
eager = False  # whether each op runs at once, by itself: it was asked for, or each is checked
check: Callable[[Program, int, Sequence[Any], Any], None] | None = None  # sees `(program, index, inputs, value)` of each op
_asked = False


def run_each(run: bool) -> None:
    """Switch running op by op on or off."""
    global eager, _asked
    _asked = run
    eager = _asked or check is not None


def check_each(looks: Callable[[Program, int, Sequence[Any], Any], None] | None) -> None:
    """Let `looks` see each op that runs from now on; None ends that."""
    global eager, check
    check = looks
    eager = _asked or check is not None


def execute(program: Program, arguments: Sequence[Any], again: bool = False) -> tuple[Any, ...]:
    """Run a Program on arrays; compiled whole, or at first sight node by node where that is cheaper (rule 7).

    One that has nodes on the host, or is wide, runs in stages.

    `again`: it is a record that the explainer runs again. All its values are results, so a large one is never compiled whole.
    """
    runtime.check_running()
    compiled = program.compiled if check is None else None
    if compiled is None and program.staged and (staged := stages.of(program, intern)) is not None:
        return _staged(staged, arguments)
    large = program.bytes > memory.LARGE
    try:
        if compiled is None:
            interruptible.watch()
            program.runs += 1
            may_cost = math.inf if eager else tiers.allowance(program, kernels, again)
            if hooks.clients.together is not None and devices.elsewhere(arguments):
                may_cost = 0.0
            if may_cost and (made := _node_by_node(program, arguments, may_cost, again)) is not None:
                return made
            counters.programs += 1
            compiled = pool.compile(program, program.evaluate, arguments, tuning.options(program))
            if large:
                program.derived["needed"] = memory.needed(compiled)
        pool.runs = program.ran = pool.runs + 1
        if large:
            memory.check(program.derived.get("needed", 0))
        if hooks.clients.together is not None and devices.elsewhere(arguments):
            return cast(tuple[Any, ...], hooks.clients.together(program.described, _waiting, compiled, arguments))
        if program.endless:
            return interruptible.call(_waiting, (compiled, arguments))
        values = compiled(*arguments)
        return jax.block_until_ready(values) if large else values
    except (TypeError, ValueError) as error:
        if by_placement(program, program.evaluate, tuning.options(program)):
            return execute(program, arguments, again)
        return execute(program, devices.brought_together(arguments, error), again)
    except jax.errors.JaxRuntimeError as error:
        raise memory.translated(error) from None


def _node_by_node(program: Program, arguments: Sequence[Any], may_cost: float, again: bool) -> tuple[Any, ...] | None:
    """Run a Program node by node; None if a loop in it goes on for so long that it has to be compiled, from its beginning."""
    counters.node_by_node += 1
    costs = tiers.costs(program)
    loops = None if again else _Apart(costs.own, may_cost)
    hosted = check is None and tiers.all_hosted(program)
    try:
        with arrays.on_host() if hosted else contextlib.nullcontext():
            values = interpret(program, arguments, loops)
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
            op, attrs = what
            values[outputs[0]] = run_outside(op, attrs, given)
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
        """Return rows as one array; those that are missing at the end are zeros, or empty strings."""
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
    """A loop has cost what compiling it would."""


class _Apart(OnHost):
    """The Interpreter that runs bodies node by node, until `spent` is more than they may cost."""

    def __init__(self, spent: float, may_cost: float) -> None:
        self.spent, self.may_cost = spent, may_cost

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run a body."""
        self.spent += tiers.call_cost(program) + tiers.costs(program).own
        if self.spent > self.may_cost:
            raise GoesOn
        return interpret(program, inputs, self)


def run_outside(op: Op, attrs: Attributes, inputs: Sequence[Any]) -> Any:
    """Run an op that has effects or strings, or holds what has, outside of XLA."""
    if isinstance(op, StructuredOp):
        return op.interpret(ON_HOST, attrs, inputs)
    assert op.host is not None
    return op.host(*inputs, **dict(zip(op.attributes, attrs, strict=True)))


def interpret(program: Program, arguments: Sequence[Any], loops: OnHost | None = None) -> tuple[Any, ...]:
    """Run a Program node by node, each on NumPy or with its own compiled kernel; branches and loops by `loops`, if given."""
    leaves = (*arguments, *program.constants)
    large = program.bytes > memory.LARGE
    values: list[Any] = []
    hosted = tiers.costs(program).hosted
    for index, (op, attrs, *references) in enumerate(program.keys):
        inputs = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
        if hosted[index]:
            try:
                value = arrays.run(op, attrs, inputs, program.avals[index])
            except LACKING as error:
                value = _in_its_place(error, op, attrs, [program.aval_of(r) for r in references], inputs)
            values.append(value)
            if check is not None:
                check(program, index, inputs, value)
        elif is_call(op):
            values.append(interpret(attrs[0], inputs, loops))
        elif loops is not None and isinstance(op, StructuredOp):
            values.append(op.interpret(loops, attrs, inputs))
        elif op is ELEMENT:
            values.append(inputs[0][attrs[0]])
        else:
            size = bytes_of(program.avals[index]) if large else 0
            if size > memory.LARGE:
                memory.check(size)
            value = _run_compiled(op, attrs, tuple([program.aval_of(r) for r in references]), inputs)
            value = jax.block_until_ready(value) if size > memory.LARGE else value
            values.append(value)
            if check is not None:
                check(program, index, inputs, value)
    return tuple([values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs])


def run_kernel(op: Op, attrs: Attributes, avals: tuple[Any, ...], inputs: Sequence[Any]) -> Any:
    """Run one op by itself, on the host or compiled; `avals` are those of its inputs."""
    if tiers.hosts(op, avals):
        try:
            return arrays.run(op, attrs, inputs, op.avals.get((attrs, *avals)) or op.result(avals, attrs))
        except LACKING as error:
            return _in_its_place(error, op, attrs, avals, inputs)
    return _run_compiled(op, attrs, avals, inputs)


def _in_its_place(error: Exception, op: Op, attrs: Attributes, avals: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Run an op compiled whose kernel failed on NumPy, where something of JAX's is missing; it counts, and the log says so."""
    counters.not_on_host += 1
    logger.warning(
        "%s does not run on NumPy (%s: %s), so it was compiled: please report this.", op.type, type(error).__name__, error
    )
    with arrays.on_device():
        return _run_compiled(op, attrs, tuple(avals), inputs)


def _run_compiled(op: Op, attrs: Attributes, avals: tuple[Any, ...], inputs: Sequence[Any]) -> Any:
    """Run one op by itself, compiled."""
    key = (op, attrs, *avals)
    kernel: Executable = kernels.find(key) or kernels.keep(key, Executable(1))
    compiled = kernel.compiled
    if compiled is None:
        counters.kernels += 1
        compiled = pool.compile(kernel, lambda *inputs: op.run(inputs, attrs), inputs)
    pool.runs = kernel.ran = pool.runs + 1
    try:
        return compiled(*inputs)
    except (TypeError, ValueError):
        if by_placement(kernel, lambda *inputs: op.run(inputs, attrs)):
            return kernel.compiled(*inputs)
        raise


def intern(program: Program) -> Program:
    """Return the first made Program of the same computation at the same lines, so that it is compiled once."""
    constants = tuple([(c.shape, c.dtype, tuple(c.flat) if c.dtype.hasobject else c.tobytes()) for c in program.constants])
    lines = tuple([(id(code), offset) for code, offset in program.lines])  # what is kept holds its code, so no id comes twice
    return first_made(program, constants, lines)


def first_made(program: Program, *more: Any) -> Program:
    """Return the first made Program of this structure, and of the same `more`."""
    fingerprint = (program.keys, program.parameters, program.outputs, *more)
    found: Program = programs.find(fingerprint) or programs.keep(fingerprint, program)
    return found
