"""`tf.xla.experimental`, for code that asks for XLA. Every program is compiled by XLA anyway."""

import contextlib

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.scopes import executing_eagerly

NESTS = (list, tuple)


@public
def compile(computation, inputs=None):
    """Return the results of `computation(*inputs)` as tensors: a list for a single result or a flat tuple.

    A dict, or a sequence that contains other nests, keeps its structure. XLA compiles the computation with the code around it.
    To compile a function by itself use `tf.function`. TypeError if `inputs` is no list.

    >>> product, total = tf.xla.experimental.compile(lambda x, y: (x * y, x + y), [2.0, 5.0])
    >>> print(product.numpy(), total.numpy())
    10.0 7.0
    """
    if inputs is not None and not isinstance(inputs, NESTS):
        raise TypeError(f"inputs must be a list, received {inputs!r} of type {type(inputs).__name__}.")
    result = computation(*nest.map_structure(tensor, list(inputs or ())))
    if result is None:
        return None
    if isinstance(result, dict) or (isinstance(result, NESTS) and any(isinstance(item, (*NESTS, dict)) for item in result)):
        return nest.map_structure(tensor, result)
    return [tensor(item) for item in (result if isinstance(result, NESTS) else [result])]


@public
def jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """Open a context that asks for compilation of its ops, in a function or graph. It changes nothing, as all ops are compiled.

    RuntimeError in eager code.

    >>> @tf.function
    ... def cube(x):
    ...     with tf.xla.experimental.jit_scope():
    ...         return x**3
    >>> print(cube(tf.constant(2.0)).numpy())
    8.0
    """
    if executing_eagerly() and engine.current_graph() is None:
        raise RuntimeError(
            "xla.experimental.jit_scope is not supported when eager execution is enabled. Try use it inside tf.function."
        )
    return contextlib.nullcontext()
