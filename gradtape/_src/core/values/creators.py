"""Hooks into variable creation: `variable_creator_scope`, and the policies for copies on several devices."""

from __future__ import annotations

import abc
import contextlib
import enum
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.tracebacks import cut


class VariableSynchronization(enum.Enum):
    """The time to synchronize a variable's copies on several devices. Kept, but without effect on one device.

    >>> v = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)
    >>> print(v.synchronization, v.trainable)
    VariableSynchronization.ON_READ False
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The way to aggregate a variable's copies on several devices. Kept, but without effect on one device.

    >>> print(tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN).aggregation.name)
    MEAN
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA


def checked(synchronization: Any, aggregation: Any, trainable: bool | None) -> tuple[Any, Any, bool]:
    """Validate a variable's three policies; return them with defaults filled in."""
    synchronization = VariableSynchronization.AUTO if synchronization is None else synchronization
    aggregation = VariableAggregation.NONE if aggregation is None else aggregation
    for value, kind, name in [
        (synchronization, VariableSynchronization, "synchronization"),
        (aggregation, VariableAggregation, "aggregation"),
    ]:
        if not isinstance(value, kind):
            raise ValueError(f"Invalid variable {name} mode: {value!r}. Give a member of tf.{kind.__name__}.")
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, bool(trainable)


class _Fields:
    """The open creator scopes of this thread, the innermost last."""

    creators: list[Callable[..., Any]] = field(list, per_replica=True)


_local = declare(_Fields)


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Open a context in which `variable_creator(next_creator, **kwargs)` creates all variables.

    `kwargs` are the arguments of `tf.Variable` by name. The creator may change them and calls `next_creator(**kwargs)`. The value
    it returns is the variable.

    >>> def frozen(next_creator, **kwargs):
    ...     return next_creator(**(kwargs | {"trainable": False}))
    >>> with tf.variable_creator_scope(frozen):
    ...     v = tf.Variable(1.0)
    >>> v.trainable
    False
    """
    creators = [*_local.creators, variable_creator]
    with setting(creators=creators):
        try:
            yield
        finally:
            if _local.creators != creators:
                raise RuntimeError("Exiting variable_creator_scope without proper nesting.")


def created(make: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call `make(**arguments)` through the open creator scopes."""
    for creator in _local.creators:
        make = _next(creator, make)
    return make(**arguments)


def _next(creator: Callable[..., Any], make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **kwargs: creator(make, **kwargs)


class Created(abc.ABCMeta):
    """The metaclass of classes whose instances are created through the open creator scopes; derived classes are excepted.

    A derived class may also have an abstract base.
    """

    # ABCMeta's isinstance consults a registry, which is too slow for each argument of each op.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the constructor without `self`, for `inspect`."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())  # type: ignore[misc]
        return inspect.Signature(parameters[1:])

    if not TYPE_CHECKING:  # type checkers take a call for the constructor

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            make = super().__call__
            try:
                if not _local.creators or "_made_by_creators" not in vars(cls):
                    return make(*args, **kwargs)
                bound = cls.__signature__.bind(*args, **kwargs)
                bound.apply_defaults()
                arguments = dict(bound.arguments)
                return created(make, arguments)
            except BaseException as error:
                cut(error)
                raise
