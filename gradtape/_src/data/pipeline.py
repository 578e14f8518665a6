"""`Pipeline`: the base of datasets, a restartable stream with the structure and number of its elements."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from gradtape._src.control.given import of_calls
from gradtape._src.core.base import hooks, naming
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.module import Trackable
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.data.calls import from_one
from gradtape._src.data.iterators import NumpyIterator, OwnedIterator
from gradtape._src.data.options import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Options
from gradtape._src.data.place import RankGlance
from gradtape._src.data.rows import Rows
from gradtape._src.data.stages import Start, Stream
from gradtape._src.data.structure import DatasetSpec, Element, Elements, ElementStructure, from_specs, no_arrays, structure_of

PLAIN = frozenset(
    (
        "_BatchDataset", "_OptionsDataset", "_PaddedBatchDataset", "_PrefetchDataset", "_RangeDataset", "_RepeatDataset",
        "_SkipDataset", "_TakeDataset", "_TensorDataset", "_TensorSliceDataset",
    )
)  # fmt: skip
"""Kinds without user functions and random numbers, of which two with equal arguments are equal."""

SOURCES = frozenset(("_CounterDataset", "_RangeDataset", "_TensorDataset", "_TensorSliceDataset"))
QUIET = PLAIN | {"_ParallelBatchDataset", "_ShardDataset", "_ShuffleDataset", "_UnbatchDataset", "_ZipDataset"}
"""Kinds for which it cannot be observed when elements are taken, if it cannot for their sources."""
NOWHERE, IN_A_PASS, ANYWHERE = range(3)  # how far early taking of elements is unobservable: a shuffle draws when a pass begins


P = ParamSpec("P")
R = TypeVar("R")


def in_graphs(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method that returns a dataset, so that a TensorFlow 1 graph under construction defers the call."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if naming.open_graphs:
            made: R = hooks.graphs.dataset(method, args, kwargs)
            return made
        return method(*args, **kwargs)

    return call


def _in_plain_graph() -> bool:
    """Return whether a graph of TensorFlow 1 is built, but no function."""
    graph = engine.current_graph()
    return graph is not None and not graph.building_function


def _in_function() -> bool:
    return engine.local.trace.scope is not None and not _in_plain_graph()


class Pipeline(Elements, Trackable):
    """A stream of elements that can be restarted, and its known properties.

    `made_anew`: each call of a function creates its own dataset, except for datasets that are the same each time.
    """

    @public
    def __init__(
        self,
        start: Start,
        structure: ElementStructure | Callable[[], ElementStructure],
        count: int,
        kind: str,
        rows: Rows | None = None,
        options: Options | None = None,
        asks: bool = False,
    ) -> None:
        """Store the parts: `start` begins a stream, of row numbers if there are `rows`; `count` is the cardinality, -1 or -2.

        `asks` means that the structure is inferred from a user's function, when it is needed.
        """
        self.made_anew = kind not in PLAIN and engine.local.trace.scope is not None
        self._start, self._known, self._count, self._rows = start, structure, count, rows
        self._kind, self._options, self._asks = kind, options or Options(), asks
        self.reach: Callable[[], int] = lambda: ANYWHERE if kind in SOURCES else NOWHERE

    @classmethod
    def _made(cls, *args: Any, **options: Any) -> Self:
        """Create the dataset for a method's result. A subclass with another constructor overrides this."""
        return cls(*args, **options)

    def elements(self) -> Stream:
        """Return a stream of elements from the beginning; NeedsValues while only shapes are inferred."""
        if tracing.is_asked_for_shapes():
            raise engine.NeedsValues("the elements of a dataset are known when it runs")
        return self._start() if self._rows is None else map(self._rows.element, self._start())

    def stream(self) -> Stream:
        """Return a stream for a method that uses elements at once; NeedsValues in a function whose calls get different ones."""
        if _in_function() and self.reach() < ANYWHERE:
            raise engine.NeedsValues("a function that takes elements of a dataset whose functions are called runs as eager code")
        return self.elements()

    @property
    def structure(self) -> ElementStructure:
        """The nest of an element, and its specs."""
        if not isinstance(self._known, ElementStructure):
            self._known = self._known()
        return self._known

    @property
    def known(self) -> ElementStructure | None:
        """The structure, or None if a user's function has to be called to infer it."""
        return None if self._asks and not isinstance(self._known, ElementStructure) else self.structure

    @property
    @public
    def element_spec(self) -> Any:
        """The shapes and dtypes of elements, a nest of `TensorSpec`.

        After `map` it is inferred by calling the function on tensors without values, in a graph if it needs values. If a graph
        cannot keep it either, the first element tells.
        """
        return self.structure.element_spec

    @functools.cached_property
    def _ranked_spec(self) -> Any:
        """The `element_spec`; if it has unknown ranks, that with the ranks of the first element, unless a generator yields it."""
        known = all(spec.shape.rank is not None for spec in self.structure.specs if isinstance(spec, TensorSpec))
        if known:
            return self.element_spec
        first = None
        # In a trace the elements of an argument are not known, and those of a generator are not to be taken.
        with contextlib.suppress(engine.NeedsValues), RankGlance().open():
            first = next(iter(self.elements()), None)
        return self.element_spec if first is None else from_one(first).element_spec

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._ranked_spec)

    def cardinality(self) -> Tensor:
        """Return the number of elements, int64; `INFINITE_CARDINALITY` (-1), `UNKNOWN_CARDINALITY` (-2)."""
        self._check_counted()
        return constant(self._count, dtypes.int64)

    @public
    def __len__(self) -> int:
        self._check_counted()
        if self._count == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if self._count == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return self._count

    def _check_counted(self) -> None:
        """Raise NeedsValues in a function if the count is unknown, as the dataset may be a placeholder for others."""
        if self._count == UNKNOWN_CARDINALITY and _in_function():
            raise engine.NeedsValues("the length of a dataset is not known before the function runs")

    def __bool__(self) -> bool:
        return True

    @public
    def __iter__(self) -> OwnedIterator:
        if _in_plain_graph():
            raise RuntimeError(
                "`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function. In a graph use "
                "`tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()`."
            )
        return OwnedIterator(self)

    @public
    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator of NumPy arrays (scalars for rank 0), nested as the elements are. RuntimeError in a function."""
        if _in_function() or _in_plain_graph():
            raise RuntimeError("`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode.")
        for spec in self.known.specs if self.known is not None else ():
            if isinstance(spec, DatasetSpec):
                raise no_arrays(spec)
        return NumpyIterator(self)

    def __repr__(self) -> str:
        return f"<{self._kind} element_spec={self.element_spec!r}>"

    def options(self) -> Options:
        """Return a copy of the options that are set. It cannot be changed (ValueError): see `with_options`."""
        options = Options().merge(self._options)
        options._fix()
        return options

    @public
    def with_options(self, options: Options, name: str | None = None) -> Self:
        """Return the same dataset with `options` merged into its own."""
        made = self._then("_OptionsDataset", self._start, self._known, rows=self._rows)
        made._options = self._options.merge(options)
        return made

    @classmethod
    def holding(cls, items: list[Element], structure: ElementStructure | None = None) -> Self:
        """Create a dataset of the given elements; without a structure there must be at least one."""
        return cls._made(lambda: iter(items), structure or structure_of(items[0]), len(items), "_VariantDataset")

    @classmethod
    def unknown(cls, element_spec: Any) -> Self:
        """Create a placeholder for a dataset with such elements, which each call supplies. It cannot be iterated outside."""

        def start() -> Stream:
            given = of_calls().get(id(made)) if engine.local.trace.scope is None else None
            if not isinstance(given, Pipeline):
                raise engine.NeedsValues("the elements of a dataset that a call or another dataset gives are known when it runs")
            return given.elements()

        made = cls._made(start, from_specs(element_spec), UNKNOWN_CARDINALITY, "_VariantDataset")
        made.made_anew = False
        return made

    def _then(
        self,
        kind: str,
        start: Start,
        structure: Any = None,
        count: int | None = None,
        asks: bool = False,
        rows: Rows | None = None,
    ) -> Self:
        """Return a dataset of another stream: of elements, or of numbers of `rows`.

        A structure and a count that are not given are those of this dataset. Each call creates a new one if it does for this one.
        """
        structure = (lambda: self.structure) if structure is None else structure
        count = self._count if count is None else count
        made = self._made(start, structure, count, kind, rows, self._options, asks or self._asks)
        made.reach = lambda: self._reach_of(kind)
        numbered = kind == "_ZipDataset"  # by `enumerate`; `zip` has several datasets, and does not call this
        made.made_anew = self.made_anew or (made.made_anew and not numbered)
        return made

    def reaching(self, reach: Callable[[], int]) -> Self:
        """Set the function `reach`, which returns how far early taking of elements is unobservable; return this dataset."""
        self.reach = reach
        return self

    def _reach_of(self, kind: str) -> int:
        """Return how far early taking is unobservable for elements of a dataset derived from this one."""
        own = self.reach() if kind in QUIET else NOWHERE
        if kind == "_RepeatDataset":
            return own if own == ANYWHERE else NOWHERE
        return min(own, IN_A_PASS) if kind == "_ShuffleDataset" else own

    def _selected(self, kind: str, choose: Callable[[Stream], Stream], count: int) -> Self:
        """Return a dataset of the same elements, selected or reordered by `choose`, which does not look at them."""
        return self._then(kind, lambda: choose(self._start()), count=count, rows=self._rows)
