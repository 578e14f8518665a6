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
