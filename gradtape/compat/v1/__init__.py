"""TensorFlow 1's interface: graphs, sessions, placeholders, variables by name. Other names are those of `gradtape` itself."""

from gradtape import __internal__ as __internal__
from gradtape._src.v1.ops.assertions import (
    assert_all_finite as _assert_all_finite,
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_integer as assert_integer,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
    assert_type as assert_type,
)
from gradtape._src.v1.ops.images import extract_image_patches as extract_image_patches
from gradtape._src.compat.door.version import (
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
    VERSION as VERSION,
)
from gradtape._src.compat.v1_names import ELSEWHERE as _ELSEWHERE, falls_back as _falls_back
from gradtape._src.v1.partitioners import (
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)

# Graphs and sessions
from gradtape._src.v1.graphs.graph import (
    Graph as Graph,
    disable_eager_execution as disable_eager_execution,
    enable_eager_execution as enable_eager_execution,
    get_default_graph as get_default_graph,
    get_default_session as get_default_session,
    reset_default_graph as reset_default_graph,
)
from gradtape._src.autodiff.options import AggregationMethod as AggregationMethod
from gradtape._src.v1.graphs.operation import Operation as Operation
from gradtape._src.v1.graphs.placeholders import (
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
)
from gradtape._src.v1.graphs.session import (
    InteractiveSession as InteractiveSession,
    Session as Session,
    IndexedSlicesValue as IndexedSlicesValue,
    SparseTensorValue as SparseTensorValue,
)

# Variables
from gradtape._src.v1.graphs.collections import (
    GraphKeys as GraphKeys,
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    assert_variables_initialized as assert_variables_initialized,
    count_up_to as count_up_to,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    is_variable_initialized as is_variable_initialized,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
    tables_initializer as tables_initializer,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from gradtape._src.v1.graphs.get_variable import (
    VariableV1 as VariableV1,
    get_local_variable as get_local_variable,
    get_variable as get_variable,
)
from gradtape._src.v1.graphs.variable_scope import (
    AUTO_REUSE as AUTO_REUSE,
    VariableScope as VariableScope,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from gradtape._src.core.values.creators import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
    variable_creator_scope as variable_creator_scope,
)
from gradtape._src.core.tensors.scopes import executing_eagerly as executing_eagerly
from gradtape._src.core.values.dimension import (
    Dimension as Dimension,
    dimension_at_index as dimension_at_index,
    dimension_value as dimension_value,
)

# Initial values
from gradtape._src.v1.initial import (
    Constant as _Constant,
    GlorotNormal as _GlorotNormal,
    GlorotUniform as _GlorotUniform,
    Ones as _Ones,
    Orthogonal as _Orthogonal,
    RandomNormal as _RandomNormal,
    RandomUniform as _RandomUniform,
    TruncatedNormal as _TruncatedNormal,
    UniformUnitScaling as _UniformUnitScaling,
    VarianceScaling as _VarianceScaling,
    Zeros as _Zeros,
)

# Arrays and mathematics with TensorFlow 1's arguments
from gradtape._src.ops.random.draws import normal as _normal, truncated_normal as truncated_normal, uniform as _uniform
from gradtape._src.v1.ops.arrays import (
    batch_gather as batch_gather,
    batch_to_space as batch_to_space,
    boolean_mask as boolean_mask,
    confusion_matrix as confusion_matrix,
    constant as constant,
    depth_to_space as depth_to_space,
    gather as gather,
    gather_nd as gather_nd,
    norm as norm,
    ones_like as ones_like,
    pad as pad,
    reverse_sequence as reverse_sequence,
    shape as shape,
    size as size,
    space_to_batch as space_to_batch,
    space_to_depth as space_to_depth,
    transpose as transpose,
    tuple_ as _tuple,
    zeros_like as zeros_like,
)
from gradtape._src.v1.ops.maths import (
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
    clip_by_average_norm as clip_by_average_norm,
    convert_to_tensor as convert_to_tensor,
    count_nonzero as count_nonzero,
    div as div,
    expand_dims as expand_dims,
    floor_div as floor_div,
    gradients as gradients,
    hessians as hessians,
    multinomial as multinomial,
    poisson as _poisson,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    squeeze as squeeze,
    to_bfloat16 as to_bfloat16,
    to_complex128 as to_complex128,
    to_complex64 as to_complex64,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
    where as where,
)

from gradtape._src.v1.ops.printing import Print as Print
from gradtape._src.v1.template import make_template as make_template
from gradtape._src.v1.ops.sparse import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    sparse_placeholder as sparse_placeholder,
    sparse_to_dense as sparse_to_dense,
)
from gradtape._src.ops.array.select import setdiff1d as setdiff1d

# Setting up
from gradtape._src.control.host import numpy_function as _numpy_function
from gradtape._src.v1.setup import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
    cond as cond,
    container as container,
    device as device,
    colocate_with as colocate_with,
    control_flow_v2_enabled as control_flow_v2_enabled,
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_resource_variables as disable_resource_variables,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_control_flow_v2 as enable_control_flow_v2,
    enable_resource_variables as enable_resource_variables,
    enable_tensor_equality as enable_tensor_equality,
    enable_v2_behavior as enable_v2_behavior,
    enable_v2_tensorshape as enable_v2_tensorshape,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
    name_scope as name_scope,
    op_scope as op_scope,
    resource_variables_enabled as resource_variables_enabled,
    set_random_seed as set_random_seed,
    while_loop as while_loop,
)
from gradtape.compat.v1 import (
    data as data,
    debugging as debugging,
    gfile as gfile,
    image as image,
    initializers as initializers,
    io as io,
    linalg as linalg,
    logging as logging,
    losses as losses,
    math as math,
    metrics as metrics,
    nn as nn,
    profiler as profiler,
    python_io as python_io,
    random as random,
    ragged as ragged,
    sets as sets,
    summary as summary,
    test as test,
    train as train,
)

# Second names, assigned, as type checkers take `X as Y` for private
verify_tensor_all_finite = _assert_all_finite
all_variables = global_variables
initialize_all_variables = global_variables_initializer
initialize_variables = variables_initializer
Variable = VariableV1
constant_initializer = _Constant
glorot_normal_initializer = _GlorotNormal
glorot_uniform_initializer = _GlorotUniform
ones_initializer = _Ones
orthogonal_initializer = _Orthogonal
random_normal_initializer = _RandomNormal
random_uniform_initializer = _RandomUniform
truncated_normal_initializer = _TruncatedNormal
uniform_unit_scaling_initializer = _UniformUnitScaling
variance_scaling_initializer = _VarianceScaling
zeros_initializer = _Zeros
tuple = _tuple
random_poisson = _poisson
random_normal = _normal
random_uniform = _uniform
py_func = _numpy_function

__version__ = VERSION
__git_version__ = GIT_VERSION
__compiler_version__ = COMPILER_VERSION
__getattr__ = _falls_back(__name__, elsewhere=_ELSEWHERE)
