"""`Filing`: file names as elements, saving and loading of elements, and rebatching."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data import saving
from gradtape._src.data.calls import ElementCall
from gradtape._src.data.composite import Composite
from gradtape._src.data.grouping import Grouping
from gradtape._src.data.options import UNKNOWN_CARDINALITY
from gradtape._src.data.rows import Slices
from gradtape._src.data.stages import Stream, resumable, stack
from gradtape._src.data.structure import LEAF, SHAPED, DatasetSpec, Element, ElementStructure, with_shapes
from gradtape._src.files.access import names_matching
from gradtape._src.files.ops import string_array
from gradtape._src.files.systems import name_of


class Filing(Grouping):
    """The methods of a dataset that read or write files."""

    @classmethod
    @public
    def list_files(cls, file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None) -> Self:
        """Create a dataset of the names of files that match a pattern, or any of a vector of patterns: scalar strings.

        They are in random order, a new one in each pass; or sorted, if `shuffle` is False. With a `seed` the orders are
        TensorFlow's. InvalidArgumentError if no file matches. For patterns see `tf.io.matching_files`.
        """
        patterns = string_array(os.fspath(file_pattern) if isinstance(file_pattern, os.PathLike) else file_pattern)
        if not patterns.dtype.hasobject:
            raise TypeError(f"Cannot convert {file_pattern!r} to EagerTensor of dtype string: give a pattern, or a list of them.")
        found = names_matching(patterns)
        if not found.size:
            asked = ", ".join([name_of(one) for one in patterns.ravel()])
            raise invalid(f"No files matched pattern: {asked}")
        rows, structure = Slices((found,), LEAF), ElementStructure(LEAF, (TensorSpec((), dtypes.string),))
        listed: Any = cls._made(lambda: iter(range(found.size)), structure, found.size, "_TensorSliceDataset", rows)
        return listed.shuffle(found.size, seed) if shuffle is None or shuffle else listed

    @public
    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write the elements to a directory in TensorFlow's format, for `tf.data.Dataset.load`.

        `compression` is None or "GZIP"; `shard_func(element)` returns the number of the file for an element. An earlier save
        in the directory is loaded until all elements are written.
        """
        if checkpoint_args:
            raise UnimplementedError(
                None, None, "save() takes no checkpoint_args: it writes all elements in one go. Call it without them."
            )
        shard = None if shard_func is None else ElementCall(shard_func, "Dataset.save()").begun()
        saving.save(name_of(path), self.elements(), self.structure, saving.compression_of(compression), shard)

    @classmethod
    @public
    def load(
        cls,
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[..., Any] | None = None,
        wait: bool = False,
    ) -> Self:
        """Create a dataset of the elements in a directory, written by `save` of gradtape or of TensorFlow.

        `reader_func` converts a dataset of the files' datasets to one dataset; by default they are interleaved. NotFoundError
        if nothing is saved there, DataLossError for damaged files. It does not wait for another process to save.
        """
        snapshot = saving.Snapshot(name_of(path), saving.compression_of(compression), element_spec)
        structure = snapshot.structure

        def of_shard(files: Sequence[str]) -> Any:
            return cls._made(lambda: snapshot.elements(files), structure, UNKNOWN_CARDINALITY, "_SnapshotShardDataset")

        shards = [((of_shard(files),), LEAF) for files in snapshot.shards]
        nested = ElementStructure(LEAF, (DatasetSpec(structure.element_spec),))
        files: Any = cls._made(lambda: iter(shards), nested, len(shards), "_SnapshotDataset")
        if reader_func is not None:
            return reader_func(files)
        whole = files.interleave(lambda shard: shard, cycle_length=os.cpu_count() or 1)
        loaded: Self = whole._then("_LoadDataset", whole.elements, structure, snapshot.count)
        return loaded

    @public
    def snapshot(
        self,
        path: str,
        compression: str = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Keep the elements of the first complete pass in the directory `path` + ".cache"; see `cache`.

        `compression`, `reader_func` and `shard_func` have no effect.
        """
        kept: Any = self
        return kept.cache(path)

    @public
    def rebatch(self, batch_size: Any, drop_remainder: Any = False, name: str | None = None) -> Self:
        """Rebuild batches with another size; `batch_size` may be a list of sizes to repeat in turn.

        ValueError for elements without a first axis. The last batch may be smaller, or is dropped.
        """
        sizes = [int(size) for size in np.atleast_1d(to_numpy(constant(batch_size, dtypes.int64).node))]
        if not sizes or min(sizes) < 1:
            raise invalid(f"Batch sizes must be greater than zero, received {sizes}.")
        drop = bool(drop_remainder)
        if self.known is not None:
            _check_rank(self.known)

        def structure() -> ElementStructure:
            _check_rank(self.structure)
            known = {spec.shape[0] for spec in self.structure.specs if isinstance(spec, SHAPED) and spec.shape.rank} - {None}
            whole = drop or (len(known) == 1 and known.pop() % sizes[0] == 0)
            extent = sizes[0] if whole and len(set(sizes)) == 1 else None
            return with_shapes(self.structure, lambda shape: TensorShape([extent]).concatenate(shape[1:]))

        def start() -> Stream:
            return _rebatched(self.elements(), itertools.cycle(sizes), drop, [], [])

        return self._then("_RebatchDataset", start, structure, UNKNOWN_CARDINALITY)


def _check_rank(structure: ElementStructure) -> None:
    if any(spec.shape.rank == 0 for spec in structure.specs if isinstance(spec, TensorSpec)):
        raise ValueError(
            "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar elements. Fix the issue "
            "by adding the `batch` transformation to the dataset."
        )


@resumable
def _rebatched(
    source: Stream, sizes: Iterator[int], drop: bool, waiting: list[tuple[Any, ...]], wanted: list[int]
) -> Iterator[Element]:
    """Yield batches of other sizes. `waiting` holds the components with rows that are left, `wanted` the next batch's size."""
    how = LEAF
    for arrays, how in source:
        waiting.append(tuple([list(array.rows()) if isinstance(array, Composite) else array for array in arrays]))
        while _count(waiting) >= (wanted or [*_next(wanted, sizes)])[0]:
            yield _taken(waiting, wanted.pop()), how
    while rows := _count(waiting):
        size = (wanted or [*_next(wanted, sizes)])[0]
        rest = _taken(waiting, size)
        wanted.clear()
        if not drop or rows >= size:
            yield rest, how


def _next(wanted: list[int], sizes: Iterator[int]) -> list[int]:
    wanted.append(next(sizes))
    return wanted


def _count(waiting: list[tuple[Any, ...]]) -> int:
    return sum(next(len(column) for column in columns if column is not None) for columns in waiting)


def _taken(waiting: list[tuple[Any, ...]], size: int) -> tuple[Any, ...]:
    """Remove the first rows, at most `size`, from the waiting components and return them; rows in a list are stacked."""
    whole = [_joined(column) for column in zip(*waiting, strict=True)]
    waiting[:] = [tuple([rows if rows is None else rows[size:] for rows in whole])]
    first = [rows if rows is None else rows[:size] for rows in whole]
    return tuple([stack(rows, component) if isinstance(rows, list) else rows for component, rows in enumerate(first)])


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], list):
        return [*itertools.chain.from_iterable(parts)]
    return None if parts[0] is None else np.concatenate(parts)
