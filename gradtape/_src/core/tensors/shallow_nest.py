"""The rest of TensorFlow's `nest`: walks as far as another structure goes, and walks with the path of each leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest

Path = tuple[Any, ...]


def is_namedtuple(value: Any, strict: bool = False) -> bool:
    """Return whether a value is a namedtuple; with `strict`, whether its class derives from tuple alone."""
    fields = getattr(value, "_fields", None)
    return isinstance(value, tuple) and isinstance(fields, tuple) and (not strict or type(value).__base__ is tuple)


def is_mapping(value: Any) -> bool:
    """Return whether a value is a mapping, such as a dict."""
    return isinstance(value, Mapping)


def is_nested_or_composite(value: Any) -> bool:
    """Return whether a value is nested, or a composite tensor such as a SparseTensor."""
    return _named_children(value, True) is not None


def _named_children(structure: Any, expand_composites: bool) -> dict[Any, Any] | None:
    """Return the children of one level by key, field or index; None for a leaf."""
    nest.flatten_with_spec(structure, nest.namespace_of(expand_composites))  # registers a new class with optree
    children = nest.children_of(structure, nest.namespace_of(expand_composites))
    if children is not None and is_namedtuple(structure):
        return dict(zip(structure._fields, children.values(), strict=True))
    return children


def _check_level(shallow: Any, deep: Any, expected: dict[Any, Any], found: dict[Any, Any] | None, check_types: bool) -> None:
    if found is None:
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(deep)!r}.")
    mappings = isinstance(shallow, Mapping) and isinstance(deep, Mapping)
    alike = mappings or nest.same_namedtuples(shallow, deep) or type(shallow) is type(deep)
    if check_types and not alike and not isinstance(deep, type(shallow)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(deep)!r}, while shallow structure has type {type(shallow)!r}."
        )
    if len(expected) != len(found):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(found)}, while shallow structure has length {len(expected)}."
        )
    if mappings and (absent := sorted(set(expected) - set(found), key=str)):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {list(found)}, while shallow structure has "
            f"keys {list(expected)}: {absent} are missing."
        )


def _leaves_up_to(
    shallow: Any, deep: Any, check_types: bool = True, expand_composites: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield, for each leaf of `shallow`, its path and the part of `deep` there."""
    pending: list[tuple[Path, Any, Any]] = [((), shallow, deep)]
    while pending:
        path, above, below = pending.pop()
        children = _named_children(above, expand_composites)
        if children is None:
            yield path, below
            continue
        others = _named_children(below, expand_composites)
        _check_level(above, below, children, others, check_types)
        held = list((others or {}).values())
        by_name = isinstance(above, Mapping) and isinstance(below, Mapping)
        level = [
            ((*path, name), child, others[name] if by_name and others else held[place])
            for place, (name, child) in enumerate(children.items())
        ]
        pending.extend(reversed(level))


@public
def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise TypeError or ValueError unless `input_tree` has the structure of `shallow_tree` down to its leaves."""
    for _ in _leaves_up_to(shallow_tree, input_tree, check_types, expand_composites):
        pass


@public
def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False) -> list[Any]:
    """Return the parts of `input_tree` at the leaves of `shallow_tree`."""
    _, spec = nest.flatten_with_spec(shallow_tree, nest.namespace_of(expand_composites))
    return _parts(spec, shallow_tree, input_tree, check_types, expand_composites)


def _parts(spec: Any, shallow: Any, deep: Any, check_types: bool, expand_composites: bool) -> list[Any]:
    """Return the parts of `deep` at the leaves of `shallow`, whose spec is `spec`; fast for containers of the same types."""
    if spec.is_leaf():
        return [deep]
    try:
        return nest.flatten_up_to(spec, deep)
    except (TypeError, ValueError):  # other container types, which may be compatible nevertheless
        return [part for _, part in _leaves_up_to(shallow, deep, check_types, expand_composites)]


@public
def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[tuple[Path, Any]]:
    """Return the parts of `input_tree` at the leaves of `shallow_tree`, each with its path."""
    return list(_leaves_up_to(shallow_tree, input_tree, check_types, expand_composites))


@public
def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Apply `func` to the parts of the inputs at the leaves of `shallow_tree`; return the structure of `shallow_tree`."""
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    expand, check_types = kwargs.pop("expand_composites", False), kwargs.pop("check_types", True)
    _, spec = nest.flatten_with_spec(shallow_tree, nest.namespace_of(expand))
    parts = [_parts(spec, shallow_tree, each, check_types, expand) for each in inputs]
    return nest.unflatten(spec, [func(*group, **kwargs) for group in zip(*parts, strict=True)])


