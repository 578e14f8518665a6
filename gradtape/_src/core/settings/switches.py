"""Switches of `tf.config` and `tf.debugging`; some have no effect, and are accepted because scripts set them."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base import tracebacks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution, tiers
from gradtape._src.core.settings import config

POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


class _Set:
    """The values of the switches, with TensorFlow's defaults."""

    second_version = True
    log_placement = False
    tensor_float_32 = True
    policy = "silent"
    synchronous = True
    jit = ""
    threads = {"intra": 0, "inter": 0}
    optimizer: dict[str, Any] = {"disable_model_pruning": False, "disable_meta_optimizer": False}


def behaves_as_tensorflow_2() -> bool:
    """Return False after `tf.compat.v1.disable_v2_behavior()`, else True.

    >>> print(tf.__internal__.tf2.enabled())
    True
    """
    return _Set.second_version


def behave_as_tensorflow_2(enabled: bool) -> None:
    """Set whether code gets the behaviour of TensorFlow 2."""
    _Set.second_version = enabled


def get_log_device_placement() -> bool:
    """Return the value set by `set_log_device_placement`; False by default.

    >>> print(tf.debugging.get_log_device_placement())
    False
    """
    return _Set.log_placement


@public
def set_log_device_placement(enabled: bool) -> None:
    """Accept the switch without effect: a program runs on the device of its arguments, which `tensor.device` tells.

    >>> tf.debugging.set_log_device_placement(True)
    >>> print(tf.debugging.get_log_device_placement())
    True
    >>> tf.debugging.set_log_device_placement(False)
    """
    _Set.log_placement = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Return whether products and convolutions of float32 may use TensorFloat-32 on a GPU; True by default.

    >>> print(tf.config.experimental.tensor_float_32_execution_enabled())
    True
    """
    return _Set.tensor_float_32


@public
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow TensorFloat-32 in products and convolutions of float32 on a GPU (JAX's default), or compute them in float32.

    It applies to later runs; compiled programs of both kinds are kept. On a CPU products are always computed in float32.

    >>> tf.config.experimental.enable_tensor_float_32_execution(False)
    >>> print(tf.config.experimental.tensor_float_32_execution_enabled())
    False
    >>> tf.config.experimental.enable_tensor_float_32_execution(True)
    """
    engine.flush_if_outermost()
    _Set.tensor_float_32 = bool(enabled)
    execution.compute_in(None if enabled else "float32")


@public
def enable_op_determinism() -> None:
    """Make results reproducible bit by bit: from now on a random op without a seed is a RuntimeError, as in TensorFlow.

    Programs for a GPU are compiled again, with XLA's deterministic ops. On a CPU programs are always deterministic.

    >>> tf.config.experimental.enable_op_determinism()  # doctest: +SKIP
    >>> tf.random.uniform([2])  # doctest: +SKIP
    RuntimeError: Random ops require a seed to be set when determinism is enabled.
    """
    engine.flush_if_outermost()
    if not tiers.deterministic:
        tiers.compute_deterministically(True)
        config.clear_cache()


def disable_op_determinism() -> None:
    """Undo `enable_op_determinism`: random ops need no seed any more. Compiled programs are kept."""
    engine.flush_if_outermost()
    tiers.compute_deterministically(False)


def is_op_determinism_enabled() -> bool:
    """Return whether `enable_op_determinism` was called."""
    return tiers.deterministic


def get_synchronous_execution() -> bool:
    """Return the value set by `set_synchronous_execution`; True by default.

    >>> tf.config.experimental.get_synchronous_execution()
    True
    """
    return _Set.synchronous


@public
def set_synchronous_execution(enable: bool | None) -> None:
    """Accept the switch without effect: ops are recorded, and run when a value is needed. None is the default, True.

    >>> tf.config.experimental.set_synchronous_execution(False)
    >>> tf.config.experimental.get_synchronous_execution()
    False
    >>> tf.config.experimental.set_synchronous_execution(None)
    """
    _Set.synchronous = enable is None or bool(enable)


def get_device_policy() -> str:
    """Return the value set by `set_device_policy`; "silent" by default.

    >>> tf.config.experimental.get_device_policy()
    'silent'
    """
    return _Set.policy


@public
def set_device_policy(device_policy: str | None) -> None:
    """Accept the policy without effect: arguments on different devices are copied to one device silently.

    Policies are "silent", "silent_for_int32", "warn" and "explicit"; None is "silent". ValueError for another.

    >>> tf.config.experimental.set_device_policy("warn")
    >>> tf.config.experimental.get_device_policy()
    'warn'
    >>> tf.config.experimental.set_device_policy(None)
    """
    if device_policy is not None and device_policy not in POLICIES:
        raise ValueError(f"Invalid argument `device_policy`: {device_policy!r}. Give one of {', '.join(POLICIES)}, or None.")
    _Set.policy = device_policy or "silent"


