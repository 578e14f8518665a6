"""A graph's collections of variables and other objects by name, and operations on variables in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.control.host import numpy_function
from gradtape._src.core.base.errors import OutOfRangeError
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.dtypes import string as strings
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.shape import identity
from gradtape._src.v1.graphs.graph import get_default_graph, in_graph
from gradtape._src.v1.graphs.kinds import INITIALIZED


class GraphKeys:
    """The names of the collections that TensorFlow itself uses."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAIN_OP = "train_op"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    EVAL_STEP = "eval_step"


@public
def add_to_collection(name: Any, value: Any) -> None:
    """Add `value` to the collection `name` of the default graph."""
    get_default_graph().add_to_collection(name, value)


@public
def add_to_collections(names: Any, value: Any) -> None:
    """Add `value` to each of the collections `names` of the default graph."""
    get_default_graph().add_to_collections(names, value)


@public
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return a copy of a collection of the default graph; with `scope`, only items whose names start with a match of it."""
    return get_default_graph().get_collection(key, scope)


@public
def get_collection_ref(key: Any) -> list[Any]:
    """Return a collection of the default graph itself; changes of the list change the collection."""
    return get_default_graph().get_collection_ref(key)


def _variables(key: str, scope: str | None) -> list[Variable]:
    return get_default_graph().get_collection(key, scope)


@public
def global_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables of the default graph that are not local."""
    return _variables(GraphKeys.GLOBAL_VARIABLES, scope)


@public
def local_variables(scope: str | None = None) -> list[Variable]:
    """Return the local variables of the default graph."""
    return _variables(GraphKeys.LOCAL_VARIABLES, scope)


@public
def model_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables entered as a model's."""
    return _variables(GraphKeys.MODEL_VARIABLES, scope)


@public
def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables of the default graph that optimizers train by default."""
    return _variables(GraphKeys.TRAINABLE_VARIABLES, scope)


@public
def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that have moving averages."""
    return _variables(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@public
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """Return an Operation that initializes these variables; None in eager code, which initializes them at creation."""
    graph = in_graph()
    return None if graph is None else graph.group([v.initializer for v in var_list], name)


@public
def global_variables_initializer() -> Any:
    """Return an Operation that initializes the graph's global variables."""
    return variables_initializer(global_variables())


@public
def local_variables_initializer() -> Any:
    """Return an Operation that initializes the graph's local variables."""
    return variables_initializer(local_variables())


@public
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Return an Operation without effect, as tables are initialized at creation."""
    graph = in_graph()
    return None if graph is None else graph.group((), name)


@public
def is_variable_initialized(variable: Variable) -> Any:
    """Return a bool Tensor: whether a variable has a value in the session."""
    if in_graph() is None:
        return tensor(True)
    return EagerTensor(engine.record(INITIALIZED, (variable.held(),)))


@public
def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    """Return a string Tensor: the names of the variables (default: all of the graph) that are uninitialized when a run begins."""
    graph = in_graph()
    wanted = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if graph is None:
        return constant([], strings)

    def missing(session: Any, feeds: Any) -> list[Any]:
        return [np.array([v.name[:-2].encode() for v in wanted if not session.has_value(v)], object)]

    report = graph.placeholder(strings.numpy, TensorShape([None]), name)
    graph.drawn[report.node] = missing, 0
    return report


@public
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Return a Tensor that raises FailedPreconditionError unless these variables (default: all of the graph) are initialized."""
    graph = in_graph()
    wanted = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if graph is None or not wanted:
        return None
    with graph.control_dependencies([variable.read_value() for variable in wanted]):
        return identity(constant([variable.shape.rank for variable in wanted]))


@public
def count_up_to(ref: Any, limit: Any, name: str | None = None) -> Any:
    """Return the value of the integer variable `ref`, and increase it by 1; OutOfRangeError without a change at `limit`."""

    def checked(value: Any) -> Any:
        if value >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        return value

    value = numpy_function(checked, [ref.read_value()], TensorSpec([], ref.dtype))
    with control_dependencies([value]):
        counted = ref.assign(value + 1)
    with control_dependencies([counted]):
        return identity(value)


attach(Variable, count_up_to=count_up_to)


@public
def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None) -> Any:
    """Assign a new value to the variable `ref`."""
    return ref.assign(value)


@public
def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Add `value` to the variable `ref`."""
    return ref.assign_add(value)


@public
def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Subtract `value` from the variable `ref`."""
    return ref.assign_sub(value)


def _scatter(method: str, does: str) -> Any:
    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
        return getattr(ref, method)(IndexedSlices(tensor(updates, ref.dtype), tensor(indices)))

    scatter.__name__ = scatter.__qualname__ = method
    scatter.__doc__ = f"{does} the rows `indices` of the variable `ref`."
    return public(scatter)


def _scatter_nd(method: str, does: str) -> Any:
    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
        return getattr(ref, method)(indices, updates)

    scatter.__name__ = scatter.__qualname__ = method
    scatter.__doc__ = f"{does} the elements, or slices, of the variable `ref` at the points `indices`."
    return public(scatter)


scatter_nd_update = _scatter_nd("scatter_nd_update", "Put `updates` in place of")
scatter_nd_add = _scatter_nd("scatter_nd_add", "Add `updates` to")
scatter_nd_sub = _scatter_nd("scatter_nd_sub", "Subtract `updates` from")
scatter_update = _scatter("scatter_update", "Put `updates` in place of")
scatter_add = _scatter("scatter_add", "Add `updates` to")
scatter_sub = _scatter("scatter_sub", "Subtract `updates` from")
scatter_mul = _scatter("scatter_mul", "Multiply by `updates`")
scatter_div = _scatter("scatter_div", "Divide by `updates`")
scatter_max = _scatter("scatter_max", "Take the maximum with `updates` of")
scatter_min = _scatter("scatter_min", "Take the minimum with `updates` of")
