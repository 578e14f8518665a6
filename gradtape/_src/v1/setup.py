"""Functions that TensorFlow 1's scripts call at their start: configurations, switches, name scopes, control flow."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

from gradtape._src.control.branch import cond as new_cond, unpacked
from gradtape._src.control.loop import while_loop as new_while_loop
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.settings.switches import behave_as_tensorflow_2
from gradtape._src.core.tensors import nest, scopes
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.values.shape import give_dimensions
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.graph import disable_eager_execution, enable_eager_execution, in_graph
from gradtape._src.v1.graphs.names import NameScope


class Options:
    """Settings that are accepted without effect."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        for name, value in settings.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = Options()
        setattr(self, name, value)
        return value


class ConfigProto(Options):
    """A session's configuration, accepted without effect.

    >>> config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
    ...     print(session.run(tf.square(3.0)))
    9.0
    """


class GPUOptions(Options):
    """Options for GPUs, accepted without effect."""


class RunOptions(Options):
    """Options of a run, accepted without effect."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)


class RunMetadata(Options):
    """The metadata of a run, which are empty."""


class OptimizerOptions(Options):
    """Options of the compiler, accepted without effect."""

    L0, L1 = -1, 0
    OFF, DEFAULT, ON_1, ON_2 = -1, 0, 1, 2


class GraphOptions(Options):
    """Options of the graph, accepted without effect."""


def disable_v2_tensorshape() -> None:
    """Make the items of a `TensorShape` `Dimension`s from now on, as in TensorFlow 1."""
    give_dimensions(True)


def enable_v2_tensorshape() -> None:
    """Make the items of a `TensorShape` ints and None again."""
    give_dimensions(False)


def disable_v2_behavior() -> None:
    """Build graphs from now on, as in TensorFlow 1, with `Dimension`s as items of shapes."""
    disable_eager_execution()
    disable_v2_tensorshape()
    behave_as_tensorflow_2(False)


def enable_v2_behavior() -> None:
    """Run operations at once again, with ints and None as items of shapes."""
    enable_eager_execution()
    enable_v2_tensorshape()
    behave_as_tensorflow_2(True)


def _always() -> None:
    """Do nothing, as this is always the behaviour."""


enable_resource_variables = disable_resource_variables = enable_control_flow_v2 = disable_control_flow_v2 = _always
enable_tensor_equality = disable_tensor_equality = _always


def resource_variables_enabled() -> bool:
    """Return True."""
    return True


def control_flow_v2_enabled() -> bool:
    """Return True."""
    return True


@public
def colocate_with(op: Any, ignore_existing: bool = False) -> contextlib.AbstractContextManager[None]:
    """Open a context without effect, as XLA chooses placement."""
    return contextlib.nullcontext()


@public
def set_random_seed(seed: Any) -> None:
    """Set the seed of the default graph's random ops; in eager code the global seed."""
    seeds.set_seed(seed)


def executing_eagerly_outside_functions() -> bool:
    """Return whether operations outside of functions run at once."""
    return in_graph() is None


class name_scope:
    """Open a context that prefixes the names of ops and variables by `name/` (or `default_name/`); yields the full prefix."""

    @public
    def __init__(self, name: Any, default_name: Any = None, values: Any = None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` for name_scope must be a string, received {name!r}.")
        if name is None and default_name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) should be provided: a scope needs a name."
            )
        self._name = default_name if name is None else name

    @property
    def name(self) -> str | None:
        """The given or default name."""
        return self._name

    def __enter__(self) -> str:
        graph = in_graph()
        self._context: AbstractContextManager[Any]
        if graph is not None:
            self._context = graph.name_scope(self._name or "")
        else:
            whole = bool(self._name) and self._name.endswith("/")
            self._context = NameScope(self._name if whole else f"{scopes.prefix()}{self._name}/" if self._name else "")
        entered: str = self._context.__enter__()
        return entered

    def __exit__(self, *reason: Any) -> None:
        self._context.__exit__(*reason)


@public
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> name_scope:
    """Return `name_scope` with the values first, an older signature of TensorFlow."""
    return name_scope(name, default_name, values)


@public
def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """Return the result of `true_fn()` if `pred` holds, else of `false_fn()`.

    In eager code a list of one result is unpacked, unless `strict`.
    """
    for new, old, names in ((true_fn, fn1, ("true_fn", "fn1")), (false_fn, fn2, ("false_fn", "fn2"))):
        if new is not None and old is not None:
            raise TypeError(f"cond(): '{names[0]}' and '{names[1]}' may not be set simultaneously.")
    result = new_cond(pred, true_fn or fn1, false_fn or fn2)
    return result if strict else unpacked(result)


@public
def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Run `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` holds; return the last `loop_vars`.

    A single variable is returned without its list, unless `return_same_structure`; in eager code only if `body` returns it so.
    """
    eager = not engine.tracing()
    bare = function = not executing_eagerly()  # a function may run as eager code

    def noted(*state: Any) -> Any:
        nonlocal bare
        result = body(*state)
        single = len(state) == 1 and not isinstance(result, (list, tuple))
        if eager and single and (function or not return_same_structure):
            bare, result = True, (result,)
        return result

    results = new_while_loop(
        cond,
        noted if callable(body) else body,
        loop_vars,
        shape_invariants,
        parallel_iterations,
        back_prop,
        swap_memory,
        maximum_iterations,
        name,
    )
    leaves = nest.flatten(results)
    return leaves[0] if bare and len(leaves) == 1 and not return_same_structure else results


@public
def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Open a context that names a device. Values stay on JAX's default device."""
    return contextlib.nullcontext()


@public
def container(container_name: str) -> AbstractContextManager[None]:
    """Open a context that names a container, without effect."""
    return contextlib.nullcontext()
