"""Batches for the Trainer: Keras's own data adapters, and one for gradtape's `tf.data`."""

import functools
import itertools

import numpy as np
from keras.src import tree
from keras.src.backend.common import global_state
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter, can_convert_arrays
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

import gradtape as tf
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.distribute import group
from gradtape._src.ops.random import philox, seeds

PEEKED = data_adapter_utils.NUM_BATCHES_FOR_TENSOR_SPEC
SOME_SIZE = 32  # batch size for inferring the shapes of weights, if the size is open


class Batches(EpochIterator):
    """The batches of one epoch after the other: (first step, last step, list of batches)."""

    def __init__(self, x, y=None, sample_weight=None, class_weight=None, **options):
        if isinstance(x, (tf.data.Dataset, tf.distribute.DistributedDataset)):
            for name, value in (("y", y), ("sample_weight", sample_weight)):
                if value is not None:
                    raise ValueError(
                        f"When providing `x` as a tf.data.Dataset, `{name}` should not be passed: it is the second or third "
                        "entry of what the Dataset gives."
                    )
            x, class_weight = DatasetAdapter(x, class_weight), None
        elif can_convert_arrays(tree.map_structure(_row_numbers, (x, y, sample_weight), none_is_leaf=False)):
            named = {"class_weight": class_weight, "shuffle": options.get("shuffle", False)}
            steps, kind = options.get("steps_per_epoch"), ShuffledArrays if named["shuffle"] else ArrayDataAdapter
            whole = (x, y, sample_weight)
            x, y, named["sample_weight"] = tree.map_structure(_row_numbers, whole, none_is_leaf=False)
            x = kind(x, y, batch_size=options.get("batch_size"), steps=steps, **named)
            if any(isinstance(part, tf.SparseTensor) for part in tree.flatten(whole)):
                x = SparseRows(x, whole[0])
            y = sample_weight = class_weight = None
        super().__init__(x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options)
        self._first = _first_of(self.data_adapter)

    def __next__(self):
        begin, end, iterator = next(self._epoch_iterator, (0, 0, None))
        if iterator is None:
            _agreed([])  # takes part in the agreement with processes that have more batches
            raise StopIteration
        wanted = self.steps_per_execution
        if self._num_batches:  # the last execution of an epoch may have fewer steps
            wanted = min(wanted, self._num_batches - (self._steps_seen - wanted))
        batches = _agreed(list(itertools.islice(iterator, wanted)))
        if len(batches) < wanted:
            with self.catch_stop_iteration():  # warns that the data ended early
                raise StopIteration
        if not batches:
            raise StopIteration
        return begin, end, batches

    def example(self):
        """Return the specs of a batch of a Dataset, the first batch of a PyDataset, or None if data have side effects."""
        return self.data_adapter.specs() if isinstance(self.data_adapter, DatasetAdapter) else self._first


def _agreed(batches):
    """Return the batches that all processes can train on: with separate data, as many as the process with the fewest."""
    distribution = global_state.get_global_attribute("distribution")
    if distribution is None or distribution.auto_shard_dataset:
        return batches
    return batches[: group.fewest(len(batches), "the number of batches")]


def _first_of(adapter):
    """Return the first batch of a PyDataset. As on TensorFlow, two are created before the first epoch, which random data show."""
    if not isinstance(adapter, PyDatasetAdapter):
        return None
    count = adapter.py_dataset.num_batches
    made = min(PEEKED, PEEKED if count is None else count)
    batches = [adapter._standardize_batch(adapter.py_dataset[i]) for i in range(made)]
    if not batches:
        raise ValueError("The PyDataset has length 0")
    return batches[0]


def _row_numbers(x):
    """Return the row numbers of a SparseTensor, which Keras then splits into batches; other values are unchanged."""
    return np.arange(x.shape[0]) if isinstance(x, tf.SparseTensor) else x


