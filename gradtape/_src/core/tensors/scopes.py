"""Scopes that eager code enters: of names, of devices, of control dependencies."""

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

MOST = 1 << 15  # entered scopes that are remembered


class _Fields:
    """The prefix of names in a thread; `marks` tell its history: the serial of a trace, how many nodes it had, the prefix."""

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
    """Let names begin with `to` from here on; return the prefix before. `again`: it is a scope that was entered before."""
    before = prefix()
    _local.prefix = to
    trace = engine.local.trace
    if trace.scope is not None:
        trace.names.append((len(trace.nodes), to, () if again else []))
    _local.marks.append((trace.serial, len(trace.nodes), to))
    return before


def marks() -> deque[tuple[int, int, str]]:
    """Return where this thread entered scopes: the serial of a trace, how many nodes it had, the prefix."""
    return _local.marks


def prefixes_in(serial: int) -> Callable[[int], str]:
    """Return a function from a node's index in the trace of that number to the prefix that this thread had there."""
    marks = [(position, to) for of, position, to in _local.marks if of == serial]
    before = next((to for of, _, to in reversed(_local.marks) if of < serial), "")
    positions, prefixes = [position for position, _ in marks], [before, *[to for _, to in marks]]
    return lambda index: prefixes[bisect_right(positions, index)]


class name_scope:
    """Open a context that puts `name/` before the names of variables made in it; return the whole prefix.

    A name that ends in "/" is taken as it is, whichever scopes are open.

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
        self._outer: list[str] = []  # as one scope may be entered in itself

    @property
    def name(self) -> str:
        """The name that was given."""
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
    """Return the name scopes that are open, as "outer/inner"; "" outside of all.

    >>> with tf.name_scope("outer"), tf.name_scope("inner"):
    ...     print(tf.get_current_name_scope())
    outer/inner
    """
    return prefix().rstrip("/")


class OnDevice(contextlib.nullcontext[None]):
    """The context of `tf.device`. Programs read its name off it, to make a strategy for that device."""

    def __init__(self, device_name: str | None) -> None:
        super().__init__()
        self._device_name = device_name


@public
def device(device_name: str | None) -> AbstractContextManager[None]:
    """Open a context for code that names a device; ValueError for a name that is none. Values stay on JAX's default device.

    None and "" stand for any device. After `tf.config.set_soft_device_placement(False)` a device that is not there is an
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
    """Open a context that orders side effects; without effect in eager code, whose effects run in order. Eager code runs them
    in the order in which they stand.

    In a graph the ops that are made in it run after `control_inputs`; None lifts what is made out of such contexts.

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


@public
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Open a context that lifts its ops out of functions under trace, into eager code or their graph.

    There it waits for no control dependencies.

    >>> with tf.init_scope():
    ...     print(tf.executing_eagerly())
    True
    """
    with tracing.outside(graph=True), control_dependencies(None):
        yield


def executing_eagerly() -> bool:
    """Return whether ops give values at once: True outside of functions and graphs, also of those that run as eager code.

    >>> tf.executing_eagerly()
    True
    """
    return engine.local.trace.scope is None and not tracing.local.functions


def inside_function() -> bool:
    """Return whether a `tf.function`, or a branch or loop of a graph, is being traced: False in eager code and at a graph's top.

    >>> tf.inside_function(), tf.function(lambda: tf.constant(tf.inside_function()))().numpy()
    (False, np.True_)
    """
    graph = engine.current_graph()
    return not executing_eagerly() and (graph is None or graph.building_function)


@public
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor as a NumPy array; None in a function where it is unknown. Anything else is given back.

    >>> tf.get_static_value(tf.constant([1, 2]))
    array([1, 2], dtype=int32)
    """
    if not isinstance(tensor, (Tensor, Stored)):
        of_tensors = hasattr(type(tensor), "_type_spec") and not hasattr(type(tensor), "element_spec")
        return None if of_tensors or isinstance(tensor, IndexedSlices) else tensor
    if not isinstance(tensor, Tensor):  # a variable's value may change
        return None
    if engine.local.trace.scope is None:
        return None if unvalued(tensor.node) else tensor.numpy()
    value = constant_folding.folded(tensor.node)
    return None if value is None else np.array(value)  # a copy: what is given away may be written to
