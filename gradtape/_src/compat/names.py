"""The error for a public name that gradtape does not have."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from gradtape._src.compat import stand_ins
from gradtape._src.compat.reasons import REASONS, reason
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import name_as_read
from gradtape._src.core.base.public import public
from gradtape._src.files.messages import message
from gradtape._src.files.protocol import protocol

# Names that stand on Keras, and where: imported when they are first used, as Keras takes seconds to import.
ON_KERAS = {
    "gradtape.initializers": "gradtape.keras:initializers",
    "gradtape.keras": "gradtape.keras",
    "gradtape.losses": "gradtape.keras:losses",
    "gradtape.metrics": "gradtape.keras:metrics",
    "gradtape.optimizers.Optax": "keras_gradtape.src.optax:Optax",
}
# Other names that few programs use, and where: imported when they are first used. Most stand on TensorFlow 1's floor.
ON_DEMAND = {
    "gradtape.Graph": "gradtape._src.v1.graphs.graph:Graph",
    "gradtape.Operation": "gradtape._src.v1.graphs.operation:Operation",
    "gradtape.compat.v1": "gradtape.compat.v1",
    "gradtape.experimental.dtensor": "gradtape.experimental.dtensor",
    "gradtape.experimental.numpy": "gradtape.experimental.numpy",
    "gradtape.gradients": "gradtape._src.v1.graphs.gradients:gradients",
    "gradtape.hessians": "gradtape._src.v1.graphs.gradients:hessians",
    "gradtape.optimizers.MaskedUpdate": "gradtape._src.v1.optimizers.masked:MaskedUpdate",
    "gradtape.test.benchmark_config": "gradtape._src.v1.setup:ConfigProto",
    "gradtape.train.ExponentialMovingAverage": "gradtape._src.v1.optimizers.averages:ExponentialMovingAverage",
}
# Messages of TensorBoard's package, which is loaded when one is asked for: by module, name → the `.proto` file.
MESSAGES = {
    "gradtape.compat.v1": {
        "AttrValue": "attr_value",
        "Event": "event",
        "GraphDef": "graph",
        "HistogramProto": "summary",
        "LogMessage": "event",
        "MetaGraphDef": "meta_graph",
        "NameAttrList": "attr_value",
        "NodeDef": "node_def",
        "SessionLog": "event",
        "Summary": "summary",
        "SummaryMetadata": "summary",
        "TensorInfo": "meta_graph",
    },
    "gradtape.compat.v1.summary": {
        "Event": "event",
        "SessionLog": "event",
        "Summary": "summary",
        "SummaryDescription": "summary",
        "TaggedRunMetadata": "event",
    },
}
# Messages that protobuf makes when one is asked for.
EXAMPLES = frozenset("BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample".split())
# Names that stand on absl, and where: imported when they are first used.
ON_ABSL = {
    f"gradtape.{module}.{name}": f"gradtape._src.testing.test_case:{name}"
    for module in ("test", "compat.v1.test")
    for name in ("TestCase", "main")
} | {"gradtape.compat.v1.app": "gradtape.compat.v1.app", "gradtape.compat.v1.flags": "absl.flags"}
# Modules that show Keras's names beside their own.
BESIDE_KERAS = {"gradtape.optimizers": "optimizers"}


def listed(module: str) -> Callable[[], list[str]]:
    """Return a module's `__dir__`: its names, with those that are imported when they are first used."""
    later = [name.rpartition(".")[2] for name in ON_DEMAND if name.rpartition(".")[0] == module]
    return lambda: sorted({*vars(sys.modules[module]), *later})


def missing(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: AttributeError that says why the name is not there, or names what is near.

    A traceback shows the exceptions of the module by the names under which they can be caught.
    """
    prefix = module.replace("gradtape", "tf", 1)
    for value in vars(sys.modules[module]).values():
        if isinstance(value, type) and issubclass(value, BaseException) and value.__module__.startswith("gradtape._src."):
            value.__module__ = module
            name_as_read()

    @public
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # Python and its tools ask each module for these
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place = ON_KERAS.get(f"{module}.{name}")
        if place is not None:
            importlib.import_module("gradtape.keras")  # which makes gradtape the backend, and all else of Keras may follow
            return pkgutil.resolve_name(place)
        if f"{module}.{name}" in ON_DEMAND:
            value = pkgutil.resolve_name(ON_DEMAND[f"{module}.{name}"])
            vars(sys.modules[module])[name] = value
            return value
        if module == "gradtape.train" and name in EXAMPLES:
            return message(name)
        if f"{module}.{name}" in ON_ABSL:
            return pkgutil.resolve_name(ON_ABSL[f"{module}.{name}"])
        if name in MESSAGES.get(module, ()):
            try:
                return getattr(protocol(MESSAGES[module][name]), name)
            except ImportError as error:
                raise AttributeError(f"{prefix}.{name} needs TensorBoard's package. {error}") from None
        if module in BESIDE_KERAS and not name.startswith("_"):
            keras = getattr(importlib.import_module("gradtape.keras"), BESIDE_KERAS[module])
            if hasattr(keras, name):
                return getattr(keras, name)
        dotted = f"{prefix}.{name}"
        stand_in = stand_ins.found(dotted.removeprefix("tf."))
        if stand_in is not None:
            return stand_in
        because = REASONS.get(dotted.removeprefix("tf."))
        if because is None:
            public = [n for n in dir(sys.modules[module]) if not n.startswith("_")]
            near = difflib.get_close_matches(name, public, n=1, cutoff=0.75)
            because = f"Did you mean {prefix}.{near[0]}?" if near else reason(dotted.removeprefix("tf."))
        raise AttributeError(f"gradtape has no {dotted}. {because}".rstrip())

    return __getattr__


def _traced(*arguments: Any) -> Any:
    return pkgutil.resolve_name("gradtape._src.v1.graphs.open_function:traced")(*arguments)


hooks.graphs.traced = _traced
