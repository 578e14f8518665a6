"""TensorFlow's private modules, in which names of public objects give gradtape's public objects.

The table, `private.txt`, was generated from TensorFlow 2.21 by comparing objects (`tests/door/private_paths.py`), and is read
when the first such module is imported.
"""

from __future__ import annotations

import difflib
import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import gradtape
from gradtape._src.compat import raw_ops
from gradtape._src.compat.door.finder import find
from gradtape._src.compat.door.own import OWN
from gradtape._src.core.base import errors
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import tensor

CODES = """
    ABORTED ALREADY_EXISTS CANCELLED DATA_LOSS DEADLINE_EXCEEDED FAILED_PRECONDITION INTERNAL INVALID_ARGUMENT NOT_FOUND OK
    OUT_OF_RANGE PERMISSION_DENIED RESOURCE_EXHAUSTED UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN
""".split()
DEFINED = "*"  # marks the name of a class that the module defines

# Private objects that are equivalent, but not identical, to a public one.
TWINS = {
    "python.eager.test": {"main": "test.main"},
    "python.framework.errors": {code: f"errors.{code}" for code in CODES},
    "python.framework.ops": {
        "colocate_with": "compat.v1.colocate_with",
        "convert_to_tensor": "compat.v1.convert_to_tensor",
        "get_name_scope": "get_current_name_scope",
    },
    "python.keras.backend": {"get_graph": "compat.v1.get_default_graph"},
    "python.ops.cond_v2": {"cond_v2": "cond"},
    "python.ops.math_ops": {
        "add_v2": "add",
        "mod": "math.floormod",
        "mul": "multiply",
        "sub": "subtract",
        "tensor_equals": "math.equal",
        "tensor_not_equals": "math.not_equal",
    },
    "python.ops.ragged.ragged_map_ops": {"map_fn": "map_fn"},
    "python.ops.standard_ops": {"mul": "multiply", "sub": "subtract"},
    "python.ops.string_ops": {"reduce_join": "compat.v1.strings.reduce_join"},
    "python.platform.googletest": {"main": "test.main"},
    "python.ops.resource_variable_ops": {"BaseResourceVariable": "Variable"},
}
# Modules that gradtape implements itself: the state of the running code, decorators of tests.
MODULES = {
    "python.eager.backprop": "gradtape._src.compat.door.backprop",
    "python.eager.context": "gradtape._src.compat.door.context",
    "python.eager.monitoring": "gradtape._src.compat.door.monitoring",
    "python.eager.record": "gradtape._src.compat.door.record",
    "python.framework.combinations": "gradtape._src.testing.combinations",
    "python.framework.test_combinations": "gradtape._src.testing.combinations",
    "python.framework.test_util": "gradtape._src.testing.modes",
    "python.ops.parallel_for.gradients": "gradtape._src.compat.door.jacobians",
}

# Classes that keep their own module, because Keras has special code for TensorFlow's.
KEPT = ("RaggedTensor", "SparseTensor", "Tensor")

# Advice for often-used names without a public equivalent.
INSTEAD = {
    "python.client.timeline": "Record a trace with tf.profiler.experimental.start and stop.",
    "python.eager.context": "Use tf.executing_eagerly() and tf.config.",
    "python.framework.convert_to_constants": "Count the FLOPs of a graph or function with tf.compat.v1.profiler.profile.",
    "python.framework.ops.Tensor": "Use tf.Tensor.",
    "python.keras.backend.set_session": "Remove the call: tf.keras has no sessions.",
    "python.keras.engine.data_adapter": "Give `fit` arrays, a tf.data.Dataset or a tf.keras.utils.PyDataset.",
    "python.ops.rnn_cell": "Use the cells of tf.keras.layers.",
    "python.trackable.data_structures": "Use list and dict: they are tracked as they are.",
    "python.util.tf_inspect": "Use Python's inspect.",
}


@functools.cache
def lines() -> list[list[str]]:
    """Return the lines of the table: the path of a module below `tensorflow`, and its names."""
    return [line.split(" ") for line in Path(__file__).with_name("private.txt").read_text("utf-8").splitlines()]


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """Return the public names by private name, for each module path below `tensorflow`."""
    found = {}
    for path, *names in lines():
        pairs = (name.lstrip(DEFINED).partition("=") for name in names)
        found[path] = {name: there or name for name, _, there in pairs} | TWINS.get(path, {})
    return found


