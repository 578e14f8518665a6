"""The intermediate form: a `Trace` is being recorded, a `Program` is closed and can be run, called, differentiated.

A *reference* is an int: `i >= 0` is the value of node `i`, `-1 - k` is leaf (of a Program: parameter) `k`.
A *key* is `(op, attribute values, *references)`: the computation of a node, without values.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, TypeVarTuple

import jax
import numpy as np

from gradtape._src.core.base import locks
from gradtape._src.core.native import twins
from gradtape._src.core.platform import runtime, xla
from gradtape._src.core.programs import guards
from gradtape._src.core.programs.op import Attributes, Op, define, has_strings
from gradtape._src.core.programs.structured import CALL_OF, Interpreter, StructuredOp, arity, whole
from gradtape._src.core.values.aval import bytes_of

if TYPE_CHECKING:
    from types import CodeType
    from weakref import ref

    from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
    from gradtape._src.core.tensors.variable import Variable
    from gradtape._src.core.values.aval import Aval

    class Scope:
        """The state of a function, branch, loop body or graph under trace, besides its ops.

        `draws` are the random ops of a function or graph. `trip` is the number of a loop's trip; `counted` says whether the loop
        needs it. `unseeded` counts the random ops without a seed. See `ops/random/seeds`.
        """

        draws: Any
        trip: Node | None
        counted: bool
        unseeded: int

        def read(self, variable: Variable) -> Node: ...
        def hold(self, variable: Variable, node: Node) -> None: ...
        def made(self, variable: Variable) -> None: ...
        def initial(self, node: Node) -> Any: ...
        def guarded(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Op: ...
        def differentiated(self, targets: Sequence[Node]) -> None: ...


T = TypeVar("T")
Rest = TypeVarTuple("Rest")
Key = tuple[Any, ...]  # (Op, Attributes, *int)
# XLA's time to compile a program grows with the square of its parameters and outputs: 10 s at `WIDE`, minutes at 10⁴.
WIDE = 4096  # number of parameters and outputs from which a Program is cut
# Host memory of a compiled program, as measured: 0.24 to 0.8 MB with up to 10 nodes, 2 to 5 MB with 500.
PROGRAM_BYTES = 300_000
NODE_BYTES = 10_000
Lines = tuple[list[Any], list[int]]  # of nodes: (code objects, offsets)
Line = tuple[Any, int]  # (the user's code object or None, the offset of an instruction in it)


class Node:
    """A value in a trace. A leaf has a `value`; others have a `key` and `inputs` (nodes, never handles).

    `trace` and `index` say where it was recorded, `code` and `offset` at which instruction of the user's code. `handle` is a weak
    reference to the user's Tensor. If a node has run but its value did not leave the program, `key` and `inputs` remain, and it
    can be computed again. `origin` is its name in the journal, once it has run. The C twins set each slot, so a new slot must be
    added there, too.
    """

    __slots__ = ("aval", "code", "handle", "index", "inputs", "key", "offset", "origin", "trace", "value")
    key: Key
    inputs: Any  # a tuple of Nodes; None in a leaf, and where the value is known
    aval: Any  # an Aval; a tuple of Avals where the op has several outputs
    trace: Any  # a Trace; None in a leaf, and where the value is known
    index: int
    code: CodeType | None
    offset: int
    value: Any  # a JAX or NumPy array (a tuple of them), or None
    handle: Callable[[], Any] | None
    origin: tuple[int, int] | None

    def __init__(
        self,
        key: Key,
        inputs: tuple[Node, ...] | None,
        aval: Any,
        trace: Trace | None,
        index: int,
        code: CodeType | None,
        offset: int,
    ) -> None:
        self.key = key
        self.inputs = inputs
        self.aval = aval
        self.trace = trace
        self.index = index
        self.code = code
        self.offset = offset
        self.value = self.handle = self.origin = None

    @property
    def op(self) -> Op:
        """The Op; None for a leaf."""
        key = self.key
        return key[0] if key[0] is not RAN else key[1][0]

    @property
    def attrs(self) -> Attributes:
        """The values of the op's attributes."""
        key = self.key
        return key[1] if key[0] is not RAN else key[1][1]


