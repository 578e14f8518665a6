"""`FunctionType`: a function's parameters with their types, and the type of its results, printed as in TensorFlow."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.given import Given, GivenSpec
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec, TypeSpec, VariableSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.tensors.variable import Variable

Kind = inspect.Parameter


class Literal:
    """The type of a value that is not a tensor: a constant, or a nest of specs and constants."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return _text(self.value)


def _text(value: Any) -> str:
    if isinstance(value, TensorSpec):
        return repr(TensorSpec(value.shape, value.dtype))
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, Stored):
        return repr(VariableSpec.of(value.variable, 0))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}[{', '.join([f'[{n!r}, {_text(v)}]' for n, v in zip(value._fields, value, strict=True)])}]"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__.capitalize()}[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        return f"Dict[{', '.join([f'[{k!r}, {_text(v)}]' for k, v in value.items()])}]"
    return f"Literal[{value!r}]"


def type_of(value: Any) -> TensorSpec | Literal:
    """Return the type of a nest of TensorSpecs and constants."""
    return value if isinstance(value, TensorSpec) else Literal(value)


def nested(constraint: TensorSpec | Literal) -> Any:
    """Return the nest of specs and constants of a type."""
    return constraint if isinstance(constraint, TensorSpec) else constraint.value


class Parameter(inspect.Parameter):
    """A parameter: `name`, `kind`, whether it is `optional`, and its `type_constraint`."""

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not self.empty

    @property
    def type_constraint(self) -> TensorSpec | Literal | None:
        """The type of its argument: a TensorSpec, a Literal for a value that is not a tensor, None for any value."""
        return None if self.annotation is self.empty else self.annotation


class FunctionType(inspect.Signature):
    """A signature with types as annotations; `captures` has the types of outside tensors, by their id.

    >>> traced = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], tf.float32))
    >>> print(traced.function_type)
    (x: TensorSpec(shape=(None,), dtype=tf.float32, name=None)) -> TensorSpec(shape=(None,), dtype=tf.float32, name=None)
    """

    captures: dict[int, TensorSpec]

    @public
    def __init__(
        self, parameters: Sequence[Parameter], captures: dict[int, TensorSpec] | None = None, output: Any = None
    ) -> None:
        super().__init__(parameters, return_annotation=inspect.Signature.empty if output is None else output)
        self.captures = captures or {}

    @property
    def output(self) -> TensorSpec | Literal | None:
        """The type of the function's results."""
        return None if self.return_annotation is self.empty else self.return_annotation

    def __repr__(self) -> str:
        lines = ["Input Parameters:"]
        lines += [f"  {p.name} ({p.kind.name}): {p.type_constraint}" for p in self.parameters.values()]  # type: ignore[attr-defined]
        lines += ["Output Type:", f"  {self.output}", "Captures:"]
        lines += [f"  {number}: {spec}" for number, spec in self.captures.items()] or ["  None"]
        return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------------
# Whether a value is of a type


def fitted(to: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Bind the arguments of a call, with defaults, and convert them to the types; TypeError if they do not fit."""
    try:
        bound = to.bind(*args, **kwargs)
        bound.apply_defaults()
        for p in to.parameters.values():
            if p.annotation is not p.empty:
                bound.arguments[p.name] = _fit(nested(p.annotation), bound.arguments[p.name])
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Binding inputs to tf.function failed due to `{error}`. Received args: {args} and kwargs: {kwargs} for signature: "
            f"{to!s}."
        ) from None
    return bound.args, bound.kwargs


def _fit(wanted: Any, value: Any) -> Any:
    """Convert `value` to `wanted`, a nest of TensorSpecs and constants; TypeError or ValueError if it does not fit."""
    if isinstance(wanted, TensorSpec):
        return _fit_tensor(wanted, value)
    if isinstance(wanted, (Mapping, tuple, list)) and isinstance(value, (Tensor, Stored)):
        raise TypeError(f"Can not cast {value!r} to {'a Dict' if isinstance(wanted, Mapping) else type(wanted).__name__} type.")
    return nest.map_up_to(_fit_leaf, wanted, value)


def _fit_leaf(wanted: Any, value: Any) -> Any:
    if isinstance(wanted, TensorSpec):
        return _fit_tensor(wanted, value)
    if isinstance(wanted, VariableSpec):
        if value is wanted or (isinstance(value, Stored) and value.variable.dtype == wanted.dtype):
            return value
    elif isinstance(wanted, GivenSpec):
        given = value._type_spec if isinstance(value, Given) else value
        if isinstance(given, type(wanted)):
            if not wanted.is_compatible_with(given):
                raise invalid(f"The function takes what is a {wanted!r}, and got a {given!r}.")
            return value
    elif isinstance(wanted, Variable):
        if isinstance(value, Variable) and value.aval is wanted.aval:
            return value
    elif value is wanted or (wanted != wanted and value != value) or _equal(wanted, value):
        return value
    raise ValueError(f"Can not cast {value!r} to {_text(wanted)}")


def _equal(wanted: Any, value: Any) -> bool:
    try:
        return bool(value == wanted)
    except (TypeError, ValueError):  # an array, a symbol
        return False


def _fit_tensor(wanted: TensorSpec, value: Any) -> Any:
    if isinstance(value, TensorSpec):
        given, value = value, wanted
    else:
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value, wanted.dtype.numpy)
        value = tensor(value, None if isinstance(value, (Tensor, Stored)) else wanted.dtype)
        given = TensorSpec(value.shape, value.dtype)
    if not wanted.is_compatible_with(given):
        raise TypeError(f"Can not cast {given!r} to {TensorSpec(wanted.shape, wanted.dtype)!r}")
    return value
