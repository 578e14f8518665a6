"""The symbols that a function is traced on, named after its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from gradtape._src.control.arguments import Arguments
from gradtape._src.core import nest
from gradtape._src.core.function_names import Numbered
from gradtape._src.core.program import Node, leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor


def named_parameters(arguments: Arguments, signature: inspect.Signature, specs: Sequence[Any] | None) -> list[Node]:
    """Create a leaf without a value for each tensor among the arguments; its name is that of its parameter, or of its spec."""
    symbols = [leaf(node.aval, None) for node in arguments.nodes]
    args, kwargs = arguments.pack(symbols)
    kinds = inspect.Parameter
    positional = [p.name for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in signature.parameters.values() if p.kind is kinds.VAR_POSITIONAL), "args")
    names = [positional[i] if i < len(positional) else f"{rest}_{i - len(positional)}" for i in range(len(args))]
    for i, spec in enumerate(specs or ()):
        if isinstance(spec, TensorSpec) and spec.name and i < len(names):
            names[i] = spec.name
    numbered = Numbered()
    for name, value in [*zip(names, args, strict=True), *kwargs.items()]:
        for x in nest.flatten(value, expand_composites=True):
            if isinstance(x, Tensor) and x.node in symbols:
                x.node.key = (None, (numbered(name),))
    return symbols
