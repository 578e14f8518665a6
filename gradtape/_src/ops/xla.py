"""`tf.xla.experimental`: code that asks for XLA gets it anyhow, as every program is compiled by it."""

import contextlib

from gradtape._src.core import engine, nest
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.core.scopes import executing_eagerly


@public
def compile(computation, inputs=None):
    """Return the results of `computation(*inputs)`: its tuple, list or dict, with tensors in it, or a list of the one result.

    XLA compiles it with the code around it. To compile a function by itself use `tf.function`.
    """
    if inputs is not None and not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list, received {inputs!r} of type {type(inputs).__name__}.")
    result = computation(*nest.map_structure(tensor, list(inputs or ())))
    if result is None:
        return None
    return nest.map_structure(tensor, result) if isinstance(result, (list, tuple, dict)) else [tensor(result)]


@public
def jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """Open a context whose ops are to be compiled, in a function or graph. They are compiled outside of it as well."""
    if executing_eagerly() and engine.current_graph() is None:
        raise RuntimeError(
            "xla.experimental.jit_scope is not supported when eager execution is enabled. Try use it inside tf.function."
        )
    return contextlib.nullcontext()
