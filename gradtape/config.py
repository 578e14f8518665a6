"""gradtape's switches and counters."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.control.function import (
    functions_run_eagerly as functions_run_eagerly,
    run_functions_eagerly as run_functions_eagerly,
)
from gradtape._src.core.allocator import tune_allocator as tune_allocator
from gradtape._src.core.config import (
    cache_info as cache_info,
    clear_cache as clear_cache,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    run_eagerly as run_eagerly,
)
from gradtape._src.core.loop_kernels import tune_loops as tune_loops
from gradtape._src.explain.explain import keep_last_step as keep_last_step

__getattr__ = _missing(__name__)
