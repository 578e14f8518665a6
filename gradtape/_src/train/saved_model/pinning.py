"""Extents and ranks that a signature leaves open, though the function itself fixes them.

A function of `TensorSpec([None, None])` that multiplies by a matrix of 30 rows takes 30 columns only. Which extents these are
is found by tracing: at a base point the function can be traced, and with another value of a fixed extent it cannot.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import ConcreteFunction, EagerFunction
from gradtape._src.control.function import Function
from gradtape._src.core.aval import aval
from gradtape._src.core.errors import InvalidArgumentError
from gradtape._src.core.program import leaf
from gradtape._src.core.spec import TensorSpec

Shapes = Sequence[tuple[int, ...]]
Place = tuple[int, int]  # the number of a tensor, and an axis
Fixed = dict[Place, int]

REFUSALS = (ValueError, TypeError, IndexError, InvalidArgumentError)  # what code raises for a shape that it does not take
RANKS = range(5)  # of a tensor whose rank is open, where no call tells others
FREE = (5, 7, 6, 9, 11)  # extents of what is not looked at, which differ from each other
OTHERS = (13, 10, 64, 96)  # an extent is fixed if none of these can stand for it
SMALL = range(1, 33)  # extents that are tried for a fixed one, besides those of variables
PAIRS = 64  # so many pairs of extents are tried where two are fixed


def calls_of(function: Function, specs: Sequence[TensorSpec]) -> list[Shapes]:
    """Return the shapes of the tensors in the calls of a function that these specs admit, the largest first."""
    found: set[tuple[tuple[int, ...], ...]] = set()
    for concrete in function._traced.values():
        known = [node.aval for node in concrete._arguments.nodes]
        shapes = tuple([a.shape for a in known])
        admitted = len(known) == len(specs) and all(
            a.type == spec.dtype and spec.shape.is_compatible_with(a.shape) for a, spec in zip(known, specs, strict=True)
        )
        if admitted and any(extent != 1 for shape in shapes for extent in shape):  # 1 is what the signature is traced with
            found.add(shapes)
    return [*sorted(found, reverse=True)]


def of_ranks(of: ConcreteFunction, calls: Sequence[Shapes]) -> list[list[TensorSpec]]:
    """Return specs of known ranks for a function that leaves ranks open: those of its calls, or of `RANKS`."""
    specs = of._input_specs()
    called = sorted({tuple(map(len, shapes)) for shapes in calls})
    return [
        [
            s if s.shape.rank is not None else TensorSpec([None] * rank, s.dtype, s.name)
            for s, rank in zip(specs, ranks, strict=True)
        ]
        for ranks in called or [(rank,) * len(specs) for rank in RANKS]
    ]


def pinned(of: ConcreteFunction, calls: Sequence[Shapes], extents: Sequence[int]) -> tuple[ConcreteFunction, Fixed] | None:
    """Return a function as it is traced, and the extents that it fixes, by tensor and axis; None if no point is found for it.

    `calls` are shapes that it was called with, `extents` those of the variables around it: both are only tried.
    """
    specs, function = of._input_specs(), of._function.untraced()
    open_at = [(k, axis) for k, spec in enumerate(specs) for axis, d in enumerate(spec.shape.as_list()) if d is None]

    def traced(point: Sequence[int]) -> ConcreteFunction | None:
        given = dict(zip(open_at, point, strict=True))
        shapes = [[given.get((k, i), d) for i, d in enumerate(spec.shape.as_list())] for k, spec in enumerate(specs)]
        nodes = [leaf(aval(tuple(shape), spec.dtype.numpy), None) for shape, spec in zip(shapes, specs, strict=True)]
        try:
            found = function._concrete(Arguments(of._arguments.pack(nodes))).keep()
        except REFUSALS:
            return None
        return None if isinstance(found, EagerFunction) else found

    def is_fixed(group: Sequence[Place], base: Sequence[int]) -> bool:
        """Return whether tracing fails for other extents in these places."""
        trials = [[other if at in group else b for at, b in zip(open_at, base, strict=True)] for other in OTHERS]
        return all(trial == base or traced(trial) is None for trial in trials)

    best: tuple[ConcreteFunction, Fixed] | None = None
    for groups in _groups(open_at):
        bases = ((base, found) for base in _bases(groups, open_at, calls, extents) if (found := traced(base)) is not None)
        base, found = next(bases, (None, None))
        if base is None or found is None:
            continue
        held = [at for group in groups if is_fixed(group, base) for at in group if is_fixed([at], base)]
        if best is None or len(held) < len(best[1]):
            best = found, {at: b for at, b in zip(open_at, base, strict=True) if at in held}
    if best is None:
        return None
    seen = best[0].seen_through(specs)
    seen.name_inputs(of._named)
    return seen, best[1]


def _groups(open_at: Sequence[Place]) -> list[list[list[Place]]]:
    """Return the open extents as groups that move together: each axis of all tensors, and each extent by itself."""
    axes = sorted({axis for _, axis in open_at})
    together = [[at for at in open_at if at[1] == axis] for axis in axes]
    alone = [[at] for at in open_at]
    return [together] if together == alone else [together, alone]


def _bases(
    groups: Sequence[Sequence[Place]],
    open_at: Sequence[Place],
    calls: Sequence[Shapes],
    extents: Sequence[int],
) -> Iterator[list[int]]:
    """Yield points at which the function may be traced: of its calls, and with one extent or two that variables have, or
    small.
    """
    for shapes in calls:
        yield [shapes[k][axis] for k, axis in open_at]

    def point(chosen: dict[int, int]) -> list[int]:
        number = {at: n for n, group in enumerate(groups) for at in group}
        return [chosen.get(number[at], FREE[number[at] % len(FREE)]) for at in open_at]

    ranked = sorted(set(extents), reverse=True)
    last_first = list(reversed(range(len(groups))))
    for tried in (ranked, [n for n in SMALL if n not in ranked]):
        for n, extent in itertools.product(last_first, tried):
            yield point({n: extent})
    for (n, m), (one, two) in itertools.islice(
        itertools.product(itertools.combinations(last_first, 2), itertools.product(ranked, repeat=2)), PAIRS
    ):
        yield point({n: one, m: two})
