"""Hooks: functions that a floor above fills in, and that a floor below calls without knowing whose they are.

A higher floor assigns the fields of the objects here, and attaches the methods of `METHODS`. It assigns nothing else of a lower
floor: `tests/architecture` holds that. A field that is not filled in does nothing.
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
    """For files of `core` that stand below those which know the answer."""

    tracing: Callable[[], bool] = _false
    """Return whether the thread traces a function or graph. By `core/engine/engine`; asked for the class of an error."""

    called: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any], Any] = _plain
    """Call a function that is given a `name` outside of graphs, and note the name. By `core/tensors/noted`.

    Called by `public.public`.
    """

    dispatched: Callable[[Any, Sequence[Any], dict[str, Any]], Any] = _not_implemented
    """Return what a version of a public function for tensors of another kind gives; NotImplemented where none applies:
    `(function, args, kwargs)`. By `ops/dispatch`; called by `errors` for a call that failed.
    """

    traced: Callable[[Any, str], Any] = _nothing
    """Return `op` or `graph` of a tensor of a function. By `control/traced_graph`; called by `core/tensors/tensor`."""

    stated: Callable[[Node, Any], Node] = _first
    """Return a node of the same value with a stated Aval. By `ops/array/shape`; called by `Tensor.set_shape`."""

    pack: Callable[[Sequence[Any], np.dtype | None], Node] = _nothing
    """Return the node that stacks a list which holds tensors. By `ops/array/joining`; called by `core/tensors/convert`."""


@dataclass(slots=True)
class Graphs:
    """TensorFlow 1's graphs. By `v1/__init__.py`, which is loaded by whoever makes a graph; called while one is built."""

    type: Any = ()
    """The class of graphs, for `isinstance`."""

    passes: Callable[[Callable[..., Any]], bool] = _false
    """Return whether a public function is no call that a graph keeps: those that it makes are."""

    put_off: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = _not_implemented
    """Return the results of a call that waits for a shape; NotImplemented for one that need not."""

    waits: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Exception], Any] = _nothing
    """Return the results of a call that waits for values, or raise the error that it ended in."""

    stated: Callable[..., Any] = _nothing
    """Return the results of a call that waits for values, and whose shapes are stated. Called by `files/ops`."""

    inferred: Callable[[Any, Op, tuple[Node, ...], Attributes], Any] = _nothing
    """Return what is known of an op's result where shapes are not. Called by `v1` itself."""

    refused: Callable[[Exception], Exception] = _same
    """Return the error to raise for an op that cannot take its inputs. Called by `core/programs/op`."""

    other: Callable[[Node, Trace], str | None] = _nothing
    """Return what is wrong with a node that belongs to another graph; None if it is something else.

    Called by `core/engine/engine`.
    """

    shown: Callable[[Op, Attributes], Op] = _first
    """Return the op that one shows: of a call that a graph keeps, that of its result. Called by `explain`."""

    function_called: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] = _not_implemented
    """Return the results of a tf.function of tensors of unknown rank, else NotImplemented. Called by `control/function`."""

    traced: Callable[..., Any] = _nothing
    """Trace a function for an open rank: see `v1/graphs/open_function`. By `compat/names`; called by `control/open_trace`."""

    changing_loop: Callable[..., Any] = _nothing
    """Run a loop whose variables change their ranks. Called by `control/loop`."""

    only_in_graphs: Callable[[Program], bool] = _false
    """Return whether a Program can run in a session only. Called by `control/function`."""

    keeps: Callable[[Any, Iterable[Node]], bool] = _false
    """Return whether a graph keeps the gradient through these nodes, as their shapes are not known. Called by tapes."""

    gradients: Callable[..., list[Any]] = _nothing
    """Return the gradients that a graph keeps: `(graph, targets, flows, sources, stops)`. Called by tapes."""

    compute_gradient: Callable[..., Any] = _nothing
    """Return the Jacobians of a function of placeholders, and their differences. Called by `derivatives/gradient_check`."""

    default_session: Callable[[], Any] = _nothing
    """Return the default session, or None. Called by `train/values`."""

    dataset: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] = _plain
    """Make a dataset, or put it off where it depends on tensors of a graph. Called by `data/dataset`."""


@dataclass(slots=True)
class Door:
    """For where gradtape stands for `tensorflow`. By `compat/door`, once it opens."""

    is_open: bool = False
    """Whether it stands for it. Asked by `train`, as checkpoints are TensorFlow's files then."""

    kernel: Callable[[str], tuple[str, str]] = _nowhere
    """Return the kernel of an op as TensorFlow's errors name it, and what follows the op's type. Called by `core/base/errors`."""


