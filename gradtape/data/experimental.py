"""`tf.data.experimental`: CSV files, and names that are in `tf.data` by now."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.data.csv import (
    CsvDataset as CsvDataset,
    make_batched_features_dataset as make_batched_features_dataset,
    make_csv_dataset as make_csv_dataset,
    parse_example_dataset as parse_example_dataset,
)
from gradtape._src.data.dataset import cardinality as cardinality
from gradtape._src.data.iterators import get_next_as_optional as get_next_as_optional
from gradtape._src.data.optional import Optional as Optional
from gradtape._src.data.options import (
    AUTOTUNE as AUTOTUNE,
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
    AutoShardPolicy as AutoShardPolicy,
    AutotuneAlgorithm as AutotuneAlgorithm,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    ExternalStatePolicy as ExternalStatePolicy,
    OptimizationOptions as OptimizationOptions,
    ThreadingOptions as ThreadingOptions,
)
from gradtape._src.data.transformations import (
    Counter as Counter,
    RandomDataset as RandomDataset,
    TFRecordWriter as TFRecordWriter,
    assert_cardinality as assert_cardinality,
    at as at,
    bucket_by_sequence_length as bucket_by_sequence_length,
    choose_from_datasets as choose_from_datasets,
    copy_to_device as copy_to_device,
    dense_to_ragged_batch as dense_to_ragged_batch,
    dense_to_sparse_batch as dense_to_sparse_batch,
    enable_debug_mode as enable_debug_mode,
    enumerate_dataset as enumerate_dataset,
    from_list as from_list,
    get_single_element as get_single_element,
    get_structure as get_structure,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    load as load,
    map_and_batch as map_and_batch,
    pad_to_cardinality as pad_to_cardinality,
    parallel_interleave as parallel_interleave,
    prefetch_to_device as prefetch_to_device,
    rejection_resample as rejection_resample,
    sample_from_datasets as sample_from_datasets,
    save as save,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    take_while as take_while,
    unbatch as unbatch,
    unique as unique,
)

__getattr__ = _missing(__name__)
