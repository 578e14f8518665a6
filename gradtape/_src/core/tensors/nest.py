"""Nested structures (lists, tuples, dicts, namedtuples, dataclasses, attrs), as in TensorFlow's `nest`, based on optree."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence
from typing import Any

import optree

from gradtape._src.core.base.public import public, unnamed
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.values.composite import CompositeTensor

NAMESPACE = "gradtape"
EXPANDED = "gradtape, composites expanded"  # the namespace in which composite tensors are structures, not leaves
MOST_KNOWN = 1024
_unordered: set[optree.PyTreeSpec] = set()  # specs that were found to have no OrderedDict
_known: set[type] = {list, tuple, dict}  # types that were found to be leaves, or are registered


class _Metadata:
    """The metadata of `__tf_flatten__`: it supports `==`, but needs no hash."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Metadata) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(_Metadata)


def _enter(kind: type, flat: Callable[[Any], Any], make: Callable[[Any, Any], Any], spaces: Any = (NAMESPACE, EXPANDED)) -> None:
    """Enter a class into optree's tables, by the functions that flatten and make a value."""
    for namespace in spaces:
        optree.register_pytree_node(kind, flat, make, namespace=namespace)


def _register_flattened(kind: Any) -> None:
    """Register a class with optree that defines `__tf_flatten__` and `__tf_unflatten__`."""

    def flat(value: Any) -> tuple[list[Any], _Metadata]:
        metadata, components = value.__tf_flatten__()
        return list(components), _Metadata(metadata)

    pack = kind.__tf_unflatten__
    if inspect.isfunction(inspect.getattr_static(kind, "__tf_unflatten__")):  # TensorFlow takes a method of instances, too
        pack = functools.partial(pack, object.__new__(kind))

    def make(metadata: _Metadata, children: Iterable[Any]) -> Any:
        return pack(metadata.value, tuple(children))

    _enter(kind, flat, make)


def _register_composite(kind: Any) -> None:
    """Register a class of composite tensors with optree; its spec flattens and packs a value."""

    def flat(value: Any) -> tuple[list[Any], _Metadata]:
        spec = value._type_spec
        return [spec._to_components(value)], _Metadata(spec)

    def make(metadata: _Metadata, children: Iterable[Any]) -> Any:
        (components,) = children
        return metadata.value._from_components(components)

    _enter(kind, flat, make, (EXPANDED,))


def _register_fields(kind: Any) -> None:
    """Register a dataclass, or a class of the package attrs, whose constructor takes the attributes' values in order."""
    of_attrs = hasattr(kind, "__attrs_attrs__")
    names = [field.name for field in (kind.__attrs_attrs__ if of_attrs else dataclasses.fields(kind))]

    def make(_: Any, children: Iterable[Any]) -> Any:
        if of_attrs:
            return kind(*children)
        new: Any = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(new, name, child)
        return new

    _enter(kind, lambda value: ([getattr(value, n) for n in names], None, names), make)


def _register_container(kind: Any) -> None:
    """Register a class of sequences or mappings with optree, such as a class derived from list, or a dict's views."""

    def flat_mapping(value: Any) -> tuple[list[Any], Any, Any]:
        names = tuple(sorted(value))
        return [value[name] for name in names], (names, tuple(value)), names

    def make_mapping(keys: Any, children: Iterable[Any]) -> Any:
        names, order = keys
        held = dict(zip(names, children, strict=True))
        return kind({name: held[name] for name in order})

    def make_sequence(_: Any, children: Iterable[Any]) -> Any:
        return (list if issubclass(kind, (MappingView, range)) else kind)(children)

    if issubclass(kind, Mapping):
        _enter(kind, flat_mapping, make_mapping)
    else:
        _enter(kind, lambda value: (list(value), None), make_sequence)


def _by_sorted_key(value: Any) -> Any:
    return optree.tree_flatten_one_level(value, none_is_leaf=True)


class _Sorted:
    """Stands for an OrderedDict in a structure. optree keeps an OrderedDict's order; TensorFlow sorts its keys as for a dict.

    `keys` are sorted, `children` are their values.
    """

    def __init__(self, value: OrderedDict[Any, Any]) -> None:
        self.order = value.keys()
        level = _by_sorted_key(dict(value))
        self.keys, self.children = level.entries, [_sorted(child) for child in level.children]


