"""Initial values as in TensorFlow 1."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.compat.v1 import initial as _initial
from gradtape._src.compat.v1.initial import (
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
)
from gradtape._src.control.graph import collections as _collections
from gradtape._src.control.graph.collections import (
    tables_initializer as tables_initializer,
)

constant, identity, zeros, ones = _initial.Constant, _initial.Identity, _initial.Zeros, _initial.Ones
orthogonal, variance_scaling = _initial.Orthogonal, _initial.VarianceScaling
glorot_normal, glorot_uniform = _initial.GlorotNormal, _initial.GlorotUniform
random_normal, random_uniform = _initial.RandomNormal, _initial.RandomUniform
truncated_normal, uniform_unit_scaling = _initial.TruncatedNormal, _initial.UniformUnitScaling
global_variables = _collections.global_variables_initializer
local_variables = _collections.local_variables_initializer
variables = _collections.variables_initializer

__getattr__ = _missing(__name__)
