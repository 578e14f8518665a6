"""`tf.io.parse_single_sequence_example` and `parse_sequence_example`: messages with features per step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid, invalid_for, mark
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values.aval import printed
from gradtape._src.files import features as specs
from gradtape._src.files.ops import strings
from gradtape._src.files.parsing import (
    Batch,
    given_out,
    in_steps,
    ordered,
    parsed,
    read,
    serialized_of,
    sparse_parts,
    without_batch,
)

TYPE = "ParseSequenceExampleV2"


def _steps(lists: Any, key: str, name: str, told: str) -> list[np.ndarray] | None:
    """Return the values of each step of a feature list; None if the message does not have it."""
    if key not in lists:
        return None
    found = []
    for step, feature in enumerate(lists[key].feature):
        kind = feature.WhichOneof("kind")
        if kind is not None and kind != specs.TYPES[name]:
            raise invalid(
                f"{told}Feature list: {key}, Index: {step}.  Data types don't match. Expected type: "
                f"{specs.LISTS[specs.TYPES[name]]}"
            )
        found.append(specs.zeros_of(name, (0,)) if kind is None else specs.array_of(getattr(feature, kind).value, name))
    return found


def _dense(messages: list[Any], key: str, feature: Any, told: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Parse a FixedLenSequenceFeature to [batch, longest, *shape] and the number of steps of each message."""
    name, shape = specs.checked_dtype(feature, key), specs.checked_shape(feature, key)
    rows = []
    for lists, begins in zip(messages, told, strict=True):
        steps = _steps(lists, key, name, begins)
        if steps is None and not feature.allow_missing:
            raise invalid(
                f"{begins}Feature list '{key}' is required but could not be found.  Did you mean to include it in "
                "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults? Give allow_missing=True."
            )
        for at, step in enumerate(steps or ()):
            if step.size != math.prod(shape):
                raise invalid(
                    f"{begins}Key: {key}, Index: {at}.  Number of values != expected.  values size: {step.size} but output "
                    f"shape: {printed(shape)}"
                )
        rows.append(np.stack(steps).reshape(-1, *shape) if steps else specs.zeros_of(name, (0, *shape)))
    return in_steps(rows, name, shape), np.array([len(row) for row in rows], np.int64)


def _sparse(messages: list[Any], key: str, feature: Any, told: list[str]) -> tuple[np.ndarray, ...]:
    """Parse a VarLenFeature to a SparseTensor's parts, of shape [batch, longest, most values of a step]."""
    name = specs.checked_dtype(feature, key)
    found = [_steps(lists, key, name, begins) or [] for lists, begins in zip(messages, told, strict=True)]
    places = [(n, t, at) for n, steps in enumerate(found) for t, step in enumerate(steps) for at in range(len(step))]
    values = [step for steps in found for step in steps]
    shape = [len(found), max(map(len, found), default=0), max(map(len, values), default=0)]
    return sparse_parts(places, values, name, shape)


def _parse(data: np.ndarray, context: Any, sequence: Any, names: list[bytes], single: bool) -> list[dict[str, Any]]:
    if not context and not sequence:
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    context, sequence = dict(context or {}), dict(sequence or {})
    told = [f"Name: {names[i].decode(errors='replace') if names else '<unknown>'}, " for i in range(data.size)]
    examples = [parsed("SequenceExample", bytes(item), begins) for item, begins in zip(data.flat, told, strict=True)]
    batch = Batch([example.context.feature for example in examples], names, single=False)
    lists = [example.feature_lists.feature_list for example in examples]
    found: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for key, feature in sequence.items():
        if isinstance(feature, specs.FixedLenSequenceFeature):
            found[key], lengths[key] = _dense(lists, key, feature, told)
        elif isinstance(feature, specs.VarLenFeature):
            found[key] = _sparse(lists, key, feature, told)
        elif isinstance(feature, specs.RaggedFeature):
            raise specs.not_parsed(key, "in feature lists: take VarLenFeature, and tf.RaggedTensor.from_sparse")
        else:
            raise ValueError(
                f"Unsupported {type(feature).__name__} {feature} for key '{key}': sequence_features are "
                "FixedLenSequenceFeature or VarLenFeature."
            )
    of_context = {key: read(batch, key, feature) for key, feature in context.items()}
    results = [
        {key: of_context[key] for key in ordered(context)},
        {key: found[key] for key in ordered(sequence)},
        {key: lengths[key] for key in sorted(lengths)},
    ]
    return [{key: given_out(without_batch(v) if single else v) for key, v in part.items()} for part in results]


def _told(data: np.ndarray, context: Any, sequence: Any, names: Any, single: bool) -> list[dict[str, Any]]:
    named = [] if names is None else [bytes(item) for item in to_numpy(strings(names).node).ravel()]
    try:
        return _parse(data, context, sequence, named, single)
    except InvalidArgumentError as error:
        mark(error, TYPE)
        raise


@public
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one serialized `tf.train.SequenceExample` to a dict of context features and a dict of step features.

    `context_features` are those of `parse_example`. `sequence_features` are `FixedLenSequenceFeature`s, for tensors [steps,
    *shape], and `VarLenFeature`s, for SparseTensors [steps, most values].

    >>> steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for x in (0.5, 1.5)]
    >>> lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=steps)})
    >>> example = tf.train.SequenceExample(feature_lists=lists).SerializeToString()
    >>> specs = {"x": tf.io.FixedLenSequenceFeature([], tf.float32)}
    >>> context, found = tf.io.parse_single_sequence_example(example, sequence_features=specs)
    >>> print(found["x"].numpy())
    [0.5 1.5]
    """
    data = serialized_of(serialized, TYPE)
    if data.ndim:
        raise ValueError("Input serialized must be a scalar")
    context, steps, _ = _told(data, context_features, sequence_features, example_name, single=True)
    return context, steps


@public
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a vector of serialized `tf.train.SequenceExample`s to dicts of context features, step features, and lengths.

    Steps are zero-padded to the longest message: tensors [batch, steps, *shape]. The third dict has the number of steps of
    each message, int64 [batch], for each dense feature.

    >>> def example(*values):
    ...     steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for x in values]
    ...     lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=steps)})
    ...     return tf.train.SequenceExample(feature_lists=lists).SerializeToString()
    >>> specs = {"x": tf.io.FixedLenSequenceFeature([], tf.float32)}
    >>> _, found, lengths = tf.io.parse_sequence_example([example(0.5, 1.5), example(2.0)], sequence_features=specs)
    >>> print(found["x"].numpy().tolist(), lengths["x"].numpy())
    [[0.5, 1.5], [2.0, 0.0]] [2 1]
    """
    data = serialized_of(serialized, TYPE)
    if data.ndim != 1:
        raise invalid_for(TYPE, f"Expected serialized to be a vector, got shape: {list(data.shape)}.")
    context, steps, lengths = _told(data, context_features, sequence_features, example_names, single=False)
    return context, steps, lengths
