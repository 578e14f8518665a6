"""Connectionist temporal classification: the loss, and decoding (Graves et al., 2006)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from keras.src.backend.common import dtypes

import gradtape as tf
from gradtape._src.ops.math.segment import take_rows
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
        # Where paths end depends on values alone, so there is nothing to differentiate: one function of arrays
        return tf.jax_function(_beam_search(beam_width, top_paths, blank))(inputs, lengths)
    raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")


def _greedy(inputs, lengths, merge_repeated, blank):
    frames = tf.range(inputs.shape[1])
    beyond = frames >= tf.expand_dims(lengths, 1)
    classes = tf.where(beyond, blank, tf.argmax(inputs, -1, output_type=tf.int32))
    scores = -tf.reduce_sum(tf.where(beyond, 0.0, tf.reduce_max(inputs, -1)), 1, keepdims=True)
    said = classes != blank
    if merge_repeated:
        repeated = classes[:, 1:] == classes[:, :-1]
        said = tf.logical_and(said, tf.pad(tf.logical_not(repeated), [[0, 0], [1, 0]], constant_values=True))
    order = tf.argsort(tf.cast(said, "int32"), -1, "DESCENDING", stable=True)  # what is said comes first
    batch, count = classes.shape
    rows = np.arange(batch, dtype="int32")[:, None] * count
    classes = take_rows(tf.reshape(tf.where(said, classes, -1), [-1]), order + rows)
    return tf.expand_dims(classes, 0), scores


@functools.cache
def _beam_search(width, top_paths, blank):
    """A function of logits [batch, frames, classes] and lengths: paths [top_paths, batch, frames], scores [batch, top_paths].

    Prefix beam search (Hannun et al., "First-pass large vocabulary continuous speech recognition using bi-directional
    recurrent DNNs", 2014, algorithm 1): for each prefix the probabilities that it ends with a blank, and that it does not.
    """

    def decode(logits, length):
        frames, classes = logits.shape
        places = jnp.arange(frames, dtype=jnp.int32)
        log_probabilities = jax.nn.log_softmax(logits)
        never = jnp.full((width,), -jnp.inf, logits.dtype)

        def step(state, frame):
            index, emitted = frame
            paths, sizes, blanks, labels = state
            total = jnp.logaddexp(blanks, labels)
            last = jnp.where(sizes > 0, jnp.take_along_axis(paths, jnp.maximum(sizes - 1, 0)[:, None], 1)[:, 0], blank)
            # The prefix goes on: a repeated class only after a blank
            onward = jnp.where(jnp.arange(classes, dtype=jnp.int32) == last[:, None], blanks[:, None], total[:, None]) + emitted
            onward = onward.at[:, blank].set(-jnp.inf)
            # or stays
            stay_blank = total + emitted[blank]
            stay_label = jnp.where(sizes > 0, labels + emitted[last], -jnp.inf)
            # Where a prefix that goes on becomes one that is there already, the two are one
            parents = jnp.where(places == (sizes - 1)[:, None], -1, paths)
            alive = (sizes > 0) & (total > -jnp.inf)
            becomes = (paths[:, None] == parents[None]).all(-1) & alive  # [from, to]
            joined = jnp.where(becomes, onward[:, last], -jnp.inf)
            stay_label = jnp.logaddexp(stay_label, jax.nn.logsumexp(joined, axis=0))
            taken = jnp.zeros((width, classes), bool).at[:, last].max(becomes)
            onward = jnp.where(taken, -jnp.inf, onward)

            scores = jnp.concatenate([jnp.logaddexp(stay_blank, stay_label), onward.ravel()])
            chosen = lax.top_k(scores, width)[1]
            goes_on = chosen >= width
            source = jnp.where(goes_on, (chosen - width) // classes, chosen)
            label = ((chosen - width) % classes).astype(paths.dtype)
            paths, sizes = paths[source], sizes[source]
            paths = jnp.where(goes_on[:, None] & (places == sizes[:, None]), label[:, None], paths)
            after = (
                paths,
                sizes + goes_on.astype(sizes.dtype),
                jnp.where(goes_on, -jnp.inf, stay_blank[source]),
                jnp.where(goes_on, scores[chosen], stay_label[source]),
            )
            return jax.tree.map(lambda new, old: jnp.where(index < length, new, old), after, state), None

        start = (jnp.full((width, frames), -1, jnp.int32), jnp.zeros((width,), jnp.int32), never.at[0].set(0), never)
        (paths, _, blanks, labels), _ = lax.scan(step, start, (places, log_probabilities))
        scores, best = lax.top_k(jnp.logaddexp(blanks, labels), top_paths)
        return paths[best], scores

    def search(inputs, lengths):
        paths, scores = jax.vmap(decode)(inputs, lengths)
        return jnp.swapaxes(paths, 0, 1), scores

    return search
