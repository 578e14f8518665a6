"""The evaluation of a function at a point under a tape, or its trace, as the first step of every derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.control.scope import Scope, Traced, trace
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import LOOKS_AT_VALUES
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.shape import identity


class Nest:
    """The leaves of a nest, and a method to pack others in its structure. A Keras variable's leaf is the variable inside."""

    __slots__ = ("leaves", "spec")

    def __init__(self, value: Any) -> None:
        leaves, self.spec = nest.flatten_with_spec(value)
        self.leaves = list(map(variable_of, leaves))

    def pack(self, leaves: Any) -> Any:
        """Pack `leaves` in this structure."""
        return nest.unflatten(self.spec, leaves)

    def like(self, value: Any, what: str) -> list[Tensor]:
        """Convert the leaves of `value` to tensors of this nest's dtypes and shapes; ValueError or TypeError if impossible."""
        leaves = nest.flatten_with_spec(value)[0]
        if len(leaves) != len(self.leaves):
            raise ValueError(f"{what} must have the structure {self.spec}, one tensor for each leaf; received {value!r}.")
        result = []
        for position, (mine, given) in enumerate(zip(self.leaves, leaves, strict=True)):
            if not inexact(mine):
                result.append(given)
                continue
            given = dense(given) if isinstance(given, IndexedSlices) else tensor(given, mine.dtype)
            if extents_of(given) != mine.shape:
                raise ValueError(
                    f"{what}: leaf {position} has shape {given.shape}, and what it belongs to has shape {mine.shape}. They must "
                    "agree."
                )
            result.append(given)
        return result


class Point(Nest):
    """The arguments of a function at a point: several if they are a tuple or a list, else one."""

    __slots__ = ("_several",)

    def __init__(self, args: Any) -> None:
        super().__init__(args)
        self._several = type(args) is tuple or type(args) is list

    def call(self, f: Callable[..., Any], leaves: Any) -> Any:
        """Call a function with other leaves in this structure."""
        given = self.pack(leaves)
        return f(*given) if self._several else f(given)


class Evaluation:
    """The evaluation `f(*args)` for a derivative: a persistent tape, the sources, the results.

    `sources` are the variables and tensors to differentiate with respect to; by default the floating arguments. Arguments of
    other dtypes are passed on unchanged, and have no derivative.
    """

    __slots__ = ("result", "sources", "tape", "targets", "wanted")
    tape: GradientTape
    sources: Nest
    wanted: list[int]  # indices of the sources' leaves that have a derivative
    targets: Nest
    result: Any

    def __init__(self, f: Callable[..., Any], args: Any, sources: Any = None) -> None:
        check_function(f)
        flat = Point(args)
        flat.leaves = [own(x) for x in flat.leaves]
        if sources is None:
            self.sources = flat
            if not flat.leaves:
                raise ValueError("There is nothing to differentiate with respect to: give args, or sources=variables.")
        else:
            self.sources = sources_of(sources)
        self.wanted = [i for i, x in enumerate(self.sources.leaves) if inexact(x)]
        if not self.wanted:
            raise ValueError(
                "Nothing to differentiate with respect to is a floating or complex tensor or variable: received "
                f"{kinds_of(self.sources.leaves)}."
            )
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        last_exit = journal.exits[-1] if journal.exits else None
        with self.tape:
            self.tape.watch(self.active)
            self.result = flat.call(f, flat.leaves)
        self.targets = Nest(self.result)
        if journal.exits and journal.exits[-1] is not last_exit:
            _check_recorded(self.targets.leaves)
        self.targets.leaves = [_target(t) for t in self.targets.leaves]

    @property
    def active(self) -> list[Any]:
        """The sources that have a derivative."""
        return [self.sources.leaves[i] for i in self.wanted]

    def pack(self, results: Any) -> Any:
        """Pack results for the active sources in the structure of all, with None for the others."""
        complete: list[Any] = [None] * len(self.sources.leaves)
        for i, result in zip(self.wanted, results, strict=True):
            complete[i] = result
        return self.sources.pack(complete)

    def scalar(self, what: str) -> Tensor:
        """Return the function's result if it is one scalar; else raise ValueError."""
        if len(self.targets.leaves) != 1 or self.targets.leaves[0].shape.rank != 0:
            shapes = ", ".join(str(t.shape) for t in self.targets.leaves)
            raise ValueError(
                f"{what} needs a function that returns one scalar; it returned {shapes or 'nothing'}. Sum it, or take "
                "jacrev or jacfwd of what is no scalar."
            )
        target: Tensor = self.targets.leaves[0]
        return target