def _rows_of(x, rows):
    """Return the rows of a SparseTensor with these numbers; for other values the argument `rows`, which Keras has cut."""
    if not isinstance(x, tf.SparseTensor):
        return rows
    indices, rows = x.indices.numpy(), np.asarray(rows)
    order = np.argsort(indices[:, 0], kind="stable")
    begin, end = [np.searchsorted(indices[order, 0], rows, side) for side in ("left", "right")]
    kept = order[np.concatenate([np.arange(0), *map(np.arange, begin, end)])]
    places = np.concatenate([np.repeat(np.arange(len(rows)), end - begin)[:, None], indices[kept, 1:]], axis=1)
    return tf.SparseTensor(places, x.values.numpy()[kept], [len(rows), *x.shape[1:]])


class SparseRows(DataAdapter):
    """Batches of arrays with SparseTensors among them; another adapter splits their row numbers."""

    def __init__(self, adapter, x):
        self._adapter, self._x = adapter, x

    def get_numpy_iterator(self):
        return map(self._given, self._adapter.get_numpy_iterator())

    def _given(self, batch):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
        return data_adapter_utils.pack_x_y_sample_weight(tree.map_structure(_rows_of, self._x, x), y, sample_weight)

    @property
    def num_batches(self):
        return self._adapter.num_batches

    @property
    def batch_size(self):
        return self._adapter.batch_size

    @property
    def has_partial_batch(self):
        return self._adapter.has_partial_batch

    @property
    def partial_batch_size(self):
        return self._adapter.partial_batch_size


class ShuffledArrays(ArrayDataAdapter):
    """Arrays in Keras's random order on TensorFlow: with a seed it is the same in each epoch."""

    def _get_iterator(self, convert, inputs):
        for rows in self._rows():
            yield tree.map_structure(functools.partial(convert, indices=rows), inputs, none_is_leaf=False)

    def _rows(self):
        """Return the row numbers of each batch."""
        count, size, source = self._num_samples, self._batch_size, seeds.begun()
        whole = count if self._shuffle != "batch" else size
        parts = [range(begin, min(begin + whole, count)) for begin in range(0, count, max(whole, 1))]
        for part in parts:
            with seeds.drawn_from(source):
                state = seeds.draw("RandomShuffle", None, -(-(len(part) - 1) // 4))
            rows = _exchanged(part, to_numpy(state.node))
            yield from [rows[i : i + size] for i in range(0, len(rows), size)]


def _exchanged(numbers, state):
    """Return the numbers of a range in random order, an array: each is swapped with a later one, or itself."""
    rows, place = list(numbers), np.arange(len(numbers))
    places = place + philox.words_on_host(state, 0, len(rows)) % (len(rows) - place)
    for i, other in enumerate(places.tolist()):
        rows[i], rows[other] = rows[other], rows[i]
    return np.array(rows)


def _sized(spec):
    open_batch = spec.shape.rank and spec.shape[0] is None
    return type(spec)([SOME_SIZE, *spec.shape[1:]], spec.dtype) if open_batch else spec


class DatasetAdapter(DataAdapter):
    """A gradtape Dataset whose elements are batches, or a dataset distributed by a strategy."""

    def __init__(self, dataset, class_weight=None):
        self._dataset = dataset.whole() if isinstance(dataset, tf.distribute.DistributedDataset) else dataset
        self._class_weight = class_weight

    def get_numpy_iterator(self):
        return map(self._given, iter(self._dataset))  # starts at once, as on TensorFlow: a shuffled dataset draws a new order

    def _given(self, batch):
        if self._class_weight is not None:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
            if sample_weight is not None:
                raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
            weights = data_adapter_utils.class_weight_to_sample_weights(np.asarray(y), self._class_weight)
            batch = (x, y, weights)
        return data_adapter_utils.list_to_tuple(batch)

    def specs(self):
        """Return the specs of a batch, with some size where it is open."""
        return tree.map_structure(_sized, data_adapter_utils.list_to_tuple(self._dataset.element_spec))

    @property
    def num_batches(self):
        count = self._dataset.cardinality  # a property of a distributed dataset
        count = int(count() if callable(count) else count)
        return count if count >= 0 else None

    @property
    def batch_size(self):
        first = tree.flatten(self._dataset.element_spec)[0]
        return first.shape[0] if first.shape.rank else None

    @property
    def has_partial_batch(self):
        return None

    @property
    def partial_batch_size(self):
        return None
