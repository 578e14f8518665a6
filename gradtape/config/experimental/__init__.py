"""Devices and their memory, and switches."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.settings.device_config import (
    LogicalDeviceConfiguration as _LogicalDeviceConfiguration,
    get_device_details as get_device_details,
    get_logical_device_configuration as _get_logical_device_configuration,
    get_memory_growth as get_memory_growth,
    get_memory_info as get_memory_info,
    get_memory_usage as get_memory_usage,
    get_visible_devices as get_visible_devices,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    reset_memory_stats as reset_memory_stats,
    set_logical_device_configuration as _set_logical_device_configuration,
    set_memory_growth as set_memory_growth,
    set_visible_devices as set_visible_devices,
)
from gradtape._src.core.settings.switches import (
    disable_mlir_bridge as disable_mlir_bridge,
    enable_mlir_bridge as enable_mlir_bridge,
    enable_op_determinism as enable_op_determinism,
    enable_tensor_float_32_execution as enable_tensor_float_32_execution,
    get_device_policy as get_device_policy,
    get_synchronous_execution as get_synchronous_execution,
    set_device_policy as set_device_policy,
    set_synchronous_execution as set_synchronous_execution,
    tensor_float_32_execution_enabled as tensor_float_32_execution_enabled,
)

# Second names, assigned, as type checkers take `X as Y` for private
VirtualDeviceConfiguration = _LogicalDeviceConfiguration
get_virtual_device_configuration = _get_logical_device_configuration
set_virtual_device_configuration = _set_logical_device_configuration

__getattr__ = _missing(__name__)
