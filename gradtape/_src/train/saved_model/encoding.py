"""Attributes and arguments as JSON data of a closed set of kinds, none of which refers to code."""

from __future__ import annotations

import base64
import collections
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optree

from gradtape._src.core.base.errors import OpError
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.programs.op import data_kinds
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_composed
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.values.dtypes import DType, as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.ragged import RaggedTensor, RaggedTensorSpec
from gradtape._src.ops.sparse.tensor import SparseTensor, SparseTensorSpec

COMPOSITES = (IndexedSlices, RaggedTensor, SparseTensor)
SPECS = {spec.__name__: spec for spec in (RaggedTensorSpec, SparseTensorSpec)}
DEEPEST = 64  # maximum depth of nests and attributes
RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (LookupError, NotImplementedError, RuntimeError, TypeError, ValueError)
}


class Unsaveable(Exception):
    """Raised for a value that cannot be saved as data: an object, or Python code."""


# ---------------------------------------------------------------------------------------------------------------------
# Single values


def plain(value: Any) -> Any:
    """Convert a value that is no container to JSON data; Unsaveable for other kinds."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if isinstance(value, np.integer):
        return int(value)
    if kind is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if kind is complex:
        return {"complex": [plain(value.real), plain(value.imag)]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.dtype):
        return {"dtype": as_dtype(value).name}
    if kind is DType:
        return {"DType": value.name}
    if kind is TensorShape:
        return {"shape": None if value.rank is None else value.as_list()}
    if isinstance(value, np.generic) and value.dtype.kind in "bfc":
        return {"scalar": [as_dtype(value.dtype).name, plain(value.item())]}
    if kind is frozenset:
        return {"set": sorted([plain(item) for item in value])}
    if value is sys.stdout or value is sys.stderr:
        return {"stream": "stdout" if value is sys.stdout else "stderr"}
    if data_kinds.get(kind.__name__) is kind:
        return {"data": [kind.__name__, *[_plain_nest(getattr(value, field.name)) for field in dataclasses.fields(value)]]}
    if isinstance(value, Exception) and RAISED.get(kind.__name__) is kind:
        return {"raises": [kind.__name__, str(value)]}
    # The parts of a composed value may not be arguments of the call.
    spoken = "a value" if is_composed(value) else repr(value)
    raise Unsaveable(f"{spoken} of type {kind.__name__} is no data")


def _plain_nest(value: Any) -> Any:
    return [_plain_nest(item) for item in value] if type(value) is tuple else plain(value)


def restored(given: Any) -> Any:
    """Convert JSON data back to the value for `plain`, a list to a tuple; ValueError if they are invalid."""
    if given is None or type(given) in (bool, int, float, str):
        return given
    if type(given) is list:
        return tuple(map(restored, given))
    ((kind, value),) = given.items()
    if kind not in _RESTORED:
        raise ValueError(f"{kind!r} is no kind of value")
    return _RESTORED[kind](value)


def _number(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError(f"{text!r} is no number")
    return float(text)


_RESTORED: dict[str, Callable[[Any], Any]] = {
    "float": _number,
    "complex": lambda parts: complex(*map(restored, parts)),
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "dtype": lambda name: as_dtype(name).numpy,
    "DType": as_dtype,
    "shape": TensorShape,
    "scalar": lambda of: as_dtype(of[0]).numpy.type(restored(of[1])),
    "set": lambda items: frozenset(map(restored, items)),
    "stream": {"stdout": sys.stdout, "stderr": sys.stderr}.__getitem__,
    "data": lambda of: data_kinds[of[0]](*map(restored, of[1:])),
    "raises": lambda of: RAISED[of[0]](str(of[1])),
}


def checked_shape(given: Any) -> tuple[int, ...]:
    """Convert JSON data to a shape; ValueError if they are none."""
    if type(given) is not list or len(given) > 64 or not all(type(n) is int and 0 <= n < 1 << 62 for n in given):
        raise ValueError(f"{given!r} is no shape")
    return tuple(given)


# ---------------------------------------------------------------------------------------------------------------------
# Nests of arguments and results


def nest_data(value: Any, leaf: Callable[[Any], Any], depth: int = 0) -> Any:
    """Convert a nest to JSON data; `leaf` encodes its leaves. Unsaveable for a nest that is too deep."""
    if depth > DEEPEST:
        raise Unsaveable(f"a nest deeper than {DEEPEST} is no data")

    def inner(items: Any) -> list[Any]:
        return [nest_data(item, leaf, depth + 1) for item in items]

    if type(value) in COMPOSITES:
        parts, known = _apart(value)
        return {"composite": [type(value).__name__, [n if type(n) is int else None for n in known or ()], inner(parts)]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"namedtuple": [type(value).__name__, list(value._fields), inner(value)]}
    if isinstance(value, Mapping):
        return {"dict": [[plain(key), nest_data(item, leaf, depth + 1)] for key, item in value.items()]}
    if isinstance(value, list):
        return {"list": inner(value)}
    if isinstance(value, tuple):
        return {"tuple": inner(value)}
    return {"leaf": leaf(value)}


def restored_nest(given: Any, leaf: Callable[[Any], Any], depth: int = 0) -> Any:
    """Convert JSON data back to the nest for `nest_data`; ValueError if they are invalid."""
    if depth > DEEPEST:
        raise ValueError(f"a nest is deeper than {DEEPEST}")

    def inner(items: Any) -> list[Any]:
        return [restored_nest(item, leaf, depth + 1) for item in items]

    ((kind, value),) = given.items()
    match kind:
        case "leaf":
            return leaf(value)
        case "list":
            return inner(value)
        case "tuple":
            return tuple(inner(value))
        case "dict":
            return {restored(key): restored_nest(item, leaf, depth + 1) for key, item in value}
        case "namedtuple":
            name, fields, items = value
            return named_tuple(name, fields)(*inner(items))
        case "composite":
            name, known, items = value
            if not all(n is None or type(n) is int for n in known):
                raise ValueError(f"{known!r} are no extents")
            (kind,) = [kind for kind in COMPOSITES if kind.__name__ == name]
            return _together(kind, tuple(known) or None, inner(items))
        case "indexed_slices":  # of earlier releases
            return IndexedSlices(*inner(value))
    raise ValueError(f"{kind!r} is no kind of nest")


def _apart(value: Any) -> tuple[list[Any], Sequence[Any] | None]:
    """Return the parts of a composite tensor, and what is known of its extents."""
    level: Any = optree.tree_flatten_one_level(value, none_is_leaf=True, namespace=nest.EXPANDED)
    return level.children, level.metadata


def _together(kind: Any, known: Sequence[Any] | None, parts: list[Any]) -> Any:
    entry: Any = optree.register_pytree_node.get(kind, namespace=nest.EXPANDED)
    return entry.unflatten_func(known, parts)


def named_tuple(name: Any, fields: Any) -> type:
    """Return a class of named tuples; ValueError for invalid names."""
    if not all(type(text) is str and text.isascii() and text.isidentifier() for text in (name, *fields)):
        raise ValueError(f"{name!r} and {fields!r} are no names")
    return collections.namedtuple(name, fields)


class Mismatch(Exception):
    """Raised for arguments that do not match those of a saved function."""


class Slot:
    """The place of a tensor among the arguments of a saved function; `shape` has the numbers of its open extents."""

    def __init__(self, spec: TensorSpec, shape: list[Any]) -> None:
        self.spec, self.shape = spec, shape


def matched(expected: Any, given: Any, tensor_of: Callable[[TensorSpec, Any], Any]) -> Any:
    """Return the nest `expected` with tensors of `given` in its Slots; Mismatch if structure or values differ."""
    if isinstance(expected, Slot):
        return tensor_of(expected.spec, given)
    if type(expected) in COMPOSITES:
        if type(given) is not type(expected):
            raise Mismatch
        (parts, known), (others, extents) = _apart(expected), _apart(given)
        if len(parts) != len(others) or any(n not in (None, m) for n, m in zip(known or (), extents or (), strict=False)):
            raise Mismatch
        return _together(type(expected), known, [matched(*pair, tensor_of) for pair in zip(parts, others, strict=True)])
    if isinstance(expected, dict):
        if not isinstance(given, Mapping) or expected.keys() != given.keys():
            raise Mismatch
        return {key: matched(item, given[key], tensor_of) for key, item in expected.items()}
    if isinstance(expected, (list, tuple)):
        kind = list if isinstance(expected, list) else tuple
        fields = getattr(expected, "_fields", None)
        if not isinstance(given, kind) or len(given) != len(expected) or getattr(given, "_fields", None) != fields:
            raise Mismatch
        items = [matched(item, other, tensor_of) for item, other in zip(expected, given, strict=True)]
        return items if kind is list else tuple(items) if fields is None else type(expected)(*items)
    if given is expected or _equal(given, expected):
        return expected
    raise Mismatch


def _equal(given: Any, expected: Any) -> bool:
    try:
        return type(given) in (bool, int, float, complex, str, bytes, DType, TensorShape) and bool(given == expected)
    except (TypeError, ValueError, OpError):
        return False
