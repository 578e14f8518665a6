"""A server that TensorBoard asks for traces."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.platform.profiler import start_server as _start_server

# Second names, assigned, as type checkers take `X as Y` for private
start = _start_server

__getattr__ = _missing(__name__)
