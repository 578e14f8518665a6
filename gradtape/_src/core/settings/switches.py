"""Switches of `tf.config` and `tf.debugging`: those with an effect, and those that are accepted because scripts set them."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base import tracebacks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution, tiers
from gradtape._src.core.settings import config

POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


class _Set:
    """The values of the switches; TensorFlow's defaults."""

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
    """Note whether TensorFlow 2 is what code gets."""
    _Set.second_version = enabled


def get_log_device_placement() -> bool:
    """Return the last argument of `set_log_device_placement`; False before.

    >>> print(tf.debugging.get_log_device_placement())
    False
    """
    return _Set.log_placement


@public
def set_log_device_placement(enabled: bool) -> None:
    """Accept the switch without effect: a program runs as a whole where its arguments lie, as `tensor.device` says.

    >>> tf.debugging.set_log_device_placement(True)
    >>> print(tf.debugging.get_log_device_placement())
    True
    >>> tf.debugging.set_log_device_placement(False)
    """
    _Set.log_placement = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Return whether matrix products and convolutions of float32 may use TensorFloat-32 on a GPU; True before it is set.

    >>> print(tf.config.experimental.tensor_float_32_execution_enabled())
    True
    """
    return _Set.tensor_float_32


@public
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow TensorFloat-32 in products and convolutions of float32 on a GPU, as JAX does by default, or compute in float32.

    It counts for what runs from now on; programs of either kind stay compiled. On a CPU products are of float32 in any case.

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
    """Let a program give the same bits each time: a random op without a seed is a RuntimeError from now on, as in TensorFlow.

    Programs for a GPU are compiled with XLA's deterministic ops, those that were compiled before again. On a CPU programs are
    deterministic in any case.

    >>> tf.config.experimental.enable_op_determinism()  # doctest: +SKIP
    >>> tf.random.uniform([2])  # doctest: +SKIP
    RuntimeError: Random ops require a seed to be set when determinism is enabled.
    """
    engine.flush_if_outermost()
    if not tiers.deterministic:
        tiers.compute_deterministically(True)
        config.clear_cache()


def disable_op_determinism() -> None:
    """Take `enable_op_determinism` back: random ops need no seed any more. Programs stay as they are compiled."""
    engine.flush_if_outermost()
    tiers.compute_deterministically(False)


def is_op_determinism_enabled() -> bool:
    """Return whether `enable_op_determinism` was called."""
    return tiers.deterministic


def get_synchronous_execution() -> bool:
    """Return the last argument of `set_synchronous_execution`; True before.

    >>> tf.config.experimental.get_synchronous_execution()
    True
    """
    return _Set.synchronous


@public
def set_synchronous_execution(enable: bool | None) -> None:
    """Accept the switch without effect: ops are recorded and run when a value is needed. None is the default, True.

    >>> tf.config.experimental.set_synchronous_execution(False)
    >>> tf.config.experimental.get_synchronous_execution()
    False
    >>> tf.config.experimental.set_synchronous_execution(None)
    """
    _Set.synchronous = enable is None or bool(enable)


def get_device_policy() -> str:
    """Return the last argument of `set_device_policy`; "silent" before.

    >>> tf.config.experimental.get_device_policy()
    'silent'
    """
    return _Set.policy


@public
def set_device_policy(device_policy: str | None) -> None:
    """Accept the policy without effect: arguments on different devices are brought together silently.

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
    """Return the last argument of `set_intra_op_parallelism_threads`; 0, the system's choice, before.

    >>> print(tf.config.threading.get_intra_op_parallelism_threads())
    0
    """
    return _Set.threads["intra"]


@public
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Accept the number without effect: XLA takes a thread for each core of the process, which `taskset` restricts.

    >>> tf.config.threading.set_intra_op_parallelism_threads(4)
    >>> tf.config.threading.get_intra_op_parallelism_threads()
    4
    >>> tf.config.threading.set_intra_op_parallelism_threads(0)
    """
    _Set.threads["intra"] = int(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Return the last argument of `set_inter_op_parallelism_threads`; 0, the system's choice, before.

    >>> print(tf.config.threading.get_inter_op_parallelism_threads())
    0
    """
    return _Set.threads["inter"]


@public
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accept the number without effect: XLA takes a thread for each core of the process, which `taskset` restricts.

    >>> tf.config.threading.set_inter_op_parallelism_threads(2)
    >>> tf.config.threading.get_inter_op_parallelism_threads()
    2
    >>> tf.config.threading.set_inter_op_parallelism_threads(0)
    """
    _Set.threads["inter"] = int(num_threads)


def get_jit() -> str:
    """Return the last argument of `set_jit`: "autoclustering", or "" for nothing.

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
    """Return the options that `set_experimental_options` was given, with TensorFlow's defaults: a dict.

    >>> tf.config.optimizer.get_experimental_options()
    {'disable_model_pruning': False, 'disable_meta_optimizer': False}
    """
    return dict(_Set.optimizer)


@public
def set_experimental_options(options: dict[str, Any]) -> None:
    """Accept the options without effect: XLA optimizes graphs. The options are added to those that were set before.

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
    """Cut the library's own frames out of tracebacks, as is done from the start (but for GRADTAPE_FULL_TRACEBACK=1).

    >>> tf.debugging.enable_traceback_filtering()
    """
    tracebacks.keep_frames(False)


def disable_traceback_filtering() -> None:
    """Leave the library's own frames in tracebacks.

    >>> tf.debugging.disable_traceback_filtering()
    >>> print(tf.debugging.is_traceback_filtering_enabled())
    False
    >>> tf.debugging.enable_traceback_filtering()
    """
    tracebacks.keep_frames(True)


def is_traceback_filtering_enabled() -> bool:
    """Return whether the library's own frames are cut out of tracebacks.

    >>> print(tf.debugging.is_traceback_filtering_enabled())
    True
    """
    return not tracebacks.keeps_frames
