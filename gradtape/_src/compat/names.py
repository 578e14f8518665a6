"""The error for a missing public name, and the import of names on first use."""

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

# Names that need Keras, and their locations; imported on first use, as Keras takes seconds to import.
ON_KERAS = {
    "gradtape.initializers": "gradtape.keras:initializers",
    "gradtape.keras": "gradtape.keras",
    "gradtape.losses": "gradtape.keras:losses",
    "gradtape.metrics": "gradtape.keras:metrics",
    "gradtape.optimizers.Optax": "keras_gradtape.src.optax:Optax",
}
# Rarely used names, and their locations; imported on first use. Most of them need TensorFlow 1's modules.
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
# Messages of TensorBoard's package, imported on first use: by module, name → the `.proto` file.
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
# Messages that protobuf creates on first use.
EXAMPLES = frozenset("BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample".split())
# Names that need absl, and their locations; imported on first use.
ON_ABSL = {
    f"gradtape.{module}.{name}": f"gradtape._src.testing.test_case:{name}"
    for module in ("test", "compat.v1.test")
    for name in ("TestCase", "main")
} | {"gradtape.compat.v1.app": "gradtape.compat.v1.app", "gradtape.compat.v1.flags": "absl.flags"}
# Modules with Keras's names besides their own.
BESIDE_KERAS = {"gradtape.optimizers": "optimizers"}


def listed(module: str) -> Callable[[], list[str]]:
    """Return a module's `__dir__`: its names, including those imported on first use."""
    later = [name.rpartition(".")[2] for name in ON_DEMAND if name.rpartition(".")[0] == module]
    return lambda: sorted({*vars(sys.modules[module]), *later})


def missing(module: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__`: an AttributeError with the reason for a missing name, or with a similar name.

    Exceptions in the module are shown in tracebacks under its name, by which they can be caught.
    """
    prefix = module.replace("gradtape", "tf", 1)
    for value in vars(sys.modules[module]).values():
        if isinstance(value, type) and issubclass(value, BaseException) and value.__module__.startswith("gradtape._src."):
            value.__module__ = module
            name_as_read()

    @public
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):  # Python and its tools look these up in each module
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place = ON_KERAS.get(f"{module}.{name}")
        if place is not None:
            # This makes gradtape the backend, before other modules of Keras are imported.
            importlib.import_module("gradtape.keras")
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


def _of_graphs(place: str) -> Callable[..., Any]:
    """Return a function of a module in `v1`, which is imported when it is called."""
    return lambda *arguments: pkgutil.resolve_name(f"gradtape._src.v1.{place}")(*arguments)


hooks.graphs.traced = _of_graphs("graphs.open_function:traced")
hooks.graphs.described = _of_graphs("graphs.open_function:described")
hooks.graphs.dataset = _of_graphs("session_iterators:late")
