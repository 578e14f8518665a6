"""`tf.data.experimental`: functions that became methods of `Dataset`, most of them for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradtape._src.core.base.errors import FailedPreconditionError, OutOfRangeError
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.data import arguments, at_once
from gradtape._src.data.dataset import Dataset
from gradtape._src.data.options import AUTOTUNE, INFINITE_CARDINALITY
from gradtape._src.data.place import RandomAccess
from gradtape._src.data.structure import Element, handed, structure_of_all, taken
from gradtape._src.files import records
from gradtape._src.ops.array.creation import zeros_like

Transformation = Callable[[Dataset], Dataset]

# ---------------------------------------------------------------------------------------------------------------------
# Sources


@public
def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """Count from `start` by `step` without end; see `tf.data.Dataset.counter`.

    >>> [int(number) for number in tf.data.experimental.Counter(5, step=2).take(3)]
    [5, 7, 9]
    """
    return Dataset.counter(start, step, dtype)


@public
def RandomDataset(seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None) -> Dataset:
    """Draw integers without end; see `tf.data.Dataset.random`.

    >>> numbers = tf.data.experimental.RandomDataset(seed=1)
    >>> list(numbers.take(2)) == list(numbers.take(2))
    True
    """
    return Dataset.random(seed, rerandomize_each_iteration)


@public
def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """Create a dataset of the `elements` of a list, which must all have one structure and the same shapes.

    ValueError for an empty list.

    >>> [(int(number), word.numpy()) for number, word in tf.data.experimental.from_list([(1, "one"), (2, "two")])]
    [(1, b'one'), (2, b'two')]
    """
    if not isinstance(elements, list):
        raise TypeError(f"`elements` must be a list: received {type(elements)}.")
    if not elements:
        raise ValueError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use `tf.data.Dataset.range(0)`."
        )
    items = [taken(element) for element in elements]
    return Dataset.holding(items, structure_of_all([Dataset.holding([item]) for item in items]))


@public
def sample_from_datasets(datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False) -> Dataset:
    """Draw each element from a random dataset; see `tf.data.Dataset.sample_from_datasets`.

    >>> low, high = tf.data.Dataset.from_tensors(1).repeat(), tf.data.Dataset.from_tensors(9).repeat()
    >>> [int(number) for number in tf.data.experimental.sample_from_datasets([low, high], [0.0, 1.0]).take(2)]
    [9, 9]
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@public
def choose_from_datasets(datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = False) -> Dataset:
    """Take each element from the dataset whose number is the next element of `choice_dataset`; see
    `tf.data.Dataset.choose_from_datasets`.

    An exhausted dataset is skipped, unless `stop_on_empty_dataset`.

    >>> parts = [tf.data.Dataset.from_tensors("a"), tf.data.Dataset.from_tensors("b")]
    >>> choices = tf.data.Dataset.from_tensor_slices(tf.constant([1, 1, 0], tf.int64))
    >>> list(tf.data.experimental.choose_from_datasets(parts, choices).as_numpy_iterator())
    [b'b', b'a']
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@public
def load(
    path: Any, element_spec: Any = None, compression: str | None = None, reader_func: Callable[..., Any] | None = None
) -> Dataset:
    """Load the elements that `save` wrote; see `tf.data.Dataset.load`.

    >>> tf.data.experimental.save(tf.data.Dataset.range(3), "numbers")
    >>> [int(number) for number in tf.data.experimental.load("numbers")]
    [0, 1, 2]
    """
    return Dataset.load(path, element_spec, compression, reader_func)


@public
def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """Write the elements into files; see `tf.data.Dataset.save`.

    >>> tf.data.experimental.save(tf.data.Dataset.range(2), "two_numbers")
    >>> len(tf.data.experimental.load("two_numbers"))
    2
    """
    dataset.save(path, compression, shard_func, checkpoint_args)


# ---------------------------------------------------------------------------------------------------------------------
# Single elements, and structure


@public
def at(dataset: Dataset, index: Any) -> Any:
    """Return the element at `index`, an integer; OutOfRangeError at the end. A shuffle has one order for all calls.

    >>> print(tf.data.experimental.at(tf.data.Dataset.range(10, 20), 3).numpy())
    13
    """
    with RandomAccess().open():
        found = next(dataset.skip(index).stream(), None)
    if found is None:
        raise OutOfRangeError.saying(f"Index out of range [0, {dataset._count}): {index}")
    return handed(found)


@public
def get_single_element(dataset: Dataset) -> Any:
    """Return the only element; InvalidArgumentError if there is none, or more than one; see
    `tf.data.Dataset.get_single_element`.

    >>> print(tf.data.experimental.get_single_element(tf.data.Dataset.range(4).batch(4)).numpy())
    [0 1 2 3]
    """
    return dataset.get_single_element()


@public
def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the `element_spec` of a dataset or an iterator; TypeError for anything else.

    >>> tf.data.experimental.get_structure(tf.data.Dataset.range(3))
    TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a `tf.data.Dataset` or tf.data.Iterator object, but "
            f"got {type(dataset_or_iterator)}."
        ) from None


@public
def assert_cardinality(expected_cardinality: Any) -> Transformation:
    """Assert the number of elements, for `apply`; iteration raises FailedPreconditionError if it is another.

    >>> even = tf.data.Dataset.range(10).filter(lambda number: number % 2 == 0)
    >>> len(even.apply(tf.data.experimental.assert_cardinality(5)))
    5
    """
    expected = arguments.count(expected_cardinality, "expected_cardinality")

    def counted(stream: Iterator[Element]) -> Iterator[Element]:
        seen = 0
        for seen, item in enumerate(stream, 1):
            if seen > expected != INFINITE_CARDINALITY:
                raise _other_count(expected, f"at least {seen}")
            yield item
        if seen < expected or expected == INFINITE_CARDINALITY:
            raise _other_count(expected, f"only {seen}")

    return lambda dataset: dataset._then("_AssertCardinalityDataset", lambda: counted(dataset.elements()), count=expected)


def _other_count(expected: int, found: str) -> FailedPreconditionError:
    number = "an infinite number of" if expected == INFINITE_CARDINALITY else expected
    elements = "1 element" if expected == 1 else f"{number} elements"
    text = f"Input dataset was expected to contain {elements} but contained {found} element{'' if found.endswith(' 1') else 's'}."
    return FailedPreconditionError.saying(text)


# ---------------------------------------------------------------------------------------------------------------------
# Batches, groups and selection


@public
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """Map and batch, for `apply`; see `tf.data.Dataset.map` and `batch`.

    >>> squares = tf.data.Dataset.range(4).apply(tf.data.experimental.map_and_batch(lambda number: number**2, 2))
    >>> print([batch.tolist() for batch in squares.as_numpy_iterator()])
    [[0, 1], [4, 9]]
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls` to be set.")
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = arguments.count(batch_size, "batch_size") * arguments.count(num_parallel_batches, "num_parallel_batches")
    return lambda dataset: dataset.map(map_func, num_parallel_calls=calls).batch(batch_size, drop_remainder)


@public
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Shuffle and repeat, with a new order each time, for `apply`; see `tf.data.Dataset.shuffle` and `repeat`.

    >>> numbers = tf.data.Dataset.range(3).apply(tf.data.experimental.shuffle_and_repeat(3, count=2))
    >>> sorted(int(number) for number in numbers)
    [0, 0, 1, 1, 2, 2]
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@public
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batch elements of similar length, for `apply`; see `tf.data.Dataset.bucket_by_sequence_length`.

    >>> words = tf.data.Dataset.from_generator(lambda: ([1], [1, 2, 3], [4]), tf.int32, [None])
    >>> batched = tf.data.experimental.bucket_by_sequence_length(tf.size, [2], [2, 2])
    >>> print([batch.tolist() for batch in words.apply(batched).as_numpy_iterator()])
    [[[1], [4]], [[1, 2, 3]]]
    """
    settings = padded_shapes, padding_values, pad_to_bucket_boundary, no_padding, drop_remainder
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func, bucket_boundaries, bucket_batch_sizes, *settings
    )


@public
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Group elements of one key, for `apply`; see `tf.data.Dataset.group_by_window`.

    >>> grouped = tf.data.experimental.group_by_window(lambda number: number % 2, lambda key, group: group.batch(2), 2)
    >>> print([batch.tolist() for batch in tf.data.Dataset.range(4).apply(grouped).as_numpy_iterator()])
    [[0, 2], [1, 3]]
    """
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


@public
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Take elements of `cycle_length` datasets in turn, for `apply`; see `tf.data.Dataset.interleave`.

    >>> twice = tf.data.experimental.parallel_interleave(lambda number: tf.data.Dataset.from_tensors(number).repeat(2), 2)
    >>> [int(number) for number in tf.data.Dataset.range(2).apply(twice)]
    [0, 1, 0, 1]
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


@public
def enumerate_dataset(start: Any = 0) -> Transformation:
    """Number the elements, for `apply`; see `tf.data.Dataset.enumerate`.

    >>> [
    ...     (int(place), int(number))
    ...     for place, number in tf.data.Dataset.range(7, 9).apply(tf.data.experimental.enumerate_dataset())
    ... ]
    [(0, 7), (1, 8)]
    """
    return lambda dataset: dataset.enumerate(start)


@public
def unbatch() -> Transformation:
    """Split batches into their rows, for `apply`; see `tf.data.Dataset.unbatch`.

    >>> [int(number) for number in tf.data.Dataset.range(3).batch(2).apply(tf.data.experimental.unbatch())]
    [0, 1, 2]
    """
    return lambda dataset: dataset.unbatch()


@public
def dense_to_ragged_batch(batch_size: Any, drop_remainder: Any = False, row_splits_dtype: Any = dtypes.int64) -> Transformation:
    """Batch elements of different lengths as rows, for `apply`; see `tf.data.Dataset.ragged_batch`.

    >>> rows = tf.data.Dataset.range(1, 3).map(tf.range).apply(tf.data.experimental.dense_to_ragged_batch(2))
    >>> [batch.to_list() for batch in rows]
    [[[0], [0, 1]]]
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


@public
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batch tensors of different shapes as a SparseTensor, for `apply`; see `tf.data.Dataset.sparse_batch`.

    >>> rows = tf.data.Dataset.range(1, 3).map(tf.range).apply(tf.data.experimental.dense_to_sparse_batch(2, [2]))
    >>> [tf.sparse.to_dense(batch).numpy().tolist() for batch in rows]
    [[[0, 0], [0, 1]]]
    """
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


@public
def unique() -> Transformation:
    """Remove repeated elements, for `apply`; see `tf.data.Dataset.unique`.

    >>> numbers = tf.data.Dataset.from_tensor_slices([1, 2, 1])
    >>> [int(number) for number in numbers.apply(tf.data.experimental.unique())]
    [1, 2]
    """
    return lambda dataset: dataset.unique()


@public
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Take the elements before the first for which `predicate` returns False, for `apply`; see `tf.data.Dataset.take_while`.

    >>> [int(number) for number in tf.data.Dataset.range(9).apply(tf.data.experimental.take_while(lambda number: number < 2))]
    [0, 1]
    """
    return lambda dataset: dataset.take_while(predicate)


@public
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Pass a state from element to element, for `apply`; see `tf.data.Dataset.scan`.

    >>> total = tf.data.experimental.scan(tf.constant(0, tf.int64), lambda state, number: (state + number, state + number))
    >>> [int(number) for number in tf.data.Dataset.range(4).apply(total)]
    [0, 1, 3, 6]
    """
    return lambda dataset: dataset.scan(initial_state, scan_func)


@public
def ignore_errors(log_warning: bool = False) -> Transformation:
    """Skip elements that fail, for `apply`; see `tf.data.Dataset.ignore_errors`.

    >>> finite = tf.data.Dataset.from_tensor_slices([1.0, 0.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "x"))
    >>> [float(number) for number in finite.apply(tf.data.experimental.ignore_errors())]
    [1.0]
    """
    return lambda dataset: dataset.ignore_errors(log_warning)


@public
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Transformation:
    """Draw elements so that their classes have another distribution, for `apply`; see `tf.data.Dataset.rejection_resample`.

    >>> classes = tf.data.Dataset.from_tensor_slices([0, 1]).repeat()
    >>> only_ones = tf.data.experimental.rejection_resample(lambda label: label, [0.0, 1.0], [0.5, 0.5])
    >>> [(int(kind), int(number)) for kind, number in classes.apply(only_ones).take(2)]
    [(1, 1), (1, 1)]
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)


@public
def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Transformation:
    """Pad a dataset of dicts with zero elements to `cardinality` elements, for `apply`; the entry `mask_key` is False for
    these.

    >>> padded = tf.data.Dataset.from_tensor_slices({"x": [5]}).apply(tf.data.experimental.pad_to_cardinality(2))
    >>> [(int(element["x"]), bool(element["valid"])) for element in padded.as_numpy_iterator()]
    [(5, True), (0, False)]
    """
    wanted = arguments.count(cardinality, "cardinality")

    def transformed(dataset: Dataset) -> Dataset:
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        count = arguments.count(dataset.cardinality(), "cardinality")
        if count < 0:
            raise ValueError(f"The dataset passed into `pad_to_cardinality` must have a known cardinality, but has {count}.")
        if count > wanted:
            raise ValueError(
                "The dataset passed into `pad_to_cardinality` must have a cardinality less than the target cardinality "
                f"({wanted}), but has cardinality {count}."
            )

        def marked(valid: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
            return lambda element: {**element, mask_key: tensor(valid)}

        zeros = dataset.take(1).repeat(wanted - count).map(lambda element: nest.map_structure(zeros_like, element))
        return dataset.map(marked(True)).concatenate(zeros.map(marked(False)))

    return transformed


# ---------------------------------------------------------------------------------------------------------------------
# Devices


@public
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Return a dataset unchanged, for `apply`: ops move their operands to the device on which they run.

    >>> [int(number) for number in tf.data.Dataset.range(2).apply(tf.data.experimental.copy_to_device("/cpu:0"))]
    [0, 1]
    """
    return lambda dataset: dataset


@public
def prefetch_to_device(device: str, buffer_size: Any = None) -> Transformation:
    """Compute elements in advance, for `apply`; see `tf.data.Dataset.prefetch`.

    Ops move their operands to the device on which they run.

    >>> [int(number) for number in tf.data.Dataset.range(2).apply(tf.data.experimental.prefetch_to_device("/cpu:0"))]
    [0, 1]
    """
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


@public
def enable_debug_mode() -> None:
    """Run the functions of datasets as Python for each element, and never for many elements at once.

    >>> tf.data.experimental.enable_debug_mode()
    """
    at_once.debug()


class TFRecordWriter:
    """A writer of scalar strings to a TFRecord file; see `tf.io.TFRecordWriter`.

    >>> tf.data.experimental.TFRecordWriter("words.tfrecord").write(tf.data.Dataset.from_tensor_slices(["one", "two"]))
    >>> list(tf.data.TFRecordDataset("words.tfrecord").as_numpy_iterator())
    [b'one', b'two']
    """

    @public
    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename, self._compression = filename, records.compression_of(compression_type or "")

    @public
    def write(self, dataset: Dataset) -> None:
        """Write all elements; TypeError unless they are scalar strings."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        spec = dataset.element_spec
        if getattr(spec, "dtype", None) != dtypes.string or not spec.shape.is_compatible_with(()):
            raise TypeError(f"Invalid `dataset`. Expected a `dataset` that produces scalar `tf.string` elements, but got {spec}.")
        with records.TFRecordWriter(self._filename, self._compression) as writer:
            for record in dataset:
                writer.write(to_numpy(record.node)[()])
