"""`reduce` and `scan`, which pass a state from element to element."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import NeedsValues
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.data.calls import ElementCall, inferred, specs_without_values, structure_text, without_values
from gradtape._src.data.structure import LEAF, PAIR, Element, ElementStructure, from_specs, joined, merged, structure_of


def reduced(call: ElementCall, state: Element, source: Iterator[Element]) -> Element:
    """Return the last state of `state = call(state, element)`."""
    for index, item in enumerate(source):
        state = same_state(state, call(index, together(state, item)), "reduce_func")
    return state


def last_state(call: ElementCall, state: Any, given: ElementStructure) -> Any:
    """Return a placeholder for the last state, for the inference of shapes: it matches the first state and all later ones."""
    known, before = from_specs(specs_without_values(state)), None
    while known != before:
        before = known
        after = inferred(call, from_specs((before.element_spec, given.element_spec)))
        if after is None:
            raise NeedsValues("the state of Dataset.reduce() depends on values")
        check_types("reduce_func", before.specs, from_specs(after).specs)
        known = merged(before, from_specs(after))
    return without_values(known)


def scanned(call: ElementCall, state: Element, source: Iterator[Element]) -> Iterator[Element]:
    """Return the outputs of `state, output = call(state, element)`."""

    def output(index: int, item: Element) -> Element:
        nonlocal state
        arrays, how = call(index, together(state, item))
        parts = how.children() if how.type is tuple else []
        if len(parts) != 2:
            raise no_pair(structure_text((arrays, how)))
        size = parts[0].num_leaves
        state = same_state(state, (arrays[:size], parts[0]), "scan_func")
        return arrays[size:], parts[1]

    return itertools.starmap(output, enumerate(source))


def check(specs: Any, state: Element) -> None:
    """Raise TypeError if the result of `scan_func`, as far as it is known (not None), is no pair of a state and an output."""
    if specs is None:
        return
    if type(specs) is not tuple or len(specs) != 2:
        raise no_pair(repr(specs))
    check_types("scan_func", structure_of(state).specs, from_specs(specs[0]).specs)


def check_types(what: str, before: Sequence[Any], after: Sequence[Any]) -> None:
    """Raise TypeError if the tensors of a new state have other dtypes than the old state's."""
    for old, new in zip(before, after, strict=False):
        if isinstance(old, TensorSpec) and isinstance(new, TensorSpec) and old.dtype != new.dtype:
            raise other_types(what, old.dtype, new.dtype)


def no_pair(found: str) -> TypeError:
    """Return the error for a `scan_func` with another result than a pair."""
    return TypeError(
        "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the output value but its "
        f"return type is {found}."
    )


def other_types(what: str, expected: Any, found: Any) -> TypeError:
    """Return the error for a state with other dtypes."""
    return TypeError(
        f"Invalid `{what}`. The element types for the new state must match the initial state. Expected "
        f"{expected}, got {found}. Use tf.cast, or give the initial state that dtype."
    )


def together(state: Element, item: Element) -> Element:
    """Return the pair of a state and an element."""
    return (*state[0], *item[0]), joined(PAIR, (state[1], item[1]))


def same_state(before: Element, after: Element, what: str) -> Element:
    """Return the new state; TypeError unless it has the nest and dtypes of the old state."""
    if before[1] != after[1] and joined(before[1], (LEAF,) * len(before[0])) != joined(after[1], (LEAF,) * len(after[0])):
        raise TypeError(
            f"Invalid `{what}`. The structure of the new state must match the initial state. Expected "
            f"{structure_text(before)}, got {structure_text(after)}."
        )
    for old, new in zip(before[0], after[0], strict=True):
        if isinstance(old, np.ndarray) and getattr(new, "dtype", None) != old.dtype:
            raise other_types(what, as_dtype(old.dtype), as_dtype(new.dtype) if isinstance(new, np.ndarray) else new)
    return after
