"""gradtape"""
import jax as _jax
_jax.config.update("jax_enable_x64", True)
from gradtape._src.core.convert import constant as constant, convert_to_tensor as convert_to_tensor
from gradtape._src.core.variable import Variable as Variable
from gradtape._src.autodiff.tape import GradientTape as GradientTape
from gradtape._src.ops.math import tanh as tanh, sin as sin
from gradtape._src.ops.matmul import matmul as matmul
from gradtape._src.ops.reduction import reduce_mean as reduce_mean, reduce_sum as reduce_sum
from gradtape._src.ops import operators as _operators
