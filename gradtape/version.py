"""The version of TensorFlow whose behaviour is implemented; gradtape's own is `gradtape.__version__`."""

from gradtape._src.compat.door.version import (
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    VERSION as VERSION,
)
from gradtape._src.compat.names import missing as _missing

__getattr__ = _missing(__name__)
