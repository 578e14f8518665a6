"""The messages of `tf.train`, such as `Example`, and of tensors, built by protobuf from definitions in this file.

They are in a separate pool, because a TensorFlow in the same process has messages of the same names.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gradtape._src.core.base.extras import package

# `message: field number type [repeated|packed]…`. Types that are no scalars are messages; `map` maps names, `|` is a oneof.
# The groups are: examples; tensors; specs of a saved dataset, reduced to those that its elements can have; the index of a
# checkpoint, and its graph of objects.
DEFINITIONS = """
BytesList: value 1 bytes repeated
FloatList: value 1 float packed
Int64List: value 1 int64 packed
Feature: bytes_list 1 BytesList | float_list 2 FloatList | int64_list 3 Int64List |
Features: feature 1 Feature map
FeatureList: feature 1 Feature repeated
FeatureLists: feature_list 1 FeatureList map
Example: features 1 Features
SequenceExample: context 1 Features, feature_lists 2 FeatureLists

TensorShapeProto.Dim: size 1 int64, name 2 string
TensorShapeProto: dim 2 TensorShapeProto.Dim repeated, unknown_rank 3 bool
TensorProto: dtype 1 DataType, tensor_shape 2 TensorShapeProto, version_number 3 int32, tensor_content 4 bytes,
 float_val 5 float packed, double_val 6 double packed, int_val 7 int32 packed, string_val 8 bytes repeated,
 scomplex_val 9 float packed, int64_val 10 int64 packed, bool_val 11 bool packed, half_val 13 int32 packed,
 dcomplex_val 12 double packed, uint32_val 16 uint32 packed, uint64_val 17 uint64 packed, float8_val 18 bytes

TensorSpecProto: name 1 string, shape 2 TensorShapeProto, dtype 3 DataType
PairValue: key 1 string, value 2 StructuredValue
NamedTupleValue: name 1 string, values 2 PairValue repeated
TupleValue: values 1 StructuredValue repeated
DictValue: fields 1 StructuredValue map
StructuredValue: tensor_spec_value 33 TensorSpecProto | tuple_value 52 TupleValue | dict_value 53 DictValue |
 named_tuple_value 54 NamedTupleValue |
SnapshotMetadataRecord: graph_hash 1 string, run_id 2 string, creation_timestamp 3 int64, version 4 int64,
 dtype 5 DataType packed, num_elements 6 int64, finalized 1000 bool

VersionDef: producer 1 int32, min_consumer 2 int32, bad_consumers 3 int32 repeated
BundleHeaderProto: num_shards 1 int32, endianness 2 int32, version 3 VersionDef, writer 1000 string
Extent: start 1 int64, length 2 int64
TensorSliceProto: extent 1 Extent repeated
BundleEntryProto: dtype 1 DataType, shape 2 TensorShapeProto, shard_id 3 int32, offset 4 int64, size 5 int64, crc32c 6 fixed32,
 slices 7 TensorSliceProto repeated
ObjectReference: node_id 1 int32, local_name 2 string
SerializedTensor: name 1 string, full_name 2 string, checkpoint_key 3 string
SlotVariableReference: original_variable_node_id 1 int32, slot_name 2 string, slot_variable_node_id 3 int32
TrackableObject: children 1 ObjectReference repeated, attributes 2 SerializedTensor repeated,
 slot_variables 3 SlotVariableReference repeated
TrackableObjectGraph: nodes 1 TrackableObject repeated
"""
# The numbers of dtypes, with the names in printed messages.
TYPES = """
INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16 UINT16
COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 FLOAT8_E4M3FN
"""
SCALARS = "double float int64 uint64 int32 fixed32 bool string bytes uint32".split()


@functools.cache
def _classes() -> dict[str, Any]:
    """Return the classes of the messages by name."""
    descriptor = package("google.protobuf.descriptor_pb2", "Messages such as tf.train.Example")
    pool = package("google.protobuf.descriptor_pool", "Messages").DescriptorPool()
    file = descriptor.FileDescriptorProto(name="messages.proto", package="tensorflow", syntax="proto3")
    kinds = file.enum_type.add(name="DataType")
    for number, kind in enumerate(TYPES.split()):
        kinds.value.add(name=f"DT_{kind}", number=number)
    for line in filter(None, DEFINITIONS.replace("\n ", " ").splitlines()):
        message, _, fields = line.partition(": ")
        outer, *inner = message.split(".")  # a nested message may be listed before its parent
        made = next((m for m in file.message_type if m.name == outer), None) or file.message_type.add(name=outer)
        made = made.nested_type.add(name=inner[0]) if inner else made
        _add_fields(descriptor.FieldDescriptorProto, made, fields)
    pool.Add(file)
    get = package("google.protobuf.message_factory", "Messages").GetMessageClass
    return {m.name: get(pool.FindMessageTypeByName(f"tensorflow.{m.name}")) for m in file.message_type}


def _add_fields(kinds: Any, message: Any, fields: str) -> None:
    one_of = "|" in fields
    if one_of:
        message.oneof_decl.add(name="kind")
    for text in fields.replace("|", ",").split(","):
        if not text.strip():
            continue
        field, number, kind, *how = text.split()
        made = message.field.add(name=field, number=int(number), label=kinds.LABEL_OPTIONAL)
        if how:
            made.label = kinds.LABEL_REPEATED
        if how == ["map"]:
            entry = message.nested_type.add(name="".join(part.title() for part in field.split("_")) + "Entry")
            entry.options.map_entry = True
            _add_fields(kinds, entry, f"key 1 string, value 2 {kind}")
            kind = f"{message.name}.{entry.name}"
        if kind in SCALARS:
            made.type = getattr(kinds, f"TYPE_{kind.upper()}")
        else:
            made.type = kinds.TYPE_ENUM if kind == "DataType" else kinds.TYPE_MESSAGE
            made.type_name = f".tensorflow.{kind}"
        if one_of:
            made.oneof_index = 0


def message(name: str) -> Any:
    """Return the class of a message: `Example`, `Feature`, …, `TensorProto`, `StructuredValue`, `BundleEntryProto`."""
    return _classes()[name]


def shape_message(extents: Sequence[int | None] | None) -> Any:
    """Return the message of a shape, a TensorShapeProto; None is an unknown extent, or an unknown rank."""
    made = message("TensorShapeProto")(unknown_rank=extents is None)
    for extent in extents or ():
        made.dim.add(size=-1 if extent is None else extent)
    return made