def enable_mlir_bridge() -> None:
    """Accept the switch without effect: programs reach XLA through JAX.

    >>> tf.config.experimental.enable_mlir_bridge()
    """


def disable_mlir_bridge() -> None:
    """Accept the switch without effect: programs reach XLA through JAX.

    >>> tf.config.experimental.disable_mlir_bridge()
    """


def get_intra_op_parallelism_threads() -> int:
    """Return the value set by `set_intra_op_parallelism_threads`; 0, the system's choice, by default.

    >>> print(tf.config.threading.get_intra_op_parallelism_threads())
    0
    """
    return _Set.threads["intra"]


@public
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Accept the number without effect: XLA uses a thread for each core of the process, which `taskset` restricts.

    >>> tf.config.threading.set_intra_op_parallelism_threads(4)
    >>> tf.config.threading.get_intra_op_parallelism_threads()
    4
    >>> tf.config.threading.set_intra_op_parallelism_threads(0)
    """
    _Set.threads["intra"] = int(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Return the value set by `set_inter_op_parallelism_threads`; 0, the system's choice, by default.

    >>> print(tf.config.threading.get_inter_op_parallelism_threads())
    0
    """
    return _Set.threads["inter"]


@public
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accept the number without effect: XLA uses a thread for each core of the process, which `taskset` restricts.

    >>> tf.config.threading.set_inter_op_parallelism_threads(2)
    >>> tf.config.threading.get_inter_op_parallelism_threads()
    2
    >>> tf.config.threading.set_inter_op_parallelism_threads(0)
    """
    _Set.threads["inter"] = int(num_threads)


def get_jit() -> str:
    """Return the value set by `set_jit`: "autoclustering", or "" if it is off.

    >>> tf.config.optimizer.get_jit()
    ''
    """
    return _Set.jit


@public
def set_jit(enabled: bool | str) -> None:
    """Accept the switch without effect: every program is compiled by XLA. True is "autoclustering", as in TensorFlow.

    >>> tf.config.optimizer.set_jit(True)
    >>> tf.config.optimizer.get_jit()
    'autoclustering'
    >>> tf.config.optimizer.set_jit(False)
    """
    _Set.jit = "autoclustering" if enabled in (True, "autoclustering") else ""


def get_experimental_options() -> dict[str, Any]:
    """Return a dict of the options set by `set_experimental_options`, with TensorFlow's defaults.

    >>> tf.config.optimizer.get_experimental_options()
    {'disable_model_pruning': False, 'disable_meta_optimizer': False}
    """
    return dict(_Set.optimizer)


@public
def set_experimental_options(options: dict[str, Any]) -> None:
    """Accept the options without effect, as XLA optimizes programs. They are merged with earlier ones.

    >>> tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    >>> tf.config.optimizer.get_experimental_options()["disable_meta_optimizer"]
    True
    >>> tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    """
    _Set.optimizer = _Set.optimizer | options


@public
def enable_dump_debug_info(
    dump_root: str,
    tensor_debug_mode: str = "NO_TENSOR",
    circular_buffer_size: int = 1000,
    op_regex: str | None = None,
    tensor_dtypes: Any = None,
) -> None:
    """Accept the call without effect: `tf.autodiff.explain` and `gradtape why` show what was recorded.

    >>> tf.debugging.experimental.enable_dump_debug_info("dumps", tensor_debug_mode="FULL_HEALTH")
    """


def disable_dump_debug_info() -> None:
    """Accept the call without effect: nothing is dumped.

    >>> tf.debugging.experimental.enable_dump_debug_info("dumps")
    >>> tf.debugging.experimental.disable_dump_debug_info()
    """


def enable_traceback_filtering() -> None:
    """Remove the library's own frames from tracebacks, which is the default unless GRADTAPE_FULL_TRACEBACK=1 is set.

    >>> tf.debugging.enable_traceback_filtering()
    """
    tracebacks.keep_frames(False)


def disable_traceback_filtering() -> None:
    """Keep the library's own frames in tracebacks.

    >>> tf.debugging.disable_traceback_filtering()
    >>> print(tf.debugging.is_traceback_filtering_enabled())
    False
    >>> tf.debugging.enable_traceback_filtering()
    """
    tracebacks.keep_frames(True)


def is_traceback_filtering_enabled() -> bool:
    """Return whether tracebacks omit the library's own frames.

    >>> print(tf.debugging.is_traceback_filtering_enabled())
    True
    """
    return not tracebacks.keeps_frames
