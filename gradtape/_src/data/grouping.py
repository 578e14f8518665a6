"""`Grouping`: windows, groups and buckets of elements, and selection by their values and classes."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from gradtape._src.core.base.errors import DataLossError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import tracing
from gradtape._src.core.tensors import nest
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import printed
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data import arguments, calls, stages
from gradtape._src.data.calls import ElementCall
from gradtape._src.data.composite import Ragged, Sparse, ragged_spec
from gradtape._src.data.options import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gradtape._src.data.pipeline import Pipeline, in_graphs
from gradtape._src.data.rows import Numbers
from gradtape._src.data.stages import Resumed, Stream
from gradtape._src.data.structure import (
    LEAF,
    PAIR,
    DatasetSpec,
    Element,
    ElementStructure,
    from_specs,
    handed,
    joined,
    structure_of,
    with_shapes,
)
from gradtape._src.ops.array.ragged import RaggedTensorSpec
from gradtape._src.ops.random import philox
from gradtape._src.ops.sparse.tensor import SparseTensorSpec


class Grouping(Pipeline):
    """The methods of a dataset that read several elements at once, or the contents of elements."""

    @public
    def unbatch(self, name: str | None = None) -> Self:
        """Return the rows of each element as elements."""

        def lengths() -> set[Any]:
            return {s.shape[0] for s in self.structure.specs if isinstance(s, TensorSpec) and s.shape.rank != 0}

        def structure() -> ElementStructure:
            if len(stated := lengths() - {None}) > 1:
                raise ValueError(f"Cannot unbatch an input with components of different batch sizes: {sorted(stated)}.")
            if any(s.shape.rank == 0 for s in self.structure.specs if isinstance(s, TensorSpec | DatasetSpec)):
                raise ValueError("Cannot unbatch an input with scalar components. Each component needs a first axis.")
            return with_shapes(self.structure, lambda shape: shape[1:])

        count = self._count
        if self.known is not None:
            structure()
        if count >= 0:
            length, *others = {None} if self._asks else lengths() or {None}
            count = UNKNOWN_CARDINALITY if others or length is None else count * length
        return self._then("_UnbatchDataset", lambda: stages.unbatched(self.elements()), structure, count)

    @public
    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False, name: str | None = None) -> Self:
        """Group elements into datasets of `size` elements, `stride` apart; windows begin `shift` (by default `size`) elements
        apart.

        Nested elements give a nest of datasets. The last windows may be smaller, or are dropped.
        """
        length = arguments.positive(size, "size", "Window size")
        step = length if shift is None else arguments.positive(shift, "shift", "Window shift")
        apart, drop = arguments.positive(stride, "stride", "Window stride"), bool(drop_remainder)

        def start() -> Stream:
            return map(self._as_datasets, stages.windows(self.elements(), length, step, apart, drop))

        def structure() -> ElementStructure:
            return ElementStructure(self.structure.nest, tuple([DatasetSpec(spec) for spec in self.structure.specs]))

        count = self._count
        if count >= 0:
            count = len(range(0, max(count - (length - 1) * apart, 0) if drop else count, step))
        return self._then("_WindowDataset", start, structure, count)

    @public
    def unique(self, name: str | None = None) -> Self:
        """Keep the first of equal elements, which must be single tensors of int32, int64 or string."""
        if self.known is not None:
            arguments.check_unique(self.known.specs)
        return self._then("_UniqueDataset", lambda: stages.unique(self.elements()), count=UNKNOWN_CARDINALITY)

    @public
    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element; InvalidArgumentError if there is none, or more than one."""
        if tracing.is_asked_for_shapes():
            return next(iter(self))
        found = list(itertools.islice(self.stream(), 2))
        if len(found) != 1:
            raise invalid("Dataset had more than one element." if found else "Dataset was empty.")
        return handed(found[0])

    def _as_datasets(self, window: list[Element]) -> Element:
        """Convert the elements of a window to one element of datasets."""
        columns = zip(*[arrays for arrays, _ in window], strict=True)
        specs = self.structure.specs
        held = [
            self.holding([((a,), LEAF) for a in column], ElementStructure(LEAF, (s,)))
            for column, s in zip(columns, specs, strict=True)
        ]
        return tuple(held), window[0][1]

    @in_graphs
    @public
    def ragged_batch(
        self, batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = dtypes.int64, name: str | None = None
    ) -> Self:
        """Batch `batch_size` elements: as rows of a RaggedTensor where their shapes are open, else of a Tensor."""
        size, drop = arguments.batch_size(batch_size), bool(drop_remainder)
        dtype = dtypes.as_dtype(row_splits_dtype)

        def start() -> Stream:
            specs = [ragged_spec(spec, dtype) for spec in self.structure.specs]
            return stages.batched(map(partial(_as_rows, specs), self.elements()), size, drop, stages.stacked)

        def structure() -> ElementStructure:
            rows = ElementStructure(self.structure.nest, tuple([ragged_spec(spec, dtype) for spec in self.structure.specs]))
            return with_shapes(rows, TensorShape([size if drop else None]).concatenate)

        return self._then("_BatchDataset", start, structure, arguments.batches(self._count, size, drop))

    @in_graphs
    @public
    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Self:
        """Batch tensors of one rank and different shapes as a SparseTensor, whose rows have the shape `row_shape`.

        None in `row_shape` means the largest extent of the batch. TypeError for nests of tensors, InvalidArgumentError for
        another rank, DataLossError for an element that is larger than a row.
        """
        size = arguments.batch_size(batch_size)
        row = TensorShape(arguments.numbers(row_shape))
        if self.known is not None:
            _the_only(self.known)

        def start() -> Stream:
            return stages.batched(map(partial(_as_row, row.as_list()), self.elements()), size, False, stages.stacked)

        def structure() -> ElementStructure:
            spec = _the_only(self.structure)
            return ElementStructure(LEAF, (SparseTensorSpec(TensorShape([None]).concatenate(row), spec.dtype),))

        return self._then("_DenseToSparseBatchDataset", start, structure, arguments.batches(self._count, size, False))

    @in_graphs
    @public
    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Self:
        """Concatenate the datasets `reduce_func(key, group)` for each group of `window_size` elements with one key.

        `key_func(element)` returns the key, an int64. Groups that are left at the end may be smaller, and come in the order of
        their keys. `window_size_func(key)` may return a size for each key.
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError("Either `window_size` or `window_size_func` must be set, and not both.")
        size = 0 if window_size is None else arguments.count(window_size, "window_size")
        size_func = (lambda key: np.int64(size)) if window_size_func is None else window_size_func
        key, wanted = ElementCall(key_func, "Dataset.group_by_window()"), ElementCall(size_func, "Dataset.group_by_window()")
        reduce = ElementCall(reduce_func, "Dataset.group_by_window()")

        def of_key(specs: Any) -> Any:
            return ElementStructure(PAIR, (TensorSpec((), dtypes.int64), DatasetSpec(specs)))

        def start() -> Stream:
            numbers = itertools.count()

            def reduced(number: int, items: list[Element]) -> Stream:
                pair = (np.array(number, np.int64), self.holding(items, self.structure)), PAIR
                return reduce.dataset(next(numbers), pair).elements()

            def sized(number: int) -> int:
                count = _whole(wanted(0, ((np.array(number, np.int64),), LEAF)), "window_size_func")
                if count < 1:
                    raise invalid(f"Window size must be greater than zero, but got {count}.")
                return count

            def key_of(index: int, item: Element) -> int:
                return _whole(key(index, item), "key_func")

            return Resumed(_grouped, enumerate(self.elements()), key_of, sized, reduced, {}, [])

        def structure() -> ElementStructure:
            specs = calls.inferred(reduce, of_key(self.element_spec))
            if isinstance(specs, DatasetSpec):
                return from_specs(specs.element_spec)
            return calls.from_one(stages.glanced(start, reduce.what))

        return self._then("_GroupByWindowDataset", start, structure, arguments.unknown_of(self._count), asks=True)

    @in_graphs
    @public
    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Batch elements of similar length: bucket i holds lengths in [`bucket_boundaries[i - 1]`, `bucket_boundaries[i]`).

        There is a batch size for each bucket, one more than boundaries. Batches are padded as in `padded_batch`, or to one
        less than their boundary, or not at all.
        """
        bounds, sizes = [int(b) for b in bucket_boundaries], [int(s) for s in bucket_batch_sizes]
        if len(sizes) != len(bounds) + 1:
            raise ValueError(
                "Invalid `bucket_batch_sizes`. `len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(sizes)}` and `len(bucket_boundaries)={len(bounds)}`."
            )
        length = ElementCall(element_length_func, "Dataset.bucket_by_sequence_length()")

        def batched(number: int, group: Any) -> Any:
            if no_padding:
                return group.batch(sizes[number], drop_remainder)
            filler = None
            if pad_to_bucket_boundary:
                if number == len(bounds):
                    raise invalid("When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).")
                filler = bounds[number] - 1
            how, specs = group.structure.nest, group.structure.specs
            shapes = [spec.shape for spec in specs] if padded_shapes is None else nest.flatten_up_to(how, padded_shapes)
            filled = how.unflatten([_filled(shape, filler) for shape in shapes])
            return group.padded_batch(sizes[number], filled, padding_values, drop_remainder)

        def start() -> Stream:
            def bucket(index: int, item: Element) -> int:
                return bisect.bisect_right(bounds, _whole(length(index, item), "element_length_func"))

            def reduced(number: int, items: list[Element]) -> Stream:
                return batched(number, self.holding(items, self.structure)).elements()

            return Resumed(_grouped, enumerate(self.elements()), bucket, sizes.__getitem__, reduced, {}, [])

        def structure() -> ElementStructure:
            return batched(0, self.holding([], self.structure)).structure

        return self._then("_GroupByWindowDataset", start, structure, arguments.unknown_of(self._count), asks=True)

    @in_graphs
    @public
    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: Any = None,
        name: str | None = None,
    ) -> Self:
        """Pair each element with its class, and drop elements at random, so that the classes have the distribution
        `target_dist`.

        `class_func(element)` returns the class, a number. `initial_dist` is the distribution of the classes before; by default
        it is estimated.
        """
        target = np.asarray(arguments.numbers(target_dist), np.float64)
        initial = None if initial_dist is None else np.asarray(arguments.numbers(initial_dist), np.float64)
        label, origin = ElementCall(class_func, "Dataset.rejection_resample()"), arguments.seeds(seed, False)

        def start() -> Stream:
            counts = np.ones_like(target) if initial is None else initial
            state = enumerate(self.elements()), label.begun(), target, counts.copy(), initial is None
            return Resumed(_resampled, *state, random.Random(origin()).random)

        def structure() -> ElementStructure:
            specs = calls.inferred(label, self.structure)
            first = from_specs(specs) if isinstance(specs, TensorSpec) else structure_of(stages.glanced(start, label.what))
            return ElementStructure(joined(PAIR, (LEAF, self.structure.nest)), (*first.specs[:1], *self.structure.specs))

        return self._then("_MapDataset", start, structure, UNKNOWN_CARDINALITY, asks=True)

    @public
    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """Skip the elements that fail."""
        return self._then("_IgnoreErrorsDataset", lambda: _without_errors(self.elements()), count=UNKNOWN_CARDINALITY)

    @classmethod
    @public
    def random(cls, seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None) -> Self:
        """Draw random integers from 0 to 2³² − 1 (int64), without end; with a `seed` the same in each pass."""
        origin = arguments.orders(seed, bool(rerandomize_each_iteration))

        def start() -> Stream:
            return philox.words(stages.state_of_pass(origin()))

        structure = ElementStructure(LEAF, (TensorSpec((), dtypes.int64),))
        return cls._made(start, structure, INFINITE_CARDINALITY, "_RandomDataset", Numbers(dtypes.int64.numpy))


