"""`GraphDef`: a graph's operations in TensorFlow's message format, which TensorBoard draws, and its file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradtape._src.core.base.extras import package
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.programs.function_names import CONST, PLACEHOLDER, VARIABLE
from gradtape._src.core.tensors.tensor import Tensor, stated_shape
from gradtape._src.core.tensors.variable_ops import READ
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.files.protocol import protocol
from gradtape._src.files.systems import name_of, write_whole
from gradtape._src.files.tensors import proto_of
from gradtape._src.ops.math.arithmetic import sum_of_two

SMALL = 1024  # constants with more elements, such as weights, are left out
OF_STRINGS = {sum_of_two.op.type: "Add"}  # the op type in TensorFlow for strings, where that differs
STRING = 7


def shape_of(tensor: TensorSpec | Tensor) -> TensorShape:
    """Return the shape of an operation's input or output, with None for an unknown extent."""
    return tensor.shape if isinstance(tensor, TensorSpec) else stated_shape(tensor.node)


def graph_def(operations: Iterable[Any], add_shapes: bool) -> Any:
    """Return a GraphDef of operations: names, types, devices, inputs and dtypes, shapes of placeholders, values of constants."""
    made = protocol("graph").GraphDef()
    for operation in operations:
        node = made.node.add(name=operation.name, op=operation.type)
        node.input.extend([t.name.removesuffix(":0") for t in operation.inputs])
        node.input.extend([f"^{o.name}" for o in operation.control_inputs])
        outputs = operation.outputs
        if outputs:
            _add_types(node, operation, outputs[0])
        if add_shapes:
            shapes = node.attr["_output_shapes"].list.shape
            for output in outputs:
                _fill(shapes.add(), shape_of(output))
    return made


def _add_types(node: Any, operation: Any, output: Any) -> None:
    count = shape_of(output).num_elements()
    if node.op == CONST and count is not None and count <= SMALL:
        with contextlib.suppress(ValueError):  # the value is unknown
            array = np.asarray(operation.get_attr("value"))
            node.attr["value"].tensor.ParseFromString(proto_of(array, list(array.shape)).SerializeToString())
    if node.op in (PLACEHOLDER, VARIABLE):
        _fill(node.attr["shape"].shape, shape_of(output))
    if operation.inputs and node.op != READ.type:
        node.attr["T"].type = operation.inputs[0].dtype.as_datatype_enum
        if node.attr["T"].type == STRING:
            node.op = OF_STRINGS.get(node.op, node.op)
    else:
        node.attr["dtype"].type = output.dtype.as_datatype_enum


def _fill(message: Any, shape: TensorShape) -> None:
    message.SetInParent()  # presence matters: a scalar's shape is an empty message
    message.unknown_rank = shape.rank is None
    for extent in () if shape.rank is None else shape.as_list():
        message.dim.add(size=-1 if extent is None else extent)


@public
def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph, or its `GraphDef`, to the file `name` in `logdir`; return its path. Missing folders are made.

    The file has protobuf's text format, or its binary format with `as_text=False`. A failed write leaves no partial file.

    Raises:
      TypeError: if `graph_or_graph_def` is neither.
      UnimplementedError: for the graph of a function that runs as eager code.

    Example:
      >>> import gradtape as tf
      >>> square = tf.function(tf.square).get_concrete_function(tf.TensorSpec([], tf.float32))
      >>> path = tf.io.write_graph(square.graph, "ram://graphs", "square.pbtxt")
      >>> tf.io.gfile.GFile(path).readline()
      'node {\\n'
    """
    made = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    if not hasattr(made, "SerializeToString"):
        raise TypeError(f"Expected a tf.Graph, the graph of a concrete function, or a GraphDef; received {type(made).__name__}.")
    path = os.path.join(name_of(logdir), name)
    if as_text:
        text: str = package("google.protobuf.text_format", "Graphs as text").MessageToString(made)
        data = text.encode()
    else:
        data = made.SerializeToString(deterministic=True)
    write_whole(path, data, parents=True)
    return path
