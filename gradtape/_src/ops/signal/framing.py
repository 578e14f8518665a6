"""Frames of signals: cutting a signal into frames, and adding overlapping frames."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp
from gradtape._src.core.tensors.convert import settled, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.array.rearrange import pad
from gradtape._src.ops.array.shape import _transpose, inverse
from gradtape._src.ops.shapes import axis_of
from gradtape._src.ops.signal.fourier import require_rank


def scalar(value, what):
    """Convert a scalar integer to an int; ValueError for a list or vector, TypeError for other types."""
    if isinstance(value, (list, tuple)) or (hasattr(value, "shape") and extents_of(value) != ()):
        raise ValueError(f"Shape {extents_of(value)} must have rank 0: {what} is a single integer.")
    return settled(value, what)


def step_of(frame_step):
    """Convert the argument `frame_step` to an int; ValueError if it is no integer, InvalidArgumentError below 1."""
    if isinstance(frame_step, float) or (isinstance(frame_step, (Tensor, Stored)) and not frame_step.dtype.is_integer):
        raise ValueError(f"frame_step must be an integer. Got {tensor(frame_step).dtype}. Use tf.cast, or int().")
    step = scalar(frame_step, "frame_step")
    if step < 1:
        raise invalid(f"frame_step must be at least 1, received {step}: frames must move on.")
    return step


def _count(samples, frame_length, frame_step):
    return max(0, 1 + (samples - frame_length) // frame_step)


def _framed(signal, frames, frame_length, frame_step):
    frames = _count(signal.shape[-1], frame_length, frame_step) if frames is None else frames
    return aval((*signal.shape[:-1], frames, frame_length), signal.dtype)


@op("Frame", infer=_framed, flops=0, traits="own")
def _frame(signal, *, frames, frame_length, frame_step):
    """Cut the last axis into its first `frames` frames (None: all): [..., samples] to [..., frames, frame_length]."""
    frames = _count(signal.shape[-1], frame_length, frame_step) if frames is None else frames
    first = jnp.arange(frames, dtype=jnp.int32)[:, None] * frame_step
    within = jnp.arange(frame_length, dtype=jnp.int32)
    return at(signal)[..., first + within].get(mode="promise_in_bounds")


@gradient(_frame)
def _(dy, signal, *, frame_step):
    return _overlap_and_add(dy, samples=signal.node.aval.shape[-1], frame_step=frame_step)


def _added(frames, samples, frame_step):
    return aval((*frames.shape[:-2], samples), frames.dtype)


@op("OverlapAndAdd", infer=_added, traits="own")
def _overlap_and_add(frames, *, samples, frame_step):
    """Add frames [..., frames, frame_length], each `frame_step` behind the one before, to [..., samples].

    Row r of block column c belongs to block r + c. Columns are padded to `blocks + 1` rows. Read with the period `blocks`,
    column c is then shifted by c, and the columns can be summed.
    """
    *outer, count, length = frames.shape
    columns = -(-length // frame_step)
    blocks = count + columns - 1
    unchanged = [(0, 0)] * len(outer)
    x = jnp.pad(frames, [*unchanged, (0, columns), (0, columns * frame_step - length)])
    x = jnp.moveaxis(x.reshape(*outer, count + columns, columns, frame_step), -2, -3)
    x = x.reshape(*outer, (blocks + 1) * columns, frame_step)[..., : blocks * columns, :]
    x = jnp.sum(x.reshape(*outer, columns, blocks, frame_step), axis=-3, dtype=x.dtype).reshape(*outer, blocks * frame_step)
    return jnp.pad(x, [*unchanged, (0, max(samples - x.shape[-1], 0))])[..., :samples]


@gradient(_overlap_and_add)
def _(dy, frames, *, frame_step):
    count, length = frames.node.aval.shape[-2:]
    reach = (count - 1) * frame_step + length  # samples behind the last frame, and frames behind the last sample, are ignored
    missing = reach - extents_of(dy)[-1]
    if missing > 0:
        dy = pad(dy, [(0, 0)] * (dy.ndim - 1) + [(0, missing)])
    return _frame(dy, frames=count, frame_length=length, frame_step=frame_step)


@public
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None) -> Tensor:
    """Cut `signal` along `axis` into frames of `frame_length`, each `frame_step` behind the one before.

    `axis` becomes the two axes [frames, frame_length]. Incomplete frames at the end are left out, or with `pad_end` padded
    with `pad_value`; then there is one frame for every `frame_step` samples. Any dtype.

    >>> tf.signal.frame([1, 2, 3, 4], frame_length=2, frame_step=1).numpy().tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    x = tensor(signal)
    require_rank(x, 1)
    length, step = scalar(frame_length, "frame_length"), step_of(frame_step)
    if length < 0:
        raise invalid(f"frame_length must not be negative, received {length}.")
    axis = axis_of(scalar(axis, "axis"), x.ndim)
    samples = x.node.aval.shape[axis]
    if pad_end:
        # The last frame may begin at the last sample.
        paddings = [(0, max(0, length - 1) if a == axis else 0) for a in range(x.ndim)]
        x = pad(x, paddings, constant_values=tensor(pad_value, None if isinstance(pad_value, Tensor) else x.dtype))
        count = None if is_unknown(samples) else -(-samples // step)
    else:
        count = None if is_unknown(samples) else _count(samples, length, step)
    if axis == x.ndim - 1:
        return _frame(x, frames=count, frame_length=length, frame_step=step)
    last = (*[a for a in range(x.ndim) if a != axis], axis)
    frames = _frame(_transpose(x, perm=last), frames=count, frame_length=length, frame_step=step)
    return _transpose(frames, perm=inverse((*[a if a < axis else a + 1 for a in last[:-1]], axis, axis + 1)))


@public
def overlap_and_add(signal, frame_step, name=None) -> Tensor:
    """Add the overlapping frames in the last two axes of `signal`, [..., frames, frame_length], to one signal.

    Each frame begins `frame_step` behind the one before, so the result is [..., (frames - 1) · frame_step + frame_length].

    >>> tf.signal.overlap_and_add([[1.0, 1.0], [1.0, 1.0]], frame_step=1).numpy()
    array([1., 2., 1.], dtype=float32)
    """
    x = tensor(signal)
    require_rank(x, 2)
    step = step_of(frame_step)
    count, length = x.node.aval.shape[-2:]
    return _overlap_and_add(x, samples=max((count - 1) * step + length, 0), frame_step=step)
