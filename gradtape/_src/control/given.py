"""Arguments that are not tensors but have a type, such as Datasets: calls with different objects of one type share a trace."""

from __future__ import annotations

from collections.abc import Mapping

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.declarations.spec import TypeSpec


class GivenSpec(TypeSpec):
    """Base of the specs of Given arguments."""

    __slots__ = ()

    def stand_in(self) -> Given:
        """Return an object that stands in a trace for all arguments of this spec."""
        raise NotImplementedError


class Given:
    """Base of arguments, such as Datasets, that a call passes by their type."""

    @property
    def _type_spec(self) -> GivenSpec:
        raise NotImplementedError


class _Fields:
    """The Given arguments of the present calls, by the id of their stand-ins in the trace."""

    call_arguments: Mapping[int, Given] = field(dict, per_replica=True, handed=True)


_local = declare(_Fields)


def of_calls() -> Mapping[int, Given]:
    """Return the Given arguments of the present calls."""
    return _local.call_arguments


def calling(arguments: Mapping[int, Given]) -> setting:
    """Open a context for a call with these arguments, in addition to those of outer calls."""
    return setting(call_arguments={**_local.call_arguments, **arguments})