def _whole(answer: Element, what: str) -> int:
    """Convert a function's result to an int; ValueError unless it is one integer."""
    arrays, _ = answer
    if len(arrays) != 1 or not isinstance(arrays[0], np.ndarray) or arrays[0].ndim or arrays[0].dtype.kind not in "iu":
        raise ValueError(f"Invalid `{what}`. `{what}` must return a single `tf.int64` scalar tensor, got {arrays}.")
    return int(arrays[0])


def _grouped(
    numbered: Iterator[tuple[int, Element]],
    key: Callable[[int, Element], int],
    size: Callable[[int], int],
    reduced: Callable[[int, list[Element]], Stream],
    groups: dict[int, tuple[int, list[Element]]],
    running: list[Stream],
) -> Stream:
    while True:
        if running:
            yield from running[0]
            running.clear()
        for index, item in numbered:
            number = key(index, item)
            if number not in groups:
                groups[number] = size(number), []
            wanted, items = groups[number]
            items.append(item)
            if len(items) == wanted:
                del groups[number]
                running.append(reduced(number, items))
                break
        else:
            if not groups:
                return
            number = min(groups)
            running.append(reduced(number, groups.pop(number)[1]))


def _filled(shape: Any, filler: int | None) -> list[int | None]:
    return [filler if extent is None else extent for extent in TensorShape(shape).as_list()]


