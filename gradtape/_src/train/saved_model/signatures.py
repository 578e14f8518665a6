"""Signatures: functions from named tensors to named tensors, the interface of a model for other programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor

DEFAULT = "serving_default"


class SignatureMap(Mapping[str, ConcreteFunction]):
    """The signatures of a loaded object by name, each called with tensors by keyword. The mapping is immutable."""

    def __init__(self, signatures: dict[str, ConcreteFunction]) -> None:
        self._signatures = signatures

    def __getitem__(self, key: str) -> ConcreteFunction:
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"


def canonical(signatures: Any, functions: Mapping[str, Any]) -> dict[str, ConcreteFunction]:
    """Return `signatures` as functions by name; by default the only function with an input signature.

    ValueError for other values than functions with an input signature.
    """
    if signatures is None:
        known = [concrete for function in functions.values() if (concrete := _concrete(function)) is not None]
        found = [concrete for concrete in known if _can_be_signature(concrete)]
        return {DEFAULT: found[0]} if len(found) == 1 else {}
    named = signatures if isinstance(signatures, Mapping) else {DEFAULT: signatures}
    if any(not isinstance(name, str) for name in named):
        raise ValueError(f"The names of signatures must be strings, received {list(named)}.")
    concretes = {id(function): _concrete(function) for function in named.values()}
    given = {name: concretes[id(function)] for name, function in named.items()}
    for name, concrete in given.items():
        if concrete is None:
            raise ValueError(
                f"Expected a TensorFlow function for which to generate a signature, but got {named[name]!r}. Only "
                "`tf.functions` with an input signature or concrete functions can be used as a signature."
            )
        named_results(concrete, concrete.structured_outputs, name)
    return {name: concrete for name, concrete in given.items() if concrete is not None}


def _concrete(function: Any) -> ConcreteFunction | None:
    if isinstance(function, Function) and function.input_signature is not None:
        return function.untraced().get_concrete_function()
    return function if isinstance(function, ConcreteFunction) else None


def _can_be_signature(concrete: ConcreteFunction) -> bool:
    if any(spec.shape.rank is None for spec in concrete._input_specs()):
        return False  # a signature is one trace, and each rank needs its own
    try:
        return bool(named_results(concrete, concrete.structured_outputs, DEFAULT))
    except ValueError:
        return False


def named_results(concrete: ConcreteFunction, results: Any, signature: str) -> dict[str, Any]:
    """Return the results of a function by name: the keys of a dict, or `output_0` and so on; ValueError for other nests."""
    if isinstance(results, Mapping):
        named = dict(results)
    else:
        several = results if isinstance(results, (list, tuple)) else [] if results is None else [results]
        named = {f"output_{i}": result for i, result in enumerate(several)}
    for key, result in named.items():
        parts = [result] if nest.is_nested(result) else nest.flatten(result, expand_composites=True)
        if not isinstance(key, str) or not all(isinstance(part, (Tensor, TensorSpec)) for part in parts):
            raise ValueError(
                f"Got a non-Tensor value {result!r} for key {key!r} in the output of the function {concrete.called} used to "
                f"generate the SavedModel signature {signature!r}. Outputs for functions used as signatures must be a single "
                "Tensor, a sequence of Tensors, or a dictionary from string to Tensor."
            )
    return named


def wrapped(concrete: ConcreteFunction, signature: str) -> ConcreteFunction:
    """Convert a traced function to a signature: tensors by keyword, results in a dict.

    As in TensorFlow, a character that no name of a parameter may contain becomes `_`.
    """
    names = [re.sub(r"\W", "_", name) for name in concrete._keywords()]

    def wrapper(**tensors: Any) -> dict[str, Any]:
        return named_results(concrete, concrete(*[tensors[name] for name in names]), signature)

    wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    function = Function(wrapper, autograph=False, name=f"signature_wrapper_{concrete._function._name}")
    specs = zip(names, concrete._input_specs(), strict=True)
    return function.get_concrete_function(**{name: TensorSpec(s.shape, s.dtype, name) for name, s in specs})
