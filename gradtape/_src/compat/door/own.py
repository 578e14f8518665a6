"""Objects of TensorFlow's private modules that have no public name, and that libraries use."""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import inspect
import os
import secrets
import sys
import unittest.mock
from collections import namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from gradtape._src.autodiff.custom import custom_gradient
from gradtape._src.compat.door import deprecation, object_identity
from gradtape._src.compat.door.device_list import list_local_devices
from gradtape._src.compat.door.kinds import AnyTensor, EagerTensor, SymbolicTensor
from gradtape._src.compat.door.registry import GradientRegistry
from gradtape._src.compat.door.version import VERSION
from gradtape._src.control.branch import cond, switch_case
from gradtape._src.control.mapping import map_fn
from gradtape._src.control.vectorized_map import vectorized_map
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.declarations import spec
from gradtape._src.core.declarations.module import Tracked, is_module, is_variable
from gradtape._src.core.settings import switches
from gradtape._src.core.tensors import nest, shallow_nest
from gradtape._src.core.tensors.convert import convert_to_tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, IndexedSlicesValue
from gradtape._src.core.tensors.scopes import control_dependencies, get_static_value
from gradtape._src.core.tensors.tensor import Reference, Stored, Tensor
from gradtape._src.core.tensors.variable import ResourceVariable
from gradtape._src.core.values.composite import CompositeTensor
from gradtape._src.core.values.dtypes import as_dtype, float32, int32
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.data.iterators import OwnedIterator
from gradtape._src.data.saving import message_of_specs, specs_of_message
from gradtape._src.files import gfile
from gradtape._src.files.gfile import GFile
from gradtape._src.operators.base import make_composite_tensor
from gradtape._src.operators.solvers import add_operators
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.extents import shape as shape_of
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.shape import expand_dims, identity
from gradtape._src.ops.random import seeds
from gradtape._src.ops.random.distributions import stateless_parameterized_truncated_normal
from gradtape._src.ops.random.draws import uniform
from gradtape._src.ops.sparse.tensor import SparseTensor
from gradtape._src.train.checkpoint import CheckpointLoadStatus

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def convert_variables_to_tensors(values: Any) -> Any:
    """Replace the variables in a structure by their values."""

    def converted(value: Any) -> Any:
        if isinstance(value, Stored):
            return convert_to_tensor(value)
        return value._convert_variables_to_tensors() if isinstance(value, CompositeTensor) else value

    return nest.map_structure(converted, values)


def with_dependencies(dependencies: Any, output_tensor: Any, name: Any = None) -> Any:
    """Return `output_tensor`, evaluated after the ops `dependencies` of a graph."""
    with control_dependencies(dependencies):
        return identity(output_tensor)


def unknown_shape(rank: int | None = None, **kwargs: Any) -> TensorShape:
    """Return a shape of unknown extents, of unknown rank by default."""
    return TensorShape(None if rank is None else [None] * rank)


def max_error(grad1: Any, grad2: Any) -> float:
    """Return the largest difference between two lists of Jacobians, such as the two results of `compute_gradient`."""
    return max((float(np.abs(a - b).max(initial=0.0)) for a, b in zip(grad1, grad2, strict=True)), default=0.0)


def pfor(loop_fn: Callable[[Any], Any], iters: Any, fallback_to_while_loop: bool = True, parallel_iterations: Any = None) -> Any:
    """Return the results of `loop_fn` for 0, 1, …, stacked."""
    return vectorized_map(loop_fn, range_(iters), fallback_to_while_loop)


