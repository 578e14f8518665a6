"""`get_variable`: named, shared variables."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.core.base import ambient
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import creators, dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.random.draws import uniform
from gradtape._src.ops.random.weights import fans
from gradtape._src.v1.graphs.graph import Graph, in_graph
from gradtape._src.v1.graphs.names import NameScope
from gradtape._src.v1.graphs.variable_scope import get_variable_scope, store

# Arguments of `get_variable` whose default is the scope's.
OF_SCOPE = ("dtype", "initializer", "regularizer", "caching_device", "partitioner", "constraint")


def _in_the_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` so that it creates its variables in the outermost graph."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        inside = in_graph() is None and engine.graph_around() is not None
        with tracing.outside(graph=True) if inside else contextlib.nullcontext():
            return function(*args, **kwargs)

    return call


@public
@_in_the_graph
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = creators.VariableSynchronization.AUTO,
    aggregation: Any = creators.VariableAggregation.NONE,
) -> Any:
    """Return the variable called `name` in the open variable scope, created or reused according to the scope's `reuse`.

    `initializer` is a function of shape and dtype, or a tensor. The default is Glorot's uniform one, zeros for integers.
    ValueError if the variable exists and must not be reused, or does not exist and must be, or if shape or dtype differ.
    """
    settings = dict(locals())
    del settings["name"], settings["custom_getter"]
    scope = get_variable_scope()
    getter = custom_getter if custom_getter is not None else scope.custom_getter
    if getter is not None and not callable(getter):
        raise ValueError(f"Passed a custom_getter which is not callable: {getter!r}")
    if dtype is not None and initializer is not None and not callable(initializer):
        held = tensor(initializer).dtype
        if held != dtypes.as_dtype(dtype):
            raise ValueError(f"Initializer type '{held}' and explicit dtype '{dtypes.as_dtype(dtype)}' don't match.")
    settings |= {key: getattr(scope, key) for key in OF_SCOPE if settings[key] is None}
    settings["dtype"] = dtypes.as_dtype(settings["dtype"])
    settings["reuse"] = False if in_graph() is None else scope.reuse
    known = creators.checked(synchronization, aggregation, trainable)
    settings["synchronization"], settings["aggregation"], settings["trainable"] = known
    full = f"{scope.name}/{name}" if scope.name else name
    if getter is None:
        return _get(full, **settings)
    if not _takes(getter, "constraint"):
        del settings["constraint"]
    with NameScope(""), ambient.anew():
        return getter(getter=_get, name=full, **settings)


@public
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = creators.VariableSynchronization.AUTO,
    aggregation: Any = creators.VariableAggregation.NONE,
) -> Any:
    """Return a local variable like `get_variable`; it is not trained, and is initialized by `local_variables_initializer`."""
    return get_variable(
        name, shape, dtype, initializer, regularizer, False, [*(collections or ()), "local_variables"], caching_device,
        partitioner, validate_shape, use_resource, custom_getter, constraint, synchronization, aggregation,
    )  # fmt: skip


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _get(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    partitioner: Any = None,
    **options: Any,
) -> Any:
    """Return the variable with this full name, for `get_variable` or a custom getter."""
    known, graph, wanted = store().variables, in_graph(), dtypes.as_dtype(dtype)
    constant = initializer is not None and not callable(initializer)
    if constant and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    found = known.get(name) if graph is not None else None
    if found is not None:
        return _shared(name, found, shape, wanted, reuse)
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE "
            "in VarScope?"
        )
    initial, stated = (tensor(initializer), None) if constant else _initial(name, shape, wanted, initializer)
    with NameScope(""):
        variable = make_variable(initial, name=name, dtype=stated, **options)
    if graph is not None:
        known[name] = variable
        _penalize(graph, name, variable, regularizer)
    return variable


def _shared(name: str, found: Any, shape: Any, dtype: Any, reuse: Any) -> Any:
    if not reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    if not TensorShape(shape).is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found shape {found.shape}."
        )
    if dtype != found.dtype:
        raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}.")
    return found


def _penalize(graph: Graph, name: str, variable: Variable, regularizer: Any) -> None:
    if regularizer is None:
        return
    with NameScope(f"{name}/Regularizer/"), ambient.anew():
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection("regularization_losses", loss)


def _glorot(shape: Any, dtype: Any) -> Any:
    """Draw uniform numbers with variance 2 / (inputs + outputs), as in TensorFlow 1: Glorot and Bengio (2010)."""
    limit = math.sqrt(3.0 / max(1.0, sum(fans(shape)) / 2))
    return uniform(shape, -limit, limit, dtype)


def _initial(name: str, shape: Any, dtype: Any, initializer: Any) -> tuple[Any, Any]:
    """Return a function that computes a variable's initial value, and the dtype to declare."""
    stated = TensorShape(shape)
    if initializer is None:
        if not (dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype == dtypes.string):
            raise ValueError(f"An initializer for variable {name} of {dtype!r} is required")
        initializer = _glorot if dtype.is_floating else zeros
    if isinstance(initializer, type):
        initializer = initializer()
    if stated.is_fully_defined():
        return lambda: initializer(stated.as_list(), dtype=dtype), dtype
    if _without_arguments(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided or "
        "an instance of `tf.keras.initializers.*' and `shape` should be fully defined: "
        + (
            f"variable {name} did not get an initializer of a known shape, so its `shape` argument must be specified."
            if shape is None
            else f"Shape of a new variable ({name}) must be fully defined, but instead was {stated}."
        )
        + " Give shape=[…], or an initializer that is a tensor."
    )


def _without_arguments(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


# ---------------------------------------------------------------------------------------------------------------------
# Variables with TensorFlow 1's arguments


@_in_the_graph
def make_variable(
    initial_value: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    expected_shape: Any = None,
    import_scope: Any = None,
    constraint: Any = None,
    use_resource: Any = None,
    synchronization: Any = creators.VariableSynchronization.AUTO,
    aggregation: Any = creators.VariableAggregation.NONE,
    shape: Any = None,
) -> Any:
    """Create a variable and add it to `collections` (default: the global, and for a trainable one the trainable ones)."""
    arguments = dict(locals())
    return creators.created(_made, arguments)


def _made(collections: Any = None, expected_shape: Any = None, use_resource: Any = None, **arguments: Any) -> Any:
    with _collected(in_graph(), collections, arguments.get("trainable")):
        return type.__call__(Variable, **arguments)


@contextlib.contextmanager
def _collected(graph: Graph | None, collections: Any, trainable: Any) -> Iterator[None]:
    """Open a context in which a new variable is added to these collections, and to the trainable ones if it is trainable."""
    if graph is None or collections is None:
        yield
        return
    also = ["trainable_variables"] if trainable is not False else []
    before, graph.next_collections = graph.next_collections, list(dict.fromkeys([*collections, *also]))
    try:
        yield
    finally:
        graph.next_collections = before


class _Kind(type):
    """A metaclass: `isinstance(x, compat.v1.Variable)` holds for all variables, and a call creates one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Variable)

    @public
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return make_variable(*args, **kwargs)


class VariableV1(metaclass=_Kind):
    """A variable with TensorFlow 1's arguments: `collections` is the third one."""
