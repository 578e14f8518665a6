"""Decorators that run tests in eager code, in a graph, or in both, with the names of TensorFlow's module `test_util`.

Tests of libraries for TensorFlow use them. Those for TensorFlow's own runtime have no effect.
"""

from __future__ import annotations

import contextlib
import functools
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.control import as_python, function
from gradtape._src.core.settings.device_config import list_physical_devices
from gradtape._src.ops.array.shape import transpose
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.testing.skipping import disable_with_predicate, with_eager_op_as_function as with_eager_op_as_function
from gradtape._src.testing.test_case import TestCase, main as main
from gradtape._src.v1.graphs.gradients import gradients
from gradtape._src.v1.graphs.graph import Graph

TensorFlowTestCase = TestCase
Decorator = Callable[[Any], Any]


def _on_methods(decorate: Decorator) -> Decorator:
    """Return a decorator of test methods that also decorates all tests of a class."""

    def decorated(given: Any) -> Any:
        if not isinstance(given, type):
            return decorate(given)
        for name in dir(given):
            method = getattr(given, name)
            if name.startswith("test") and name != "test_session" and callable(method):
                setattr(given, name, decorate(method))
        return given

    return decorated


def _with_or_without(decorate: Decorator, given: Any) -> Any:
    """Return the decorated object, or the decorator if it was called with arguments."""
    return decorate(given) if callable(given) else decorate


def run_in_graph_and_eager_modes(func: Any = None, **options: Any) -> Any:
    """Run a test in a graph with a session, then in eager code. `options` are accepted without effect."""

    @_on_methods
    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def both(self: TestCase, *args: Any, **kwargs: Any) -> None:
            with contextlib.suppress(unittest.SkipTest), Graph().as_default(), self.test_session():
                method(self, *args, **kwargs)
            self.tearDown()
            self.setUp()
            method(self, *args, **kwargs)

        return both

    return _with_or_without(decorate, func)


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Run each test of a class in a graph with a session, then in eager code."""
    decorated: type = run_in_graph_and_eager_modes(cls)
    return decorated


@_on_methods
def run_deprecated_v1(method: Any) -> Any:
    """Run a test in a graph."""

    @functools.wraps(method)
    def decorated(self: TestCase, *args: Any, **kwargs: Any) -> None:
        with Graph().as_default():
            method(self, *args, **kwargs)

    return decorated


deprecated_graph_mode_only = run_deprecated_v1


def run_v1_only(reason: Any = None, func: Any = None) -> Any:
    """Skip a test for TensorFlow 1."""
    said = reason if isinstance(reason, str) else "Test only runs in TensorFlow 1."
    return _with_or_without(_on_methods(unittest.skip(said)), func or reason)


def run_v2_only(func: Any = None, reason: Any = None) -> Any:
    """Run a test for TensorFlow 2 unchanged."""
    return _with_or_without(_as_it_is, func)


# Skip a test without a GPU.
run_gpu_only = _on_methods(disable_with_predicate(lambda: not list_physical_devices("GPU"), "Test requires a GPU."))
run_cuda_only = run_gpu_or_tpu = run_gpu_only


def also_run_as_tf_function(method: Any) -> Any:
    """Run a test in eager code only, as its assertions would have no values in a function."""
    return method


def _as_it_is(given: Any = None) -> Any:
    return given


def _for_a_reason(description: Any = None, *args: Any, **kwargs: Any) -> Any:
    return _with_or_without(_as_it_is, description)


# Selections in TensorFlow's runtime, without effect.
disable_xla = no_xla_auto_jit = xla_allow_fallback = disable_tfrt = disable_mlir_bridge = disable_asan = disable_tsan = (
    _for_a_reason
)
disable_eager_op_as_function = enable_control_flow_v2 = with_control_flow_v2 = enable_output_all_intermediates = _for_a_reason
run_without_tensor_float_32 = run_all_without_tensor_float_32 = run_in_async_and_sync_mode = _for_a_reason
with_forward_compatibility_horizons = _for_a_reason
# Checks for leaked objects, which are not made.
assert_no_new_tensors = assert_no_garbage_created = assert_no_new_pyobjects_executing_eagerly = _for_a_reason


matmul_without_tf32 = matmul  # TensorFloat-32 is off by default


def disable_control_flow_v2(unused_msg: str) -> Decorator:
    """Skip a test of TensorFlow 1's control flow."""
    return unittest.skip(unused_msg)


def is_xla_enabled() -> bool:
    """Return False: TensorFlow's tests then expect the behaviour of a build without XLA."""
    return False


IsMklEnabled = is_mlir_bridge_enabled = GpuSupportsHalfMatMulAndConv = is_xla_enabled


@_on_methods
def build_as_function_and_v1_graph(method: Any) -> Any:
    """Run a test in a graph, then in a function."""

    @functools.wraps(method)
    def both(self: TestCase, *args: Any, **kwargs: Any) -> None:
        with Graph().as_default():
            method(self, *args, **kwargs)
        self.tearDown()
        self.setUp()
        function.function(lambda: method(self, *args, **kwargs), autograph=False)()

    return both


def device(use_gpu: bool = True) -> contextlib.AbstractContextManager[None]:
    """Open a context without effect, as values stay on JAX's default device."""
    return contextlib.nullcontext()


use_gpu = force_gpu = force_cpu = device


def deterministic_ops() -> contextlib.AbstractContextManager[None]:
    """Open a context without effect, as ops are deterministic."""
    return contextlib.nullcontext()


@contextlib.contextmanager
def run_functions_eagerly(run_eagerly: bool) -> Iterator[None]:
    """Open a context that sets whether functions run as eager code."""
    before = as_python.everywhere
    as_python.run_functions_eagerly(run_eagerly)
    try:
        yield
    finally:
        as_python.run_functions_eagerly(before)


@contextlib.contextmanager
def skip_if_error(case: unittest.TestCase, error_type: Any, messages: Any = None) -> Iterator[None]:
    """Skip the test if the context raises this error, with one of the `messages` in its text if given."""
    try:
        yield
    except error_type as error:
        wanted = [messages] if isinstance(messages, str) else messages or ()
        if wanted and not any(message in str(error) for message in wanted):
            raise
        case.skipTest(f"Skipping error: {error}")


class AbstractGradientTape:
    """A context manager with a tape's methods, for a tape or for the gradients of a graph."""

    def __init__(self, use_tape: bool, persistent: bool = False) -> None:
        self._tape = GradientTape(persistent=persistent) if use_tape else _GraphGradients()

    def __enter__(self) -> Any:
        return self._tape.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._tape.__exit__(*raised)


class _GraphGradients:
    def __enter__(self) -> _GraphGradients:
        return self

    def __exit__(self, *raised: Any) -> None:
        pass

    def watch(self, tensor: Any) -> None:
        """Do nothing, as a graph keeps all ops."""

    def gradient(self, target: Any, sources: Any) -> Any:
        """Return the gradients of a target with respect to a tensor or a list of them."""
        found = gradients(target, sources)
        return found if isinstance(sources, (list, tuple)) else found[0]


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Move the channels of a batch of images, or of its shape, before the spatial axes."""
    return _moved(input_tensor, lambda rank: [0, rank - 1, *range(1, rank - 1)])


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Move the channels of a batch of images, or of its shape, behind the spatial axes."""
    return _moved(input_tensor, lambda rank: [0, *range(2, rank), 1])


def _moved(given: Any, order: Callable[[int], list[int]]) -> Any:
    if isinstance(given, (list, tuple)):
        return [given[axis] for axis in order(len(given))]
    return transpose(given, order(len(given.shape)))