def case_helper(
    cond_fn: Callable[..., Any],
    pred_fn_pairs: Any,
    default: Any,
    exclusive: bool,
    name: Any,
    allow_python_preds: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the result of the first function whose predicate holds, tested by `cond_fn`; else that of `default`."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    action = pairs[-1][1] if default is None else default
    for predicate, function in reversed(pairs[:-1] if default is None else pairs):
        action = functools.partial(cond_fn, predicate, true_fn=function, false_fn=action, **kwargs)
    return action()


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """Return the arguments of a function. gradtape's annotations are omitted, as TensorFlow's functions have none."""
    found = inspect.getfullargspec(obj)
    return found._replace(annotations={}) if getattr(obj, "__module__", "").startswith("gradtape.") else found


def name_scope(name: Any, default_name: str | None = None, values: Any = None, skip_on_eager: bool = True) -> Any:
    """Open a name scope as `tf.compat.v1.name_scope` does."""
    from gradtape._src.v1.setup import name_scope as opened

    return opened(name, default_name, values)


def assign_moving_average(variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None) -> Any:
    """Update a moving average, as `ExponentialMovingAverage` of TensorFlow 1."""
    from gradtape._src.v1.optimizers.averages import assign_moving_average as moved

    return moved(variable, value, decay, zero_debias, name)


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """Return the shape given by a tensor of extents, as far as it is known."""
    if isinstance(tensor, TensorShape):
        return tensor
    value = get_static_value(tensor)
    if value is None:
        return (
            TensorShape([None] * tensor.shape[0]) if tensor.shape.rank == 1 and tensor.shape[0] is not None else TensorShape(None)
        )
    return TensorShape([None if extent < 0 else int(extent) for extent in value])


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Any:
    """Return `input`; a gradient through it is a LookupError with the message."""

    @custom_gradient
    def prevented(x: Any) -> Any:
        def grad(upstream: Any) -> Any:
            raise LookupError(f"Gradient explicitly disabled. Reason: {message}")

        return identity(x), grad

    return prevented(input)


def for_loop(loop_fn: Callable[[Any], Any], loop_fn_dtypes: Any, iters: Any, parallel_iterations: int | None = None) -> Any:
    """Return the results of `loop_fn` for 0, 1, …, computed sequentially and stacked."""
    return map_fn(loop_fn, range_(iters), loop_fn_dtypes)


def while_loop_v2(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    maximum_iterations: Any = None,
    name: str | None = None,
    return_same_structure: bool = True,
    back_prop: bool = True,
) -> Any:
    """Return the variables of a loop after its last trip, in the structure of `loop_vars`, or a single one itself."""
    from gradtape._src.v1.setup import while_loop

    options: dict[str, Any] = {"back_prop": back_prop, "name": name, "return_same_structure": return_same_structure}
    return while_loop(
        cond, body, loop_vars, shape_invariants, parallel_iterations, maximum_iterations=maximum_iterations, **options
    )


def indexed_case(branch_index: Any, branch_fns: Any, name: str = "indexed_case", lower_using_switch_merge: Any = None) -> Any:
    """Return the result of the function with that index, or of the last one if there is none."""
    return switch_case(branch_index, branch_fns, name=name)


def as_indexed_slices(x: Any, optimize: bool = True) -> IndexedSlices:
    """Convert a tensor to IndexedSlices of all its rows."""
    if isinstance(x, IndexedSlices):
        return x
    x = convert_to_tensor(x)
    return IndexedSlices(x, range_(shape_of(x)[0]), shape_of(x))


def to_numpy(a: Any) -> Any:
    """Convert a tensor or IndexedSlices to a dense NumPy array; other values are unchanged."""
    if isinstance(a, IndexedSlices):
        return convert_to_tensor(a).numpy()
    return a.numpy() if isinstance(a, Tensor | Stored) else a


def convert_to_tensor_or_ragged_tensor(value: Any, dtype: Any = None, preferred_dtype: Any = None, name: Any = None) -> Any:
    """Return a RaggedTensor of the right dtype unchanged; convert other values to a tensor."""
    if not isinstance(value, RaggedTensor):
        return convert_to_tensor(value, dtype, preferred_dtype)
    if dtype is not None and as_dtype(dtype) != value.dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype {value.dtype.name}"
        )
    return value


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = float32,
    seed: Any = None,
    name: Any = None,
) -> Any:
    """Draw truncated normal numbers between bounds, with the seeds of stateful ops."""
    key = uniform([2], maxval=int32.max, dtype=int32, seed=seed)
    bounds = (convert_to_tensor(value, dtype) for value in (means, stddevs, minvals, maxvals))
    return stateless_parameterized_truncated_normal(shape, key, *bounds)


