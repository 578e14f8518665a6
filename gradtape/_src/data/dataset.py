"""`Dataset`: sources of elements, and their transformations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import tracing
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data import arguments, at_once, background, calls, folding, saving, stages
from gradtape._src.data.calls import ElementCall
from gradtape._src.data.composite import Composite, Stated, rows_of
from gradtape._src.data.filing import Filing
from gradtape._src.data.generator import generated, signature
from gradtape._src.data.options import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, merged_options
from gradtape._src.data.padding import Padding
from gradtape._src.data.pipeline import ANYWHERE, NOWHERE, in_graphs
from gradtape._src.data.rows import Numbers, Slices
from gradtape._src.data.stages import Stream
from gradtape._src.data.structure import (
    LEAF,
    PAIR,
    DatasetSpec,
    ElementStructure,
    element,
    flatten,
    from_specs,
    handed,
    joined,
    structure_of,
    structure_of_all,
    structure_of_rows,
    taken,
    with_shapes,
)
from gradtape._src.files.systems import name_of

AHEAD = 2  # number of elements that AUTOTUNE prefetches: one in use, one in preparation


@hides("elements holding known made_anew reach reaching stream structure unknown usual_batch")
class Dataset(Filing):
    """A sequence of elements: nests (tuples, dicts, namedtuples) of tensors. Lists are values, not nests.

    It is created by `range`, `from_tensors`, `from_tensor_slices`, `from_generator` and other sources; each method returns a
    new dataset. Each iteration starts at the beginning.

    >>> list(tf.data.Dataset.range(5).map(lambda x: x * x).batch(2).as_numpy_iterator())
    [array([0, 1]), array([4, 9]), array([16])]
    """

    @classmethod
    def _made(cls, *args: Any, **options: Any) -> Any:
        return Dataset(*args, **options)

    # -- sources

    @staticmethod
    @in_graphs
    @public
    def range(*args: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Dataset:
        """Return `range(stop)`, `range(start, stop)` or `range(start, stop, step)`: scalars of `output_type`."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
        numbers = [arguments.count(value, "range") for value in args]
        if len(numbers) == 3 and numbers[2] == 0:
            raise invalid("step must be a non-zero integer.")
        dtype = as_dtype(output_type)
        values = range(*numbers)
        structure = ElementStructure(LEAF, (TensorSpec((), dtype),))
        return Dataset(lambda: iter(values), structure, len(values), "_RangeDataset", Numbers(dtype.numpy))

    @staticmethod
    @in_graphs
    @public
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset of one element, `tensors`."""
        only = taken(tensors)
        if all(array is None for array in only[0]):
            raise invalid("Invalid `tensors`: there must be at least one tensor in an element.")
        return Dataset(lambda: iter([only]), structure_of(only), 1, "_TensorDataset")

    @staticmethod
    @in_graphs
    @public
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset of the rows of `tensors`, a nest of arrays with first axes of one length (ValueError otherwise)."""
        arrays, how = whole = taken(tensors)
        if any(isinstance(array, Stated) for array in arrays):
            return Dataset.unknown(structure_of_rows(whole).element_spec)
        if any(isinstance(array, Composite) for array in arrays):
            return Dataset.holding([(row, how) for row in rows_of(arrays)], structure_of_rows(whole))
        arguments.check_rows(arrays)
        shapes = [array.shape for array in arrays if array is not None]
        if any(not shape for shape in shapes):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1: each component needs a first axis.")
        count, *others = dict.fromkeys([shape[0] for shape in shapes if shape[0] is not None]) or [UNKNOWN_CARDINALITY]
        if others:
            raise ValueError(f"Dimensions {count} and {others[0]} are not compatible: all components must have the same length.")
        return Dataset(lambda: iter(range(count)), structure_of_rows(whole), count, "_TensorSliceDataset", Slices(arrays, how))

    @staticmethod
    @in_graphs
    @public
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Create a dataset of the values that `generator(*args)` yields, of the types in `output_signature` (a nest of
        `TensorSpec`).

        The generator is called for each pass. InvalidArgumentError for an element that does not match. `args` are tensors,
        passed as NumPy values.
        """
        structure = signature(generator, output_types, output_shapes, output_signature)
        given = [constant(value).numpy() for value in args or ()]
        return Dataset(lambda: generated(generator, given, structure), structure, UNKNOWN_CARDINALITY, "_FlatMapDataset")

    @staticmethod
    @in_graphs
    @public
    def counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None) -> Dataset:
        """Create the infinite dataset `start`, `start + step`, …"""
        first, stride, dtype = arguments.count(start, "start"), arguments.count(step, "step"), as_dtype(dtype)
        structure = ElementStructure(LEAF, (TensorSpec((), dtype),))
        return Dataset(
            lambda: itertools.count(first, stride), structure, INFINITE_CARDINALITY, "_CounterDataset", Numbers(dtype.numpy)
        )

    @staticmethod
    @in_graphs
    @public
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Zip datasets, nested as they are given; the result is as long as the shortest."""
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        members, outer = flatten(given)
        for member in members:
            if not isinstance(member, Dataset):
                listed = ". Python `list` is not supported and you should use `tuple` instead"
                what = listed if isinstance(member, list) else f" but encountered object of type {type(member)}"
                raise TypeError(
                    f"Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects{what}."
                )
        counts = [member._count for member in members]
        finite = [count for count in counts if count >= 0]
        count = UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in counts else min(finite, default=INFINITE_CARDINALITY)

        def structure() -> ElementStructure:
            parts = [member.structure for member in members]
            return ElementStructure(
                joined(outer, tuple([part.nest for part in parts])), tuple([s for part in parts for s in part.specs])
            )

        asks = any(member._asks for member in members)
        options = merged_options(m._options for m in members)

        def start() -> Stream:
            return stages.zipped([member.elements() for member in members], outer)

        made = Dataset(start, structure, count, "_ZipDataset", options=options, asks=asks)
        return made.reaching(lambda: min([member.reach() for member in members]))

    @staticmethod
    @in_graphs
    @public
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Draw each element from a random one of `datasets` (a list), with probabilities `weights`."""
        members = _members(datasets)
        if tracing.is_asked_for_shapes():
            return _directed(members, lambda: iter(()))
        if not isinstance(weights, Dataset):
            chances = arguments.weights(weights, len(members))
            live = np.flatnonzero(chances) if chances.any() else np.arange(len(members))
            members, weights = [members[i] for i in live], Dataset.from_tensors(chances[live]).repeat()
            if len(members) == 1 and chances.any():
                return members[0]
        origin = arguments.orders(seed, bool(rerandomize_each_iteration))

        def start() -> Stream:
            draws = stages.draws((arrays[0] for arrays, _ in weights.elements()), origin())
            return stages.chosen([member.elements() for member in members], draws, stop_on_empty_dataset)

        return _directed(members, start)

    @staticmethod
    @in_graphs
    @public
    def choose_from_datasets(datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = True) -> Dataset:
        """Take each element from the one of `datasets` (a list) whose number is the next element of `choice_dataset`."""
        members = _members(datasets)
        if not isinstance(choice_dataset, Dataset):
            raise TypeError(
                f"Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is {choice_dataset!r}."
            )
        if choice_dataset.known is not None and choice_dataset.element_spec != TensorSpec((), dtypes.int64):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are "
                f"{choice_dataset.element_spec}."
            )

        def start() -> Stream:
            choices = (int(arrays[0]) for arrays, _ in choice_dataset.elements())
            return stages.chosen([member.elements() for member in members], choices, stop_on_empty_dataset)

        return _directed(members, start)

    # -- selection and order of elements

    @in_graphs
    @public
    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Return the first `count` elements; all if it is negative."""
        wanted = arguments.count(count, "count")
        if wanted < 0:
            return self._selected("_TakeDataset", iter, self._count)
        known = self._count
        total = wanted if known == INFINITE_CARDINALITY else min(known, wanted) if known >= 0 else known
        return self._selected("_TakeDataset", lambda source: stages.first(source, wanted), total)

    @in_graphs
    @public
    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Skip the first `count` elements; all if it is negative."""
        unwanted = arguments.count(count, "count")
        if unwanted < 0:
            return self._selected("_SkipDataset", lambda source: iter(()), min(self._count, 0))
        total = max(self._count - unwanted, 0) if self._count >= 0 else self._count
        return self._selected("_SkipDataset", lambda source: stages.without_first(source, unwanted), total)

    @public
    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Keep every `num_shards`-th element, beginning with element `index`."""
        shards, first = arguments.count(num_shards, "num_shards"), arguments.count(index, "index")
        if shards < 1:
            raise invalid(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
        if not 0 <= first < shards:
            raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {first}).")
        total = len(range(first, self._count, shards)) if self._count >= 0 else self._count
        return self._selected("_ShardDataset", lambda source: stages.every(source, shards, first), total)

    @in_graphs
    @public
    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Repeat all elements `count` times; without end if it is None or negative."""
        times = -1 if count is None else arguments.count(count, "count")
        if times < 0:
            total = INFINITE_CARDINALITY if self._count else 0
        else:
            total = self._count * times if self._count >= 0 else self._count if times else 0
        start = partial(stages.repeated, self._start, times if self._count else 0)
        return self._then("_RepeatDataset", start, count=total, rows=self._rows)

    @in_graphs
    @public
    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = True, name: str | None = None
    ) -> Dataset:
        """Return the elements in random order, each drawn from the next `buffer_size` elements.

        With a `seed`, or after `tf.random.set_seed`, the orders are the same in every run. Each pass has a new order unless
        `reshuffle_each_iteration` is False. `UNKNOWN_CARDINALITY` as `buffer_size` shuffles all elements.
        """
        size = arguments.count(buffer_size, "buffer_size")
        if size < 1 and size != UNKNOWN_CARDINALITY:
            raise invalid(f"buffer_size must be greater than zero or UNKNOWN_CARDINALITY, received {size}.")
        limit = None if size == UNKNOWN_CARDINALITY else size
        origin = arguments.orders(seed, reshuffle_each_iteration is None or bool(reshuffle_each_iteration))
        return self._selected("_ShuffleDataset", lambda source: stages.shuffled(source, limit, origin()), self._count)

    @in_graphs
    @public
    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Append the elements of `dataset`, which must have the same nest and dtypes (TypeError)."""
        counts = (self._count, dataset._count)
        if INFINITE_CARDINALITY in counts:
            total = INFINITE_CARDINALITY
        else:
            total = UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in counts else sum(counts)
        asks = self._asks or dataset._asks
        structure = (lambda: structure_of_all([self, dataset])) if asks else structure_of_all([self, dataset])
        return self._then(
            "_ConcatenateDataset", lambda: stages.concatenated(self.elements(), dataset.elements), structure, total, asks
        )

    @public
    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first complete pass in memory, or in a directory `filename` + ".cache".

        A directory has the format of `save`, and serves later processes, too. Delete it when the elements change.
        """
        path = name_of(filename)
        if path:
            return self._then(
                "CacheDataset", lambda: saving.kept(f"{path}.cache", self.elements, lambda: self.structure, self.known)
            )
        cached = stages.Cache(self._start, self._count)
        return self._then("CacheDataset", cached, rows=self._rows).reaching(
            lambda: self.reach() if cached.elements is None else ANYWHERE
        )

    @public
    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Compute up to `buffer_size` elements in advance, in a thread. AUTOTUNE means two."""
        size = AUTOTUNE if buffer_size is None else arguments.count(buffer_size, "buffer_size")
        if size < AUTOTUNE:
            raise invalid(f"buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning, received {size}.")
        if size == 0:
            return self._selected("_PrefetchDataset", iter, self._count)
        ahead = AHEAD if size == AUTOTUNE else size
        return self._then("_PrefetchDataset", lambda: background.prefetched(self.elements(), ahead))

    # -- functions of elements

    @in_graphs
    @public
    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Apply `map_func` to each element; the items of a tuple are passed as separate arguments.

        The function gets tensors of one element. If it only calls ops on them, up to 64 elements are computed at once.
        `num_parallel_calls` above 1 is the number of threads that call it; AUTOTUNE means one, as Python code runs in one
        thread at a time. The order is kept, unless `deterministic` is False.
        """
        threads = arguments.parallel(num_parallel_calls)
        call = ElementCall(map_func, "Dataset.map()")
        ordered = self._options.deterministic is not False if deterministic is None else deterministic

        specs, batches = calls.asked_early(call, self.known), at_once.Batches(call)

        def start() -> Stream:
            if threads == 1:
                return at_once.Mapped(call.begun(), batches, self.elements(), lambda: self.reach() > NOWHERE)
            return background.mapped(call.begun(), self.elements(), threads, ordered)

        kind = "_MapDataset" if num_parallel_calls is None else "_ParallelMapDataset"
        structure = (lambda: self._after(call)) if specs is None else from_specs(specs)
        made = self._then(kind, start, structure, asks=specs is None)
        return made.reaching(lambda: self.reach() if batches.pure else NOWHERE)

    def _after(self, call: ElementCall) -> ElementStructure:
        """Return the structure of the results of a function."""
        specs = calls.inferred(call, self.structure)
        if specs is not None:
            return from_specs(specs)
        return calls.from_one(call.begun()(0, stages.glanced(self.elements, call.what)))

    @in_graphs
    @public
    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which `predicate` returns True, a scalar bool tensor (ValueError for anything else)."""
        return self._kept("_FilterDataset", ElementCall(predicate, "Dataset.filter()"), filter)

    @in_graphs
    @public
    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements before the first for which `predicate` returns False."""
        return self._kept("_TakeWhileDataset", ElementCall(predicate, "Dataset.take_while()"), itertools.takewhile)

    def _kept(self, kind: str, call: ElementCall, how: Callable[..., Stream]) -> Dataset:
        """Return a dataset of the elements that `how`, which is `filter` or `takewhile`, keeps by a predicate."""
        calls.check_flag(call, self.known)

        def start() -> Stream:
            flag = call.begun().flag
            return map(itemgetter(1), how(lambda numbered: flag(*numbered), enumerate(self.elements())))

        return self._then(kind, start, count=UNKNOWN_CARDINALITY)

    @in_graphs
    @public
    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Concatenate the datasets that `map_func` returns for the elements."""
        return self._of_datasets("_FlatMapDataset", ElementCall(map_func, "Dataset.flat_map()"), stages.chained)

    @in_graphs
    @public
    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the datasets of `map_func` interleaved: `block_length` elements from each of `cycle_length` datasets in
        turn.

        By default `cycle_length` is the number of processors, or `num_parallel_calls` if that is less; a third of them for
        AUTOTUNE. The order is always TensorFlow's deterministic one.
        """
        cycle = AUTOTUNE if cycle_length is None else arguments.count(cycle_length, "cycle_length")
        if cycle == AUTOTUNE:
            cycle = arguments.cycle(num_parallel_calls)
        cycle = arguments.positive(cycle, "cycle_length", "cycle_length")
        block = 1 if block_length is None else arguments.positive(block_length, "block_length", "block_length")
        if (threads := arguments.parallel(num_parallel_calls)) > cycle:
            raise invalid(f"num_parallel_calls must less than or equal to cycle_length, {cycle}, received {threads}.")
        kind, total = "_InterleaveDataset", UNKNOWN_CARDINALITY
        if num_parallel_calls is not None:
            kind, total = "_ParallelInterleaveDataset", arguments.unknown_of(self._count)
        call = ElementCall(map_func, "Dataset.interleave()")
        return self._of_datasets(kind, call, lambda streams: stages.Interleaved(streams, cycle, block), total)

    def _of_datasets(
        self, kind: str, call: ElementCall, joined: Callable[[Stream], Stream], total: int = UNKNOWN_CARDINALITY
    ) -> Dataset:
        """Return a dataset of the elements of all datasets that a function returns; `joined` makes one stream of theirs."""
        calls.check_dataset(call, self.known)

        def start() -> Stream:
            datasets = map(call.begun().dataset, itertools.count(), self.elements())
            return joined(map(Dataset.elements, datasets))

        return self._then(kind, start, lambda: self._inside(call), total, asks=True)

    def _inside(self, call: ElementCall) -> ElementStructure:
        """Return the structure of the elements of the datasets that a function returns."""
        specs = calls.inferred(call, self.structure)
        if isinstance(specs, DatasetSpec):
            return from_specs(specs.element_spec)
        return call.begun().dataset(0, stages.glanced(self.elements, call.what)).structure

    @public
    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """Run `state = reduce_func(state, element)` over all elements; return the last state, a nest of tensors."""
        call = ElementCall(reduce_func, "Dataset.reduce()").begun()
        if tracing.is_asked_for_shapes():
            return folding.last_state(call, initial_state, self.structure)
        state = element(initial_state)
        if self.known is not None:
            calls.asked_early(call, self._with_state(state))
        return handed(folding.reduced(call, state, self.stream()))

    @in_graphs
    @public
    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the outputs of `state, output = scan_func(state, element)` over all elements."""
        first = element(initial_state)
        call = ElementCall(scan_func, "Dataset.scan()")
        if self.known is not None:
            folding.check(calls.asked_early(call, self._with_state(first)), first)
        return self._then(
            "_ScanDataset",
            lambda: folding.scanned(call.begun(), first, self.elements()),
            lambda: self._scan_structure(call, first),
            asks=True,
        )

    def _with_state(self, first: Any) -> ElementStructure:
        state = structure_of(first)
        return ElementStructure(joined(PAIR, (state.nest, self.structure.nest)), (*state.specs, *self.structure.specs))

    def _scan_structure(self, call: ElementCall, first: Any) -> ElementStructure:
        specs = calls.inferred(call, self._with_state(first))
        if specs is not None and type(specs) is tuple and len(specs) == 2:
            return from_specs(specs[1])
        return calls.from_one(next(folding.scanned(call.begun(), first, iter([stages.glanced(self.elements, call.what)]))))

    @public
    def apply(self, transformation_func: Callable[[Dataset], Dataset], name: str | None = None) -> Dataset:
        """Return `transformation_func(self)`, which must be a dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(result)}.")
        return result

    # -- batches

    @in_graphs
    @public
    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Combine `batch_size` elements into one, along a new first axis. The last batch may be smaller, or is dropped."""
        size, drop = arguments.batch_size(batch_size), bool(drop_remainder)
        arguments.parallel(num_parallel_calls)
        stack = stages.stacked if self._rows is None else self._rows.gathered

        def start() -> Stream:
            return stages.batched(self._start(), size, drop, stack)

        kind = "_BatchDataset" if num_parallel_calls is None else "_ParallelBatchDataset"
        count = arguments.batches(self._count, size, drop)
        return self._then(kind, start, partial(self._batch_structure, size, drop), count)

    def _batch_structure(self, size: int, drop: bool) -> ElementStructure:
        return with_shapes(self.structure, lambda shape: TensorShape([size if drop else None]).concatenate(shape))

    @in_graphs
    @public
    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch `batch_size` elements, each padded at its end to the largest of the batch, or to `padded_shapes`.

        `padded_shapes` is a nest of shapes, in which None (or -1) means the largest extent. `padding_values` is a nest of
        scalars, or one for all; the default is 0 or an empty string.
        """
        size, drop = arguments.batch_size(batch_size), bool(drop_remainder)
        padding = Padding(padded_shapes, padding_values)
        if not self._asks:
            padding.check(self.structure)

        def structure() -> ElementStructure:
            axis = TensorShape([size if drop else None])
            shapes = padding.shapes_of(self.structure)
            leaves = [TensorSpec(axis.concatenate(s), spec.dtype) for s, spec in zip(shapes, self.structure.specs, strict=True)]
            return ElementStructure(self.structure.nest, tuple(leaves))

        def start() -> Stream:
            return stages.batched(self.elements(), size, drop, padding)

        return self._then("_PaddedBatchDataset", start, structure, arguments.batches(self._count, size, drop))

    @in_graphs
    @public
    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pair each element with its number (int64, from `start` on)."""
        first = arguments.count(start, "start")

        def structure() -> ElementStructure:
            return ElementStructure(
                joined(PAIR, (LEAF, self.structure.nest)), (TensorSpec((), dtypes.int64), *self.structure.specs)
            )

        return self._then("_ZipDataset", lambda: stages.enumerated(self.elements(), first), structure)


@public
def cardinality(dataset: Dataset) -> Tensor:
    """Return the number of elements of `dataset`, int64; -1 if it is infinite, -2 if it is unknown.

    >>> print(tf.data.experimental.cardinality(tf.data.Dataset.range(10).batch(4)).numpy())
    3
    """
    return dataset.cardinality()


def _members(datasets: Any) -> list[Dataset]:
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    return list(datasets)


def _directed(members: list[Dataset], start: Callable[[], Stream]) -> Dataset:
    """Create a dataset of the elements of several datasets that have one structure."""
    count = INFINITE_CARDINALITY if any(m._count == INFINITE_CARDINALITY for m in members) else UNKNOWN_CARDINALITY
    asks, options = any(m.known is None for m in members), merged_options(m._options for m in members)
    structure = partial(structure_of_all, members) if asks else structure_of_all(members)
    return Dataset(start, structure, count, "_DirectedInterleaveDataset", options=options, asks=asks)


DatasetSpec.stands_in = Dataset.unknown
