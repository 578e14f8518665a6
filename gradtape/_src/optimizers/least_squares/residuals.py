"""Residual functions as compiled Programs of one flat vector: residuals, their Jacobian, and products with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from gradtape._src.autodiff.backward import jvp_program, vjp_program
from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.control.scope import call
from gradtape._src.core.base.errors import ResourceExhaustedError
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.platform import memory
from gradtape._src.core.programs.program import Node, Program
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.nest import flatten, pack_sequence_as
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.joining import concat, split
from gradtape._src.ops.array.shape import reshape, zeros
from gradtape._src.optimizers.least_squares.losses import roots_of, weighted

T = TypeVar("T")
SHARE_OF_MEMORY = 0.5  # share of the memory that a Jacobian may take


def _kept(make: Callable[[Any], Program]) -> Any:
    """Make a property of a Program, made once for each residual function and set of its variables."""
    return property(lambda self: self.kept(make, lambda: make(self)))


class Residuals:
    """`function()` as programs of the values of `variables`, one flat vector of `size` numbers in the widest of their dtypes.

    `evaluate(x)` returns residuals and Jacobian, [results] and [size, results], `push` the product of the Jacobian with a vector.
    All Programs for a search take (x, `others`…). Other captures of the function keep the values that they have at construction.

    With `data` it is a batch of `count` fits: `function(values, *data)` takes a row of each of the nest `variables`, and a row
    of each array of data. Programs are of one fit; `shared` says which of `others` are the same for all.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        variables: Any,
        weights: Any = None,
        loss: str = "squares",
        loss_scale: float = 1.0,
        data: Sequence[Any] | None = None,
    ) -> None:
        self.variables: list[Variable] = list(map(variable_of, flatten(variables)))
        _check_variables(self.variables)
        if not callable(function):
            taken = "of no arguments" if data is None else "(values, *data)"
            raise TypeError(f"residual_fn must be a function {taken}, received {function!r} of type {type(function).__name__}.")
        made = function if isinstance(function, Function) else Function(function)
        given: list[Any] = [tensor(d) for d in data or ()]
        specs: tuple[Any, ...] = ()
        self.count: int | None = None
        if data is None:
            _check_takes_nothing(made)
        else:
            self.count = _rows_of([*self.variables, *given])
            rows = [TensorSpec(v.shape[1:], v.dtype) for v in [*self.variables, *given]]
            specs = pack_sequence_as(variables, rows[: len(self.variables)]), *rows[len(self.variables) :]
        concrete = made.get_concrete_function(*specs)
        _check(concrete)
        body = concrete._traced
        program, inputs = body.program, list(body.inputs([d.node for d in given]))
        avals = [program.aval_of(r) for r in program.outputs]
        _check_results(avals)
        if data is None:
            _check_used(self.variables, [any(v is w for w in body.variables) for v in self.variables])
            self.positions = [next(i for i, v in enumerate(body.variables) if v is w) for w in self.variables]
            if program.guarded:
                call(body, ())
            inputs = [n for i, n in enumerate(inputs) if i not in self.positions]
        else:
            self.positions = list(range(len(self.variables)))
        roots = [] if weights is None else roots_of(weights, avals, self.count)
        self.program = program = weighted(program, weights is not None, loss, float(loss_scale))
        self.others = [*map(engine.argument, inputs), *roots]
        self.shared = [True] * len(self.others)
        for i in (*range(len(given)), *range(len(inputs), len(self.others))):
            self.shared[i] = data is None
        if data is not None:
            _check_used(self.variables, [place is not None for place in self._vjp_program()[1]])
        self._avals = [program.parameters[i] for i in self.positions]
        self.dtype = max([a.dtype for a in (*self._avals, *avals)], key=lambda d: d.itemsize)
        self.size = sum(a.size for a in self._avals)
        self.results = sum(a.size for a in avals)
        left = [np.count_nonzero(root.reshape(self.count or 1, -1), 1) for root in roots]
        self.observations: list[int] = sum(left, np.zeros(self.count or 1, int)).tolist() if left else [self.results]
        self.observations *= (self.count or 1) // len(self.observations)

    @property
    def _rows_before(self) -> tuple[int, ...]:
        """The leading batch axis in a batch of fits, else no axis."""
        return () if self.count is None else (self.count,)

    def start(self) -> np.ndarray:
        """Return the variables' current values as one vector, or in a batch as one row for each fit."""
        return np.concatenate([np.asarray(v.numpy(), self.dtype).reshape(*self._rows_before, -1) for v in self.variables], -1)

    def assign(self, x: np.ndarray) -> None:
        """Assign values, in the layout of `start`, to the variables."""
        at = 0
        for variable, a in zip(self.variables, self._avals, strict=True):
            variable.assign(x[..., at : at + a.size].reshape((*self._rows_before, *a.shape)).astype(a.dtype))
            at += a.size

    def where(self, position: int) -> str:
        """Return the name of the variable of an element of the vector, and the element's index in it."""
        for variable, a in zip(self.variables, self._avals, strict=True):
            if position < a.size:
                return f"{variable.name}{list(map(int, np.unravel_index(position, a.shape)))}" if a.shape else variable.name
            position -= a.size
        raise IndexError(position)

    @property
    def bytes_of_jacobian(self) -> int:
        """The memory that the whole Jacobian takes."""
        return int(self.size * self.results * self.dtype.itemsize) * (self.count or 1)

    def fits(self) -> bool:
        """Return whether the whole Jacobian, with its work space, fits into memory."""
        needs = 2 * self.bytes_of_jacobian
        return needs <= memory.CHECKED or needs < SHARE_OF_MEMORY * memory.limit()

    def check_memory(self) -> None:
        """Raise ResourceExhaustedError if the whole Jacobian does not fit into memory."""
        if not self.fits():
            raise ResourceExhaustedError.saying(
                f"The Jacobian of {self.results:,} residuals with respect to {self.size:,} parameters takes "
                f"{self.bytes_of_jacobian / 2**30:,.1f} GiB, and the device has {memory.limit() / 2**30:,.1f} GiB. Use "
                'LevenbergMarquardt(solver="matrix_free"), which never makes it.'
            )

    # -- programs

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals [results] and their Jacobian, transposed: [size, results]."""
        rows = np.asarray(execution.execute(self.table(), [x, *self.others])[0])
        return rows[-1], rows[:-1]

    def push(self, x: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return the Jacobian at `x` times `tangent` [size]: [results]."""
        return np.asarray(execution.execute(self.pushing, [x, *self.others, tangent])[0])

    @_kept
    def alone(self) -> Program:
        return self._traced(lambda parameters: [self._flat(tracing.inline(self.program, parameters))])

    def table(self, products: int | None = None) -> Program:
        """Return the Program of products of the Jacobian with vectors, in rows, and of the residuals in the last row.

        The vectors are the unit vectors, or with `products` an input of that many rows: the Program is (x, others…, vectors).
        """

        def build(parameters: list[Node], *vectors: Node) -> list[Tensor]:
            results = tracing.inline(self.program, parameters)
            seeds = EagerTensor(vectors[0]) if vectors else eye(self.size, dtype=dtypes.as_dtype(self.dtype))
            return [concat([self._rows(parameters, seeds), self._flat(results)[None]], 0)]

        shapes = [] if products is None else [(products, self.size)]
        return self.kept(("table", products), lambda: self._traced(build, *shapes))

    def kept(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of `make`, which runs once for each key, residual function and set of variables."""
        derived, key = self.program.derived, (key, *self.positions)
        if key not in derived:
            derived[key] = make()
        found: T = derived[key]
        return found

    def _rows(self, parameters: list[Node], vectors: Tensor) -> Tensor:
        """Return the products of the Jacobian with vectors, each in a row."""
        count = vectors.node.aval.shape[0]
        tangents = [t.node for t in self._parts(vectors, count)]
        mapped = [*[False] * len(parameters), *[True] * len(tangents)]
        rows = call_vectorized(self._jvp, [*parameters, *tangents], mapped)
        flat: Tensor = concat([self._wide(reshape(EagerTensor(row), (count, -1))) for row in rows], 1)
        return flat

    @property
    def _jvp(self) -> Program:
        """The Program (parameters…, tangents of the variables…) → tangents of the residuals."""
        return jvp_program(self.program, tuple(self.positions), len(self.program.outputs))

    @_kept
    def pushing(self) -> Program:
        def build(parameters: list[Node], tangent: Node) -> list[Tensor]:
            tangents = [t.node for t in self._parts(EagerTensor(tangent))]
            return [self._flat(tracing.inline(self._jvp, [*parameters, *tangents]))]

        return self._traced(build, (self.size,))

    @_kept
    def pulling(self) -> Program:
        def build(parameters: list[Node], cotangent: Node) -> list[Tensor]:
            avals = [self.program.aval_of(r) for r in self.program.outputs]
            parts = split(EagerTensor(cotangent), [a.size for a in avals])
            seeds = [cast(reshape(p, a.shape), a.type).node for p, a in zip(parts, avals, strict=True)]
            derived, where = self._vjp_program()
            pulled = tracing.inline(derived, [*parameters, *seeds])
            return [self._flat([self._or_zeros(pulled, w, a) for w, a in zip(where, self._avals, strict=True)])]

        return self._traced(build, (self.results,))

    @_kept
    def curving(self) -> Program:
        """Return the Program of J(x)·v, differentiated along v once more."""
        pushed = jvp_program(self.pushing, (0,), 1)
        given = self.pushing.parameters[: arity(self.pushing)]
        return compiled_at_once(tracing.program_of(lambda *nodes: tracing.inline(pushed, [*nodes, nodes[-1]]), given))

    def _vjp_program(self) -> tuple[Program, tuple[int | None, ...]]:
        return vjp_program(self.program, tuple(range(len(self.program.outputs))), tuple(self.positions))

    def _or_zeros(self, nodes: list[Node], where: int | None, of: Any) -> Node:
        node: Node = zeros(of.shape, of.type).node if where is None else nodes[where]
        return node

    def _wide(self, x: Tensor) -> Tensor:
        wide: Tensor = cast(x, dtypes.as_dtype(self.dtype))
        return wide

    def _flat(self, nodes: Sequence[Node]) -> Tensor:
        flat: Tensor = concat([self._wide(reshape(EagerTensor(n), (-1,))) for n in nodes], 0)
        return flat

    def _parts(self, x: Tensor, count: int | None = None) -> list[Tensor]:
        """Split a vector (or a `count` of them, in rows) into tensors of the variables' shapes and dtypes."""
        parts = split(x, [a.size for a in self._avals], axis=-1)
        before = () if count is None else (count,)
        return [cast(reshape(p, (*before, *a.shape)), a.type) for p, a in zip(parts, self._avals, strict=True)]

    def _traced(self, build: Callable[..., list[Tensor]], *shapes: tuple[int, ...]) -> Program:
        """Trace `build` as a Program of (x, everything else, vectors of these shapes…)."""
        count = arity(self.program)
        others = [i for i in range(count) if i not in self.positions]

        def record(x: Node, *given: Node) -> list[Node]:
            parts = dict(zip(self.positions, self._parts(EagerTensor(x)), strict=True))
            rest = dict(zip(others, given, strict=False))
            parameters = [parts[i].node if i in parts else rest[i] for i in range(count)]
            return [t.node for t in build(parameters, *given[len(others) :])]

        avals = [self.program.parameters[i] for i in others]
        vectors = [aval(shape, self.dtype) for shape in shapes]
        return compiled_at_once(tracing.program_of(record, [aval((self.size,), self.dtype), *avals, *vectors]))


def compiled_at_once(program: Program) -> Program:
    """Mark a Program that will run many times for compilation at its first run."""
    program.runs = max(program.runs, 1)
    return program


def _check_variables(variables: Sequence[Any]) -> None:
    if not variables:
        raise ValueError("LevenbergMarquardt needs variables to change, received none.")
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"variables are tf.Variables, received {variable!r} of type {type(variable).__name__}.")
        if not variable.dtype.is_floating:
            raise TypeError(f"{variable.name} has dtype {variable.dtype.name}: it must be real and floating-point.")
    if len({id(v) for v in variables}) != len(variables):
        raise ValueError("A variable stands twice among `variables`.")