_serial = itertools.count(1)  # 0 stands for leaves, in the journal
LEAF_KEY: Key = (None, ())
NUMBER = -2  # `index` of a leaf made from a Python number: each use becomes a separate parameter
USED = -3  # `index` of a leaf whose NumPy array was an argument before
INSIDE = -4  # `index` of a constant that was made while a function was traced


def leaf(aval: Any, value: Any, index: int = -1) -> Node:
    """Create a leaf: a node that has a value already."""
    node = Node(LEAF_KEY, None, aval, None, index, None, 0)
    node.value = value
    return node


@twins.in_c
def leaves(avals: Sequence[Any], values: Sequence[Any]) -> list[Node]:
    """Create a leaf for each of these values."""
    return [leaf(aval, value) for aval, value in zip(avals, values, strict=True)]


@twins.in_c
def lines_of(nodes: list[Node], last: Lines | None = None) -> Lines:
    """Return the user's lines of nodes: code objects and instruction offsets. If they equal `last`, return that object."""
    lines = [n.code for n in nodes], [n.offset for n in nodes]
    return last if last == lines else lines


class Trace:
    """A record that is still being written: nodes, and the leaves that they use.

    - `reads`: the variables read under a tape, as `(position, variable, node)`.
    - `gradients`: the gradient functions of single nodes (`custom_gradient`).
    - `assigned`: the variables assigned, with their previous values.
    - `recomputed`: pairs of a node of another trace and the node here that computes it again.
    - `early`: the nodes that have values before the trace has run.
    - `tapes`: weak references to the tapes that record here; for them `inputs` keeps the nodes' inputs after a run.
    - `overrides`: maps an op to the op with the gradient in force.
    - `parent`: the surrounding trace, whose nodes are leaves here.
    - `constants`: the leaves of inexact dtype that were made here.
    - `names`: the names given to values under a tape or in a function, as `(position, name, nodes)`.
    - `captured`: the function's own Tensors of values from eager code (`core/tensors/convert`).
    - `scope`: the Scope of the function under trace; None in eager code.
    - `limit`: the number of nodes at which the engine looks for a place to cut.
    """

    __slots__ = (
        "__weakref__", "assigned", "captured", "constants", "early", "gradients", "inputs", "leaf_index", "leaves", "limit",
        "names", "nodes", "overrides", "parent", "reads", "recomputed", "scope", "serial", "tapes",
    )  # fmt: skip
    nodes: list[Node]
    leaves: list[Node]
    leaf_index: dict[Node, int]
    reads: list[tuple[int, Variable, Node]]
    gradients: dict[int, Callable[..., Any]]
    assigned: list[tuple[Variable, EagerTensor]]
    recomputed: list[tuple[Node, Node]]
    early: list[Node]
    constants: list[Node]
    captured: dict[Node, Tensor]
    tapes: list[ref[Any]]
    names: list[tuple[int, str, Sequence[Node]]]
    inputs: list[Any] | None
    limit: int
    parent: Trace | None
    overrides: Any  # a function from an Op to the Op in force, or None
    scope: Scope | None
    serial: int

    def __init__(
        self,
        limit: int,
        parent: Trace | None = None,
        overrides: Callable[[Op], Op] | None = None,
        scope: Scope | None = None,
    ) -> None:
        self.nodes, self.leaves, self.leaf_index = [], [], {}
        self.reads, self.gradients, self.assigned, self.recomputed, self.tapes = [], {}, [], [], []
        self.early, self.constants, self.names, self.captured, self.inputs = [], [], [], {}, None
        self.limit = 0 if runtime.forked else limit  # a forked child may not run: its first op raises
        self.parent, self.overrides, self.scope, self.serial = parent, overrides, scope, next(_serial)

    def reference(self, node: Node) -> int | None:
        """Return the reference to `node` in this trace, or None."""
        index = node.index
        if 0 <= index < len(self.nodes) and self.nodes[index] is node:
            return index
        return self.leaf_index.get(node)

    def node(self, reference: int) -> Node:
        """Return the node of a reference."""
        return self.nodes[reference] if reference >= 0 else self.leaves[-1 - reference]

    def add_leaf(self, node: Node) -> int:
        """Enter `node` as a leaf and return its reference."""
        self.leaves.append(node)
        reference = -len(self.leaves)
        if node.index != NUMBER:
            self.leaf_index[node] = reference
        return reference

    def forget(self) -> None:
        """Drop the nodes. Each refers to its trace, and only the garbage collector would free such a cycle."""
        self.nodes, self.inputs, self.recomputed, self.names = [], None, [], []

    def inside(self, trace: Trace) -> bool:
        """Return whether this trace is nested in `trace`, at any depth."""
        here: Trace | None = self
        while here is not None:
            if here is trace:
                return True
            here = here.parent
        return False