def traced(run: Callable[[], Any], parameters: Sequence[Node], name: str, draws: bool = False) -> Traced:
    """Trace a function of the user, called `name` in errors, that is pure; it may draw random numbers if `draws` is set.

    Raises NotImplementedError if it looks at values, ValueError if it has effects.
    """
    try:
        body = trace(run, parameters, Scope(True, creates=False))
    except LOOKS_AT_VALUES as error:
        raise NotImplementedError(f"{name} is traced, and it looks at values: {error} Choose by tf.where or tf.cond.") from None
    if body.program.effects or body.written or (body.draws and not draws):
        also = "" if draws else ", draws random numbers"
        raise ValueError(f"{name} must be pure: it assigns variables{also} or has effects.")
    return body


def places_of(sources: Sequence[Any], body: Traced, first: int) -> list[int | None]:
    """Return the positions of variables and tensors among a function's parameters, behind its `first`; None if it uses none."""
    known = {id(x): first + i for i, x in enumerate((*body.variables, *body.captures))}
    return [known.get(id(x if isinstance(x, Variable) else x.node)) for x in sources]


def check_function(f: Any) -> None:
    """Raise TypeError if the first argument of a call is not a function."""
    if not callable(f):
        raise TypeError(f"The first argument must be a function, received {f!r} of type {type(f).__name__}.")


def check_count(what: str, count: Any, least: int = 1) -> None:
    """Raise ValueError if a number, such as that of samples, is not an int or is below `least`."""
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        expected = "a positive int" if least == 1 else f"an int of at least {least}"
        raise ValueError(f"{what} must be {expected}, received {count!r}.")


def inexact(x: Any) -> bool:
    """Return whether a leaf is a tensor or variable that can have a derivative."""
    return isinstance(x, (Tensor, Variable)) and bool(x.dtype.is_floating or x.dtype.is_complex)


def kinds_of(leaves: Sequence[Any]) -> str:
    """Return the dtypes of tensors and variables, and the classes of other leaves, for an error message."""
    return ", ".join(sorted({x.dtype.name if isinstance(x, (Tensor, Variable)) else type(x).__name__ for x in leaves}))


def own(x: Any) -> Any:
    """Copy a tensor argument, so that the same tensor given twice is two arguments; return other objects unchanged."""
    if x is None or isinstance(x, (Stored, IndexedSlices, bool, int, str)):
        return x
    try:
        return identity(tensor(x))
    except (TypeError, ValueError):
        return x


def _check_recorded(results: Sequence[Any]) -> None:
    """Raise TypeError if a value left the library in the function, and all results are arrays or numbers."""
    given = [x for x in results if isinstance(x, (float, complex, np.ndarray, np.generic))]
    if given and not any(map(inexact, results)):
        raise TypeError(
            f"The function returned {type(given[0]).__name__}, no tensor, so nothing was recorded of it and its derivative "
            f"is not known. Compute it with tf.* functions; of what is a constant return tf.constant(…).{hooks.gradients.left()}"
        )


def _target(x: Any) -> Any:
    if x is None:
        raise TypeError("The function returned None where a tensor was expected. Return what is to be differentiated.")
    if isinstance(x, Stored):
        return identity(x)
    return dense(x) if isinstance(x, (Tensor, IndexedSlices)) else tensor(x)


def sources_of(sources: Any) -> Nest:
    """Return a nest of variables and tensors; TypeError for any other leaf, ValueError for a repeated one."""
    found = Nest(sources)
    seen: list[Any] = []
    for x in found.leaves:
        if not isinstance(x, (Tensor, Variable)):
            raise TypeError(f"sources are variables and tensors, received {x!r} of type {type(x).__name__}.")
        if any(x is other or (type(x) is EagerTensor and type(other) is EagerTensor and x.node is other.node) for other in seen):
            raise ValueError(f"A source was given twice: {x!r}.")
        seen.append(x)
    return found
