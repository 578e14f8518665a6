"""TensorFlow 1's names of initializers in `tf.initializers`."""

from gradtape._src.v1 import initial
from gradtape._src.v1.graphs import collections

constant, identity, zeros, ones = initial.Constant, initial.Identity, initial.Zeros, initial.Ones
orthogonal, variance_scaling = initial.Orthogonal, initial.VarianceScaling
glorot_normal, glorot_uniform = initial.GlorotNormal, initial.GlorotUniform
random_normal, random_uniform = initial.RandomNormal, initial.RandomUniform
truncated_normal, uniform_unit_scaling = initial.TruncatedNormal, initial.UniformUnitScaling
global_variables, local_variables = collections.global_variables_initializer, collections.local_variables_initializer
variables = collections.variables_initializer
