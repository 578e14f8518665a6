"""Recurrent networks: a step function over the time steps of sequences, as a scan or unrolled."""

from keras.src import tree

import gradtape as tf
from gradtape._src.control.mapping import carry_rows
from gradtape._src.core.tensors.tensor import extents_of
from keras_gradtape.src.ops.core import cast, convert_to_tensor

__all__ = ["bidirectional_gru", "bidirectional_lstm", "cudnn_ok", "gru", "lstm", "rnn"]


def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
    return_all_outputs=True,
):
    constants = () if constants is None else tuple(constants)
    inputs = tree.map_structure(convert_to_tensor, inputs)
    initial_states = tree.map_structure(convert_to_tensor, initial_states)
    if mask is not None:
        mask = cast(mask, "bool")
        if mask.ndim == 2:
            mask = tf.expand_dims(mask, -1)
    if not time_major:
        inputs, mask = tree.map_structure(_swapped, inputs), None if mask is None else _swapped(mask)

    def step(states, x):
        output, after = step_function(x, (*states, *constants))
        return tree.pack_sequence_as(states, tree.flatten(after)), output

    xs, start = inputs, tuple(initial_states)
    if mask is not None:
        step, xs, start = _masked(step, inputs, mask, start, zero_output_for_mask)
    if unroll:
        outputs, end = _unrolled(step, start, xs, go_backwards, return_all_outputs)
    else:
        outputs, end = _scanned(step, start, xs, go_backwards, return_all_outputs)
    states = end if mask is None else end[0]
    last_output = tree.map_structure(lambda y: y[-1], outputs)
    if not time_major:
        outputs = tree.map_structure(_swapped, outputs)
    return last_output, outputs, type(initial_states)(states)


def _swapped(x):
    """Swap the batch and time axes of `x`."""
    return tf.transpose(x, [1, 0, *range(2, x.ndim)])


def _masked(step, inputs, mask, start, zero_output_for_mask):
    """Wrap `step`, so that states and output are kept where the mask is False; the last output becomes a state."""

    def held(condition, new, old):
        condition = tf.reduce_any(condition, -1)
        return tf.where(tf.reshape(condition, [*extents_of(condition), *[1] * (new.ndim - 1)]), new, old)

    def masked(states, x):
        x, condition = x
        states, before = states
        after, output = step(states, x)
        after = tree.map_structure(lambda new, old: held(condition, new, old), after, states)
        output = tree.map_structure(lambda new, old: held(condition, new, old), output, before)
        return (after, before if zero_output_for_mask else output), output

    # The shape of an output is inferred from a step whose values are not computed
    _, output = step(start, tree.map_structure(lambda x: x[0], inputs))
    return masked, (inputs, mask), (start, tree.map_structure(tf.zeros_like, output))


def _scanned(step, start, xs, go_backwards, return_all_outputs):
    """Return `(outputs, last states)`, with outputs in the order of the steps, or only the last one if that suffices."""
    places = None  # the index of the output among the states, if it is one, as in most cells

    def noted(states, x):
        nonlocal places
        after, output = step(states, x)
        place_of = {id(state): place for place, state in enumerate(tree.flatten(after))}
        places = tree.map_structure(lambda y: place_of.get(id(y), -1), output)
        return after, () if not return_all_outputs and -1 not in tree.flatten(places) else output

    end, outputs = carry_rows(noted, start, xs, go_backwards)
    if not return_all_outputs and -1 not in tree.flatten(places):
        flat = tree.flatten(end)
        return tree.map_structure(lambda place: tf.expand_dims(flat[place], 0), places), end
    if go_backwards:
        outputs = tree.map_structure(lambda y: tf.reverse(y, [0]), outputs)
    return outputs if return_all_outputs else tree.map_structure(lambda y: y[-1:], outputs), end


def _unrolled(step, states, xs, go_backwards, return_all_outputs):
    rows = list(zip(*[tf.unstack(x) for x in tree.flatten(xs)], strict=True))
    if not rows:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    outputs = []
    for row in reversed(rows) if go_backwards else rows:
        states, output = step(states, tree.pack_sequence_as(xs, row))
        outputs.append(output)
    outputs = outputs if return_all_outputs else outputs[-1:]
    return tree.map_structure(lambda *ys: tf.stack(ys), *outputs), states


# ---------------------------------------------------------------------------------------------------------------------
# Fused layers: the product of inputs and kernel, which is independent of the state, is computed before the scan. Layers with a
# mask use the general path, which supports `zero_output_for_mask`.


def cudnn_ok(*args, **kwargs):
    return False


def _fused(step, inputs, kernel, bias, states, go_backwards, return_sequences):
    """Scan `step(states, projected input)` over the steps of [batch, time, features]; the output is the first state."""
    kernel = convert_to_tensor(kernel)
    x = tf.matmul(convert_to_tensor(inputs, kernel.dtype), kernel)
    if bias is not None:
        x = x + bias

    def noted(states, x):
        states = step(states, x)
        return states, states[0] if return_sequences else ()

    states, outputs = carry_rows(noted, states, _swapped(x), go_backwards)
    if not return_sequences:
        return states[0], tf.expand_dims(states[0], 1), states
    outputs = _swapped(outputs)
    return states[0], tf.reverse(outputs, [1]) if go_backwards else outputs, states


def lstm(
    inputs,
    initial_state_h,
    initial_state_c,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
):
    if mask is not None or unroll:
        raise NotImplementedError
    recurrent_kernel = convert_to_tensor(recurrent_kernel)

    def step(states, x):
        h, c = states
        i, f, g, o = tf.split(x + tf.matmul(h, recurrent_kernel), 4, -1)
        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        return [recurrent_activation(o) * activation(c), c]

    bias = None if bias is None else convert_to_tensor(bias)
    states = [convert_to_tensor(initial_state_h), convert_to_tensor(initial_state_c)]
    return _fused(step, inputs, kernel, bias, states, go_backwards, return_sequences)


def gru(
    inputs,
    initial_state,
    mask,
    kernel,
    recurrent_kernel,
    bias,
    activation,
    recurrent_activation,
    return_sequences=False,
    go_backwards=False,
    unroll=False,
    reset_after=True,
):
    if mask is not None or unroll or not reset_after:
        raise NotImplementedError
    recurrent_kernel = convert_to_tensor(recurrent_kernel)
    input_bias, recurrent_bias = (None, None) if bias is None else tf.unstack(convert_to_tensor(bias))

    def step(states, x):
        (h,) = states
        projected = tf.matmul(h, recurrent_kernel)
        if recurrent_bias is not None:
            projected = projected + recurrent_bias
        (x_z, x_r, x_h), (h_z, h_r, h_h) = tf.split(x, 3, -1), tf.split(projected, 3, -1)
        z, r = recurrent_activation(x_z + h_z), recurrent_activation(x_r + h_r)
        return [z * h + (1 - z) * activation(x_h + r * h_h)]

    states = [convert_to_tensor(initial_state)]
    return _fused(step, inputs, kernel, input_bias, states, go_backwards, return_sequences)


def bidirectional_lstm(*args, **kwargs):
    raise NotImplementedError


def bidirectional_gru(*args, **kwargs):
    raise NotImplementedError
