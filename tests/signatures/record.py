"""Record TensorFlow's names and signatures: `python tests/signatures/record.py`, where TensorFlow 2.21 is installed.

Writes two files beside this one. `tensorflow.json`: for every public function, class and method on gradtape's surface the
parameters in order, each `[name, default]`. The default is `null` where there is none, else its `repr`; `*args` and
`**kwargs` keep their stars. `names.json`: all public names of each namespace, whether gradtape has them or not.
"""

import inspect
import json
from pathlib import Path

FILE = Path(__file__).with_name("tensorflow.json")
NAMES = Path(__file__).with_name("names.json")

# Root names that are no alias of a name in one of the families below.
ROOT = """
    constant convert_to_tensor is_tensor executing_eagerly get_static_value control_dependencies device init_scope
    function py_function numpy_function cond case switch_case while_loop map_fn vectorized_map scan foldl foldr print
    stop_gradient custom_gradient recompute_grad grad_pass_through gradients hessians identity identity_n ensure_shape
    as_dtype group no_op tuple Assert
    reshape transpose expand_dims squeeze broadcast_to broadcast_static_shape broadcast_dynamic_shape concat stack
    unstack split slice strided_slice gather gather_nd boolean_mask scatter_nd tensor_scatter_nd_update
    tensor_scatter_nd_add tensor_scatter_nd_sub tensor_scatter_nd_min tensor_scatter_nd_max where tile repeat pad
    reverse reverse_sequence roll range linspace fill zeros ones zeros_like ones_like one_hot meshgrid rank shape
    shape_n size sort argsort searchsorted unique unique_with_counts dynamic_partition dynamic_stitch sequence_mask
    batch_to_space space_to_batch_nd bitcast cast saturate_cast complex clip_by_value clip_by_norm
    clip_by_global_norm truncatediv truncatemod realdiv unravel_index matrix_square_root
    extract_volume_patches histogram_fixed_width histogram_fixed_width_bins
"""

# Public names of the families that gradtape leaves out: codecs, most of sparse tensors, beam search, samplers with a
# state, everything built on strings.
OUT_OF_SCOPE = {
    "nn": """
        RNNCellDeviceWrapper RNNCellDropoutWrapper RNNCellResidualWrapper ctc_beam_search_decoder
        learned_unigram_candidate_sampler
    """,
    "random": "learned_unigram_candidate_sampler",
    "image": """
        adjust_jpeg_quality combined_non_max_suppression decode_and_crop_jpeg decode_bmp decode_gif decode_image
        decode_jpeg decode_jxl decode_png decode_webp encode_jpeg encode_png extract_glimpse extract_jpeg_shape
        generate_bounding_box_proposals is_jpeg random_jpeg_quality
        sample_distorted_bounding_box stateless_random_jpeg_quality stateless_sample_distorted_bounding_box
    """,
    "sparse": """
        add bincount concat cross cross_hashed expand_dims eye fill_empty_rows map_values mask maximum minimum reduce_max
        reorder reset_shape reshape retain sampled_addmm slice softmax split to_indicator transpose
    """,
    "debugging": """
        get_log_device_placement set_log_device_placement
    """,
    "experimental.dtensor": """
        create_tpu_mesh enable_save_as_bf16 name_based_restore name_based_save sharded_save
    """,
}

# Root names that are raw ops of the same name as a function of a family.
RAW_OPS = {"fftnd", "ifftnd", "irfftnd", "rfftnd"}

FAMILIES = [
    "math",
    "math.special",
    "linalg",
    "nn",
    "random",
    "image",
    "signal",
    "sparse",
    "debugging",
    "nest",
    "distribute",
    "experimental.dtensor",
]

CLASSES = {
    "Variable": """
        assign assign_add assign_sub read_value value numpy ref get_shape set_shape is_initialized gather_nd sparse_read
        scatter_update scatter_add scatter_sub scatter_mul scatter_div scatter_max scatter_min batch_scatter_update
        scatter_nd_update scatter_nd_add scatter_nd_sub scatter_nd_max scatter_nd_min
    """,
    "Tensor": "numpy ref get_shape set_shape",
    "TensorShape": """
        as_list assert_has_rank assert_is_compatible_with assert_is_fully_defined assert_same_rank concatenate
        is_compatible_with is_fully_defined merge_with most_specific_compatible_shape num_elements with_rank
        with_rank_at_least with_rank_at_most
    """,
    "TensorSpec": "from_spec from_tensor is_compatible_with",
    "IndexedSlices": "",
    "SparseTensor": "from_value get_shape with_values",
    "DType": "is_compatible_with",
    "Module": "",
    "TensorArray": "close concat gather identity read scatter size split stack unstack write",
    "distribute.Strategy": """
        scope run reduce gather experimental_local_results experimental_distribute_dataset distribute_datasets_from_function
        experimental_distribute_values_from_function
    """,
    "distribute.MirroredStrategy": "",
    "distribute.OneDeviceStrategy": "",
    "distribute.StrategyExtended": """
        batch_reduce_to colocate_vars_with reduce_to update value_container variable_created_in_scope
    """,
    "distribute.ReplicaContext": "all_gather all_reduce merge_call",
    "distribute.InputContext": "get_per_replica_batch_size",
    "distribute.HierarchicalCopyAllReduce": "",
    "distribute.NcclAllReduce": "",
    "distribute.ReductionToOneDevice": "",
    "experimental.dtensor.DTensorDataset": "",
    "experimental.dtensor.DVariable": "",
    "experimental.dtensor.Layout": """
        batch_sharded delete from_string inner_sharded offset_to_shard offset_tuple_to_global_index replicated
    """,
    "experimental.dtensor.Mesh": """
        coords from_string global_device_ids host_mesh local_device_locations unravel_index
    """,
    "GradientTape": "watch gradient jacobian batch_jacobian stop_recording reset watched_variables",
    "autodiff.ForwardAccumulator": "jvp",
    "RegisterGradient": "",
    "name_scope": "",
    "constant_initializer": "",
    "ones_initializer": "",
    "zeros_initializer": "",
    "random_normal_initializer": "",
    "random_uniform_initializer": "",
    "random.Generator": """
        from_key_counter from_non_deterministic_state from_seed from_state make_seeds binomial normal truncated_normal
        uniform uniform_full_int reset reset_from_key_counter reset_from_seed skip split
    """,
}
NOT_CONSTRUCTED = {"Tensor", "DType"}  # their constructors are not for users