class _Order:
    """The keys of an OrderedDict in their own order, which is ignored when structures are compared."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self.keys = tuple(keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order) and set(self.keys) == set(other.keys)

    def __hash__(self) -> int:
        return hash(frozenset(self.keys))


def _parts(value: _Sorted) -> tuple[list[Any], _Order, Any]:
    return value.children, _Order(value.order), value.keys


def _ordered(order: Any, children: Iterable[Any]) -> OrderedDict[Any, Any]:
    level = _by_sorted_key(dict.fromkeys(order.keys))
    held = dict(zip(level.entries, children, strict=True))
    return OrderedDict([(key, held[key]) for key in order.keys])


def _is_ordered(value: Any) -> bool:
    return type(value) is OrderedDict


def _sorted(structure: Any) -> Any:
    return optree.tree_map(
        lambda x: _Sorted(x) if _is_ordered(x) else x, structure, is_leaf=_is_ordered, none_is_leaf=True, namespace=NAMESPACE
    )


_enter(_Sorted, _parts, _ordered)


def _components(slices: Any) -> tuple[list[Any], None]:
    parts = [slices.values, slices.indices, slices.dense_shape]
    return [part for part in parts if part is not None], None


def _assembled(_: Any, parts: Iterable[Any]) -> Any:
    return IndexedSlices(*parts)


_enter(IndexedSlices, _components, _assembled, (EXPANDED,))


def flatten_with_spec(
    structure: Any, namespace: str = NAMESPACE, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], optree.PyTreeSpec]:
    """Return `(leaves, spec)`. None and objects that `is_leaf` selects are leaves. Dicts, also OrderedDicts, go by sorted key."""
    leaves, spec = optree.tree_flatten(structure, is_leaf, none_is_leaf=True, namespace=namespace)
    if spec not in _unordered:
        if "OrderedDict(" in repr(spec):
            leaves, spec = optree.tree_flatten(_sorted(structure), is_leaf, none_is_leaf=True, namespace=namespace)
        else:
            if len(_unordered) >= MOST_KNOWN:
                _unordered.clear()
            _unordered.add(spec)
    for item in leaves:
        kind = type(item)
        if kind not in _known:
            _known.add(kind)
            if issubclass(kind, CompositeTensor):
                _register_composite(kind)
            elif hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
                _register_flattened(kind)
            elif hasattr(kind, "__attrs_attrs__") or dataclasses.is_dataclass(kind):
                _register_fields(kind)
            elif (
                issubclass(kind, (Mapping, Sequence, MappingView))
                and not issubclass(kind, (str, bytes, memoryview))
                and not optree.is_namedtuple_class(kind)  # optree knows it, and `is_leaf` kept it whole
            ):
                _register_container(kind)
            else:
                continue
            return flatten_with_spec(structure, namespace, is_leaf)
    return leaves, spec


def flatten_up_to(spec: optree.PyTreeSpec, value: Any) -> list[Any]:
    """Return the parts of `value` at the leaves of `spec`; ValueError or TypeError if its structure differs."""
    if spec.is_leaf():
        return [value]
    if spec in _unordered:
        return spec.flatten_up_to(value)
    return [
        leaf for part, child in zip(up_to_level(spec, value), spec.children(), strict=True) for leaf in flatten_up_to(child, part)
    ]


def up_to_level(spec: optree.PyTreeSpec, value: Any) -> list[Any]:
    """Return the parts of `value` at the first level of `spec`."""
    level: Any = spec.one_level()
    if spec.type is not _Sorted:
        return level.flatten_up_to(value)
    places = level.unflatten(range(spec.num_children))
    if not isinstance(value, Mapping) or value.keys() != places.keys():
        raise ValueError(f"Expected a mapping with the keys {list(places)}, got {value!r}.")
    return [value[key] for key in sorted(places, key=places.__getitem__)]


def unflatten(spec: optree.PyTreeSpec, leaves: Iterable[Any]) -> Any:
    """Return the structure of `spec` with these leaves."""
    return optree.tree_unflatten(spec, leaves)


def namespace_of(expand_composites: bool) -> str:
    """Return the optree namespace in which composite tensors are structures, or leaves."""
    return EXPANDED if expand_composites else NAMESPACE


@unnamed
def is_nested(seq: Any) -> bool:
    """Return whether `seq` is a container (list, tuple, dict, namedtuple, dataclass) rather than a leaf.

    >>> tf.nest.is_nested([1]), tf.nest.is_nested(1)
    (True, False)
    """
    _, spec = flatten_with_spec(seq)
    return not spec.is_leaf()


@unnamed
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of `structure` in order, as a list; a leaf gives a list of itself.

    >>> tf.nest.flatten({"a": 1, "b": [2, 3]})
    [1, 2, 3]
    """
    return flatten_with_spec(structure, namespace_of(expand_composites))[0]


@unnamed
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Pack `flat_sequence` into the structure of `structure`; ValueError if the counts differ.

    >>> tf.nest.pack_sequence_as({"a": 0, "b": [0, 0]}, [1, 2, 3])
    {'a': 1, 'b': [2, 3]}
    """
    if not is_nested(flat_sequence) or isinstance(flat_sequence, Mapping):
        raise TypeError(
            f"Attempted to pack value:\n  {flat_sequence}\ninto a structure, but found incompatible type "
            f"`{type(flat_sequence)}` instead of a list of leaves."
        )
    leaves = list(flat_sequence)
    _, spec = flatten_with_spec(structure, namespace_of(expand_composites))
    if spec.is_leaf() and len(leaves) != 1:
        raise ValueError(
            f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the input is a sequence "
            f"({type(flat_sequence)}) of length {len(leaves)}.\n  {flat_sequence}\nA leaf takes a sequence of one."
        )
    if len(leaves) != spec.num_leaves:
        raise ValueError(
            f"Could not pack sequence. Structure had {spec.num_leaves} atoms, but flat_sequence had {len(leaves)} items. "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return unflatten(spec, leaves)


@unnamed
def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raise ValueError (TypeError for containers of other types) unless both are nested in the same way.

    >>> tf.nest.assert_same_structure({"a": 1, "b": [2]}, {"a": 3, "b": [4]})
    """
    _matching_leaves(nest1, nest2, check_types, namespace_of(expand_composites))


