"""Programs from untrusted JSON data: each op is looked up in the registry, and each shape is inferred again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from gradtape._src.core.engine import execution
from gradtape._src.core.engine.tracing import FORWARD
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.op import Op, ops
from gradtape._src.core.programs.program import RAN, Key, Program, effectful
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dim import Dim
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.ops.debugging.printing import PRINT
from gradtape._src.train.saved_model.encoding import checked_shape, restored
from gradtape._src.train.saved_model.extents import Point, at

LARGEST_PROGRAM = 1 << 24  # limit of operations after expanding calls, which nested calls can multiply


class Programs:
    """The Programs of a saved model, built on demand for the extents of a call."""

    def __init__(self, entries: list[Any], arrays: Mapping[str, np.ndarray]) -> None:
        self._entries, self._arrays = entries, arrays
        self._made: dict[tuple[int, Point], Program] = {}
        self._checked: set[int] = set()

    def make(self, number: Any, point: Point, check: bool = False) -> Program:
        """Build Program `number` for these extents; ValueError if it is invalid.

        Shapes and dtypes in the file are compared with those the ops infer; with `check` also with the kernels' results.
        """
        for needed in self._needed(number):
            if (needed, point) not in self._made or (check and needed not in self._checked):
                self._made[needed, point] = self._program(needed, point, check)
                if check:
                    self._checked.add(needed)
        return self._made[number, point]

    def _needed(self, number: Any) -> list[int]:
        """Return the numbers of the Programs in a Program, inner ones first. Inner numbers are smaller, which excludes cycles."""
        if type(number) is not int or not 0 <= number < len(self._entries):
            raise ValueError(f"there is no program {number!r}")
        found, stack = {number}, [number]
        while stack:
            current = stack.pop()
            entry = self._entries[current]
            inner = [n for node in entry["nodes"] for n in _numbers(node.get("attributes", ()))]
            for n in [*inner, *([entry["forward"]] if "forward" in entry else [])]:
                if type(n) is not int or not 0 <= n < current:
                    raise ValueError(f"program {current} holds program {n!r}, which does not come before it")
                if n not in found:
                    found.add(n)
                    stack.append(n)
        return sorted(found)

    def _program(self, number: int, point: Point, check: bool) -> Program:
        entry = self._entries[number]
        constants = tuple([self._arrays[c] for c in entry["constants"]])
        parameters = [_aval(p, point) for p in entry["parameters"]]
        taken = [*parameters, *[aval(c.shape, c.dtype) for c in constants]]
        keys: list[Key] = []
        known: list[Any] = []
        for index, node in enumerate(entry["nodes"]):
            references = node["inputs"]
            if not all(type(r) is int and -len(taken) <= r < index for r in references):
                raise ValueError(f"operation {index} of program {number} has the inputs {references!r}")
            op = named_op(node["op"])
            attrs = tuple([self.attribute(a, point) for a in node.get("attributes", ())])
            given = tuple([known[r] if r >= 0 else taken[-1 - r] for r in references])
            keys.append((op, attrs, *references))
            known.append(_inferred(op, attrs, given, _avals(node["gives"], point), check))
        if not all(type(r) is int and -len(taken) <= r < len(keys) for r in entry["outputs"]):
            raise ValueError(f"program {number} has the outputs {entry['outputs']!r}")
        made = Program(tuple(keys), tuple(known), tuple(taken), tuple(entry["outputs"]), constants)
        if made.size > LARGEST_PROGRAM:
            raise ValueError(f"program {number} has more than {LARGEST_PROGRAM} operations")
        program = execution.intern(made)
        if "forward" in entry:
            program.derived.setdefault(FORWARD, self._made[entry["forward"], point])
        return program

    def attribute(self, given: Any, point: Point) -> Any:
        """Return the value of an attribute for these extents; ValueError if it is invalid."""
        if type(given) is list:
            return tuple([self.attribute(item, point) for item in given])
        if type(given) is dict and len(given) == 1:
            ((kind, value),) = given.items()
            match kind:
                case "program":
                    return self._made[value, point]
                case "op":
                    return named_op(value)
                case "extent":
                    return at(given, point)
        return restored(given)

    def constant(self, key: str) -> np.ndarray:
        return self._arrays[key]


def _aval(given: Any, point: Point) -> Aval:
    name, shape = given
    extents = [at(extent, point) for extent in shape]
    checked_shape([extent for extent in extents if type(extent) is not Dim])
    return aval(extents, as_dtype(name).numpy)


def _avals(given: Any, point: Point) -> Any:
    return tuple([_avals(one, point) for one in given["each"]]) if type(given) is dict else _aval(given, point)


def _numbers(attribute: Any) -> Iterator[Any]:
    """Yield the numbers of the Programs in an attribute."""
    if type(attribute) in (list, tuple):
        for item in attribute:
            yield from _numbers(item)
    elif type(attribute) is dict and "program" in attribute:
        yield attribute["program"]


def named_op(given: Any) -> Op:
    """Return the op of this name, with its named gradient and its checks; ValueError for an unknown op."""
    if type(given) is dict and len(given) == 1 and not given.keys().isdisjoint(("used", "always")):
        ((guards, inner),) = given.items()
        made = named_op(inner)
        if made.refuses is None:
            raise ValueError(f"{made.type} checks nothing")
        return made.guarded(guards == "always")
    name, gradient = given if type(given) is list else (given, None)
    op = ops.get(name) if type(name) is str else None
    if op is None or op is RAN or Trait.HOLDS_CODE in op.traits:
        raise ValueError(f"{name!r} is no operation that this version of gradtape can load")
    return op if gradient is None else op.with_gradient(gradient)


def _inferred(op: Op, attrs: tuple[Any, ...], given: tuple[Any, ...], stated: Any, check: bool) -> Any:
    """Infer the Aval of a result; ValueError unless it equals `stated` and, with `check`, the kernel's result."""
    if len(attrs) != len(op.attributes):
        raise ValueError(f"{op.type} has {len(attrs)} attributes, not {len(op.attributes)}")
    named = dict(zip(op.attributes, attrs, strict=True))
    if op is PRINT and isinstance(named["stream"], str):
        raise ValueError("a print writes to a file")
    for number in [named[name] for name in ("num", "num_split") if name in named]:
        if type(stated) is not tuple or number != len(stated):  # checked before that many results are created
            raise ValueError(f"{op.type} gives {number!r} results, and the file says {stated!r}")
    result = op.result(given, attrs)
    if not _alike(result, stated):
        raise ValueError(f"{op.type} gives {result!r}, where the file says {stated!r}")
    if check and not effectful((op, attrs)):
        traced = xla.shapes(lambda *arrays: op.run(arrays, attrs), *map(_spec, given))
        flat = list(traced) if isinstance(traced, (tuple, list)) else [traced]
        wanted = result if type(result) is tuple else (result,)
        if [(tuple(r.shape), np.dtype(r.dtype)) for r in flat] != [(a.shape, a.dtype) for a in wanted]:
            raise ValueError(f"{op.type} does not give {result!r}")
    return result


def _alike(one: Any, other: Any) -> bool:
    """Return whether Avals, or tuples of them, are equal; unknown extents are compared on the function's way."""
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(_alike, one, other))
    return one is other or (
        isinstance(one, Aval) and isinstance(other, Aval) and one.shape == other.shape and one.dtype == other.dtype
    )


def _spec(known: Any) -> Any:
    return tuple(map(_spec, known)) if type(known) is tuple else jax.ShapeDtypeStruct(known.shape, known.dtype)