def name_classes() -> None:
    """Set `__module__` of the loaded public classes to that of TensorFlow's classes of the same names.

    Tracebacks, `repr` and other libraries show it. Pickle finds the class there while the door is open.
    """
    for path, *names in lines():
        for name, _, there in (name[1:].partition("=") for name in names if name.startswith(DEFINED)):
            _name(_loaded(there or name), path, name)
    for path, own in OWN.items():
        for name, value in own.items():
            _name(value, path, name)
    _name(tensor.EagerTensor, "python.framework.ops", "EagerTensor")  # the private name itself refers to a class of `kinds`
    errors.name_as_read()


def _loaded(name: str) -> Any:
    """Return gradtape's object of a public name; None if its module is not loaded."""
    found: Any = gradtape
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


def _name(value: Any, path: str, name: str) -> None:
    if isinstance(value, type) and value.__name__ == name and name not in KEPT and value.__module__.startswith("gradtape."):
        value.__module__ = f"tensorflow.{path}"


def exists(fullname: str) -> bool:
    """Return whether TensorFlow has a private module of that name, which can be imported even if nothing in it is public."""
    return fullname.removeprefix("tensorflow.") in table()


def fill(module: ModuleType) -> None:
    """Make the names of a new private module available, looked up on first use."""
    path = module.__name__.removeprefix("tensorflow.")
    names = table()[path]
    below = {name.rpartition(".")[2] for name in table() if name.rpartition(".")[0] == path}

    @public
    def __getattr__(name: str) -> Any:
        if name in OWN.get(path, ()):
            value = OWN[path][name]
        elif name in names:
            value = public_object(path, name)
        elif path in MODULES and not name.startswith("_") and hasattr(own := importlib.import_module(MODULES[path]), name):
            value = getattr(own, name)
        elif (function := generated(path, name)) is not None:
            value = function
        elif name in below:
            value = importlib.import_module(f"{module.__name__}.{name}")
        elif name == "__all__":
            value = [name for name in names if hasattr(module, name)]
        elif name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        else:
            raise AttributeError(why_not(f"{path}.{name}"))
        vars(module)[name] = value
        return value

    vars(module).update(__getattr__=__getattr__, __dir__=lambda: sorted({*names, *below, *vars(module)}))


def public_object(path: str, name: str) -> Any:
    """Return gradtape's object of the public name; AttributeError with the reason if gradtape lacks it."""
    there = table()[path][name]
    try:
        return functools.reduce(getattr, there.split("."), gradtape)
    except AttributeError as error:
        raise AttributeError(f"tensorflow.{path}.{name} is tf.{there}: {error}") from None


def generated(path: str, name: str) -> Any:
    """Return the function of an op by the name of TensorFlow's generated function, in its module or in one that re-exports it."""
    folder, _, module = path.rpartition(".")
    if folder != "python.ops" or (name.startswith("_") and not module.startswith("gen_")):
        return None
    type = raw_ops.generated().get(f"{module if module.startswith('gen_') else f'gen_{module}'}.{name}")
    return None if type is None else raw_ops.function(type)


def refuse(fullname: str) -> NoReturn:
    """Raise the error for a name that is no private module of TensorFlow, perhaps in `from … import …`.

    The error has another `name`, as Python would drop the message otherwise.
    """
    path = fullname.removeprefix("tensorflow.")
    above, _, last = path.rpartition(".")
    said = why_not(path)
    if last in table().get(above, ()):
        said = f"No module named {fullname!r}: it is a name of tensorflow.{above}."
        try:
            public_object(above, last)
        except AttributeError as error:
            said = str(error)
    raise ModuleNotFoundError(said, name=f"gradtape.{path}")


def why_not(path: str) -> str:
    """Explain why a private `path` below `tensorflow` does not exist, and what to use instead."""
    above, _, last = path.rpartition(".")
    near = difflib.get_close_matches(last.lstrip("_"), table().get(above, ()), n=1, cutoff=0.75)
    instead = [text for name, text in INSTEAD.items() if f"{path}.".startswith(f"{name}.")]
    if not instead and path.startswith("python.keras."):
        public = path.removeprefix("python.")
        if find(f"gradtape.{public}") or find(f"gradtape.{public.rpartition('.')[0]}"):
            instead = [f"Keras's public names are those of tensorflow.{public}."]
    if not instead and near:
        instead = [f"Did you mean {near[0]}, which is tf.{table()[above][near[0]]}?"]
    if above in table():
        said = f"tensorflow.{path} has no public name. It is private to TensorFlow, or TensorFlow 2.21 has none of that name."
    else:
        said = f"TensorFlow 2.21 has no module tensorflow.{path} either."
    return " ".join([said, *instead])
