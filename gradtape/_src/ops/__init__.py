# Attaches the operators to Tensor: they exist as soon as an op can create one.
from gradtape._src.ops import operators as operators
