"""Devices, switches and counters."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.control.as_python import (
    functions_run_eagerly as functions_run_eagerly,
    require_compiled_functions as require_compiled_functions,
    run_functions_eagerly as run_functions_eagerly,
)
from gradtape._src.core.platform.allocator import tune_allocator as tune_allocator
from gradtape._src.core.settings.config import (
    cache_info as cache_info,
    clear_cache as clear_cache,
    compile_early as compile_early,
    log_compiles as log_compiles,
    run_eagerly as run_eagerly,
)
from gradtape._src.core.settings.device_config import (
    LogicalDevice as LogicalDevice,
    LogicalDeviceConfiguration as LogicalDeviceConfiguration,
    PhysicalDevice as PhysicalDevice,
    get_logical_device_configuration as get_logical_device_configuration,
    get_soft_device_placement as get_soft_device_placement,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_logical_device_configuration as set_logical_device_configuration,
    set_soft_device_placement as set_soft_device_placement,
    set_visible_devices as set_visible_devices,
)
from gradtape._src.core.platform.loop_kernels import tune_loops as tune_loops
from gradtape._src.explain.restored import keep_last_step as keep_last_step
from gradtape.config import experimental as experimental, optimizer as optimizer, threading as threading

# Second names, assigned, as type checkers take `X as Y` for private
experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly

__getattr__ = _missing(__name__)