def smart_constant_value(pred: Any) -> Any:
    """Return the truth of a bool, of 0 or 1, or of a tensor with a known value; None if it is unknown."""
    if isinstance(pred, Tensor):
        return get_static_value(pred)
    if isinstance(pred, bool) or pred in (0, 1):
        return bool(pred)
    raise TypeError(
        f"Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: pred={pred} of type {type(pred).__name__}"
    )


def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """Call one of two functions if `pred` is known, else record a `tf.cond`."""
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"Argument `{argument}` must be callable. Received {function}")
    known = None if isinstance(pred, Stored) else smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name)
    return true_fn() if known else false_fn()


def getargspec(obj: Any) -> ArgSpec:
    """Return the arguments of a function in the form of Python 2."""
    return ArgSpec(*inspect.getfullargspec(obj)[:4])


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: inspect.FullArgSpec | None = None,
) -> Any:
    """Return `decorator_func` with the name, docstring and signature of the function `target` that it wraps."""
    functools.update_wrapper(decorator_func, target)
    decorator_func.__original_wrapped__ = target
    if decorator_doc:
        decorator_func.__doc__ = decorator_doc
    with contextlib.suppress(TypeError, ValueError):  # builtins have no signature
        decorator_func.__signature__ = inspect.signature(target)
    return decorator_func


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """Return the wrappers of a function, the outermost first, and the function itself."""
    around = []
    while (inner := getattr(maybe_tf_decorator, "__original_wrapped__", None)) is not None:
        around.append(maybe_tf_decorator)
        maybe_tf_decorator = inner
    return around, maybe_tf_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a generator function as `contextlib.contextmanager` does."""
    return make_decorator(target, contextlib.contextmanager(target))


def remove_undocumented(module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None) -> None:
    """Do nothing, because each module determines its public names."""


class api_export:
    """Decorate a public function or class without effect; the name is for TensorFlow's build."""

    def __init__(self, *names: str, v1: Any = None, allow_multiple_exports: bool = True, api_name: str = "tensorflow"):
        pass

    def __call__(self, func: Any) -> Any:
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Do nothing, because a constant remains a name of its module."""


def read_file_to_string(filename: str, binary_mode: bool = False) -> Any:
    """Return the content of a file: a string, or bytes in `binary_mode`."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: str, file_content: Any) -> None:
    """Write a string or bytes to a file."""
    with GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file in the folder of the calling file."""
    return os.path.join(os.path.dirname(sys._getframe(1).f_code.co_filename), path)


def atomic_write_string_to_file(filename: str, contents: Any, overwrite: bool = True) -> None:
    """Write a string or bytes to a file atomically."""
    partial = f"{filename}.tmp{secrets.token_hex(8)}"
    write_string_to_file(partial, contents)
    try:
        gfile.rename(partial, filename, overwrite)
    except Exception:
        gfile.remove(partial)
        raise


def match_dtype_and_rank(y_t: Any, y_p: Any, sw: Any) -> tuple[Any, Any, Any]:
    """Return targets, predictions and sample weights (or None) with columns for predictions of rank 2, in their dtype."""
    columns = y_p.shape.rank == 2
    y_t, sw = [expand_dims(x, -1) if columns and x is not None and x.shape.rank == 1 else x for x in (y_t, sw)]
    if (y_t.dtype.is_floating and y_p.dtype.is_floating) or (y_t.dtype.is_integer and y_p.dtype.is_integer):
        y_t = cast(y_t, y_p.dtype)
    return y_t, y_p, None if sw is None else cast(sw, y_p.dtype)


def expand_1d(data: Any) -> Any:
    """Convert the rank-1 tensors in a structure to columns."""
    return nest.map_structure(lambda x: expand_dims(x, -1) if isinstance(x, Tensor) and x.ndim == 1 else x, data)


class TpuContext:
    """The context of a TPU, which divides nothing into shards."""

    number_of_shards = None


def is_resource_variable(var: Any) -> bool:
    """Return whether an object is a variable. All variables are resource variables."""
    return isinstance(variable_of(var), ResourceVariable)


class _PrivateClass(type):
    """The metaclass of private classes that libraries derive from at import. They cannot be instantiated."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise UnimplementedError(
            None, None, f"{cls.__module__}.{cls.__name__} is private to TensorFlow: gradtape has its name only."
        )


