"""Help with tests: the base class of test cases, checks of gradients, what there is to run on."""

from gradtape._src.compat.build import (
    gpu_device_name as gpu_device_name,
    is_built_with_cuda as is_built_with_cuda,
    is_built_with_gpu_support as is_built_with_gpu_support,
    is_built_with_rocm as is_built_with_rocm,
    is_built_with_xla as is_built_with_xla,
    is_cpu_target_available as is_cpu_target_available,
    is_gpu_available as is_gpu_available,
)
from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.derivatives.gradient_check import compute_gradient as compute_gradient
from gradtape._src.testing.skipping import (
    disable_with_predicate as disable_with_predicate,
    with_eager_op_as_function as with_eager_op_as_function,
)
from gradtape.test import experimental as experimental

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
