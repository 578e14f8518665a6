"""Export of a function or a Keras model as StableHLO, in a file that needs only JAX to run."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.control.open_trace import Opened
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import execution
from gradtape._src.core.platform import xla
from gradtape._src.core.programs.program import Program, precise
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import jax_value
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.dim import Atom, Dim, generic, of_terms, unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Path as Way
from gradtape._src.files.whole import replacing


@public
def export_stablehlo(
    model_or_function: Any,
    path: str | os.PathLike[str],
    input_signature: Sequence[Any] | None = None,
    *,
    platforms: Sequence[str] | None = None,
) -> None:
    """Write the computation of a model or function, with the current values of its variables, as StableHLO.

    `input_signature`: a nest of specs (`tf.TensorSpec`, or Keras's `InputSpec`) for each argument. A Keras model is called
    with `training=False`; with known `inputs` it needs no signature. Open extents (None) remain open in the file. A call of
    the file checks the function's conditions on them, such as two equal extents. `platforms` ("cpu", "cuda", "tpu") are
    compiled for; the default is the current one.

    The file is JAX's own serialization (`jax.export`), and JAX is all that is needed to run it:
    `jax.export.deserialize(bytearray(open(path, "rb").read())).call(x)`.

    ValueError if the function assigns variables, draws random numbers, or goes different ways for different extents.
    NotImplementedError if it depends on values or runs Python, which a compiled program cannot do.

    >>> import jax, pathlib, tempfile
    >>> w = tf.Variable([[1.0], [2.0]])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "product.stablehlo")
    >>> tf.train.export_stablehlo(lambda x: tf.matmul(x, w), path, [tf.TensorSpec([None, 2])])
    >>> exported = jax.export.deserialize(bytearray(path.read_bytes()))
    >>> exported.call(np.ones([3, 2], "float32")).ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    from jax import export  # imported here, as it takes a while

    function, signature = _called(model_or_function, input_signature)
    specs, structure = nest.flatten_with_spec(signature)
    specs = [_spec(s) for s in specs]
    concrete = function.get_concrete_function(*nest.unflatten(structure, specs))
    is_open = concrete.strategy.reason is None and not all(spec.shape.is_fully_defined() for spec in specs)
    if is_open:
        if not isinstance(concrete.opened, Opened):
            raise ValueError(
                f"{concrete.called} cannot be traced for extents that are open. Give all extents in input_signature; received "
                f"shapes {[s.shape.as_list() for s in specs]}."
            )
        concrete = concrete.opened.traces[0]
    nodes = concrete._arguments.nodes

    def of_arguments(*arguments: Any) -> Any:
        return nest.map_structure(_parts, concrete._traced.structure.fill(run(*nest.flatten(arguments))))

    try:
        dims = _symbolic(concrete._traced.way, [node.aval for node in nodes]) if is_open else {}
        run = _runner(concrete, dims)
        shapes = [_with_symbols(node.aval.shape, dims) for node in nodes]
        arguments = [jax.ShapeDtypeStruct(shape, s.dtype.numpy) for shape, s in zip(shapes, specs, strict=True)]
        with precise(execution.precision), xla.wide():
            exported = export.export(jax.jit(of_arguments), platforms=platforms)(*nest.unflatten(structure, arguments))
    except (jax.errors.InconclusiveDimensionOperation, TypeError, ValueError) as error:
        if not is_open:
            raise
        (reason, *_) = str(error).partition("\n")
        raise ValueError(
            f"{concrete.called} depends on extents that are open: {reason.rstrip('.')}. Give all extents in "
            f"input_signature; received shapes {[s.shape.as_list() for s in specs]}."
        ) from None
    with replacing(os.fspath(path)) as part:
        Path(part).write_bytes(exported.serialize())


def _called(model_or_function: Any, signature: Any) -> tuple[Function, Sequence[Any]]:
    """Return the function to trace, and its signature."""
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model_or_function, keras.layers.Layer):
        layer = model_or_function
        if signature is None:
            inputs = getattr(layer, "_inputs_struct", None)
            inputs = getattr(layer, "inputs", None) if inputs is None else inputs
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


def _parts(value: Any) -> Any:
    """Return the parts of a composite tensor as a tuple; any other value itself."""
    parts = nest.flatten(value, expand_composites=True)
    return value if parts[0] is value else tuple(parts)


