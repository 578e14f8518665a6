"""gradtape: TensorFlow's automatic differentiation, as a library of its own. `import gradtape as tf`."""

# Core
from gradtape import autodiff as autodiff, config as config, errors as errors
from gradtape._src.autodiff.custom import (
    custom_gradient as custom_gradient,
    grad_pass_through as grad_pass_through,
    gradient_override_map as gradient_override_map,
    recompute_grad as recompute_grad,
)
from gradtape._src.autodiff.tape import GradientTape as GradientTape, UnconnectedGradients as UnconnectedGradients
from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.convert import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    is_tensor as is_tensor,
)
from gradtape._src.core.dtypes import (
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from gradtape._src.core.indexed_slices import IndexedSlices as IndexedSlices
from gradtape._src.core.op import RegisterGradient as RegisterGradient
from gradtape._src.core.shape import TensorShape as TensorShape
from gradtape._src.core.tensor import Tensor as Tensor
from gradtape._src.core.variable import Variable as Variable

# Arrays: making, shaping, joining, indexing
from gradtape._src.ops.array import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    ensure_shape as ensure_shape,
    expand_dims as expand_dims,
    identity as identity,
    identity_n as identity_n,
    ones as ones,
    rank as rank,
    reshape as reshape,
    shape as shape,
    shape_n as shape_n,
    size as size,
    squeeze as squeeze,
    stop_gradient as stop_gradient,
    transpose as transpose,
    zeros as zeros,
)
from gradtape._src.ops.creation import (
    eye as eye,
    fill as fill,
    linspace as linspace,
    meshgrid as meshgrid,
    one_hot as one_hot,
    ones_like as ones_like,
    range_ as range,
    sequence_mask as sequence_mask,
    unravel_index as unravel_index,
    zeros_like as zeros_like,
)
from gradtape._src.ops.gather import gather as gather
from gradtape._src.ops.indexing import newaxis as newaxis, slice_ as slice, strided_slice as strided_slice
from gradtape._src.ops.joining import (
    concat as concat,
    parallel_stack as parallel_stack,
    split as split,
    stack as stack,
    unstack as unstack,
)
from gradtape._src.ops.points import (
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
)
from gradtape._src.ops.rearrange import (
    batch_to_space as batch_to_space,
    pad as pad,
    repeat as repeat,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    roll as roll,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
    tile as tile,
)
from gradtape._src.ops import scatter as _scatter
from gradtape._src.ops.select import (
    boolean_mask as boolean_mask,
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    unique as unique,
    unique_with_counts as unique_with_counts,
    where as where,
)

# Element-wise mathematics
from gradtape._src.ops.math import sin as sin, tanh as tanh

# Operators on tensors
from gradtape._src.ops import operators as _operators

# Matrix products
from gradtape._src.ops.matmul import matmul as matmul

# Reductions
from gradtape._src.ops.reduction import reduce_mean as reduce_mean, reduce_sum as reduce_sum

__getattr__ = _missing(__name__)
__version__ = "0.1.0"
