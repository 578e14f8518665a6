"""Initial values as in TensorFlow 1."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.graphs.collections import (
    tables_initializer as tables_initializer,
)
from gradtape._src.v1.initial import (
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
)
from gradtape._src.v1.initializers import (
    constant as constant,
    global_variables as global_variables,
    glorot_normal as glorot_normal,
    glorot_uniform as glorot_uniform,
    identity as identity,
    local_variables as local_variables,
    ones as ones,
    orthogonal as orthogonal,
    random_normal as random_normal,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
    uniform_unit_scaling as uniform_unit_scaling,
    variables as variables,
    variance_scaling as variance_scaling,
    zeros as zeros,
)

__getattr__ = _missing(__name__)
