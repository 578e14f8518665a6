"""Information about the build and its devices: `tf.sysconfig`, and the GPU functions of `tf.test`."""

from __future__ import annotations

import functools
import importlib.util
import platform
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.settings.device_config import get_device_details, list_logical_devices, list_physical_devices

# Values of TensorFlow 2.21.
CXX11_ABI_FLAG, CXX_VERSION, MONOLITHIC_BUILD = 1, 201703, 0
_PLUGINS = {"cuda": ("jax_cuda12_plugin", "jax_cuda13_plugin"), "rocm": ("jax_rocm60_plugin", "jax_rocm7_plugin")}
_TARGETS = {"x86": ("x86_64", "AMD64", "i686"), "aarch64": ("aarch64", "arm64"), "arm": ("arm", "armv7l")}


@functools.cache  # the finder looks through every folder of the path, and each call of attention asks
def _installed(kind: str) -> bool:
    return any(importlib.util.find_spec(plugin) is not None for plugin in _PLUGINS[kind])


def is_built_with_cuda() -> bool:
    """Return whether JAX's plugin for CUDA is installed.

    >>> tf.test.is_built_with_cuda() == tf.sysconfig.get_build_info()["is_cuda_build"]
    True
    """
    return _installed("cuda")


def is_built_with_rocm() -> bool:
    """Return whether JAX's plugin for ROCm is installed.

    >>> tf.test.is_built_with_rocm() == tf.sysconfig.get_build_info()["is_rocm_build"]
    True
    """
    return _installed("rocm")


def is_built_with_gpu_support() -> bool:
    """Return whether one of JAX's plugins for GPUs is installed.

    >>> tf.test.is_built_with_gpu_support() == (tf.test.is_built_with_cuda() or tf.test.is_built_with_rocm())
    True
    """
    return is_built_with_cuda() or is_built_with_rocm()


def is_built_with_xla() -> bool:
    """Return True: XLA compiles all programs.

    >>> tf.test.is_built_with_xla()
    True
    """
    return True


def get_build_info() -> dict[str, Any]:
    """Describe the build for GPUs, as a dict: `is_cuda_build`, `is_rocm_build`, `is_tensorrt_build`.

    >>> tf.sysconfig.get_build_info()["is_tensorrt_build"]
    False
    """
    return {"is_cuda_build": is_built_with_cuda(), "is_rocm_build": is_built_with_rocm(), "is_tensorrt_build": False}


@public
def is_cpu_target_available(target: str) -> bool:
    """Return whether the CPU is of the kind `target`: "x86", "aarch64", "arm", "ppc64le".

    >>> import platform
    >>> tf.test.is_cpu_target_available(platform.machine())
    True
    """
    return platform.machine() in _TARGETS.get(target, (target,))


@public
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Return whether there is a GPU, of CUDA's compute capability `(major, minor)` or more if one is given.

    >>> tf.test.is_gpu_available() == bool(tf.config.list_physical_devices("GPU"))
    True
    """
    if cuda_only and not is_built_with_cuda():
        return False
    capabilities = [get_device_details(gpu).get("compute_capability", (0, 0)) for gpu in list_physical_devices("GPU")]
    return any(min_cuda_compute_capability is None or found >= min_cuda_compute_capability for found in capabilities)


def gpu_device_name() -> str:
    """Return the name of the first GPU, "/device:GPU:0", or "".

    >>> with tf.device(tf.test.gpu_device_name() or "/device:CPU:0"):
    ...     print(tf.square(3.0).numpy())
    9.0
    """
    gpus = list_logical_devices("GPU")
    return gpus[0].name if gpus else ""
