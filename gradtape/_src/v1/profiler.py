"""`compat.v1.profiler`: the FLOPs and parameters of a graph by TensorFlow's conventions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradtape._src.control.function_graph import FuncGraph
from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.base.public import public
from gradtape._src.profile import statistics
from gradtape._src.v1.graphs.collections import GraphKeys
from gradtape._src.v1.graphs.graph import Graph, get_default_graph
from gradtape._src.v1.graphs.kinds import GRADIENT

ROOT = "_TFProfRoot"
PARAMETERS = "_trainable_variables"  # the type of trainable variables in counts
MEASURED = "accelerator_micros bytes cpu_micros micros occurrence output_bytes peak_bytes residual_bytes".split()


@dataclass
class GraphNodeProto:
    """The costs of a name; those starting with `total_` include its children."""

    name: str
    float_ops: int = 0
    parameters: int = 0
    total_float_ops: int = 0
    total_parameters: int = 0
    children: list[Any] = field(default_factory=list)


class MultiGraphNodeProto(GraphNodeProto):
    """The costs of all ops of a type."""


class ProfileOptionBuilder:
    """Options of `profile`: class methods return common ones; an instance modifies options, and `build`s a dict."""

    @public
    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = _options(["micros"]) if options is None else dict(options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Return options that count the parameters of trainable variables, with `cmd="scope"`."""
        return _options(["params"], min_float_ops=0, order_by="name", account_type_regexes=[PARAMETERS])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Return options that count floating-point operations."""
        return _options(["float_ops"], min_float_ops=1, order_by="float_ops")

    @staticmethod
    @public
    def time_and_memory(*args: Any, **kwargs: Any) -> dict[str, Any]:
        """Raise NotImplementedError, as a graph runs as one program, without times of single ops."""
        raise _unmeasured("time_and_memory()")

    def build(self) -> dict[str, Any]:
        """Return the options."""
        return dict(self._options)

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Show this number of name levels."""
        return self._with(max_depth=max_depth)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Show only entries with at least this number of parameters."""
        return self._with(min_params=min_params)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Show only entries with at least this number of operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Count operations whose type matches one of these regular expressions."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Show names matching one of `show_name_regexes` and none of `hide_name_regexes`; count only those shown."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{name: list(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Set whether totals count only the shown ops."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Write nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Write the report to standard output."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the report to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sort by "name", "float_ops" or "params"."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Show these columns: "float_ops", "params"."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Accept the step without effect, as counts are the same in each step."""
        return self._with(step=step)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options |= changes
        return self


def _options(select: list[str], **changes: Any) -> dict[str, Any]:
    minima = dict.fromkeys("min_bytes min_micros min_params min_float_ops min_occurrence".split(), 0)
    names = {"start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"], "hide_name_regexes": []}
    return {
        "max_depth": 10000,
        **minima,
        "order_by": "name",
        "account_type_regexes": [".*"],
        **names,
        "account_displayed_op_only": True,
        "select": select,
        "step": -1,
        "output": "stdout",
    } | changes


def _unmeasured(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what} is not supported: a graph runs as one compiled program, whose ops are not measured one by one. "
        "tf.profiler.experimental.start records what the devices do, and tf.profiler.profile forecasts the memory."
    )


@public
def profile(
    graph: Any = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: dict[str, Any] | None = None
) -> Any:
    """Count the FLOPs or parameters of a graph, by TensorFlow's convention; print a report, return it as a tree.

    `graph` is a `tf.Graph` (default: the default graph) or that of a concrete function. `cmd` "op" sums by op type, "scope" and
    "graph" by name. `options` are those of a `ProfileOptionBuilder`; `options["output"] = "none"` prints nothing. Ops with shapes
    unknown at graph construction count as 0, as in TensorFlow. `tf.profiler.profile` counts the ops that really run.

    InvalidArgumentError for any other `cmd`; NotImplementedError for "code", and for times and bytes.

    >>> product = tf.function(lambda x: x @ x).get_concrete_function(tf.TensorSpec([4, 4]))
    >>> options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation() | {"output": "none"}
    >>> tf.compat.v1.profiler.profile(product.graph, cmd="op", options=options).total_float_ops
    128
    """
    if cmd == "code":
        raise NotImplementedError("cmd='code' is not supported: tf.profiler.profile(function, *args).by_line counts by line.")
    if cmd not in ("op", "scope", "graph"):
        raise InvalidArgumentError.saying(f"unknown cmd: {cmd}. Expected 'op', 'scope' or 'graph'.")
    options = ProfileOptionBuilder.float_operation() if options is None else options
    measured = [name for name in options.get("select", ()) if name in MEASURED]
    if measured and not {"float_ops", "params"} & set(options["select"]):
        raise _unmeasured(f"select={options['select']!r}")
    graph = get_default_graph() if graph is None else graph
    if not isinstance(graph, (Graph, FuncGraph)):
        raise TypeError(f"Expected a tf.Graph, or that of a concrete function; received {graph!r}.")
    counted = [row for row in [*_operations(graph), *_parameters(graph)] if _accounted(row, options)]
    found = _by_type(counted, options) if cmd == "op" else _by_name(counted, options)
    _write(report(found, options), options.get("output", "stdout"))
    return found


@dataclass
class Counted:
    """An operation or variable with its costs."""

    name: str
    type: str
    float_ops: int = 0
    parameters: int = 0


