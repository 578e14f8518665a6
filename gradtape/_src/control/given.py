"""Arguments that are no tensors and have a type, such as Datasets: one trace serves all of a type, and each call has its own."""

from __future__ import annotations

from collections.abc import Mapping

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.declarations.spec import TypeSpec


class GivenSpec(TypeSpec):
    """Base of the specs of such arguments."""

    __slots__ = ()

    def stand_in(self) -> Given:
        """Return what stands in a trace for all that are of this spec."""
        raise NotImplementedError


class Given:
    """Base of such arguments."""

    @property
    def _type_spec(self) -> GivenSpec:
        raise NotImplementedError


class _Fields:
    """The arguments of the calls that this thread makes, or for which it works, by the id of what stands for them."""

    call_arguments: Mapping[int, Given] = field(dict, per_replica=True, handed=True)


_local = declare(_Fields)


def of_calls() -> Mapping[int, Given]:
    """Return the arguments of the calls under way."""
    return _local.call_arguments


def calling(arguments: Mapping[int, Given]) -> setting:
    """Open a context for a call with these arguments, beside those of the calls around it."""
    return setting(call_arguments={**_local.call_arguments, **arguments})
