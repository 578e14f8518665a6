"""Python functions inside of a program: `py_function`, which has a gradient, and `numpy_function`, which has none."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.backward import Operation, local
from gradtape._src.autodiff.tape import InnerTape
from gradtape._src.control.frozen import live
from gradtape._src.control.scope import SHAPED_BY_RUNS, Scope
from gradtape._src.core.base.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid,
)
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, slices, tracing
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.constants import to_array
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval, unranked
from gradtape._src.ops.array.creation import zeros_like

Shapes = tuple[tuple[int, ...] | None, ...]


def _results(values: Any, types: Sequence[Any], exact: bool = False) -> list[Any]:
    """Convert the results of a Python function to arrays.

    The dtype of a NumPy array may differ within its kind, unless `exact`; that of a Tensor may not.
    """
    given = [] if values is None else list(values) if isinstance(values, (list, tuple)) else [values]
    if len(given) != len(types):
        raise invalid(f"The Python function returned {len(given)} values, Tout names {len(types)}: {[t.name for t in types]}.")
    arrays = []
    for value, dtype in zip(given, types, strict=True):
        own = isinstance(value, (Tensor, np.ndarray, np.generic))
        array = to_numpy(value.node) if isinstance(value, Tensor) else np.asarray(value)
        if array.dtype.kind in "OUS" and dtype == dtypes.string:
            arrays.append(np.asarray(to_array(value)) if not isinstance(value, Tensor) else array)
            continue
        if not own and not exact and array.dtype.kind not in "OUS":
            array = to_numpy(tensor(value, dtype).node)  # TypeError if the number does not fit the dtype
        if array.dtype.kind in "OUS" and dtype != dtypes.string:
            kind = "string" if array.dtype.kind in "US" else type(value).__name__
            raise invalid(
                f"The Python function returned a value of type {kind}, which is not of dtype {dtype.name}, as Tout says."
            )
        own_dtype = (exact or own) and array.dtype.kind not in "OUS"
        whole = exact or isinstance(value, Tensor)
        differs = array.dtype != dtype.numpy if whole else array.dtype.kind != dtype.numpy.kind
        if own_dtype and differs:
            raise invalid(
                f"The Python function returned dtype {array.dtype.name}, where Tout says {dtype.name}. Cast the result, or state "
                "its dtype in Tout."
            )
        arrays.append(array.astype(dtype.numpy, copy=False))
    return arrays


ERRORS: dict[type[Exception], type[OpError]] = {
    TypeError: InvalidArgumentError,
    ValueError: InvalidArgumentError,
    StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError,
    NotImplementedError: UnimplementedError,
}


@contextlib.contextmanager
def _as_op_error() -> Iterator[None]:
    """Raise an exception of a Python function as an OpError of the matching class, with the original as its cause."""
    try:
        yield
    except (OpError, engine.NeedsValues):
        raise
    except Exception as error:
        kind = next((ERRORS[k] for k in type(error).__mro__ if k in ERRORS), UnknownError)
        raise kind(None, None, f"{type(error).__name__}: {error}") from error


class _Made:
    """A Python function as an attribute of an op. All compare equal, so that another function does not make another program."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def __eq__(self, other: object) -> bool:
        return type(other) is _Made

    def __hash__(self) -> int:
        return hash(_Made)


def _on_host(*inputs: Any, call: Callable[..., Any], types: tuple[Any, ...], shapes: Shapes) -> tuple[Any, ...]:
    with tracing.outside(), _as_op_error():
        arrays = call([np.asarray(i) for i in inputs])
    for array, shape in zip(arrays, shapes, strict=True):
        if shape is not None and array.shape != shape:
            raise invalid(
                f"The Python function returned shape {list(array.shape)}; in a compiled program its result was stated to have "
                f"shape {list(shape)}. State its own in Tout, as tf.TensorSpec(shape, dtype); a result whose shape changes takes "
                "eager code."
            )
    return tuple(map(slices.to_device, arrays))


def _not_compiled(*inputs: Any, call: Any, types: Any, shapes: Any) -> Any:
    raise NotImplementedError("a Python function runs outside of XLA")


def _avals(*inputs: Aval, call: Any, types: tuple[Any, ...], shapes: Shapes) -> tuple[Aval, ...]:
    return tuple(map(_aval, shapes, types))


def _aval(shape: tuple[int, ...] | None, dtype: Any) -> Aval:
    return unranked(dtype) if shape is None else aval(shape, dtype.numpy)


EAGER_PY_FUNC = define(
    Op("EagerPyFunc", _not_compiled, infer=_avals, host=_on_host, effect=True, saves="inputs", impure=True, traits="holds_code")
)
PY_FUNC = define(
    Op(
        "PyFunc", _not_compiled, infer=_avals, host=_on_host, effect=True, reason="a NumPy function leaves the library",
        traits="holds_code",
    )
)  # fmt: skip