@dataclass(slots=True)
class Gradients:
    """Reports and pictures of gradients. By `explain`; called by tapes and by errors about gradients."""

    missing: Callable[[Asked, Sequence[Any], Sequence[bool], bool], None] = _nothing
    """Say why some gradients are None: `(call, sources, given, strict)`, after a call of `gradient` that gave one."""

    graphed: Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], None] = _nothing
    """Note a call of `tf.gradients`, and say why a gradient is None: `(targets, sources, results)`."""

    reasons: Callable[..., str] = _no_text
    """Return why sources have no gradient, as text for an error: a line for each. `(sources, target)`, without it the latest."""

    unapplied: Callable[[Sequence[Any], int], None] = _nothing
    """Say why an optimizer leaves out variables: `(variables, how many it was given)`. Called by Keras's optimizers."""

    left: Callable[[], str] = _no_text
    """Return where a value left the library last, as a sentence for an error."""

    summary: Callable[[Any], Any] = _nothing
    """Return the summary of a tape."""

    residuals: Callable[[Any], Any] = _nothing
    """Return the table of a tape's residuals."""

    draw: Callable[[Any, bool], Any] = _nothing
    """Return the drawing of a tape: `(tape, fold)`."""


@dataclass(slots=True)
class Watch:
    """Listeners to the whole process for a while, to all its threads. None: nothing listens, and a step pays for no call."""

    graphed: Callable[[Any, Any, Sequence[Any], Sequence[Any]], Any] | None = None
    """Note a call of `tf.gradients`: `(question, line, sources, diagnoses or Nones)`."""

    asked: Callable[[Asked, Any, Sequence[Any], Sequence[Any], Sequence[Any] | None], Any] | None = None
    """Note a call of `gradient`: `(call, tape, targets, sources, results)`. By `explain`; called by tapes.

    The results are None where it raises, as no gradient is registered for an op on the way.
    """

    taped: Callable[[Taped, bool], None] | None = None
    """Note that a tape opens, or closes. By `explain`; called by tapes."""

    ran: Callable[[Any], None] | None = None
    """Note the results of a function with a tape in it. By `explain`; called by `control` in eager code."""

    called: Callable[[Any], None] | None = None
    """Note a function that eager code calls. By `summary/tracing`; called by `control/concrete`, which keeps the function."""


@dataclass(slots=True)
class Clients:
    """Questions that single floors answer."""

    require_replica: Callable[[str], int] = _one
    """Return the number of replicas; RuntimeError in a strategy's cross-replica context. By `distribute/context`; called by
    `ops/nn/losses`.
    """

    replica: Callable[[], int | None] = _nothing
    """Return the number of the replica that a strategy runs in this thread; None across replicas. By `distribute/context`; called
    by `ops/random/generator`.
    """

    has_strategy: Callable[[], bool] = _false
    """Return whether there is a strategy around the code. By `distribute/context`; called by `ops/random/generator`."""

    known_rounds: Callable[[Program, Any, Any], Program] = _first
    """Return a Program in which the nodes of a strategy's replicas are known: `(program, rounds, places of its nodes)`. By
    `distribute/replicas`; called by `control/scope` for functions that run replicas.
    """

    together: Callable[..., Any] | None = None
    """Call a function that may wait for other processes: `(what, function, *arguments)`, with the same `what` in all of them.

    By `distribute/group` once it has joined them; called by `core/engine/execution`.
    """

    once: Callable[[str, Callable[[], None]], None] = _by_itself
    """Write a file that all processes have: `(path, write)`. Process 0 writes, and the others wait for it.

    By `distribute/group` once it has joined them; called by `train` and by Keras's hook.
    """

    process: Callable[[], str] = _no_text
    """Return "process 1 of 4", and nothing for a process alone. By `distribute/group`; called by `explain`."""

    laid_out: Callable[[Any], tuple[str, str] | None] = _nothing
    """Return an array that lies on a mesh of DTensor's and its layout, as text; None for any other. By `distribute/dtensor`;
    called by `core/tensors/tensor` for printing.
    """

    keras_least_squares: Callable[[Any], Any] | None = None
    """Return an optimizer of Keras's. By Keras's backend when it is loaded; called by `LevenbergMarquardt.for_keras`."""


core, graphs, door, gradients, watch, clients = Core(), Graphs(), Door(), Gradients(), Watch(), Clients()


@contextlib.contextmanager
def filled(hooks: Any, **fields: Any) -> Iterator[None]:
    """Fill in some fields of one of the objects above, for as long as the context is open."""
    before = {name: getattr(hooks, name) for name in fields}
    for name, value in fields.items():
        setattr(hooks, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(hooks, name, value)


# ---------------------------------------------------------------------------------------------------------------------
# Methods that are made of ops

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


# Methods that replace others once a user asks for them.
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
    """Give a class of a lower floor methods of `METHODS` or `ON_REQUEST`."""
    tables = METHODS[kind.__name__], ON_REQUEST.get(kind.__name__, {})
    listed = {name for table in tables for names in table.values() for name in names}
    if strange := methods.keys() - listed:
        raise TypeError(f"core/base/hooks.py does not list these of {kind.__name__}: {sorted(strange)}. Enter them in METHODS.")
    for name, method in methods.items():
        setattr(kind, name, method)
