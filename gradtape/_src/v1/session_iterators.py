"""TensorFlow 1's iterators: in a graph `get_next()` returns tensors with the values of the next element in each run."""

from __future__ import annotations

import contextlib
import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradtape._src.control.frozen import frozen
from gradtape._src.core.base import locks
from gradtape._src.core.base.errors import FailedPreconditionError, OutOfRangeError, UnimplementedError, invalid
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import NoneTensorSpec, TensorSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import constant, tensor
from gradtape._src.core.tensors.tensor import Tensor, graph_of, of_plain_graph, stated_shape, to_numpy
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.ways import Path
from gradtape._src.data.calls import asked, stated, unvalued
from gradtape._src.data.composite import Composite
from gradtape._src.data.dataset import Dataset
from gradtape._src.data.structure import ElementStructure, from_specs, merged
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.graph import get_default_graph, in_graph
from gradtape._src.v1.graphs.operation import Operation

_handles: weakref.WeakValueDictionary[bytes, SessionIterator] = weakref.WeakValueDictionary()
_numbers = itertools.count()


@contextlib.contextmanager
def _at_once() -> Iterator[None]:
    """Open a context in which ops run at once, even while a graph is built or run; random ops use the graph's seed."""
    with tracing.outside(), seeds.drawn_from(get_default_graph().seeds):
        yield


