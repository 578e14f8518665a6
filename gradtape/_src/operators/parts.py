"""The parameters of linear operators as a composite tensor, and slices of their batch."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from gradtape._src.core.declarations.spec import BatchableTypeSpec, TensorSpec, TypeSpec, VariableSpec
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import convert_to_tensor, is_tensor, variable_of
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.composite import CompositeTensor
from gradtape._src.core.values.dim import Dim
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.shape import broadcast_static_shape, broadcast_to
from gradtape._src.ops.shapes import broadcast_shapes


def reference(value: Any, name: str, dtype: Any = None) -> Any:
    """Convert a parameter to a tensor; a Variable is kept, so that it is trained."""
    value = variable_of(value)
    return value if isinstance(value, Variable) else convert_to_tensor(value, dtype, name=name)


def parameter(name: str, doc: str) -> Any:
    """Return the property of a parameter, which an operator holds in the attribute `_name`."""
    return property(attrgetter(f"_{name}"), doc=doc)


def shape_of(value: Any) -> TensorShape:
    """Return the shape of a parameter, with a Dim for an extent that a function or graph does not know."""
    return value.shape if isinstance(value, Variable) or value.shape.rank is None else TensorShape(extents_of(value))


def stated(shape: TensorShape) -> TensorShape:
    """Return a shape for the user, with None for an extent that a function or graph does not know."""
    return TensorShape(None if shape.rank is None else [None if type(n) is Dim else n for n in shape.as_list()])


def broadcast_batches(*shapes: TensorShape) -> TensorShape:
    """Return the common batch shape of operators."""
    found = TensorShape([])
    for shape in shapes:
        found = broadcast_static_shape(found, shape)
    return found


def in_batch(x: Any, batch: TensorShape, rank: int = 2) -> Any:
    """Broadcast the batch of `x`, its axes before the last `rank`, together with the batch of an operator."""
    extents = extents_of(x)
    own = TensorShape(extents[: len(extents) - rank])
    common = broadcast_batches(own, batch).as_list()
    return x if common == own.as_list() else broadcast_to(x, [*common, *extents[len(extents) - rank :]])


def same_batch(*values: Any, rank: int = 2) -> list[Any]:
    """Broadcast the batches of tensors, their axes before the last `rank`, to one shape."""
    shapes = [extents_of(value) for value in values]
    batch: tuple[int, ...] = ()
    for shape in shapes:
        batch = broadcast_shapes(batch, shape[: len(shape) - rank])
    wanted = [(*batch, *shape[len(shape) - rank :]) for shape in shapes]
    return [
        value if shape == whole else broadcast_to(value, whole)
        for value, shape, whole in zip(values, shapes, wanted, strict=True)
    ]


def _has_tensors(value: Any) -> bool:
    return any(isinstance(x, (Variable, CompositeTensor)) or is_tensor(x) for x in nest.flatten(value))


def _spec_of(value: Any) -> Any:
    if isinstance(value, Variable):
        return VariableSpec.of(value)
    return value._type_spec if isinstance(value, CompositeTensor) else TensorSpec(shape_of(value), value.dtype)


class LinearOperatorSpec(BatchableTypeSpec):
    """The spec of a linear operator: its class, the specs of the parameters that are tensors, and the other parameters."""

    __slots__ = ("_kind", "_others", "_specs")

    def __init__(self, kind: type, specs: dict[str, Any], others: dict[str, Any]) -> None:
        self._kind, self._specs, self._others = kind, specs, others

    @classmethod
    def of(cls, operator: Any) -> LinearOperatorSpec:
        """Return the spec of an operator."""
        held = parameters_of(operator)
        made_of = {name for name, value in held.items() if _has_tensors(value)}
        specs = {name: nest.map_structure(_spec_of, held[name]) for name in sorted(made_of)}
        return cls(type(operator), specs, {name: value for name, value in held.items() if name not in made_of})

    @property
    def value_type(self) -> Any:
        """The class of the operator."""
        return self._kind

    def _serialize(self) -> tuple[Any, ...]:
        return self._kind, self._specs, self._others

    @property
    def _component_specs(self) -> Any:
        return self._specs

    def _to_components(self, value: Any) -> Any:
        held = parameters_of(value)
        return {name: held[name] for name in self._specs}

    def _from_components(self, components: Any) -> Any:
        return self._kind(**components, **self._others)

    def _each(self, change: Any) -> LinearOperatorSpec:
        return LinearOperatorSpec(self._kind, nest.map_structure(change, self._specs), self._others)

    def _batch(self, batch_size: int | None) -> LinearOperatorSpec:
        return self._each(lambda spec: spec._batch(batch_size))

    def _unbatch(self) -> LinearOperatorSpec:
        return self._each(lambda spec: spec._unbatch())

    def _with_tensor_ranks_only(self) -> LinearOperatorSpec:
        return self._each(lambda spec: spec._with_tensor_ranks_only() if isinstance(spec, TypeSpec) else spec)


def parameters_of(operator: Any) -> dict[str, Any]:
    """Return the arguments that create the operator again, with tensors in place of values converted to tensors."""
    if operator._parameters is None:
        raise NotImplementedError(
            f"{type(operator).__name__} cannot be taken apart: its __init__ must give LinearOperator.__init__ its arguments as "
            "`parameters`."
        )
    found = {}
    for name, value in operator._parameters.items():
        held = getattr(operator, f"_{name}", getattr(operator, name, value)) if value is not None else None
        plain = isinstance(value, (bool, str, int, float)) or (callable(held) and not isinstance(held, CompositeTensor))
        found[name] = value if plain or held is None else held
    return found


def batch_slice(operator: Any, slices: Any) -> Any:
    """Return the operator of the part of its batch selected by `slices`."""
    slices = tuple(slices) if isinstance(slices, (list, tuple)) else (slices,)
    batch = operator._batch_extents
    held = parameters_of(operator)
    ranks = operator._experimental_parameter_ndims_to_matrix_ndims
    for name, rank in ranks.items():
        if held.get(name) is not None:
            held[name] = nest.map_structure(lambda part, rank=rank: _sliced(part, rank, batch, slices), held[name])
    return type(operator)(**held)


def _sliced(part: Any, rank: int, batch: TensorShape, slices: tuple[Any, ...]) -> Any:
    """Slice a part of an operator by slices of the whole batch; the part's own batch may be broadcast."""
    value: Any = part if isinstance(part, CompositeTensor) else convert_to_tensor(part)
    own = value._batch_extents if isinstance(part, CompositeTensor) else shape_of(value)[: value.shape.rank - rank]
    chosen = _aligned(_one_per_axis(slices, batch.rank), batch.as_list(), own.as_list())
    if isinstance(part, CompositeTensor):
        return value[chosen] if chosen else value
    return value[(*chosen, *[slice(None)] * rank)]


def _one_per_axis(slices: tuple[Any, ...], rank: int) -> list[Any]:
    """Expand an ellipsis in slices: one for each axis of the batch, and the new axes among them."""
    taken = sum(each is not None and each is not Ellipsis for each in slices)
    missing = [slice(None)] * (rank - taken)
    at = next((place for place, each in enumerate(slices) if each is Ellipsis), len(slices))
    return [*slices[:at], *missing, *slices[at + 1 :]]


def _aligned(slices: list[Any], batch: list[int], own: list[int]) -> tuple[Any, ...]:
    """Return the slices for a batch that is broadcast to the whole batch. Its axes are the last ones; an extent of 1 is kept."""
    found, axis, skipped = [], 0, len(batch) - len(own)
    for each in slices:
        if each is None:
            if axis > skipped or not skipped:
                found.append(None)
            continue
        if axis >= skipped:
            repeated = own[axis - skipped] == 1 and batch[axis] != 1
            found.append((slice(None) if isinstance(each, slice) else 0) if repeated else each)
        axis += 1
    return tuple(found)
