"""`Optional`: an element that may be missing."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TypeSpec, type_spec_from_value
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import constant, is_composed, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values.composite import CompositeTensor
from gradtape._src.data.structure import Elements, Held, flatten, spec_of
from gradtape._src.ops.debugging import checks as debugging

EMPTY = "The given optional does not have a value. Ask has_value() first."


class Optional(CompositeTensor, Held):
    """A nest of tensors, or no value: the result of `Iterator.get_next_as_optional`.

    >>> element = tf.experimental.Optional.from_value((1.0, [2, 3]))
    >>> bool(element.has_value()), element.get_value()[1].numpy()
    (True, array([2, 3], dtype=int32))
    >>> bool(tf.experimental.Optional.empty(tf.TensorSpec([], tf.float32)).has_value())
    False
    """

    def __init__(self, element_spec: Any, value: tuple[Any, ...], holds: Tensor | None = None) -> None:
        """Store the `value`, if there is one. In a function the tensor `holds` is whether there is one; else the value is
        zeros.
        """
        self._element_spec, self._value, self._holds = element_spec, value, holds

    @staticmethod
    @public
    def from_value(value: Any) -> Optional:
        """Create an Optional with a value: a nest of tensors, values convertible to tensors, None and datasets."""
        leaves, how = flatten(value)
        leaves = [
            item if item is None or is_composed(item) or isinstance(item, IndexedSlices) else tensor(item) for item in leaves
        ]
        return Optional(nest.unflatten(how, [_spec(item) for item in leaves]), (nest.unflatten(how, leaves),))

    @staticmethod
    @public
    def empty(element_spec: Any) -> Optional:
        """Create an Optional without a value; `element_spec` is the spec of a value."""
        return Optional(element_spec, ())

    @public
    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value, a scalar bool tensor."""
        return constant(bool(self._value)) if self._holds is None else self._holds

    @public
    def get_value(self, name: str | None = None) -> Any:
        """Return the value; InvalidArgumentError if there is none."""
        if not self._value:
            raise invalid(EMPTY)
        if self._holds is not None:
            debugging.Assert(self._holds, [EMPTY])
        return self._value[0]

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of the value."""
        return self._element_spec

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    def __repr__(self) -> str:
        return f"<tf.experimental.Optional element_spec={self.element_spec!r}>"


class OptionalSpec(TypeSpec):
    """The spec of an Optional whose value has the specs `element_spec`, a nest.

    >>> tf.type_spec_from_value(tf.experimental.Optional.from_value(1))
    OptionalSpec(TensorSpec(shape=(), dtype=tf.int32, name=None),)
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Return the spec of an Optional."""
        return OptionalSpec(value.element_spec)

    @property
    def value_type(self) -> type[Optional]:
        """The class Optional."""
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    def _to_components(self, value: Optional) -> tuple[Any, ...]:
        return value._value

    def _from_components(self, components: tuple[Any, ...]) -> Optional:
        return Optional(self._element_spec, components)


def _spec(item: Any) -> Any:
    return spec_of(item) if isinstance(item, Elements) else type_spec_from_value(item)
