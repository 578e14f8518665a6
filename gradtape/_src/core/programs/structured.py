"""Ops that hold Programs: calls, branches, loops. Each declares once the Programs that it runs, their inputs, and its meaning.

A *body* is such a Program. `StructuredOp.run` is the meaning of the op in Python. An `Interpreter` defines the kind of values and
the way a body runs: on host arrays, by recording nodes, or by counting costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gradtape._src.core.programs.op import Attributes, Kernel, Op

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Program
    from gradtape._src.core.values.aval import Aval

# Kinds: the purpose of an op's Programs. A VALUE op computes its results by them, but its gradient is not theirs.
CALL_OF, BRANCH, LOOP, ROWS, GRADIENT, VALUE = "call", "branch", "loop", "rows", "gradient", "value"


class HeldProgram(NamedTuple):
    """A Program that an op runs, and how its parameters and outputs map to the op's inputs and results.

    - `takes`: for each parameter, except constants, the position of the op's input that it gets;
    - `rows`: the parameters that get their input row by row;
    - `carried`: parameter → the output that replaces it in the next trip;
    - `gives`: output → the op's result that it is, or is a row of. Any other output decides how the op continues.
    """

    program: Program
    takes: Sequence[int]
    gives: Mapping[int, int]
    rows: Sequence[int] = ()
    carried: Mapping[int, int] = {}

    def fixed(self, values: Sequence[Any]) -> list[Any]:
        """Return, for each parameter, the op's input value if it is the same in each run, else None."""
        changing = {*self.rows, *self.carried}
        return [None if p in changing else values[i] for p, i in enumerate(self.takes)]