def used_inputs(node: Node) -> tuple[Node, ...]:
    """Return the inputs of a node; for a call, branch or loop, only those that its Programs read."""
    inputs = node.inputs or ()
    op = node.op
    if not isinstance(op, StructuredOp):
        return inputs
    read = {body.takes[p] for body in op.bodies(node.attrs) for p in read_by(body.program)}
    return tuple([node for position, node in enumerate(inputs) if position in read])


def read_by(program: Program) -> set[int]:
    """Return the positions of the parameters that a Program reads, its constants aside."""
    references = {r for key in program.keys for r in key[2:]} | set(program.outputs)
    count = arity(program)
    return {-1 - r for r in references if r < 0 and -1 - r < count}


def leading_to(keys: Sequence[Key], references: Iterable[int]) -> set[int]:
    """Return these references of a Program or trace, and those of all nodes, parameters and leaves on which they depend."""
    found = set(references)
    for index in range(max(found, default=-1), -1, -1):
        if index in found:
            found.update(keys[index][2:])
    return found


def effectful(key: Key) -> bool:
    """Return whether a node must never be dropped: it has effects, or its values are always checked."""
    op = key[0]
    return bool(op.effect) or op.guards == "always" or (op.structured and any(p.demands for p in op.programs(key[1])))


def _may_be_endless(key: Key) -> bool:
    """Return whether a loop may run for ever, by the limit in its attributes, or one inside of it."""
    op, attrs = key[:2]
    return (op.endless is not None and op.endless(attrs)) or any(p.endless for p in op.programs(attrs))


def precise(precision: str | None) -> contextlib.AbstractContextManager[None]:
    """Open a context in which JAX traces float32 products in this precision; None changes nothing."""
    return contextlib.nullcontext() if precision is None else jax.default_matmul_precision(precision)


