"""Connectionist temporal classification: the loss, and decoding (Graves et al., 2006)."""

from keras.src.backend.common import dtypes

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.math.segment import take_rows
from gradtape._src.ops.nn.decoding import beam_search
from keras_gradtape.src.ops.core import cast, convert_to_tensor


def ctc_loss(target, output, target_length, output_length, mask_index=0):
    output = convert_to_tensor(output)
    target, target_length, output_length = [convert_to_tensor(x, "int32") for x in (target, target_length, output_length)]
    output = cast(output, dtypes.result_type(output.dtype.name, "float32"))
    return tf.nn.ctc_loss(target, output, target_length, output_length, False, blank_index=mask_index)


def ctc_decode(inputs, sequence_lengths, strategy="greedy", beam_width=100, top_paths=1, merge_repeated=True, mask_index=0):
    inputs = convert_to_tensor(inputs)
    inputs = cast(inputs, dtypes.result_type(inputs.dtype.name, "float32"))
    lengths = convert_to_tensor(sequence_lengths, "int32")
    blank = (inputs.shape[-1] - 1 if mask_index is None else mask_index) % inputs.shape[-1]
    if strategy == "greedy":
        return _greedy(inputs, lengths, merge_repeated, blank)
    if strategy == "beam_search":
        return beam_search(inputs, lengths, beam_width=beam_width, top_paths=top_paths, blank=blank)
    raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")


def _greedy(inputs, lengths, merge_repeated, blank):
    frames = tf.range(extents_of(inputs)[1])
    beyond = frames >= tf.expand_dims(lengths, 1)
    classes = tf.where(beyond, blank, tf.argmax(inputs, -1, output_type=tf.int32))
    scores = -tf.reduce_sum(tf.where(beyond, 0.0, tf.reduce_max(inputs, -1)), 1, keepdims=True)
    said = classes != blank
    if merge_repeated:
        repeated = classes[:, 1:] == classes[:, :-1]
        said = tf.logical_and(said, tf.pad(tf.logical_not(repeated), [[0, 0], [1, 0]], constant_values=True))
    order = tf.argsort(tf.cast(said, "int32"), -1, "DESCENDING", stable=True)  # emitted labels come first
    batch, count = extents_of(classes)
    rows = tf.range(batch)[:, None] * count
    classes = take_rows(tf.reshape(tf.where(said, classes, -1), [-1]), order + rows)
    return tf.expand_dims(classes, 0), scores
