"""Hooks: functions that a higher floor provides, and a lower floor calls without importing it.

A higher floor assigns the fields of these objects, and attaches the methods in `METHODS`. It assigns nothing else of a lower
floor, which `tests/architecture` checks. The default of a field does nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from gradtape._src.core.programs.journal import Asked, Taped
    from gradtape._src.core.programs.op import Attributes, Op
    from gradtape._src.core.programs.program import Node, Program, Trace


def _by_itself(path: str, write: Callable[[], None]) -> None:
    write()


def _nothing(*args: Any, **kwargs: Any) -> Any:
    return None


def _no_text(*args: Any) -> str:
    return ""


def _nowhere(*args: Any) -> tuple[str, str]:
    return "", ""


def _first(*args: Any) -> Any:
    return args[0]


def _false(*args: Any) -> bool:
    return False


def _one(*args: Any) -> int:
    return 1


def _not_implemented(*args: Any) -> Any:
    return NotImplemented


def _same(error: Exception) -> Exception:
    return error


def _plain(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any) -> Any:
    return function(*args, **kwargs)


@dataclass(slots=True)
class Core:
    """Hooks for files of `core` below those that implement them."""

    tracing: Callable[[], bool] = _false
    """Return whether the thread traces a function or graph. By `core/engine/engine`; asked for the class of an error."""

    called: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], Any] = _plain
    """Call a function that is given a `name` outside of graphs, and note the name. By `core/tensors/noted`.

    Called by `public.public`.
    """

    dispatched: Callable[[Any, Sequence[Any], dict[str, Any]], Any] = _not_implemented
    """Return the result of a public function's version for tensors of another kind; NotImplemented if there is none: `(function,
    args, kwargs)`. By `ops/dispatch`; called by `errors` for a call that failed.
    """

    traced: Callable[[Any, str], Any] = _nothing
    """Return `op` or `graph` of a tensor in a function. By `control/traced_graph`; called by `core/tensors/tensor`."""

    stated: Callable[[Node, Any], Node] = _first
    """Return a node with the same value and a stated Aval. By `ops/array/shape`; called by `Tensor.set_shape`."""

    pack: Callable[[Sequence[Any], np.dtype | None], Node] = _nothing
    """Return the node that stacks a list with tensors. By `ops/array/joining`; called by `core/tensors/convert`."""


@dataclass(slots=True)
class Graphs:
    """TensorFlow 1's graphs. By `v1/__init__.py`, which is imported when a graph is made; called while one is built."""

    type: Any = ()
    """The class of graphs, for `isinstance`."""

    passes: Callable[[Callable[..., Any]], bool] = _false
    """Return whether a graph keeps the calls inside of a public function, and not the call itself."""

    put_off: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = _not_implemented
    """Return the results of a call deferred because of an unknown shape; NotImplemented if it can run now."""

    waits: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Exception], Any] = _nothing
    """Return the results of a call deferred because it needs values, or raise its error."""

    stated: Callable[..., Any] = _nothing
    """Return the results, with stated shapes, of a call deferred because it needs values. Called by `files/ops`."""

    inferred: Callable[[Any, Op, tuple[Node, ...], Attributes], Any] = _nothing
    """Return an op's result for inputs of unknown rank. Called by `v1` itself."""

    refused: Callable[[Exception], Exception] = _same
    """Return the error to raise for an op with invalid inputs. Called by `core/programs/op`."""

    other: Callable[[Node, Trace], str | None] = _nothing
    """Return the message for a node of another graph; None for any other node. Called by `core/engine/engine`."""

    shown: Callable[[Op, Attributes], Op] = _first
    """Return the op to display for a node: for a deferred call, the op that produced its result. Called by `explain`."""

    traced: Callable[..., Any] = _nothing
    """Trace a function for an unknown rank: see `v1/graphs/open_function`. By `compat/names`; called by `control/open_trace`."""

    described: Callable[..., Any] = _nothing
    """Call a function in a graph that is not kept, for the shapes of its results: see `v1/graphs/open_function`. By
    `compat/names`; called by `control/concrete` and `data/calls`, for functions that need values.
    """

    only_in_graphs: Callable[[Program], bool] = _false
    """Return whether only a session can run a Program. Called by `control/function`."""

    rule: Callable[[Any], Any] = _nothing
    """Return the gradient function of an `Entry` if it is an op on values of unknown rank, else None. Called by `autodiff`."""

    keeps: Callable[[Iterable[Node]], bool] = _false
    """Return whether a graph must defer the gradient through these nodes, as shapes are unknown. Called by tapes."""

    gradients: Callable[..., list[Any]] = _nothing
    """Return deferred gradients: `(graph, targets, flows, sources, stops)`. Called by tapes."""

    compute_gradient: Callable[..., Any] = _nothing
    """Return the analytical and numerical Jacobians of a function of placeholders. Called by `derivatives/gradient_check`."""

    default_session: Callable[[], Any] = _nothing
    """Return the default session, or None. Called by `train/values`."""

    dataset: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = _plain
    """Create a dataset, or defer it if it depends on tensors of a graph. By `compat/names`; called by `data/pipeline`."""


@dataclass(slots=True)
class Door:
    """Hooks for use as `tensorflow`. By `compat/door`, once it opens."""

    is_open: bool = False
    """Whether gradtape is imported as `tensorflow`. Read by `train`, whose checkpoints then have TensorFlow's format."""

    kernel: Callable[[str], tuple[str, str]] = _nowhere
    """Return an op's kernel as in TensorFlow's errors, and the text after the op's type. Called by `core/base/errors`."""


@dataclass(slots=True)
class Gradients:
    """Reports and drawings of gradients. By `explain`; called by tapes and by errors about gradients."""

    missing: Callable[[Asked, Sequence[Any], Sequence[bool], bool], None] = _nothing
    """Report why gradients are None: `(call, sources, given, strict)`, after a call of `gradient` that returned a None."""

    graphed: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], None] = _nothing
    """Note a call of `tf.gradients`, and report why a gradient is None: `(targets, sources, results)`."""

    reasons: Callable[..., str] = _no_text
    """Return the reason for each source without a gradient, as text: `(sources, target)`; the default target is the latest."""

    unapplied: Callable[[Sequence[Any], int], None] = _nothing
    """Report why an optimizer skips variables: `(variables, number of variables given)`. Called by Keras's optimizers."""

    left: Callable[[], str] = _no_text
    """Return the place where a value last left the library, as a sentence for an error."""

    summary: Callable[[Any], Any] = _nothing
    """Return the summary of a tape."""

    residuals: Callable[[Any], Any] = _nothing
    """Return the table of a tape's residuals."""

    draw: Callable[[Any, bool], Any] = _nothing
    """Return a tape's drawing: `(tape, fold)`."""


@dataclass(slots=True)
class Watch:
    """Temporary listeners to all threads of the process; with None a step makes no call."""

    graphed: Callable[[Any, Any, Sequence[Any], Sequence[Any]], Any] | None = None
    """Note a call of `tf.gradients`: `(question, line, sources, diagnoses or Nones)`."""

    asked: Callable[[Asked, Any, Sequence[Any], Sequence[Any], Sequence[Any] | None], Any] | None = None
    """Note a call of `gradient`: `(call, tape, targets, sources, results)`. By `explain`; called by tapes.

    The results are None if the call raises, because an op has no registered gradient.
    """

    taped: Callable[[Taped, bool], None] | None = None
    """Note that a tape opens or closes. By `explain`; called by tapes."""

    ran: Callable[[Any], None] | None = None
    """Note the results of a function with a tape. By `explain`; called by `control` in eager code."""

    called: Callable[[Any], None] | None = None
    """Note a function called by eager code. By `summary/tracing`; called by `control/concrete`, which keeps it alive."""


@dataclass(slots=True)
class Clients:
    """Questions to single floors."""

    require_replica: Callable[[str], int] = _one
    """Return the number of replicas; RuntimeError across replicas. By `distribute/context`; called by `ops/nn/losses`."""

    replica: Callable[[], int | None] = _nothing
    """Return this thread's replica number; None across replicas. By `distribute/context`; called by `ops/random/generator`."""

    has_strategy: Callable[[], bool] = _false
    """Return whether a strategy is active. By `distribute/context`; called by `ops/random/generator`."""

    known_rounds: Callable[[Program, Any, Any], Program] = _first
    """Return a Program that knows the nodes of a strategy's replicas: `(program, rounds, places of its nodes)`. By
    `distribute/replicas`; called by `control/scope` for functions that run replicas.
    """

    together: Callable[..., Any] | None = None
    """Call a function that may wait for other processes: `(what, function, *arguments)`, with the same `what` in each process.

    By `distribute/group` after joining the processes; called by `core/engine/execution`.
    """

    once: Callable[[str, Callable[[], None]], None] = _by_itself
    """Write a file for all processes: `(path, write)`. Process 0 writes, and the others wait.

    By `distribute/group` after joining the processes; called by `train` and by Keras's hook.
    """

    process: Callable[[], str] = _no_text
    """Return "process 1 of 4", or "" for a single process. By `distribute/group`; called by `explain`."""

    laid_out: Callable[[Any], tuple[str, str] | None] = _nothing
    """Return the text of an array on a DTensor mesh, and its layout; None for any other. By `distribute/dtensor`; called by
    `core/tensors/tensor` for printing.
    """

    keras_least_squares: Callable[[Any], Any] | None = None
    """Return a LevenbergMarquardt as a Keras optimizer, for its method `for_keras`. By Keras's backend."""


core, graphs, door, gradients, watch, clients = Core(), Graphs(), Door(), Gradients(), Watch(), Clients()


@contextlib.contextmanager
def filled(hooks: Any, **fields: Any) -> Iterator[None]:
    """Open a context in which fields of one of the objects above are set."""
    before = {name: getattr(hooks, name) for name in fields}
    for name, value in fields.items():
        setattr(hooks, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(hooks, name, value)


# ---------------------------------------------------------------------------------------------------------------------
# Methods made of ops

_BINARY = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
_OPERATORS = [f"__{prefix}{name}__" for name in _BINARY.split() for prefix in ("", "r")]
_OPERATORS += [f"__{name}__" for name in "lt le gt ge eq ne neg pos abs invert round".split()]

# class → file that attaches → methods
METHODS: dict[str, dict[str, Sequence[str]]] = {
    "Tensor": {
        "core/tensors/convert": ["__reduce__"],
        "ops/operators": [*_OPERATORS, "OVERLOADABLE_OPERATORS", "__div__", "__rdiv__", "__nonzero__"],
        "ops/array/indexing": ["__getitem__"],
        "autodiff/gradient_hooks": ["register_gradient_hook"],
    },
    "Variable": {
        "ops/operators": [*_OPERATORS, "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"],
        "ops/array/indexing": ["__getitem__"],
        "ops/array/scatter": [
            "scatter_update", "scatter_add", "scatter_sub", "scatter_mul", "scatter_div", "scatter_max", "scatter_min",
            "batch_scatter_update", "scatter_nd_update", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_max", "scatter_nd_min",
            "sparse_read", "gather_nd",
        ],
        "v1/graphs/collections": ["count_up_to"],
    },
    "IndexedSlices": {"ops/gradients": ["to_dense"]},
    "RaggedTensor": {
        "ops/ragged/elementwise": [
            *[f"__{r}{name}__" for name in "add sub mul truediv floordiv mod pow and or xor".split() for r in ("", "r")],
            *[f"__{name}__" for name in "lt le gt ge eq ne neg abs invert".split()],
        ],
        "ops/ragged/moving": ["__getitem__"],
        "ops/ragged/conversions": ["from_tensor", "from_sparse", "to_sparse"],
    },
    "Dataset": {"v1/session_iterators": ["make_one_shot_iterator", "make_initializable_iterator"]},
}  # fmt: skip


# Methods that replace others on a user's request.
ON_REQUEST: dict[str, dict[str, Sequence[str]]] = {
    "Tensor": {
        "ops/numpy/behavior": [
            *_OPERATORS, "__getitem__", "T", "astype", "clip", "data", "flatten", "max", "mean", "min", "ravel", "reshape",
            "size", "tolist", "transpose",
        ],
    },
    "Variable": {"ops/numpy/behavior": _OPERATORS},
}  # fmt: skip


def attach(kind: type, **methods: Any) -> None:
    """Attach methods of `METHODS` or `ON_REQUEST` to a class of a lower floor."""
    tables = METHODS[kind.__name__], ON_REQUEST.get(kind.__name__, {})
    listed = {name for table in tables for names in table.values() for name in names}
    if strange := methods.keys() - listed:
        raise TypeError(f"core/base/hooks.py does not list these of {kind.__name__}: {sorted(strange)}. Enter them in METHODS.")
    for name, method in methods.items():
        setattr(kind, name, method)
