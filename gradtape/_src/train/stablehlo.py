"""A function or a Keras model as StableHLO, in a file that JAX alone can run."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.core import execution, nest, xla
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.core.program import precise
from gradtape._src.core.shape import TensorShape
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor, jax_value
from gradtape._src.files.whole import replacing


@public
def export_stablehlo(
    model_or_function: Any,
    path: str | os.PathLike[str],
    input_signature: Sequence[Any] | None = None,
    *,
    platforms: Sequence[str] | None = None,
) -> None:
    """Write what a model or function computes, with the values that its variables have now, as StableHLO.

    `input_signature`: a nest of specs (`tf.TensorSpec`, or Keras's `InputSpec`) for each argument. A Keras model is called
    with `training=False`, and one with known `inputs` needs none. If the first extent of each argument is open (None), so it
    stays: then each row must be computed by itself, which is checked on two rows. Other extents must be known. `platforms`
    ("cpu", "cuda", "tpu") are those to compile for; default: the one that is used here.

    The file is JAX's own serialization (`jax.export`), and JAX is all that is needed to run it:
    `jax.export.deserialize(bytearray(open(path, "rb").read())).call(x)`.

    ValueError where the function assigns variables or draws random numbers; NotImplementedError where it depends on values or
    runs Python, which no compiled program can hold.

    >>> import jax, pathlib, tempfile
    >>> w = tf.Variable([[1.0], [2.0]])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "product.stablehlo")
    >>> tf.train.export_stablehlo(lambda x: tf.matmul(x, w), path, [tf.TensorSpec([None, 2])])
    >>> exported = jax.export.deserialize(bytearray(path.read_bytes()))
    >>> exported.call(np.ones([3, 2], "float32")).ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    from jax import export  # takes a while to import

    function, signature = _called(model_or_function, input_signature)
    specs, structure = nest.flatten_with_spec(signature)
    specs = [_spec(s) for s in specs]
    by_row = _is_by_row(specs)
    shapes = [(1 if by_row else s.shape.as_list()[0], *s.shape.as_list()[1:]) if s.shape.rank else () for s in specs]
    closed = [TensorSpec(shape, s.dtype) for shape, s in zip(shapes, specs, strict=True)]
    concrete = function.get_concrete_function(*nest.unflatten(structure, closed)).of_specs(closed)
    run = _runner(concrete)
    if by_row:
        _check_rows(concrete)
        run = _vectorized(run)
        (rows,) = export.symbolic_shape("rows")
        shapes = [(rows, *shape[1:]) for shape in shapes]
        _check_two_rows(run, function, specs, structure)

    def of_arguments(*arguments: Any) -> Any:
        return concrete._traced.structure.fill(run(*nest.flatten(arguments)))

    arguments = [jax.ShapeDtypeStruct(shape, s.dtype.numpy) for shape, s in zip(shapes, specs, strict=True)]
    with precise(execution.precision), xla.wide():
        exported = export.export(jax.jit(of_arguments), platforms=platforms)(*nest.unflatten(structure, arguments))
    with replacing(os.fspath(path)) as part:
        Path(part).write_bytes(exported.serialize())


def _called(model_or_function: Any, signature: Any) -> tuple[Function, Sequence[Any]]:
    """Return the function to trace, and its signature."""
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model_or_function, keras.layers.Layer):
        layer = model_or_function
        if signature is None:
            inputs = getattr(layer, "_inputs_struct", None) or getattr(layer, "inputs", None)
            if inputs is None:
                raise ValueError(
                    f"The inputs of {layer.name!r} are not known: give input_signature, as [tf.TensorSpec([None, 28, 28])]."
                )
            signature = [inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs]
        options = {"training": False} if layer._call_has_training_arg else {}
        return Function(lambda *args: layer(*args, **options), autograph=False), signature
    stated = inspect.getattr_static(type(model_or_function), "__call__", None)  # of a tf.Module that is called
    if isinstance(stated, Function):
        function = stated.__get__(model_or_function)
    else:
        function = model_or_function if isinstance(model_or_function, Function) else Function(model_or_function)
    signature = function.input_signature if signature is None else signature
    if signature is None:
        raise ValueError("A function needs an input_signature, as [tf.TensorSpec([None, 28, 28], tf.float32)].")
    return function, signature


def _spec(spec: Any) -> TensorSpec:
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(f"input_signature holds a spec for each tensor, with shape and dtype; received {spec!r}.")
    return TensorSpec(TensorShape(shape), dtype)


def _is_by_row(specs: Sequence[TensorSpec]) -> bool:
    """Return whether the first extents are open; ValueError where others are, or only some of them."""
    shapes = [None if s.shape.rank is None else s.shape.as_list() for s in specs]
    opened = [shape is not None and bool(shape) and shape[0] is None for shape in shapes]
    if any(shape is None or None in shape[1:] for shape in shapes) or (any(opened) and not all(opened)):
        raise ValueError(
            f"Only the first extent can stay open, and that of all arguments at once; received shapes {shapes}. Give the others "
            "in input_signature."
        )
    return any(opened)


def _runner(concrete: ConcreteFunction) -> Callable[..., tuple[Any, ...]]:
    """Return the program as a function of arrays, with the values of variables in it."""
    if concrete.strategy.reason is not None:
        raise NotImplementedError(
            f"{concrete.called} depends on values or calls Python, so it is not one program that could be exported."
        )
    body = concrete._traced
    if body.written:
        raise ValueError(
            f"{concrete.called} assigns {', '.join(v.name for v in body.written)}, and an exported program has no state. Call "
            "the model with training=False, or return the new values."
        )
    if body.draws:
        raise ValueError(f"{concrete.called} draws random numbers, which would be the same in each call. Make them an argument.")
    if body.program.hosted:
        raise NotImplementedError(
            f"{concrete.called} prints, asserts, calls Python or has strings, which an exported program cannot do."
        )
    held = [np.asarray(jax_value(node)) for node in body.inputs([])]
    program = body.program
    return lambda *arrays: program.evaluate(*arrays, *held)


def _check_rows(concrete: ConcreteFunction) -> None:
    for result in concrete.results:
        if not result.shape or result.shape[0] != 1:
            raise ValueError(
                f"The first extent is open, and for one row {concrete.called} gives shape {result.shape}: it must give one row, "
                "too. Give all extents in input_signature."
            )


def _vectorized(run: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Return `run`, which takes one row, for any number of them."""

    def of_row(*row: Any) -> tuple[Any, ...]:
        return tuple([y[0] for y in run(*[x[None] for x in row])])

    return jax.vmap(of_row)


def _check_two_rows(run: Callable[..., Any], function: Function, specs: Sequence[TensorSpec], structure: Any) -> None:
    """Raise ValueError where a row of the result depends on another row, seen by two rows that differ."""
    rows = [np.stack([np.ones(s.shape[1:], s.dtype.numpy), np.zeros(s.shape[1:], s.dtype.numpy)]) for s in specs]
    results = nest.flatten(function(*nest.unflatten(structure, [tensor(x) for x in rows])))
    together = [np.asarray(jax_value(r.node)) for r in results if isinstance(r, Tensor)]
    for mine, theirs in zip(together, xla.jit(run)(*rows), strict=True):
        if mine.shape != theirs.shape or not np.allclose(mine, np.asarray(theirs), rtol=1e-2, atol=1e-3, equal_nan=True):
            raise ValueError(
                "A row of the result depends on other rows, so the number of rows cannot stay open. Give the first extent in "
                "input_signature."
            )
