"""Nested structures (lists, tuples, dicts, namedtuples, dataclasses, attrs) as TensorFlow's `nest` sees them, on optree."""

import dataclasses

import optree

from gradtape._src.core.errors import public

NAMESPACE = "gradtape"
_known = set()  # types that were seen as leaves, or are registered


def _register(kind):
    """Teach optree a dataclass the first time that one is seen."""
    names = [field.name for field in dataclasses.fields(kind)]

    def make(_, children):
        new = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(new, name, child)
        return new

    optree.register_pytree_node(
        kind, lambda value: ([getattr(value, n) for n in names], None, names), make, namespace=NAMESPACE
    )


def flatten_with_spec(structure):
    """`(leaves, spec)`; `None` is a leaf, dicts go by sorted key."""
    leaves, spec = optree.tree_flatten(structure, none_is_leaf=True, namespace=NAMESPACE)
    for item in leaves:
        kind = type(item)
        if kind not in _known:
            _known.add(kind)
            if dataclasses.is_dataclass(kind):
                _register(kind)
                return flatten_with_spec(structure)
    return leaves, spec


def unflatten(spec, leaves):
    """The structure of `spec` with other leaves."""
    return optree.tree_unflatten(spec, leaves)


@public
def is_nested(structure):
    """Whether `structure` is a container (list, tuple, dict, namedtuple, dataclass) rather than a leaf."""
    _, spec = flatten_with_spec(structure)
    return not spec.is_leaf()


@public
def flatten(structure, expand_composites=False):
    """The leaves of `structure` in order, as a list; a leaf gives a list of itself."""
    return flatten_with_spec(structure)[0]


@public
def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """`flat_sequence` in the structure of `structure`; ValueError if the counts differ."""
    _, spec = flatten_with_spec(structure)
    if is_nested(structure):
        leaves = list(flat_sequence)
    else:
        leaves = list(flat_sequence) if isinstance(flat_sequence, (list, tuple)) else [flat_sequence]
    if len(leaves) != spec.num_leaves:
        raise ValueError(
            f"Could not pack sequence. Structure had {spec.num_leaves} atoms, but flat_sequence had {len(leaves)} items. "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return unflatten(spec, leaves)


@public
def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """ValueError (TypeError for other container types) unless both are nested in the same way."""
    _, first = flatten_with_spec(nest1)
    _, second = flatten_with_spec(nest2)
    if first != second:
        kinds_differ = check_types and first.num_leaves == second.num_leaves and type(nest1) is not type(nest2)
        raise (TypeError if kinds_differ else ValueError)(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {nest1}\n\n"
            f"Second structure: {nest2}"
        )


@public
def map_structure(func, *structure, check_types=True, expand_composites=False):
    """`func` applied to corresponding leaves of the structures, in the structure of the first."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    leaves = [flatten_with_spec(s)[0] for s in structure]
    spec = flatten_with_spec(structure[0])[1]
    return unflatten(spec, [func(*group) for group in zip(*leaves, strict=True)])
