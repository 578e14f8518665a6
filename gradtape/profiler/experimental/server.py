"""A server that TensorBoard asks for traces."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.profiler import start_server as start  # noqa: F401

__getattr__ = _missing(__name__)