def _types(Tout: Any) -> tuple[tuple[Any, ...], bool]:
    many = isinstance(Tout, (list, tuple))
    flat = list(Tout) if many else [] if Tout is None else [Tout]
    return tuple([dtypes.stated(t) for t in flat]), many


def _static_shapes(Tout: Any, types: Sequence[Any]) -> Shapes:
    """Return the static shapes of results in a compiled program; None for a shape that only a run knows.

    They are the shapes of the TensorSpecs in Tout. Without these they are None in a graph.
    """
    flat = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    shapes: list[tuple[int, ...] | None] = []
    scope = engine.local.trace.scope
    for spec in flat[: len(types)]:
        stated = getattr(spec, "shape", None)
        if stated is not None and stated.is_fully_defined():
            shapes.append(tuple(stated))
        elif engine.graph_around() is not None or (isinstance(scope, Scope) and scope.shaped_by_runs):
            shapes.append(None)
        else:
            raise engine.NeedsValues(SHAPED_BY_RUNS)
    return tuple(shapes)


def _call(op: Op, run: Callable[[list[np.ndarray]], list[Any]], inp: Any, Tout: Any) -> Any:
    values = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    inputs = [tensor(value) for value in values]
    types, many = _types(Tout)
    nodes = tuple([x.node for x in inputs])
    if engine.local.trace.scope is None:
        errors = _as_op_error() if op is EAGER_PY_FUNC or not executing_eagerly() else contextlib.nullcontext()
        with errors, tracing.outside():
            arrays = run([to_numpy(n) for n in nodes])
        if not types:
            return [] if many else None
        elements = _ran(op, run, nodes, types, arrays)
    else:
        elements = _to_run(op, run, nodes, types, _static_shapes(Tout, types))
    results = [EagerTensor(n) for n in elements]
    return results if many else results[0] if results else None


def _ran(op: Op, run: Callable[..., Any], nodes: tuple[Node, ...], types: Sequence[Any], arrays: Sequence[Any]) -> list[Node]:
    """Record a Python function that has run in eager code; return the nodes of its results."""
    shapes = tuple([array.shape for array in arrays])
    return engine.elements(engine.record_ran(op, nodes, (_Made(run), tuple(types), shapes), tuple(arrays)))


def _to_run(op: Op, run: Callable[..., Any], nodes: tuple[Node, ...], types: Sequence[Any], shapes: Shapes) -> list[Node]:
    """Record a Python function for later calls."""
    return engine.elements(engine.record(op, nodes, (run, tuple(types), shapes)))


def _decorator(kind: Callable[..., Any], dtypes_out: Any) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def call(*inputs: Any) -> Any:
            return kind(function, inputs, dtypes_out)

        return call

    return decorate


@public
def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """Run a Python function on eager tensors, both in eager code and in a function; its results have the dtypes `Tout`.

    The gradient is that of the ops it runs. It accepts ragged and sparse tensors, and returns them if `Tout` has their specs. A
    function that calls it is compiled if `Tout` has `TensorSpec`s. Without shapes the results may be returned; a function that
    computes with them runs as eager code. Without `func` it is a decorator for a function of the inputs.

    >>> @tf.py_function(Tout=tf.float32)
    ... def halved(x):
    ...     return x / 2 if x > 1 else x
    >>> float(halved(tf.constant(3.0)))
    1.5
    """
    if func is None:
        return _decorator(py_function, Tout)
    values = list(inp) if isinstance(inp, (list, tuple)) else [inp]
    specs = nest.flatten(Tout, expand_composites=True)
    whole = len(specs) == len(nest.flatten(Tout))
    func, parts = _of_tensors(live(_callable(func)), values, whole)
    types, _ = _types(Tout if whole else specs)

    def run(arrays: list[np.ndarray]) -> list[Any]:
        return _results(func(*[tensor(a) for a in arrays]), types)

    vars(run)["function"] = func
    if whole:
        return _call(EAGER_PY_FUNC, run, parts, Tout)
    return nest.pack_sequence_as(Tout, _call(EAGER_PY_FUNC, run, parts, specs), expand_composites=True)


def _of_tensors(func: Callable[..., Any], values: list[Any], whole: bool) -> tuple[Callable[..., Any], list[Any]]:
    """Return `func` as a function of the components of `values`, and these; unless `whole`, it returns components, too."""
    parts = [
        ([v], None) if nest.is_nested(v) or isinstance(v, IndexedSlices) else nest.flatten_with_spec(v, nest.EXPANDED)
        for v in values
    ]

    def of_tensors(*given: Any) -> Any:
        left = iter(given)
        made = [
            next(left) if spec is None else nest.unflatten(spec, list(itertools.islice(left, spec.num_leaves)))
            for _, spec in parts
        ]
        results = func(*made)
        return results if whole else nest.flatten(results, expand_composites=True)

    return of_tensors, [part for leaves, _ in parts for part in leaves]