def _resampled(
    numbered: Iterator[tuple[int, Element]],
    label: ElementCall,
    target: np.ndarray,
    counts: np.ndarray,
    counting: bool,
    draw: Callable[[], float],
) -> Stream:
    for index, item in numbered:
        answer = label(index, item)
        number = _whole(answer, "class_func")
        counts[number] += counting
        ratios = target / np.maximum(counts / counts.sum(), np.finfo(np.float32).tiny)
        if draw() * ratios.max() < ratios[number]:
            yield (answer[0][0], *item[0]), joined(PAIR, (LEAF, item[1]))


def _without_errors(source: Stream) -> Stream:
    return filter(lambda outcome: not isinstance(outcome, Exception), stages.outcomes(source))


def _the_only(structure: ElementStructure) -> TensorSpec:
    """Return the spec of elements that are single tensors; TypeError for others."""
    (spec, *others), how = structure.specs, structure.nest
    if others or how != LEAF or not isinstance(spec, TensorSpec):
        raise TypeError(
            "`dense_to_sparse_batch` requires an input dataset whose elements have a single component, but the given dataset has "
            f"elements {structure.element_spec}."
        )
    return spec


def _as_row(extents: Sequence[int | None], item: Element) -> Element:
    """Convert the array of an element to a row of a SparseTensor, with all its entries."""
    (array,), how = item
    if array.ndim != len(extents):
        raise invalid(f"Input element had shape ({printed(array.shape)}) that is incompatible with the row shape ({extents}).")
    shape = [had if extent is None else extent for had, extent in zip(array.shape, extents, strict=True)]
    if any(had > extent for had, extent in zip(array.shape, shape, strict=True)):
        raise DataLossError.saying(
            f"Input element had shape ({printed(array.shape)}) that is larger than the row shape ({printed(tuple(shape))})."
        )
    indices = np.argwhere(np.ones(array.shape, bool))
    return (Sparse(indices, array.ravel(), np.array(shape, np.int64)),), how


def _as_rows(specs: Sequence[Any], item: Element) -> Element:
    """Convert the arrays of an element to rows of RaggedTensors where the specs are ragged."""
    arrays, how = item
    made = [
        Ragged.of_dense(array, spec.ragged_rank, spec.row_splits_dtype.numpy)
        if isinstance(spec, RaggedTensorSpec) and isinstance(array, np.ndarray)
        else array
        for array, spec in zip(arrays, specs, strict=True)
    ]
    return tuple(made), how
