"""Scopes that eager code enters: name scopes, devices, control dependencies."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import constant_folding, engine, tracing
from gradtape._src.core.settings.device_config import check_device
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Stored, Tensor, unvalued

MOST = 1 << 15  # the number of scope entries kept


class _Fields:
    """The name prefix of a thread, and its history as `marks`: (serial of the trace, number of its nodes, new prefix)."""

    prefix: str = field("", per_replica=True)
    marks: deque[tuple[int, int, str]] = field(lambda: deque(maxlen=MOST), per_replica=False)


_local = declare(_Fields)


def scoped(name: str) -> str:
    """Return `name` with the prefix of this thread's open name scopes."""
    return prefix() + name


def prefix() -> str:
    """Return the prefix of this thread's open name scopes: "", or "a/b/"."""
    return _local.prefix


def enter_scope(to: str, again: bool = False) -> str:
    """Set the name prefix; return the previous one. `again`: the prefix is that of a scope entered before."""
    before = prefix()
    _local.prefix = to
    trace = engine.local.trace
    if trace.scope is not None:
        trace.names.append((len(trace.nodes), to, () if again else []))
    _local.marks.append((trace.serial, len(trace.nodes), to))
    return before


def marks() -> deque[tuple[int, int, str]]:
    """Return the history of this thread's prefix: (serial of the trace, number of its nodes, new prefix)."""
    return _local.marks


def prefixes_in(serial: int) -> Callable[[int], str]:
    """Return a function from a node's index, in the trace with this serial, to the name prefix at that time."""
    marks = [(position, to) for of, position, to in _local.marks if of == serial]
    before = next((to for of, _, to in reversed(_local.marks) if of < serial), "")
    positions, prefixes = [position for position, _ in marks], [before, *[to for _, to in marks]]
    return lambda index: prefixes[bisect_right(positions, index)]


class name_scope:
    """Open a context that prefixes the names of variables created in it by `name/`; yields the full prefix.

    A name that ends in "/" replaces all open scopes.

    >>> with tf.name_scope("layer"):
    ...     v = tf.Variable(1.0, name="weight")
    >>> v.name
    'layer/weight:0'
    """

    @public
    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._outer: list[str] = []  # a stack, since a scope may be entered within itself

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    def __enter__(self) -> str:
        graph = engine.current_graph()
        if graph is not None and self._name and not self._name.endswith("/"):
            self._outer.append(enter_scope(graph.unique_name(self._name) + "/"))
            return prefix()
        outer = prefix()
        to = self._name if self._name.endswith("/") else f"{outer}{self._name}/" if self._name else ""
        self._outer.append(enter_scope(to, self._name.endswith("/")))
        return to

    def __exit__(self, kind: object, value: Any, traceback: object) -> None:
        enter_scope(self._outer.pop())


def get_current_name_scope() -> str:
    """Return the open name scopes as "outer/inner", or "" outside of all scopes.

    >>> with tf.name_scope("outer"), tf.name_scope("inner"):
    ...     print(tf.get_current_name_scope())
    outer/inner
    """
    return prefix().rstrip("/")


class OnDevice(contextlib.nullcontext[None]):
    """The context of `tf.device`. User code may read its device name, to make a strategy for it."""

    def __init__(self, device_name: str | None) -> None:
        super().__init__()
        self._device_name = device_name


@public
def device(device_name: str | None) -> AbstractContextManager[None]:
    """Open a context that names a device; ValueError for an invalid name. Values stay on JAX's default device.

    None and "" stand for any device. After `tf.config.set_soft_device_placement(False)` a missing device is an
    InvalidArgumentError.

    >>> with tf.device("/CPU:0"):
    ...     x = tf.ones([2])
    >>> x.device[-5:]
    'CPU:0'
    """
    if device_name not in (None, ""):
        if not isinstance(device_name, str):
            received = f"{type(device_name)}({device_name})"
            raise ValueError(f"Expecting a string device name. Got {received}. Give one such as '/GPU:0'.")
        check_device(device_name)
    return OnDevice(device_name)


@public
def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Open a context that orders side effects. Without effect in eager code, which runs them in the order of the program.

    In a graph, ops created in the context run after `control_inputs`; None removes all such dependencies.

    >>> v = tf.Variable(1.0)
    >>> with tf.control_dependencies([v.assign_add(1.0)]):
    ...     print(tf.identity(v).numpy())
    2.0
    """
    if isinstance(control_inputs, Iterator):
        control_inputs = list(control_inputs)
    graph = engine.current_graph()
    if graph is not None:
        ordering: AbstractContextManager[None] = graph.control_dependencies(control_inputs)
        return ordering
    around = engine.graph_around()
    if around is not None and control_inputs is not None:
        around.await_inside(control_inputs)
    return contextlib.nullcontext()


@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """Open a context in which no tape and no forward accumulator of the thread records."""
    with contextlib.ExitStack() as stack:
        for reference in engine.local.tapes:
            tape = reference()
            if tape is not None:
                stack.enter_context(tape.stop_recording())
        yield


@public
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Open a context that lifts its ops out of functions under trace, into eager code or the surrounding graph.

    Ops in it have no control dependencies, and are constants for the tapes around it.

    >>> with tf.init_scope():
    ...     print(tf.executing_eagerly())
    True
    """
    with stop_recording(), tracing.outside(graph=True), control_dependencies(None):
        yield


def executing_eagerly() -> bool:
    """Return whether ops give values at once. False in functions and graphs, also in functions that run as eager code.

    >>> tf.executing_eagerly()
    True
    """
    return engine.local.trace.scope is None and not tracing.local.functions


def inside_function() -> bool:
    """Return whether a `tf.function`, or a graph's branch or loop, is traced. False in eager code and at a graph's top level.

    >>> tf.inside_function(), tf.function(lambda: tf.constant(tf.inside_function()))().numpy()
    (False, np.True_)
    """
    graph = engine.current_graph()
    return not executing_eagerly() and (graph is None or graph.building_function)


@public
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor as a NumPy array, None if it is unknown; return any other object unchanged.

    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if not isinstance(tensor, (Tensor, Stored)):
        of_tensors = hasattr(type(tensor), "_type_spec") and not hasattr(type(tensor), "element_spec")
        return None if of_tensors or isinstance(tensor, IndexedSlices) else tensor
    if not isinstance(tensor, Tensor):  # the value of a variable may change
        return None
    if engine.local.trace.scope is None:
        return None if unvalued(tensor.node) else tensor.numpy()
    value = constant_folding.folded(tensor.node)
    return None if value is None else np.array(value)  # a copy, since users may write to it
