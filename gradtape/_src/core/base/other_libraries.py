"""Names from NumPy and PyTorch, with advice on what to write instead."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.hidden import hides

# Methods of NumPy's arrays and PyTorch's tensors that Tensor lacks → what to write instead.
METHODS = {
    "T": "tf.transpose(x)",
    "astype": "tf.cast(x, dtype)",
    "backward": "tape.gradient(x, sources), of a tf.GradientTape in whose block x was computed",
    "clip": "tf.clip_by_value(x, low, high)",
    "copy": "tf.identity(x)",
    "detach": "tf.stop_gradient(x)",
    "flatten": "tf.reshape(x, [-1])",
    "grad": "tape.gradient(y, x), of a tf.GradientTape",
    "item": "x.numpy().item() or float(x)",
    "permute": "tf.transpose(x, perm)",
    "ravel": "tf.reshape(x, [-1])",
    "reshape": "tf.reshape(x, shape)",
    "size": "tf.size(x) or x.shape.num_elements()",
    "squeeze": "tf.squeeze(x)",
    "tolist": "x.numpy().tolist()",
    "transpose": "tf.transpose(x, perm)",
    "unsqueeze": "tf.expand_dims(x, axis)",
    "view": "tf.reshape(x, shape)",
} | {name: f"tf.reduce_{name}(x, axis)" for name in ("all", "any", "max", "mean", "min", "prod", "sum")}


@hides(" ".join(METHODS))
class NoArray:
    """A base of tensors and variables that rejects item assignment, with advice."""

    __slots__ = ()

    def __setitem__(self, *_: Any) -> None:
        raise TypeError(
            f"{type(self).__name__!r} object does not support item assignment. Use tf.tensor_scatter_nd_update(x, indices, "
            "updates), or a variable: v[i].assign(value)."
        )

    def __delitem__(self, *_: Any) -> None:
        raise TypeError(
            f"{type(self).__name__!r} object does not support item deletion. Use tf.boolean_mask, or slices and tf.concat."
        )


KEYWORDS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}


def with_nearest_keyword(error: Exception, function: Callable[..., Any], kwargs: dict[str, Any]) -> Exception:
    """Add the most similar parameter to the error for an unknown keyword."""
    parameters = inspect.signature(function).parameters
    for name in kwargs.keys() - parameters.keys():
        meant = KEYWORDS.get(name)
        near = [meant] if meant in parameters else difflib.get_close_matches(name, parameters, n=1)
        if near and str(error).endswith(f"unexpected keyword argument {name!r}"):
            error.args = (f"{error}. Did you mean {near[0]!r}?",)
    return error
