"""The reasons why public names of TensorFlow are missing, in one table for the error and for the page.

`docs/names.md` is generated from it (`make snapshot`). A name is dotted, as under `tf`; `*` matches any letters, so `errors.*`
covers the rest of a namespace.
"""

from __future__ import annotations

import fnmatch

DEVICES = "Out of scope: devices of other processes. keras.distribution.initialize joins processes."
GRAPH_FILES = (
    "Out of scope: files for other runtimes. tf.saved_model.save writes a model, tf.train.export_stablehlo what it computes."
)
ENGINE = "Out of scope: it belongs to TensorFlow's own runtime. Here XLA compiles, through JAX."

# The first row with a matching name gives the reason.
_TABLE = [
    (
        "It ended with TensorFlow 1: its parts are names of tf and Keras, or packages of their own.",
        "contrib",
    ),
    (
        "It is TensorFlow 1's: write tf.compat.v1 in the place of tf.",
        """
        ConfigProto GPUOptions GraphKeys InteractiveSession RunOptions Session add_to_collection assign assign_add assign_sub
        disable_eager_execution div enable_eager_execution get_collection get_default_graph get_default_session get_variable
        get_variable_scope global_variables global_variables_initializer glorot_uniform_initializer initialize_all_variables
        local_variables local_variables_initializer logging matrix_inverse placeholder placeholder_with_default random_normal
        random_uniform reset_default_graph set_random_seed sparse_placeholder to_double to_float to_int32 to_int64
        train.AdamOptimizer train.GradientDescentOptimizer train.MomentumOptimizer train.RMSPropOptimizer train.Saver
        train.get_global_step trainable_variables truncated_normal variable_scope variables_initializer
        """,
    ),
    (
        "Since TensorFlow 2 it is in tf.math.",
        "angle ceil conj count_nonzero digamma erf erfc imag is_finite is_inf is_nan lgamma log log1p real rint rsqrt",
    ),
    ("It ended with TensorFlow 1: Keras has layers: tf.keras.layers.", "layers"),
    ("It ended with TensorFlow 1: tf.keras.datasets.mnist.load_data() has the digits.", "examples"),
    ("It ended with TensorFlow 2.15: tf.keras trains and evaluates models.", "estimator"),
    (
        "Out of scope: of TensorFlow 1 there are graphs, sessions, variables, scopes, optimizers and gradients. "
        "Write the rest with the names of tf.",
        "compat.v1.*",
    ),
    (
        "Out of scope: strategies for TPUs. JAX runs there as elsewhere, and tf.distribute.MirroredStrategy spans its devices.",
        "tpu distribute.TPUStrategy distribute.experimental.TPUStrategy distribute.cluster_resolver.TPUClusterResolver",
    ),
    ("Out of scope: what lies on several devices is one tensor or Variable.", "types.experimental.distributed.Mirrored"),
    ("Its names are in tf.experimental.dtensor.", "dtensor"),
    (
        "Out of scope: tf.train.Checkpoint saves and restores a DVariable whole, in its own dtype, whatever the layout.",
        """
        experimental.dtensor.DTensorCheckpoint experimental.dtensor.enable_save_as_bf16 experimental.dtensor.name_based_restore
        experimental.dtensor.name_based_save experimental.dtensor.sharded_save
        """,
    ),
    ("Out of scope: dtensor.create_distributed_mesh spans TPUs as other devices.", "experimental.dtensor.create_tpu_mesh"),
    (
        "Out of scope: structure is told by nests. Functions and datasets take a NamedTuple, a dict or a dataclass of tensors.",
        "experimental.*ExtensionType* experimental.StructuredTensor experimental.extension_type",
    ),
    (
        "Out of scope: parameter servers and their clusters. tf.distribute.MirroredStrategy spans the devices of a process, "
        "MultiWorkerMirroredStrategy those of several.",
        """
        distribute.ParameterServerStrategy distribute.Server distribute.cluster_resolver.*
        distribute.coordinator distribute.experimental.*
        """,
    ),
    (
        "Out of scope: benchmarks and clusters. Tests are a tf.test.TestCase.",
        "test.Benchmark test.create_local_cluster",
    ),
    ("Out of scope: compare what the graphs compute, or graph.get_operations().", "test.assert_equal_graph_def"),
    (
        "Out of scope: TensorBoard asks the server that tf.profiler.experimental.server.start(port) starts.",
        "profiler.experimental.client",
    ),
    ("Out of scope: tf.strings.to_hash_bucket_fast hashes strings by the same fingerprints.", "fingerprint"),
    (
        "Out of scope: Python's unicodedata has no scripts. tf.strings.regex_replace knows categories such as `\\pL`.",
        "strings.unicode_script",
    ),
    (
        "Out of scope: of pictures there are JPEG, PNG, GIF, BMP and WebP. Write another format as one of these.",
        "io.decode_jxl image.decode_jxl",
    ),
    ("Out of scope: protobuf's own package reads and writes messages, in tf.numpy_function.", "io.decode_proto io.encode_proto"),
    (
        "Out of scope: save indices, values and dense_shape of a sparse tensor with tf.io.serialize_tensor.",
        "io.serialize_sparse io.serialize_many_sparse io.deserialize_many_sparse",
    ),
    ("Out of scope: use tf.io.matching_files.", "io.match_filenames_once"),
    (
        "Out of scope: finding boxes is not differentiable, and tf.image.non_max_suppression is there.",
        "image.generate_bounding_box_proposals",
    ),
    (
        "Out of scope: sparse tensors have products, sums, and what moves their elements; use tf.sparse.to_dense.",
        "sparse.*",
    ),
    ("Out of scope: compute with to_tensor(), or on flat_values.", "ragged.* ragged_fill_empty_rows ragged_fill_empty_rows_grad"),
    ("Out of scope: use the function that calls the op. Gradients are overridden by its type all the same.", "raw_ops.*"),
    (
        "Out of scope: use the function of tf.nn, tf.math or tf.signal of that purpose.",
        """
        approx_top_k conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2 fftnd ifftnd rfftnd irfftnd guarantee_const
        random_index_shuffle random.experimental.index_shuffle
        """,
    ),
    (
        "Out of scope: a sampler with a state of its own. The other candidate samplers of tf.random are there.",
        "nn.learned_unigram_candidate_sampler random.learned_unigram_candidate_sampler",
    ),
    ("Out of scope: wrap the cell in a function.", "nn.RNNCell*"),
    (
        "Out of scope: names of parts of TensorFlow's own format. tf.saved_model.save and load have one of their own.",
        "saved_model.*",
    ),
    (GRAPH_FILES, "graph_util import_graph_def lite mlir"),
    ("Out of scope: Keras's layers for text and categories (StringLookup, Discretization) take their place.", "feature_column"),
    (
        "Out of scope: there are no quantized dtypes. tf.quantization.fake_quant_with_min_max_vars rounds floats as they would.",
        """
        quantization.dequantize quantization.quantize quantization.quantized_concat quantization.experimental
        """,
    ),
    (DEVICES, "check_pinned config.*"),
    (
        ENGINE,
        """
        experimental.* load_library load_op_library
        nondifferentiable_batch_function security sysconfig.* compiler tools
        """,
    ),
    (
        "Out of scope: tf.data is what feeding a training loop needs.",
        """
        data.experimental.* data.Dataset.fingerprint
        """,
    ),
    (
        "Out of scope: clusters and coordinators. tf.train has checkpoints, in safetensors.",
        """
        train.CheckpointView train.ClusterDef train.Coordinator train.JobDef train.ServerDef
        train.TrackableView train.experimental.MaxShardSizePolicy
        train.experimental.ShardableTensor
        """,
    ),
]
REASONS: dict[str, str] = {name: reason for reason, names in _TABLE for name in names.split()}
_PATTERNS = [name for name in REASONS if "*" in name]


def reason(name: str) -> str:
    """Return why `tf.<name>` does not exist: its own reason, or that of its namespace; "" if the table has none."""
    own = REASONS.get(name) or next((REASONS[p] for p in _PATTERNS if fnmatch.fnmatchcase(name, p)), "")
    namespace = name.rpartition(".")[0]
    return own or (reason(namespace) if namespace else "")