@public
def map_structure_with_tuple_paths_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Apply `func` to each path and the parts of the inputs at the leaves of `shallow_tree`."""
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    expand = kwargs.pop("expand_composites", False)
    check_types = kwargs.pop("check_types", True)
    walks = [flatten_with_tuple_paths_up_to(shallow_tree, each, check_types, expand) for each in inputs]
    results = [func(places[0][0], *(part for _, part in places), **kwargs) for places in zip(*walks, strict=True)]
    return nest.pack_sequence_as(shallow_tree, results, expand_composites=expand)


@public
def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply `func` to each path and the structures' leaves at it."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


@public
def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply `func` to each path, joined by slashes, and the structures' leaves at it."""
    return map_structure_with_tuple_paths(lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs)


@public
def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """Return the leaves of a structure, each with its path, a tuple of keys, fields and indices."""
    return list(_leaves_up_to(structure, structure, expand_composites=expand_composites))


@public
def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the leaves of a structure, each with its path as one string."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in flatten_with_tuple_paths(structure, expand_composites)]


@public
def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """Yield the path of each leaf."""
    for path, _ in flatten_with_tuple_paths(nest, expand_composites):
        yield path


@public
def get_traverse_shallow_structure(traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False) -> Any:
    """Return a structure of bools: True at leaves, False where `traverse_fn` stops. It may return a structure of its own."""
    wanted = traverse_fn(structure)
    children = _named_children(structure, expand_composites)
    if children is None:
        if not isinstance(wanted, bool):
            raise TypeError(f"Expected `traverse_fn` to return a bool for a leaf, but got {wanted!r} for {structure!r}.")
        return wanted
    level = list(children.values())
    if isinstance(wanted, bool):
        if not wanted:
            return False
        deeper = [get_traverse_shallow_structure(traverse_fn, child, expand_composites) for child in level]
        return sequence_like(structure, deeper)
    marks = _named_children(wanted, expand_composites)
    if marks is None or len(marks) != len(level):
        raise TypeError(f"Expected `traverse_fn` to return a bool or a structure of bools as {structure!r}, but got {wanted!r}.")
    deeper = [
        get_traverse_shallow_structure(traverse_fn, child, expand_composites) if mark else False
        for mark, child in zip(marks.values(), level, strict=True)
    ]
    return sequence_like(structure, deeper)


def sequence_like(instance: Any, args: Any) -> Any:
    """Return a container of the type of `instance` with other children, in the order of `tf.nest.flatten`."""
    nest.flatten_with_spec(instance)
    return nest.one_level_of(instance, list(args))


def yield_value(iterable: Any) -> Iterator[Any]:
    """Yield the children of a container."""
    yield from (_named_children(iterable, False) or {}).values()


def yield_sorted_items(iterable: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the children of a container with their keys, fields or indices."""
    yield from (_named_children(iterable, False) or {}).items()


def list_to_tuple(structure: Any) -> Any:
    """Return a structure with lists replaced by tuples."""
    if isinstance(structure, list):
        return tuple(map(list_to_tuple, structure))
    children = _named_children(structure, False)
    return structure if children is None else sequence_like(structure, map(list_to_tuple, children.values()))