def _operations(graph: Any) -> list[Counted]:
    operations = graph.get_operations()
    found = [Counted(*row) for row in statistics.forward(operations)]
    for op in operations:
        if getattr(op, "node", None) is not None and op.node.op is GRADIENT:
            (request,) = op.node.attrs
            targets, sources = [[graph.operation_of(node) for node in nodes] for nodes in (request.ys, request.xs)]
            path = statistics.between(operations[: operations.index(op)], targets, sources)
            found += [Counted(f"{op.name}/{name}_grad/{kind}", kind, n) for name, kind, n in statistics.gradient(path)]
    return found


def _parameters(graph: Any) -> list[Counted]:
    if isinstance(graph, FuncGraph):
        return []  # a function's variables are in no collection, and TensorFlow counts none
    variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
    return [Counted(v.name.removesuffix(":0"), PARAMETERS, 0, v.shape.num_elements() or 0) for v in variables]


def _fits(name: str, expressions: Sequence[str]) -> bool:
    return any(re.fullmatch(expression, name) for expression in expressions)


def _accounted(row: Counted, options: dict[str, Any]) -> bool:
    shown = _fits(row.name, options.get("show_name_regexes", [".*"])) and not _fits(
        row.name, options.get("hide_name_regexes", [])
    )
    shown = shown or not options.get("account_displayed_op_only", True)
    return shown and _fits(row.type, options.get("account_type_regexes", [".*"]))


def _sorting(options: dict[str, Any]) -> Callable[[Any], Any]:
    by = {"float_ops": "total_float_ops", "params": "total_parameters"}.get(options.get("order_by", "name"))
    return (lambda node: node.name) if by is None else (lambda node: (-getattr(node, by), node.name))


def _shown(node: GraphNodeProto, options: dict[str, Any]) -> bool:
    return node.total_float_ops >= options.get("min_float_ops", 0) and node.total_parameters >= options.get("min_params", 0)


def _by_type(rows: Sequence[Counted], options: dict[str, Any]) -> MultiGraphNodeProto:
    """Return a chain of types, the most expensive first; the total of each includes those below it."""
    float_ops, parameters = Counter[str](), Counter[str]()
    for row in rows:
        float_ops[row.type] += row.float_ops
        parameters[row.type] += row.parameters
    nodes = [
        MultiGraphNodeProto(kind, float_ops[kind], parameters[kind], float_ops[kind], parameters[kind]) for kind in float_ops
    ]
    nodes = sorted([node for node in nodes if _shown(node, options)], key=_sorting(options))
    chain = [MultiGraphNodeProto(ROOT), *nodes]
    for above, below in zip(chain[-2::-1], chain[:0:-1], strict=True):
        above.children = [below]
        above.total_float_ops = above.float_ops + below.total_float_ops
        above.total_parameters = above.parameters + below.total_parameters
    return chain[0]


def _by_name(rows: Sequence[Counted], options: dict[str, Any]) -> GraphNodeProto:
    """Return a tree of names, with levels separated by slashes."""
    root = GraphNodeProto(ROOT)
    nodes = {"": root}
    for row in rows:
        name, above = "", root
        for part in row.name.split("/"):
            above.total_float_ops += row.float_ops
            above.total_parameters += row.parameters
            name = f"{name}/{part}" if name else part
            if name not in nodes:
                nodes[name] = GraphNodeProto(name)
                above.children.append(nodes[name])
            above = nodes[name]
        above.float_ops += row.float_ops
        above.parameters += row.parameters
        above.total_float_ops += row.float_ops
        above.total_parameters += row.parameters
    for node in nodes.values():
        node.children = sorted([child for child in node.children if _shown(child, options)], key=_sorting(options))
    return root


def report(root: GraphNodeProto, options: dict[str, Any]) -> str:
    """Return the tree as text."""
    columns = [name for name in ("params", "float_ops") if name in options.get("select", ())]
    heads = {"params": "# parameters", "float_ops": "# float_ops"}
    lines = ["", "Profile:", " | ".join(["node name", *[heads[name] for name in columns]])]
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        own = "--" if node is root else None
        texts = []
        if "params" in columns:
            texts.append(f"{own or _counted(node.parameters)}/{_counted(node.total_parameters)} params")
        if "float_ops" in columns:
            texts.append(f"{own or _counted(node.float_ops)}/{_counted(node.total_float_ops)} flops")
        lines.append(f"{'  ' * depth}{node.name} ({', '.join(texts)})")
        if depth < options.get("max_depth", 10000):
            deeper = depth if isinstance(node, MultiGraphNodeProto) and node is not root else depth + 1
            waiting += [(child, deeper) for child in reversed(node.children)]
    return "\n".join(lines) + "\n"


def _counted(number: int) -> str:
    for unit, name in ((1e9, "b"), (1e6, "m"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.2f}{name}"
    return str(number)


def _write(text: str, output: str) -> None:
    kind, _, settings = output.partition(":")
    if kind == "stdout":
        print(text)
    elif kind == "file":
        with open(settings.removeprefix("outfile="), "w", encoding="utf-8") as file:
            file.write(text)
    elif kind != "none":
        raise InvalidArgumentError.saying(f"Unknown output {output!r}: give 'none', 'stdout' or 'file:outfile=PATH'.")