@twins.in_c
def spared(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return keys as they are. In C, the garbage collector does not look any more at those with numbers and words only."""
    return keys


class Executable:
    """An owner of compiled code. The code is dropped after a long time without a run; `compiled` is None then.

    `size` is the number of nodes, `builds` the number of compilations. `born` and `ran` are the numbers, among the runs of all
    code, of the first and the last run of the present code. `trials`: runs that are left before quickly compiled code is
    compiled for good, or 0. `needs`: the bytes of memory for a run, besides its arguments.
    """

    __slots__ = ("__weakref__", "born", "builds", "compiled", "needs", "ran", "size", "trials")
    compiled: Any
    needs: int
    size: int
    builds: int
    born: int
    ran: int
    trials: int

    def __init__(self, size: int) -> None:
        self.size, self.compiled, self.needs, self.builds, self.born, self.ran, self.trials = size, None, 0, 0, 0, 0, 0

    @property
    def code_bytes(self) -> int:
        """The host memory of the compiled code, estimated from the number of nodes."""
        return 0 if self.compiled is None else PROGRAM_BYTES + NODE_BYTES * self.size


class Form:
    """The identity of Programs, or records, that differ in numbers only. `known` was derived from ops, references and dtypes.

    `structured` are the indices of the ops that hold Programs.
    """

    __slots__ = ("known", "structured")

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.structured: tuple[int, ...] = ()


def memoized(make: Callable[[Any, *Rest], T]) -> Callable[[Any, *Rest], T]:
    """Keep the results of a function of a Program in `Program.derived`, by its other arguments: hashable, and by position."""

    @functools.wraps(make)
    def known(program: Program, *rest: *Rest) -> T:
        key = (make, *rest)
        if key not in program.derived:
            program.derived[key] = make(program, *rest)
        found: T = program.derived[key]
        return found

    return known


class Program(Executable):
    """A closed computation: keys, their Avals, the Avals of its parameters, and its outputs. Immutable; compared by identity.

    `like`: an earlier Program of the same form, which differs in extents only.

    - `constants`: the values of the last parameters, which are part of the program.
    - `lines`: the user's lines at which the keys were recorded (in a gradient: the line of the op), or empty if unknown.
    - `precision`: that of float32 products, by JAX's name; None is the device's default.
    - `effects`: whether it has side effects.
    - `on_host`: the nodes that run outside of XLA (effects, strings); `hosted`: whether it has such nodes, or string parameters.
    - `endless`: whether a loop in it may never end.
    - `guarded`: whether it checks values; `demands`: whether it has effects, or checks that are always made.
    """

    __slots__ = (
        "avals", "bytes", "constants", "demands", "derived", "effects", "endless", "form", "guarded", "hosted", "keys", "lines",
        "on_host", "outputs", "parameters", "precision", "runs", "spent",
    )  # fmt: skip
    keys: tuple[Key, ...]
    avals: tuple[Any, ...]
    parameters: tuple[Aval, ...]
    outputs: tuple[int, ...]
    constants: tuple[np.ndarray, ...]
    lines: tuple[Line, ...]
    precision: str | None
    bytes: int
    runs: int
    spent: float
    effects: bool
    guarded: bool
    demands: bool
    on_host: frozenset[int]
    hosted: bool
    endless: bool
    form: Form
    derived: dict[Any, Any]

    def __init__(
        self,
        keys: tuple[Key, ...],
        avals: tuple[Any, ...],
        parameters: tuple[Aval, ...],
        outputs: tuple[int, ...],
        constants: tuple[np.ndarray, ...] = (),
        lines: tuple[Line, ...] = (),
        precision: str | None = None,
        like: Program | None = None,
    ) -> None:
        self.keys, self.avals, self.parameters, self.outputs = spared(keys), avals, parameters, outputs
        self.constants, self.lines, self.precision = constants, lines, precision
        self.bytes = bytes_of(avals)
        self.runs, self.spent, self.derived = 0, 0.0, {}
        if like is None:
            self._look_at_ops()
        else:
            super().__init__(like.size)
            self.form, self.on_host, self.hosted = like.form, like.on_host, like.hosted
            self.guarded, self.demands, self.effects = like.guarded, like.demands, like.effects
        self.endless = any(map(_may_be_endless, [self.keys[i] for i in self.form.structured]))

    def _look_at_ops(self) -> None:
        keys, parameters, avals, self.form = self.keys, self.parameters, self.avals, Form()
        special = [
            (i, key) for i, key in enumerate(keys) if key[0].structured or key[0].effect or key[0].on_host or key[0].guards
        ]
        held = [(i, key[0], key[0].programs(key[1])) for i, key in special]
        super().__init__(len(keys) + sum([sum([p.size for p in inner]) - op.is_call for _, op, inner in held]))
        strings = has_strings(parameters) or has_strings(avals)
        self.guarded = any(op.guards or any(p.guarded for p in inner) for _, op, inner in held)
        self.demands = any(effectful(key) for _, key in special)
        self.effects = any(op.effect or any(p.effects for p in inner) for _, op, inner in held)
        hosted = [i for i, op, inner in held if op.effect or op.on_host or any(p.hosted for p in inner)]
        self.on_host = frozenset([*hosted, *[i for i in range(len(keys)) if strings and self._has_strings(i)]])
        self.hosted = bool(self.on_host) or strings
        self.form.structured = tuple([i for i, key in special if key[0].structured])

    @property
    @memoized
    def described(self) -> str:
        """A short description with a digest of op types and shapes, equal in all processes that traced the same program."""
        types = ",".join([key[0].type for key in self.keys])
        shapes = ",".join(map(repr, (*self.parameters, *self.avals)))
        digest = hashlib.sha256(f"{types} {shapes} {self.outputs}".encode()).hexdigest()[:12]
        code = self.lines[-1][0] if self.lines else None
        where = "" if code is None else f" of {code.co_filename.rpartition('/')[2]}, in {code.co_name}"
        results = ", ".join([repr(self.aval_of(r)) for r in self.outputs[:3]])
        return f"a program of {self.size} ops{where}, which gives {results} ({digest})"

    @property
    def staged(self) -> bool:
        """Whether it may have to run in stages: it has a part on the host, or is too wide for the compiler."""
        return self.hosted or len(self.parameters) + len(self.outputs) >= WIDE

    @property
    def ends(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the earlier nodes whose values nothing after it reads."""
        known: tuple[tuple[int, ...], ...] | None = self.form.known.get("ends")
        if known is None:
            known = self.form.known["ends"] = _ends(self.keys, self.outputs)
        return known

    def _has_strings(self, index: int) -> bool:
        return has_strings(self.avals[index]) or any(has_strings(self.aval_of(r)) for r in self.keys[index][2:])

    def evaluate(self, *arguments: Any) -> tuple[Any, ...]:
        """Run the kernels in order on JAX arrays; called by `jax.jit`, and as the kernel of a call node."""
        with precise(self.precision):
            return self._evaluate(*arguments)

    def _evaluate(self, *arguments: Any) -> tuple[Any, ...]:
        leaves = (*arguments, *map(xla.constant, self.constants))
        values: list[Any] = []
        live = self._elements_read()
        flags = guards.collecting() if self.guarded else None
        for index, (op, attrs, *references) in enumerate(self.keys):
            inputs = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
            if flags is not None:
                flags.enter(self, index, inputs)
            values.append(op.run(inputs, op.lean(attrs, live[index]) if index in live else attrs))
        return tuple([values[r] if r >= 0 else leaves[-1 - r] for r in self.outputs])

    def _elements_read(self) -> dict[int, set[int]]:
        """Return the results read of each call, branch and loop, by its index; leave out ops whose whole tuple is an output."""
        outputs = set(self.outputs)
        live: dict[int, set[int]] = {i: set() for i, key in enumerate(self.keys) if key[0].structured and i not in outputs}
        for op, attrs, *references in self.keys:
            if op is ELEMENT and references[0] in live:
                live[references[0]].add(attrs[0])
        return live

    def in_precision(self, precision: str | None) -> Program:
        """Return this Program in another precision, a Program of its own that is created once."""
        return self if precision == self.precision else self._with_precision(precision)

    @memoized
    def _with_precision(self, precision: str | None) -> Program:
        return Program(self.keys, self.avals, self.parameters, self.outputs, self.constants, self.lines, precision, self)

    def needed(self, references: Iterable[int]) -> list[int]:
        """Return the nodes on which these references depend, in order."""
        return sorted([r for r in leading_to(self.keys, references) if r >= 0])

    def sliced(
        self,
        kept: Sequence[int],
        outputs: Iterable[int],
        moved: Mapping[int, int] | None = None,
        parameters: Iterable[Aval] | None = None,
        constants: Iterable[Any] | None = None,
    ) -> Program:
        """Return a Program of the nodes `kept`, with the values of references as outputs.

        It has other parameters, if these are given: `moved` maps references to those in the result.
        """
        number = {**{old: new for new, old in enumerate(kept)}, **(moved or {})}
        return Program(
            tuple([(*self.keys[i][:2], *[number.get(r, r) for r in self.keys[i][2:]]) for i in kept]),
            tuple([self.avals[i] for i in kept]),
            self.parameters if parameters is None else tuple(parameters),
            tuple([number.get(r, r) for r in outputs]),
            self.constants if constants is None else tuple(constants),
            tuple([self.lines[i] for i in kept]) if self.lines else (),
        )

    def aval_of(self, reference: int) -> Any:
        """Return the Aval of a reference's value."""
        return self.avals[reference] if reference >= 0 else self.parameters[-1 - reference]

    @property
    def results(self) -> tuple[Any, ...]:
        """The Avals of the outputs."""
        return tuple(map(self.aval_of, self.outputs))

    def __str__(self) -> str:
        def name(reference: int) -> str:
            return f"%{reference}" if reference >= 0 else f"%p{-1 - reference}"

        def typed(avals: Any) -> str:
            return f"({', '.join(map(repr, avals))})" if isinstance(avals, tuple) else repr(avals)

        lines = [f"program({', '.join(f'%p{i}: {p!r}' for i, p in enumerate(self.parameters))})"]
        for index, ((op, attrs, *references), result) in enumerate(zip(self.keys, self.avals, strict=True)):
            stated = ", ".join(f"{n}={a!r}" for n, a in zip(op.attributes, attrs, strict=True) if not isinstance(a, Program))
            operands = ", ".join(map(name, references))
            lines.append(f"  %{index}: {typed(result)} = {op.type}({operands}{', ' if stated else ''}{stated})")
        lines.append(f"  return {', '.join(map(name, self.outputs))}")
        return "\n".join(lines)


def _ends(keys: tuple[Key, ...], outputs: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    read = set(outputs)
    ends: list[tuple[int, ...]] = []
    for key in reversed(keys):
        last = {r for r in key[2:] if r >= 0 and r not in read}
        read |= last
        ends.append(tuple(last))
    ends.reverse()
    return tuple(ends)


@twins.in_c
def are_one(leaves: list[Node], same: Sequence[tuple[int, int]]) -> bool:
    """Return whether both positions of each pair hold the same leaf."""
    return all(leaves[position] is leaves[stands] for position, stands in same)


def verify(program: Program) -> None:
    """Raise AssertionError if a Program is malformed: a reference to a later node, or an Aval that differs from its op's."""
    for index, ((op, attrs, *references), stated) in enumerate(zip(program.keys, program.avals, strict=True)):
        assert all(-len(program.parameters) <= r < index for r in references), f"node {index} refers to what is not there yet"
        assert len(attrs) == len(op.attributes), f"node {index}: {op.type} has other attributes"
        given = [program.aval_of(r) for r in references]
        assert op.result(tuple(given), attrs) == stated, f"node {index}: {op.type} does not give {stated}"
    assert all(-len(program.parameters) <= r < len(program.keys) for r in program.outputs)


def _element(values: Sequence[Any], *, index: int) -> Any:
    return values[index]


def _call(*arguments: Any, program: Program) -> tuple[Any, ...]:
    return program.evaluate(*arguments)


def _call_avals(*avals: Aval, program: Program) -> tuple[Any, ...]:
    return program.results


# One output of an op with several. Other nodes refer to these elements only, so that a reference is a single int.
ELEMENT = define(
    Op("TupleElement", _element, infer=lambda avals, index: avals[index], host=_element, cheap=True, traits="own renames")
)


def producer(node: Node) -> Node:
    """Return the node of the op that produces a node: for one of several outputs, that of all outputs."""
    return node.inputs[0] if node.op is ELEMENT else node


class _Index(dict[int, tuple[int]]):
    """i → (i,), the attributes of an element."""

    def __missing__(self, i: int) -> tuple[int]:
        self[i] = attrs = (i,)
        return attrs


INDEX = _Index()


class Called(NamedTuple):
    """The attribute of a call."""

    program: Program


def _run_call(interpreter: Interpreter, attrs: Called, inputs: Sequence[Any]) -> Sequence[Any]:
    return interpreter.call(attrs.program, inputs)


def _call_op(type: str) -> StructuredOp:
    declared: Any = {"infer": _call_avals, "saves": "arguments", "takes_none": True}
    made = StructuredOp(
        type, _call, Called, kind=CALL_OF, bodies=lambda attrs: (whole(attrs.program),), run=_run_call, **declared
    )
    define(made)
    return made


CALL = _call_op("PartitionedCall")  # the call of a Program
FUNCTION = _call_op("StatefulPartitionedCall")  # the call of a user's function


def _ran(value: Any, *inputs: Any, op: Op, attrs: Attributes) -> Any:
    return value


# An op that ran at once, on the host or because its result's shape depends on values: (result, *inputs) → result.
RAN = define(Op("Ran", _ran, infer=_ran, host=_ran, traits="own"))


caches: list[Cache] = []


class Cache(OrderedDict[Any, Any]):
    """A table of bounded size that evicts the least recently used entry. `entered` counts all entries made."""

    def __init__(self, bound: int, of: str = "") -> None:
        super().__init__()
        caches.append(self)
        self.bound, self.of, self.entered = bound, of, 0
        self.lock = locks.Lock()

    def find(self, key: Any) -> Any:
        """Return the value under `key`, or None. Until the table is half full, recency is not updated, to save a slow hash."""
        value = self.get(key)
        if value is not None and 2 * len(self) > self.bound:
            with contextlib.suppress(KeyError):
                self.move_to_end(key)
        return value

    def keep(self, key: Any, value: Any) -> Any:
        """Enter `value` and return it."""
        with self.lock:
            self.entered += 1
            self[key] = value
            while len(self) > self.bound:
                self.popitem(last=False)
        return value


class TraceStructure:
    """The keys of the nodes and the Avals of the leaves, of a whole trace or of its beginning.

    `lines` are the user's lines of its latest record: code objects and instruction offsets. `variants` are the Programs that run
    it, see `slices`.
    """

    __slots__ = ("_form", "avals", "keys", "lines", "variants")
    keys: tuple[Key, ...]
    avals: tuple[Any, ...]
    lines: Lines | None
    variants: list[Any]
    _form: Form | None

    def __init__(self, keys: tuple[Key, ...], avals: tuple[Any, ...]) -> None:
        self.keys, self.avals, self.lines, self.variants, self._form = keys, avals, None, [], None

    @property
    def form(self) -> Form:
        """The Form of all records with these ops, references and dtypes."""
        if self._form is None:
            key = _without_numbers(self.keys), tuple(map(_dtypes, self.avals))
            self._form = _forms.find(key) or _forms.keep(key, Form())
        return self._form


def _dtypes(avals: Any) -> Any:
    return tuple(map(_dtypes, avals)) if type(avals) is tuple else avals.dtype


def _without_numbers(keys: tuple[Key, ...]) -> tuple[Any, ...]:
    """Return keys without the ints in their attributes, and with the forms of Programs in place of these."""
    return tuple([k if not k[1] else (k[0], _form_of(k[1]), *k[2:]) for k in keys])


def _form_of(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is Called:
        return tuple([_form_of(item) for item in value])
    return None if kind is int else value.form if kind is Program else value


_forms = Cache(1024)  # (keys without numbers, dtypes of leaves) → Form
_structures = Cache(2048)  # (keys, Avals) → Structure
guesses = Cache(4096)  # (first line, lengths) of a trace → the latest structure recorded there


@twins.in_c
def structure_of(trace: Trace, nodes: int, leaves: int) -> TraceStructure:
    """Return the Structure of the first `nodes` nodes and `leaves` leaves of a trace.

    A loop records the same ops at the same lines, so the latest structure of these lines is compared first.
    """
    first = trace.nodes[0] if nodes else None
    where = (0, 0, 0, leaves) if first is None else (id(first.code), first.offset, nodes, leaves)
    keys, avals = tuple([n.key for n in trace.nodes[:nodes]]), tuple([n.aval for n in trace.leaves[:leaves]])
    found: TraceStructure | None = guesses.get(where)
    if found is None or found.keys != keys or found.avals != avals:
        found = _structures.find((keys, avals)) or _structures.keep((keys, avals), TraceStructure(keys, avals))
        guesses.keep(where, found)
    return found
