"""`from_generator`: the values of a Python generator, checked against a signature."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.frozen import live
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.constants import to_array
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data.calls import apart, failed
from gradtape._src.data.place import only_for_rank
from gradtape._src.data.structure import COMPOSITES, SHAPED, Element, ElementStructure, flatten, from_specs


def signature(generator: Any, types: Any, shapes: Any, specs: Any) -> ElementStructure:
    """Return the structure that the arguments of `from_generator` describe; TypeError if they contradict each other."""
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable: a function that returns an iterator, not the iterator itself.")
    if specs is not None:
        for argument, given in (("output_types", types), ("output_shapes", shapes)):
            if given is not None:
                raise TypeError(f"The `{argument}` argument can not be used together with the `output_signature` argument.")
        structure = from_specs(specs)
        for spec in structure.specs:
            if not isinstance(spec, SHAPED):
                raise TypeError(
                    "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found "
                    f"{type(spec)} which is not. Give a tf.TensorSpec for each tensor."
                )
        return structure
    if types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature` argument or the `output_types` "
            "argument."
        )
    leaves, how = flatten(types)
    extents = [None] * len(leaves) if shapes is None else nest.flatten_up_to(how, shapes)
    return from_specs(how.unflatten([TensorSpec(TensorShape(e), d) for d, e in zip(leaves, extents, strict=True)]))


def generated(generator: Callable[..., Any], arguments: Sequence[Any], structure: ElementStructure) -> Iterator[Element]:
    """Return the elements that `generator(*arguments)` yields. Its errors name the number of the element.

    NeedsValues if they are looked at for their ranks alone, as a generator may yield each of them once.
    """
    if only_for_rank():
        raise engine.NeedsValues("a generator may yield an element only once")
    running: list[Iterator[Any]] = []

    def element(index: int) -> Element:
        try:
            with apart():
                if not running:
                    running.append(iter(live(generator)(*arguments)))
                return _fitted(next(running[0]), structure, index), structure.nest
        except StopIteration:
            raise
        except _Unfit as misfit:
            raise invalid(str(misfit)) from misfit.__cause__
        except Exception as error:
            raise failed(error, "Error in the generator of Dataset.from_generator()", index) from error

    return map(element, itertools.count())


class _Unfit(Exception):
    """An element that does not match the signature."""


def _fitted(value: Any, structure: ElementStructure, index: int) -> tuple[Any, ...]:
    try:
        leaves = nest.flatten_up_to(structure.nest, value)
    except (TypeError, ValueError):
        expected = structure.nest.unflatten([spec.dtype for spec in structure.specs])
        raise _Unfit(
            f"TypeError: `generator` yielded an element that did not match the expected structure. The expected structure was "
            f"{expected}, but the yielded element was {value} (element {index})."
        ) from None
    return tuple([_leaf(item, spec, index) for item, spec in zip(leaves, structure.specs, strict=True)])


def _composite(item: Any, spec: Any, index: int) -> Any:
    found = COMPOSITES.get(type(item))
    if found is None or not spec.is_compatible_with(item):
        raise _Unfit(
            f"TypeError: `generator` yielded an element of {item} where an element of {spec} was expected (element {index})."
        )
    return found.of(item)


def _leaf(item: Any, spec: Any, index: int) -> Any:
    if not isinstance(spec, TensorSpec):
        return _composite(item, spec, index)
    if isinstance(item, (Tensor, Stored)):
        item = item.numpy()
    dtype = spec.dtype.numpy
    try:
        # As in TensorFlow numbers are cast, so that a float is accepted for an int.
        array = np.array(to_array(item)) if dtype.kind == "O" else np.array(item, dtype)
        if array.dtype != dtype:
            raise TypeError(f"it is {array.dtype}")
    except (TypeError, ValueError, OverflowError) as error:
        raise _Unfit(
            "TypeError: `generator` yielded an element that could not be converted to the expected type. The expected type was "
            f"{spec.dtype.name}, but the yielded element was {item} (element {index})."
        ) from error
    if not spec.shape.is_compatible_with(array.shape):
        raise _Unfit(
            f"TypeError: `generator` yielded an element of shape {array.shape} where an element of shape {spec.shape} was "
            f"expected (element {index})."
        )
    return array