# Every public module (those of Keras are its own), and the class Dataset. `tf` is the root.
NAMESPACES = """
    tf math math.special linalg linalg.experimental nn nn.experimental random random.experimental image signal sparse bitwise
    autodiff autograph autograph.experimental debugging debugging.experimental nest errors data data.Dataset data.experimental
    data.experimental.service dtypes dtypes.experimental initializers keras optimizers summary summary.experimental train
    train.experimental config config.experimental config.optimizer config.threading test test.experimental profiler
    profiler.experimental profiler.experimental.client profiler.experimental.server distribute distribute.cluster_resolver
    distribute.coordinator distribute.experimental distribute.experimental.coordinator distribute.experimental.partitioners
    distribute.experimental.rpc experimental experimental.dlpack experimental.dtensor experimental.extension_type
    experimental.numpy experimental.tensorrt audio dtensor feature_column graph_util io io.gfile lite lite.experimental
    lite.experimental.authoring lookup lookup.experimental mlir mlir.experimental quantization quantization.experimental queue
    ragged raw_ops saved_model saved_model.experimental security sets strings sysconfig tools tpu tpu.experimental
    tpu.experimental.embedding types types.experimental types.experimental.distributed version xla xla.experimental compat
    compat.v1 compat.v1.test
"""
UNLISTED = {"raw_ops"}  # whose names, more than a thousand, would tell nobody anything


def resolve(module, name):
    """The object that the dotted `name` is in `module`; raises `AttributeError` where there is none."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def written(default):
    """`default` as the table writes it: its `repr`, without addresses."""
    return f"<function {default.__name__}>" if inspect.isfunction(default) else repr(default)


def parameters(function):
    """`[name, default]` for every parameter of `function`, without `self`."""
    target = function.__init__ if inspect.isclass(function) else function
    rows = []
    for parameter in inspect.signature(target).parameters.values():
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        rows.append([stars + parameter.name, None if parameter.default is parameter.empty else written(parameter.default)])
    return [row for row in rows if row[0] not in ("self", "cls")]


def names(tensorflow):
    """Every dotted name on the surface, in alphabetical order."""
    found = set(ROOT.split())
    aliases = set()
    for family in FAMILIES:
        left_out = OUT_OF_SCOPE.get(family, "").split()
        module = resolve(tensorflow, family)
        for name in dir(module):
            if not name.startswith("_") and inspect.isroutine(getattr(module, name)) and name not in left_out:
                found.add(f"{family}.{name}")
                aliases.add(name)
    found |= {name for name in aliases - RAW_OPS if inspect.isroutine(getattr(tensorflow, name, None))}
    return sorted(found)


def public_names(tensorflow):
    """The public names of every namespace, as a dictionary."""
    found = {}
    for namespace in NAMESPACES.split():
        owner = tensorflow if namespace == "tf" else resolve(tensorflow, namespace)
        found[namespace] = [name for name in dir(owner) if not name.startswith("_") and namespace not in UNLISTED]
    return found


def record(tensorflow):
    """The signatures of every name on the surface, as a dictionary."""
    table = {name: parameters(resolve(tensorflow, name)) for name in names(tensorflow)}
    # Some methods only come with the subclass that TensorFlow makes.
    instances = {"Variable": tensorflow.Variable(1.0), "Tensor": tensorflow.constant(1.0)}
    for name, methods in CLASSES.items():
        class_ = resolve(tensorflow, name)
        if name not in NOT_CONSTRUCTED:
            table[name] = parameters(class_)
        for method in methods.split():
            owner = class_ if hasattr(class_, method) else instances[name]
            table[f"{name}.{method}"] = parameters(getattr(owner, method))
    return dict(sorted(table.items()))


if __name__ == "__main__":
    import tensorflow

    rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in record(tensorflow).items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    rows = [f"{json.dumps(namespace)}: {json.dumps(row)}" for namespace, row in public_names(tensorflow).items()]
    NAMES.write_text("{\n" + ",\n".join(rows) + "\n}\n")