class LateDataset:
    """A dataset that depends on tensors of a graph, created when an iterator's initializer runs.

    Calls of Dataset methods are deferred until then. The tensors and variables are among the arguments, or named in functions
    that are arguments; there a variable stands for its value. The elements' structure is that for tensors without values.
    """

    def __init__(self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._method, self._call = method, (args, kwargs)

    def __getattr__(self, name: str) -> Any:
        method = getattr(Dataset, name)
        return lambda *args, **kwargs: LateDataset(method, (self, *args), kwargs)

    def waiting(self) -> list[Tensor]:
        """Return the tensors on which it depends."""
        found = []
        for item in nest.flatten(self._call, expand_composites=True):
            found += item.waiting() if isinstance(item, LateDataset) else _waiting(item)
        return found

    def made(self, value_of: Callable[[Tensor], Any]) -> Dataset:
        """Return the dataset for the values of these tensors."""

        def held(item: Any) -> Any:
            found = _of_graph(item)
            return item if found is None else tensor(value_of(found))

        def known(item: Any) -> Any:
            return item.made(value_of) if isinstance(item, LateDataset) else frozen(held(item), held)

        args, kwargs = nest.map_structure(known, self._call, expand_composites=True)
        made: Dataset = self._method(*args, **kwargs)
        return made

    @property
    def structure(self) -> ElementStructure:
        """The structure of an element, with specs."""
        with asked():
            return from_specs(stated(self.made(_unvalued).element_spec, Path(())))

    @property
    def element_spec(self) -> Any:
        """A nest of specs of an element."""
        return self.structure.element_spec

    @public
    def make_initializable_iterator(self, shared_name: str | None = None) -> SessionIterator:
        """Return an iterator that starts when its `initializer` runs."""
        return make_initializable_iterator(self)

    @public
    def make_one_shot_iterator(self) -> SessionIterator:
        """Return an iterator that starts automatically, once in each session."""
        return make_one_shot_iterator(self)


def _of_graph(item: Any) -> Tensor | None:
    """Return a tensor of a graph, or that of a graph's variable; None for any other value."""
    if isinstance(item, Variable):
        item = item._tensor
    return item if isinstance(item, Tensor) and graph_of(item.node) is not None else None


def _waiting(item: Any) -> list[Tensor]:
    """Return the tensors of a graph that an argument is, or that its code names if it is a function."""
    found: list[Tensor] = []

    def note(value: Any) -> Any:
        found.extend([tensor for tensor in [_of_graph(value)] if tensor is not None])
        return value

    frozen(note(item), note)
    return found


def _unvalued(tensor: Tensor) -> Tensor:
    """Return a tensor like this one; a placeholder whose rank is unknown is taken for a count."""
    shape = stated_shape(tensor.node)
    if shape.rank is None and not of_plain_graph(tensor.node):
        raise engine.NeedsValues("the elements of a dataset have an unknown rank")
    return unvalued([] if shape.rank is None else shape, tensor.dtype)


def late(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that creates datasets; in a graph, defer it if it depends on the graph's tensors."""
    if in_graph() is None:
        return method(*args, **kwargs)
    if any(isinstance(item, LateDataset) or _waiting(item) for item in nest.flatten((args, kwargs), expand_composites=True)):
        return LateDataset(method, args, kwargs)
    with _at_once():
        return method(*args, **kwargs)


@public
def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtypes of an element, in its structure."""
    return nest.map_structure(lambda spec: spec.dtype, dataset_or_iterator.element_spec)


@public
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of an element, in its structure."""
    return nest.map_structure(lambda spec: spec.shape, dataset_or_iterator.element_spec)


@public
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of an element's components: Tensor."""
    return nest.map_structure(lambda spec: Tensor, dataset_or_iterator.element_spec)


class SessionIterator:
    """An iterator over a dataset in a graph; each session iterates by itself.

    `get_next()` returns tensors; a run that needs them takes the next element. OutOfRangeError at the end,
    FailedPreconditionError before `initializer` has run.
    """

    def __init__(self, structure: ElementStructure, dataset: Any = None, begins: bool = False) -> None:
        self._structure, self._dataset, self._begins = structure, dataset, begins
        self._streams: weakref.WeakKeyDictionary[Any, Iterator[Any]] = weakref.WeakKeyDictionary()
        self._initializer: Operation | None = None
        self._lock = locks.Lock()

    @property
    def element_spec(self) -> Any:
        """A nest of specs of an element."""
        return self._structure.element_spec

    output_types = property(get_output_types, doc="The dtypes of an element, in its structure.")
    output_shapes = property(get_output_shapes, doc="The shapes of an element, in its structure.")
    output_classes = property(get_output_classes, doc="The classes of an element's components: Tensor.")

    @property
    @public
    def initializer(self) -> Operation:
        """The operation that restarts the iteration."""
        if self._dataset is None or self._begins:
            raise ValueError("The iterator does not have an initializer: it begins by itself, or by make_initializer(dataset).")
        if self._initializer is None:
            self._initializer = self.make_initializer(self._dataset)
        return self._initializer

    @public
    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Return an operation that starts an iteration over `dataset`; TypeError if its elements have another structure."""
        merged(self._structure, _structure(dataset))
        graph = get_default_graph()
        operation = graph.group(dataset.waiting() if isinstance(dataset, LateDataset) else (), name or "MakeIterator")
        graph.actions[operation.node] = functools.partial(self._begin, dataset)
        return operation

    @public
    def string_handle(self, name: str | None = None) -> Tensor:
        """Return a string tensor; its value, fed to the handle of an iterator from `from_string_handle`, stands for this one."""
        handle = f"iterator {next(_numbers)}".encode()
        _handles[handle] = self
        return constant(handle, name=name or "IteratorToStringHandle")

    def _begin(self, dataset: Any, session: Any, feeds: dict[Any, Any]) -> None:
        if isinstance(dataset, LateDataset):
            waiting = dataset.waiting()
            nodes = [tensor.node for tensor in waiting]
            values = dict(zip(nodes, session.values_of(nodes, feeds), strict=True))
            with _at_once():
                dataset = dataset.made(lambda tensor: values[tensor.node])
        with _at_once():
            self._streams[session] = iter(dataset.elements())

    @public
    def get_next(self, name: str | None = None) -> Any:
        """Return the next element as tensors; a run that needs any of them takes the element."""
        graph = get_default_graph()
        parts, how = nest.flatten_with_spec(self.element_spec, nest.EXPANDED)
        if others := [part for part in parts if not isinstance(part, TensorSpec | NoneTensorSpec)]:
            raise UnimplementedError(None, None, f"An iterator of a graph gives tensors. Convert these in map(): {others}.")
        tensors = [
            graph.placeholder(part.dtype.numpy, part.shape, name or "IteratorGetNext") if isinstance(part, TensorSpec) else None
            for part in parts
        ]
        taken = functools.partial(self.element)  # equal to itself only: in a run, each call of `get_next()` takes an element
        graph.drawn.update({t.node: (taken, i) for i, t in enumerate(tensors) if t is not None})
        return nest.unflatten(how, tensors)

    def element(self, session: Any, feeds: dict[Any, Any]) -> Any:
        """Return the arrays of the next element in a session, several for a sparse or ragged tensor."""
        with self._lock:
            arrays = self._next(session)
        return [part for array in arrays for part in (_parts(array) if isinstance(array, Composite) else [array])]

    def _next(self, session: Any) -> tuple[Any, ...]:
        if session not in self._streams:
            if not self._begins:
                raise FailedPreconditionError.saying(
                    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
                    "operation for this iterator before getting the next element."
                )
            self._begin(self._dataset, session, {})
        with _at_once():
            try:
                arrays: tuple[Any, ...] = next(self._streams[session])[0]
            except StopIteration:
                self._streams[session] = iter(())
                raise OutOfRangeError.saying("End of sequence: the dataset has no more elements.") from None
        return arrays


def _parts(composite: Composite) -> list[np.ndarray]:
    return [to_numpy(part.node) for part in nest.flatten(composite.handed(), expand_composites=True)]


class FeedIterator(SessionIterator):
    """An iterator that gives the elements of another one, the one whose handle is the value of `handle` in a run."""

    def __init__(self, structure: ElementStructure, handle: Tensor) -> None:
        super().__init__(structure)
        self._handle = handle

    def element(self, session: Any, feeds: dict[Any, Any]) -> Any:
        """Return the arrays of the next element in a session."""
        (handle,) = session.values_of([self._handle.node], feeds)
        iterator = _handles.get(handle)
        if iterator is None:
            raise invalid(f"{handle!r} is no handle of an iterator. Feed what session.run(iterator.string_handle()) gives.")
        try:
            merged(self._structure, iterator._structure)
        except TypeError as error:
            raise invalid(str(error)) from None
        return iterator.element(session, feeds)


def _structure(dataset: Any) -> ElementStructure:
    with _at_once():
        return dataset.structure


@public
def make_one_shot_iterator(dataset: Any) -> Any:
    """Return an iterator over `dataset` that starts automatically, once in each session; in eager code `iter(dataset)`."""
    return iter(dataset) if in_graph() is None else SessionIterator(_structure(dataset), dataset, begins=True)


@public
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> SessionIterator:
    """Return an iterator over `dataset` that starts when its `initializer` runs; the dataset may depend on that run's feeds."""
    if in_graph() is None:
        raise RuntimeError(
            "dataset.make_initializable_iterator is not supported when eager execution is enabled. Use `for element in dataset` "
            "instead."
        )
    return SessionIterator(_structure(dataset), dataset)


def _described(types: Any, shapes: Any) -> ElementStructure:
    types = nest.map_structure(dtypes.as_dtype, types)
    if shapes is None:
        return from_specs(nest.map_structure(lambda dtype: TensorSpec(None, dtype), types))
    return from_specs(nest.map_up_to(lambda dtype, shape: TensorSpec(shape, dtype), types, shapes))


@public
def from_structure(
    output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
) -> SessionIterator:
    """Return an iterator without a dataset; operations from `make_initializer(dataset)` start it."""
    return SessionIterator(_described(output_types, output_shapes))


@public
def from_string_handle(
    string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
) -> SessionIterator:
    """Return an iterator that each run chooses: the one whose `string_handle()` has the value of `string_handle`, a tensor."""
    return FeedIterator(_described(output_types, output_shapes), tensor(string_handle))


attach(Dataset, make_one_shot_iterator=make_one_shot_iterator, make_initializable_iterator=make_initializable_iterator)
