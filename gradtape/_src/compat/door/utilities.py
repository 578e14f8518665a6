"""Small functions of TensorFlow's private modules that libraries call: conditions, decorators, files."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import secrets
import sys
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from gradtape._src.control.branch import cond
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import variable_of
from gradtape._src.core.tensors.scopes import get_static_value
from gradtape._src.core.tensors.tensor import Stored, Tensor
from gradtape._src.core.tensors.variable import ResourceVariable
from gradtape._src.files import gfile
from gradtape._src.files.gfile import GFile
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import expand_dims

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


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


PLACES: dict[str, dict[str, Any]] = {
    "python.framework.smart_cond": {"smart_cond": smart_cond, "smart_constant_value": smart_constant_value},
    "python.layers.utils": {"smart_cond": smart_cond, "constant_value": smart_constant_value},
    "python.keras.engine.compile_utils": {"match_dtype_and_rank": match_dtype_and_rank},
    "python.keras.engine.data_adapter": {"expand_1d": expand_1d},
    "python.lib.io.file_io": {
        function.__name__: function for function in (atomic_write_string_to_file, read_file_to_string, write_string_to_file)
    },
    "python.ops.resource_variable_ops": {"is_resource_variable": is_resource_variable},
    "python.platform.resource_loader": {"get_path_to_datafile": get_path_to_datafile},
    "python.tpu.tpu_function": {"get_tpu_context": TpuContext},
    "python.util.all_util": {"remove_undocumented": remove_undocumented},
    "python.util.tf_contextlib": {"contextmanager": contextmanager},
    "python.util.tf_decorator": {"make_decorator": make_decorator, "unwrap": unwrap},
    "python.util.tf_export": dict.fromkeys(("api_export", "tf_export", "keras_export"), api_export),
    "python.util.tf_inspect": {"getargspec": getargspec},
}