def _rows_of(given: Sequence[Any]) -> int:
    """Return the number of fits of a batch: the first extent, which all its arrays share."""
    shapes = [tuple(v.shape) for v in given]
    if len({shape[:1] for shape in shapes}) > 1 or not shapes[0] or not shapes[0][0]:
        raise ValueError(
            f"The first axis of all variables and data counts the fits, received shapes {', '.join(map(str, shapes))}."
        )
    return int(shapes[0][0])


def _check(concrete: ConcreteFunction) -> None:
    if concrete.strategy.reason is not None:
        raise NotImplementedError(
            "The residual function cannot be compiled, as a shape or the way it goes on depends on values. Write it with "
            "tf.cond and tf.while_loop, and with shapes that are known."
        )
    body = concrete._traced
    if body.draws:
        raise ValueError(
            "The residual function draws random numbers, so that no two evaluations agree. Draw them once, outside of it."
        )
    if body.written:
        raise ValueError(f"The residual function assigns {body.written[0].name}: residuals must not change variables.")


def _check_used(variables: Sequence[Variable], used: Sequence[bool]) -> None:
    if not all(used):
        first = used.index(False)
        raise ValueError(
            f"The residuals do not depend on {variables[first].name} (number {first} of `variables`): leave it out, or compute "
            "them from it with tf.* functions."
        )


def _check_takes_nothing(function: Function) -> None:
    try:
        function.function_spec.bind()
    except TypeError as error:
        raise TypeError(f"residual_fn is called without arguments, and uses the variables itself: {error}.") from None


def _check_results(avals: Sequence[Any]) -> None:
    if not avals:
        raise TypeError("The residual function returned nothing. Return the residuals: a tensor, or a nest of tensors.")
    for a in avals:
        if not a.inexact or a.dtype.kind == "c":
            raise TypeError(
                f"The residual function returned dtype {a.type.name}; residuals are real and floating-point. Of complex ones "
                "return the real and the imaginary parts."
            )
    if not sum(a.size for a in avals):
        raise ValueError(f"The residual function returned no residuals: shape {avals[0].shape}.")
    if all(not a.shape for a in avals) and len(avals) == 1:
        raise ValueError(
            "The residual function returned a scalar. Return the residuals themselves, a vector, not the sum of their squares."
        )