class Interpreter(Protocol):
    """The way to evaluate a structured op. `residuals` says whether results that only gradients read are wanted."""

    residuals: bool

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run a body."""
        ...

    def holds(self, program: Program, inputs: Sequence[Any]) -> bool:
        """Run a condition."""
        ...

    def number(self, value: Any) -> Any:
        """Return a scalar as a Python number."""
        ...

    def extent(self, value: Any) -> int:
        """Return how many rows a value has."""
        ...

    def row(self, value: Any, at: int) -> Any:
        """Return one row of a value."""
        ...

    def stacked(self, rows: Sequence[Any], of: Aval, count: int) -> Any:
        """Stack rows of the Aval `of` into one value of `count` rows; missing rows at the end are zeros."""
        ...

    def constant(self, number: int) -> Any:
        """Return an int64 scalar."""
        ...


def whole(program: Program) -> HeldProgram:
    """Return a HeldProgram that takes all inputs of its op and returns all results, in order."""
    return HeldProgram(program, range(arity(program)), {i: i for i in range(len(program.outputs))})


def arity(program: Program) -> int:
    """Return how many values a Program takes: its parameters without its constants."""
    return len(program.parameters) - len(program.constants)


Pruned = tuple[Attributes, list[int], list[int]]  # (attributes, positions of the inputs kept, positions of the results kept)


class StructuredOp(Op):
    """An op with Programs among its attributes, which are a NamedTuple: `form`. `Op` describes its other declarations.

    - `bodies(attrs)`: the Programs that it runs, in their order in `attrs`.
    - `run(interpreter, attrs, inputs)`: its results, for any kind of values. Residuals at the end may be left out.
    - `pruned(attrs, live, normal)`: the same op without the results and inputs that the results `live` do not need;
      `normal(program, live)` returns a body with fewer outputs.
    - `lean(attrs, live)`: attributes with which the kernel computes at least the results `live`, at their positions; residuals
      that are not read are not compiled.
    - `runs(attrs, decision)`: each Program and its number of runs. If that depends on values, `decision` is the value of the
      input `decided_by(attrs)`, or of the result `counted_by(attrs)`. Without it, the number is the largest known.
    """

    __slots__ = ("_bodies", "_lean", "_meaning", "_pruned", "_runs", "counted_by", "decided_by", "form", "is_call", "kind")
    structured = True
    _bodies: Callable[[Any], Sequence[HeldProgram]]
    _meaning: Callable[[Interpreter, Any, Sequence[Any]], Sequence[Any]]
    _pruned: Callable[[Any, Sequence[int], Callable[..., Program]], Pruned] | None
    _lean: Callable[[Any, Set[int]], Any] | None
    _runs: Callable[[Any, Any], Sequence[tuple[Program, int]]] | None
    kind: str
    is_call: bool
    form: type[Any]
    decided_by: Callable[[Any], int | None]
    counted_by: Callable[[Any], int | None]

    def __init__(
        self,
        type: str,
        kernel: Kernel,
        form: type[Any],
        *,
        kind: str,
        bodies: Callable[[Any], Sequence[HeldProgram]],
        run: Callable[[Interpreter, Any, Sequence[Any]], Sequence[Any]],
        pruned: Callable[[Any, Sequence[int], Callable[..., Program]], Pruned] | None = None,
        lean: Callable[[Any, Set[int]], Any] | None = None,
        runs: Callable[[Any, Any], Sequence[tuple[Program, int]]] | None = None,
        decided_by: Callable[[Any], int | None] = lambda attrs: None,
        counted_by: Callable[[Any], int | None] = lambda attrs: None,
        **declared: Any,
    ) -> None:
        unhosted = "it holds Programs, which run on the host node by node"
        super().__init__(type, kernel, unhosted=unhosted, attributes=" ".join(form._fields), **declared)
        self.declare(kind=kind, is_call=kind is CALL_OF, form=form, decided_by=decided_by, counted_by=counted_by)
        self.declare(_bodies=bodies, _meaning=run, _pruned=pruned, _lean=lean, _runs=runs)

    def bodies(self, attrs: Attributes) -> Sequence[HeldProgram]:
        """Return the Programs that the op runs, in their order in its attributes."""
        found: Sequence[HeldProgram] = self._bodies(self.form(*attrs))
        return found

    def programs(self, attrs: Attributes) -> tuple[Program, ...]:
        """Return the Programs that the op holds with these attributes."""
        return tuple([body.program for body in self.bodies(attrs)])

    def interpret(self, interpreter: Interpreter, attrs: Attributes, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Run the op on the values of an interpreter."""
        return tuple(self._meaning(interpreter, self.form(*attrs), inputs))

    def pruned(self, attrs: Attributes, live: Sequence[int], normal: Callable[..., Program]) -> Pruned | None:
        """Return the op reduced to the needs of the results at the positions `live`; None if it cannot be reduced."""
        return None if self._pruned is None else self._pruned(self.form(*attrs), live, normal)

    def lean(self, attrs: Attributes, live: Set[int]) -> Attributes:
        """Return attributes for a kernel when only the results at the positions `live` are read."""
        found: Attributes = attrs if self._lean is None else self._lean(self.form(*attrs), live)
        return found

    def runs(self, attrs: Attributes, decision: Any = None) -> Sequence[tuple[Program, int]]:
        """Return each Program and its number of runs; see `StructuredOp`."""
        if self._runs is not None:
            found: Sequence[tuple[Program, int]] = self._runs(self.form(*attrs), decision)
            return found
        return [(body.program, 1) for body in self.bodies(attrs)]

    def with_programs(self, attrs: Attributes, programs: Sequence[Program]) -> Attributes:
        """Return the attributes with other Programs, in their order."""
        remaining = iter(programs)
        held = {id(body.program) for body in self.bodies(attrs)}

        def one(value: Any) -> Any:
            if type(value) is tuple:
                return tuple(map(one, value))
            return next(remaining) if id(value) in held else value

        made: Attributes = self.form(*map(one, attrs))
        return made


def by_program(type: str, form: type[Any], kind: str = VALUE, saves: str = "inputs", **declared: Any) -> StructuredOp:
    """Return an op that computes its results by its first attribute, `program`, but has another gradient.

    `declared` are further declarations of an `Op`.
    """

    def kernel(*inputs: Any, program: Program, **others: Any) -> tuple[Any, ...]:
        return program.evaluate(*inputs)

    def avals(*avals: Aval, program: Program, **others: Any) -> tuple[Aval, ...]:
        return program.results

    return StructuredOp(
        type,
        kernel,
        form,
        kind=kind,
        bodies=lambda attrs: (whole(attrs.program),),
        run=lambda interpreter, attrs, inputs: interpreter.call(attrs.program, inputs),
        infer=avals,
        saves=saves,
        **declared,
    )
