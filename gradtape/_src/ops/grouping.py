"""Ops that only order others: `group`, `tuple`, `no_op`. Ops with effects always run in program order."""

from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import control_dependencies
from gradtape._src.ops.array.shape import identity


@public
def no_op(name=None):
    """Do nothing; in a graph return an Operation that does nothing.

    >>> print(tf.no_op())
    None
    >>> with tf.Graph().as_default():
    ...     print(tf.no_op().type)
    NoOp
    """
    graph = engine.current_graph()
    return None if graph is None else graph.group((), name or "NoOp")


@public
def group(*inputs, **kwargs):
    """Return None after the ops in `inputs` have run, in program order.

    In a graph, return an Operation that runs them.

    >>> v = tf.Variable(1.0)
    >>> tf.group(v.assign_add(1.0), v.assign_add(1.0))
    >>> print(v.numpy())
    3.0
    """
    unknown = [word for word in kwargs if word != "name"]
    if unknown:
        raise ValueError(f"Unknown keyword arguments: {unknown}. group takes inputs, and name=.")
    graph = engine.current_graph()
    return None if graph is None else graph.group(nest.flatten(inputs), kwargs.get("name") or "group_deps")


@public
@known_as("tuple")
def tuple_(tensors, control_inputs=None, name=None):
    """Return new Tensors with the values of the list `tensors` (Tensors, IndexedSlices or None).

    >>> first, second = tf.tuple([tf.constant(1), tf.constant(2)])
    >>> print(first.numpy(), second.numpy())
    1 2
    """
    graph = engine.current_graph()
    if graph is None and engine.local.trace.scope is None:
        return tensors
    made = [x if x is None or isinstance(x, IndexedSlices) else tensor(x) for x in tensors]
    given = [x for x in [*made, *(control_inputs or ())] if x is not None]
    if graph is not None and not given:
        raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
    with control_dependencies(given):
        return [x if x is None else identity(x) for x in made]