def _spec(spec: Any) -> TensorSpec:
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(f"input_signature holds a spec for each tensor, with shape and dtype; received {spec!r}.")
    if (known := TensorShape(shape)).rank is None:
        raise ValueError(f"An exported program has tensors of known ranks: give a shape as [None, 3], received {spec!r}.")
    return TensorSpec(known, dtype)


def _symbolic(way: Way | None, avals: Sequence[Aval]) -> dict[Atom, Any]:
    """Return JAX's symbolic dimensions for the symbols of these Avals, under the conditions of the function's way."""
    from jax import export

    assert way is not None, "what is traced with symbols goes a way"
    values, conditions = _divided(way)
    extents = [extent.substituted(values) for a in avals for extent in a.shape if type(extent) is Dim]
    free = list(dict.fromkeys([symbol for extent in extents if type(extent) is Dim for symbol in extent.symbols]))
    names = ",".join([f"n{i}" for i in range(len(free))])
    known: dict[Atom, Any] = dict(zip(free, export.symbolic_shape(names), strict=True))
    constraints = [_constraint(relation, d, answer, known) for relation, d, answer in conditions if type(d) is Dim]
    known = dict(zip(free, export.symbolic_shape(names, constraints=constraints), strict=True))
    return known | {symbol: _with_symbols(value, known) for symbol, value in values.items()}


def _divided(way: Way) -> tuple[dict[Atom, Any], list[tuple[str, Any, bool]]]:
    """Return the values of the symbols on a path, and its conditions. A symbol with a divisor becomes a multiple of a new symbol.

    So quotients are exact: JAX simplifies 2·n // 2, and cannot simplify (n - 2) // 2 + 1 for an even n.
    """
    values: dict[Atom, Any] = dict(way.values)
    conditions = [(relation, d.substituted(values), answer) for relation, d, answer in way.conditions]
    while (found := next(filter(None, map(_multiple, conditions)), None)) is not None:
        values = {symbol: _put(value, found) for symbol, value in values.items()} | found
        conditions = [(relation, _put(d, found), answer) for relation, d, answer in conditions]
    return values, conditions


def _put(value: Any, values: Mapping[Atom, Any]) -> Any:
    return value.substituted(values) if type(value) is Dim else value


def _divisions(d: Dim) -> list[tuple[Any, Any]]:
    """Return the pairs (x, y) for which `d` is the remainder of x divided by y, up to its sign."""
    pairs = [atom.quotient for monomial, _ in d.terms for atom in monomial if atom.quotient]
    return [(x, y) for x, y in pairs if d in (rest := x - x // y * y, -rest)]


def _multiple(condition: tuple[str, Any, bool]) -> dict[Atom, Any] | None:
    """Return a symbol with a divisor, by the condition, and the multiple that replaces it; None for other conditions."""
    relation, d, answer = condition
    for x, y in _divisions(d) if relation == "==" and answer and type(d) is Dim else ():
        if type(y) is int and type(x) is Dim and x.symbol is not None:
            return {x.symbol: unknown() * y}
    return None


def _constraint(relation: str, d: Dim, answer: bool, dims: Mapping[Atom, Any]) -> str:
    """Return in JAX's syntax that `d` is, or is not, 0 or negative. A nonzero value has its sign at large extents."""
    if relation == "==" and answer:
        for x, y in _divisions(d):
            return f"mod({_with_symbols(x, dims)}, {_with_symbols(y, dims)}) == 0"
        term = of_terms(dict(d.terms[:1]))
        return f"{_with_symbols(term, dims)} == {_with_symbols(term - d, dims)}"
    below = answer if relation == "<" else generic("<", d)
    bound = "<= -1" if below else ">= 0" if relation == "<" else ">= 1"
    return f"{_with_symbols(d, dims)} {bound}"


def _with_symbols(value: Any, dims: Mapping[Atom, Any]) -> Any:
    """Replace the extents in a value by JAX's symbolic dimensions; the value may be a Dim, a Program or a tuple."""
    if type(value) is Dim:
        return value.substituted(dims)
    if isinstance(value, Program):
        keys = _with_symbols(value.keys, dims)
        return Program(keys, value.avals, value.parameters, value.outputs, value.constants, value.lines, value.precision)
    if isinstance(value, tuple):
        items = [_with_symbols(item, dims) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _runner(concrete: ConcreteFunction, dims: Mapping[Atom, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the program as a function of arrays, with the values of variables bound, and `dims` for its symbols."""
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
    program = _with_symbols(body.program, dims)
    return lambda *arrays: program.evaluate(*arrays, *held)