def _private_class(path: str, name: str) -> type:
    return _PrivateClass(name, (), {"__module__": f"tensorflow.{path}"})


OWN: dict[str, dict[str, Any]] = {
    "python.autograph.pyct.transformer": {"Base": _private_class("python.autograph.pyct.transformer", "Base")},
    "python.checkpoint.checkpoint": {"CheckpointLoadStatus": CheckpointLoadStatus},
    "python.framework.composite_tensor": {"CompositeTensor": CompositeTensor},
    # The global seed is all of the context's state.
    "python.eager.context": {"_reset_context": lambda: seeds.set_seed(None)},
    "python.client.device_lib": {"list_local_devices": list_local_devices},
    "python.data.ops.iterator_ops": {"OwnedIterator": OwnedIterator},
    "python.framework.ops": {
        "EagerTensor": EagerTensor,
        "SymbolicTensor": SymbolicTensor,
        "_gradient_registry": GradientRegistry(),
        "name_scope": name_scope,
    },
    "python.framework.tensor": {"DenseSpec": spec.DenseSpec},
    "python.framework.sparse_tensor": {"is_sparse": lambda x: isinstance(x, SparseTensor)},
    "python.framework.tensor_shape": {
        "as_shape": lambda shape: shape if isinstance(shape, TensorShape) else TensorShape(shape),
        "unknown_shape": unknown_shape,
    },
    "python.framework.tensor_spec": {"DenseSpec": spec.DenseSpec},
    "python.framework.tensor_util": {
        "constant_value_as_shape": constant_value_as_shape,
        "try_evaluate_constant": get_static_value,
    },
    "python.framework.type_spec": {
        "BatchableTypeSpec": spec.BatchableTypeSpec,
        "register_type_spec_from_value_converter": spec.register_type_spec_from_value_converter,
    },
    "python.framework.type_spec_registry": {
        "register": spec.register,
        "_NAME_TO_TYPE_SPEC": spec.by_name,
        "_TYPE_SPEC_TO_NAME": spec.names,
        "get_name": spec.names.__getitem__,
        "lookup": spec.by_name.__getitem__,
    },
    "python.framework.indexed_slices": {"IndexedSlicesValue": IndexedSlicesValue},
    "python.framework.versions": {"__version__": VERSION},
    "python.framework.config": {
        name: getattr(switches, name) for name in ("disable_op_determinism", "is_op_determinism_enabled")
    },
    "python.module.module": {"_is_module": is_module, "_is_variable": is_variable},
    "python.ops.array_ops": {"prevent_gradient": prevent_gradient},
    "python.ops.cond_v2": {"indexed_case": indexed_case},
    "python.ops.math_ops": {"_as_indexed_slices": as_indexed_slices},
    "python.ops.while_v2": {"while_loop": while_loop_v2},
    "python.ops.ragged.ragged_tensor": {
        "convert_to_tensor_or_ragged_tensor": convert_to_tensor_or_ragged_tensor,
        "is_ragged": lambda value: isinstance(value, RaggedTensor),
    },
    "python.platform.test": {"mock": unittest.mock},
    "python.saved_model.nested_structure_coder": {"decode_proto": specs_of_message, "encode_structure": message_of_specs},
    "python.trackable.autotrackable": {"AutoTrackable": Tracked},
    "python.trackable.base": {"Trackable": Tracked},
    "python.ops.control_flow_case": {"_case_helper": case_helper},
    "python.ops.control_flow_ops": {"with_dependencies": with_dependencies},
    "python.ops.gradient_checker_v2": {"_to_numpy": to_numpy, "max_error": max_error},
    "python.ops.control_flow_util": {"ENABLE_CONTROL_FLOW_V2": True, "GraphOrParentsInXlaContext": lambda graph: False},
    "python.ops.linalg.linear_operator": {"make_composite_tensor": make_composite_tensor},
    "python.ops.linalg.linear_operator_addition": {"add_operators": add_operators},
    "python.ops.parallel_for.control_flow_ops": {"for_loop": for_loop, "pfor": pfor},
    "python.ops.random_ops": {"parameterized_truncated_normal": parameterized_truncated_normal},
    "python.ops.resource_variable_ops": {
        "is_resource_variable": is_resource_variable,
        "ResourceVariable": ResourceVariable,
        "VariableSpec": spec.VariableSpec,
    },
    "python.tf2": {"enabled": switches.behaves_as_tensorflow_2},
    "python.training.moving_averages": {"assign_moving_average": assign_moving_average},
    "python.types.core": {"Tensor": AnyTensor},
    "python.util.compat": {"collections_abc": collections.abc},
    "python.util.deprecation": {
        name: getattr(deprecation, name)
        for name in "deprecated deprecated_alias deprecated_arg_values deprecated_args deprecated_argument_lookup silence".split()
    },
    "python.util.nest": {
        "_is_namedtuple": shallow_nest.is_namedtuple,
        "_sequence_like": shallow_nest.sequence_like,
        "_yield_sorted_items": shallow_nest.yield_sorted_items,
        "_yield_value": shallow_nest.yield_value,
        **{
            name: getattr(shallow_nest, name)
            for name in """
                assert_shallow_structure flatten_up_to flatten_with_joined_string_paths flatten_with_tuple_paths
                flatten_with_tuple_paths_up_to get_traverse_shallow_structure is_mapping is_namedtuple is_nested_or_composite
                list_to_tuple map_structure_up_to map_structure_with_paths map_structure_with_tuple_paths
                map_structure_with_tuple_paths_up_to yield_flat_paths
            """.split()
        },
    },
    "python.util.object_identity": {
        "Reference": Reference,
        **{name: value for name, value in vars(object_identity).items() if name.startswith("Object")},
    },
    "python.util.tf_inspect": {
        **{
            name: value for name, value in vars(inspect).items() if not name.startswith("_") and not isinstance(value, ModuleType)
        },
        "_inspect": inspect,
        "getargspec": getargspec,
        "getfullargspec": getfullargspec,
    },
    "python.util.variable_utils": {"convert_variables_to_tensors": convert_variables_to_tensors},
    "python.framework.smart_cond": {"smart_cond": smart_cond, "smart_constant_value": smart_constant_value},
    "python.layers.utils": {"smart_cond": smart_cond, "constant_value": smart_constant_value},
    "python.keras.engine.compile_utils": {"match_dtype_and_rank": match_dtype_and_rank},
    "python.keras.engine.data_adapter": {"expand_1d": expand_1d},
    "python.lib.io.file_io": {
        function.__name__: function for function in (atomic_write_string_to_file, read_file_to_string, write_string_to_file)
    },
    "python.platform.resource_loader": {"get_path_to_datafile": get_path_to_datafile},
    "python.tpu.tpu_function": {"get_tpu_context": TpuContext},
    "python.util.all_util": {"remove_undocumented": remove_undocumented},
    "python.util.tf_contextlib": {"contextmanager": contextmanager},
    "python.util.tf_decorator": {"make_decorator": make_decorator, "unwrap": unwrap},
    "python.util.tf_export": dict.fromkeys(("api_export", "tf_export", "keras_export"), api_export),
}