@public
def numpy_function(func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None) -> Any:
    """Run a Python function on NumPy arrays. It has no gradient.

    In a function the results must have the dtypes `Tout`; in eager code they keep their own, as in TensorFlow. Without `func` it
    is a decorator for a function of the inputs.

    >>> tf.numpy_function(np.sinh, [1.0], tf.float64)
    <tf.Tensor: shape=(), dtype=float64, numpy=1.1752011936438014>
    """
    if func is None:
        return _decorator(numpy_function, Tout)
    func = live(_callable(func))
    if executing_eagerly():
        return _at_once(func, list(inp) if isinstance(inp, (list, tuple)) else [inp])
    types, _ = _types(Tout)

    def run(arrays: list[np.ndarray]) -> list[Any]:
        results = func(*[a if a.ndim else a[()] for a in arrays])  # scalars are passed as NumPy scalars, as in TensorFlow
        return _results(results, types, exact=True)

    return _call(PY_FUNC, run, inp, Tout)


def _callable(func: Any) -> Any:
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func!r} of type {type(func)}.")
    return func


def _at_once(func: Callable[..., Any], values: list[Any]) -> Any:
    """Call a NumPy function in eager code; return a tensor for each leaf of its result."""
    inputs = tuple([tensor(value).node for value in values])
    # The function may modify these copies.
    arrays = [np.array(to_numpy(i) if is_tensor(v) else v) for i, v in zip(inputs, values, strict=True)]
    results = [None if r is None else tensor(r) for r in nest.flatten(func(*arrays))]
    made = [r for r in results if r is not None and r.dtype != dtypes.string]
    given = tuple([to_numpy(r.node) for r in made])
    if made:
        elements = _ran(PY_FUNC, func, inputs, [r.dtype for r in made], given)
        known = dict(zip(map(id, made), map(EagerTensor, elements), strict=True))
        results = [known.get(id(r), r) for r in results]
    return results[0] if len(results) == 1 else results


def effect(
    run: Callable[..., list[np.ndarray]], inputs: Sequence[Tensor], results: Sequence[tuple[Any, tuple[int, ...] | None]]
) -> list[Tensor]:
    """Call a function of arrays: at once in eager code, else as an effect of the function or graph.

    `results` are the dtype and the shape of each result; a shape of None is known only when it runs.
    """
    nodes = tuple([x.node for x in inputs])
    if engine.local.trace.scope is None:
        return [tensor(array, dtype) for array, (dtype, _) in zip(run([to_numpy(n) for n in nodes]), results, strict=True)]
    types, shapes = zip(*results, strict=True) if results else ((), ())
    return list(map(EagerTensor, _to_run(PY_FUNC, run, nodes, types, shapes)))


@gradient(EAGER_PY_FUNC)
def _py_gradient(op: Operation, *grads: Any) -> list[Any]:
    """Return the gradient of a Python function by running it again under a tape when the gradient runs.

    As in TensorFlow it has no derivative, except for forward mode, which transposes it.
    """
    run, _, _ = op.entry.node.attrs
    function = vars(run.call if type(run) is _Made else run)["function"]
    inputs = op.inputs
    floating = [i for i, x in enumerate(inputs) if x.node.aval.inexact and op.needed[i]]
    count = len(inputs)
    given = [i for i, d in enumerate(grads) if d is not None]

    def derived(*tensors: Tensor) -> list[Any]:
        again = tensors[:count]
        with InnerTape() as tape:
            for i in floating:
                tape.watch(again[i])
            values = function(*again)
        targets = [tensor(v) for v in (values if isinstance(values, (list, tuple)) else [values])]
        sources = [again[i] for i in floating]
        found = tape.gradient([targets[i] for i in given], sources, output_gradients=list(tensors[count:]))
        return [zeros_like(x) if d is None else tensor(d) for x, d in zip(sources, found, strict=True)]

    def backward(arrays: list[np.ndarray]) -> list[Any]:
        return [to_numpy(d.node) for d in derived(*[tensor(a) for a in arrays])]

    vars(backward)["function"] = derived
    kind = EAGER_PY_FUNC if local.transposing else PY_FUNC
    types = [inputs[i].dtype for i in floating]
    nodes = (*[x.node for x in inputs], *[grads[i].node for i in given])
    if engine.local.trace.scope is None and engine.local.trace.parent is None:
        elements = _ran(kind, backward, nodes, types, backward([to_numpy(n) for n in nodes]))
    else:
        avals = [inputs[i].node.aval for i in floating]
        elements = _to_run(kind, backward, nodes, types, tuple([a.shape if a.ranked else None for a in avals]))
    results: list[Any] = [None] * count
    for i, n in zip(floating, elements, strict=True):
        results[i] = EagerTensor(n)
    return results
