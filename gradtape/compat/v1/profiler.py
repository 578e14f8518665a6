"""FLOPs and parameters of graphs, as TensorFlow's profiler counts them."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.profiler import (
    GraphNodeProto as GraphNodeProto,
    MultiGraphNodeProto as MultiGraphNodeProto,
    ProfileOptionBuilder as ProfileOptionBuilder,
    profile as profile,
)

__getattr__ = _missing(__name__)