@public
def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True, expand_composites: bool = False) -> Any:
    """Apply `func` to corresponding leaves of the structures; the results have the structure of the first.

    >>> tf.nest.map_structure(lambda x: 2 * x, {"a": 1, "b": [2, 3]})
    {'a': 2, 'b': [4, 6]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    namespace = namespace_of(expand_composites)
    leaves, spec = flatten_with_spec(structure[0], namespace)
    others = [_matching_leaves(structure[0], other, check_types, namespace) for other in structure[1:]]
    return unflatten(spec, [func(*group) for group in zip(leaves, *others, strict=True)])


def map_up_to(func: Callable[[Any, Any], Any], shallow: Any, deep: Any) -> Any:
    """Apply `func` to each leaf of `shallow` and the part of `deep` at its place; return the structure of `shallow`."""
    leaves, spec = flatten_with_spec(shallow, EXPANDED)
    return unflatten(spec, map(func, leaves, _matching_leaves(shallow, deep, True, EXPANDED, up_to=True)))


def _matching_leaves(first: Any, other: Any, check_types: bool, namespace: str, up_to: bool = False) -> list[Any]:
    """Return the leaves of `other` in the order of those of `first`; raise unless their structures are equal.

    With `up_to`, `other` may have a structure in the place of a leaf of `first`.
    """
    _, wanted = flatten_with_spec(first, namespace)
    leaves, spec = flatten_with_spec(other, namespace)
    if spec == wanted:
        return leaves
    leaves, pending = [], [(first, other)]
    while pending:
        a, b = pending.pop()
        children, others = children_of(a, namespace), children_of(b, namespace)
        if children is None and (others is None or up_to):
            leaves.append(b)
            continue
        mappings = isinstance(a, Mapping) and isinstance(b, Mapping)
        if children is None or others is None:
            raise _different(ValueError, first, other, f"{a!r} and {b!r} are not both sequences")
        kinds = [getattr(x, "value_type", type(x)) for x in (a, b)]  # a spec counts as its value
        if check_types and kinds[0] is not kinds[1] and not (mappings or same_namedtuples(a, b)):
            composites = children_of(a, NAMESPACE) is None and children_of(b, NAMESPACE) is None
            error = ValueError if composites else TypeError
            raise _different(error, first, other, f"{a!r} has type {type(a).__name__}, {b!r} {type(b).__name__}")
        if mappings and a.keys() != b.keys():
            raise _different(ValueError, first, other, f"the keys are {list(a)} and {list(b)}")
        if len(children) != len(others):
            raise _different(ValueError, first, other, f"{a!r} and {b!r} don't have the same number of elements")
        matching = [others[name] for name in children] if mappings else others.values()
        pending.extend(reversed([*zip(children.values(), matching, strict=True)]))
    return leaves


def same_namedtuples(a: Any, b: Any) -> bool:
    """Return whether both are namedtuples with the same name and fields, even if defined twice."""
    fields = getattr(a, "_fields", None)
    return fields is not None and fields == getattr(b, "_fields", None) and type(a).__name__ == type(b).__name__


def children_of(structure: Any, namespace: str) -> dict[Any, Any] | None:
    """Return the children of one level by key, index or field; None for a leaf."""
    if optree.tree_is_leaf(structure, none_is_leaf=True, namespace=namespace):
        return None
    if _is_ordered(structure):
        structure = dict(structure)
    level = optree.tree_flatten_one_level(structure, none_is_leaf=True, namespace=namespace)
    names: Iterable[Any] = range(len(level.children))
    if isinstance(structure, Mapping):
        names = level.entries
    return dict(zip(names, level.children, strict=True))


def one_level_of(structure: Any, children: list[Any]) -> Any:
    """Return a container of the type of `structure`, with the same keys and other children."""
    plain: Any = dict(structure) if _is_ordered(structure) else structure
    level = optree.tree_flatten_one_level(plain, none_is_leaf=True, namespace=NAMESPACE)
    if not _is_ordered(structure):
        return level.unflatten_func(level.metadata, children)
    held = dict(zip(level.entries, children, strict=True))
    return OrderedDict([(key, held[key]) for key in structure])


def _different(error: type[Exception], first: Any, second: Any, why: str) -> Exception:
    return error(
        f"The two structures don't have the same nested structure.\n\nFirst structure: {first!r}\n\n"
        f"Second structure: {second!r}\n\nMore specifically: {why}."
    )
