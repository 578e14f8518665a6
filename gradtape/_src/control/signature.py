"""The signature of a function: its parameters, and what an `input_signature` asks of each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.control.function_type import FunctionType, Kind, Parameter, fit, type_of
from gradtape._src.core import nest
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor


class Signature:
    """The parameters of a Python function; `wanted` has a nest of TensorSpecs and values for each that is constrained.

    With an input signature a default is the only value of its parameter. `*args` take the specs that are left, and there are no
    `**kwargs`.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any) -> None:
        try:
            self.parameters = inspect.signature(python_function)
        except (TypeError, ValueError):
            self.parameters = inspect.Signature(
                [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)], return_annotation=Any
            )
        self.specs = None if input_signature is None else tuple(input_signature)
        self.wanted: dict[str, Any] = {}
        if self.specs is not None:
            _check_specs(self.specs)
            self._constrain(list(self.specs))
        kinds = [p.kind for p in self.parameters.parameters.values()]
        self.simple = all(k is inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds) and input_signature is None
        self.count = len(kinds)

    def _constrain(self, specs: list[Any]) -> None:
        """Give each parameter its spec, in order; what is left has a default."""
        kept: list[inspect.Parameter] = []
        positional = any(p.kind is Kind.VAR_POSITIONAL for p in self.parameters.parameters.values())
        for p in self.parameters.parameters.values():
            if p.kind is Kind.VAR_POSITIONAL:
                for i, spec in enumerate(specs):
                    kept.append(inspect.Parameter(f"{p.name}_{i}", Kind.POSITIONAL_ONLY))
                    self.wanted[kept[-1].name] = spec
                specs = []
                continue
            if p.kind is Kind.VAR_KEYWORD:
                continue
            if p.kind is Kind.KEYWORD_ONLY and p.default is p.empty:
                raise TypeError(f"Since input_signature is defined, keyword-only parameter `{p.name}` must have a default value")
            if p.name != "self":
                if not specs and p.default is p.empty:
                    raise TypeError(f"input_signature missing type constraint for {p.name}: give a TensorSpec, or a default.")
                self.wanted[p.name] = specs.pop(0) if specs else nest.map_structure(_spec_of_tensor, p.default)
            kept.append(p.replace(kind=Kind.POSITIONAL_ONLY) if positional and p.kind is Kind.POSITIONAL_OR_KEYWORD else p)
        if specs:
            raise TypeError(f"input_signature contains {len(specs)} extra type constraints: {specs}.")
        self.parameters = inspect.Signature(kept)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bind the arguments of a call, with the defaults, in the wanted form; TypeError if they do not fit."""
        if self.simple and not kwargs and len(args) == self.count:
            return args, {}
        if not all(map(str.isidentifier, kwargs)):
            _check_names(list(kwargs))
        try:
            bound = self.parameters.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, wanted in self.wanted.items():
                bound.arguments[name] = fit(wanted, bound.arguments[name])
        except (TypeError, ValueError) as error:
            raise misfit(error, args, kwargs, self.type) from None
        return bound.args, bound.kwargs

    @property
    def type(self) -> FunctionType:
        """The parameters with the types of what they take, as far as those are constrained."""
        parameters = []
        for p in self.parameters.parameters.values():
            wanted = type_of(self.wanted[p.name]) if p.name in self.wanted else p.empty
            parameters.append(Parameter(p.name, p.kind, default=p.default, annotation=wanted))
        return FunctionType(parameters)


def misfit(why: Exception, args: Any, kwargs: Any, signature: FunctionType) -> TypeError:
    """Return the error for arguments that do not fit."""
    return TypeError(
        f"Binding inputs to tf.function failed due to `{why}`. Received args: {args} and kwargs: {kwargs} for signature: "
        f"{signature!s}."
    )


def _spec_of_tensor(default: Any) -> Any:
    return TensorSpec(default.shape, default.dtype) if isinstance(default, (Tensor, np.ndarray)) else default


def _check_specs(specs: tuple[Any, ...]) -> None:
    bad = [spec for spec in nest.flatten(specs, expand_composites=True) if not isinstance(spec, TensorSpec)]
    if bad:
        raise TypeError(
            f"input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args {bad} with types "
            f"{[type(spec) for spec in bad]}."
        )


def _check_names(names: list[str]) -> None:
    """Raise ValueError if two keywords become the same name when `_` replaces invalid characters."""
    plain = {"".join([c if c.isalnum() else "_" for c in name]) for name in names}
    if len(plain) < len(names):
        raise ValueError(
            f"Name collision after sanitization. Please rename tf.function input parameters. Original: {sorted(names)}, "
            f"Sanitized: {sorted(plain)}."
        )
