"""`quantize_and_dequantize`: rounding floats to n-bit integers and back, with one scale for both signs, so that 0 stays 0."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape, zeros
from gradtape._src.ops.shapes import FLOATING, axis_of, one_of, require

ROUNDINGS = {"HALF_TO_EVEN": lambda x: jnp.round(x), "HALF_UP": lambda x: jnp.floor(x + jnp.asarray(0.5, x.dtype))}


def _checked(input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis):
    require(input, FLOATING)
    if not 0 < num_bits < (62 if signed_input else 63):
        raise invalid(f"num_bits is out of range: {num_bits} with signed_input {int(signed_input)}")
    ends = () if axis is None else (input.shape[axis],)
    for name, end in (("input_min", input_min), ("input_max", input_max)):
        if range_given and end.shape != ends:
            wanted = "a scalar" if axis is None else f"of shape {list(ends)}"
            raise invalid(f"{name} must be {wanted}, received shape {list(end.shape)}.")
    return input


def _crossed(input_min, input_max, range_given):
    wrong = (input_min > input_max) & range_given
    yield wrong, lambda: f"Invalid range: input_min {input_min} > input_max {input_max}"


def _rounded(input, input_min, input_max, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis):
    x, low, high = input, input_min, input_max
    if not range_given:
        others = None if axis is None else tuple([i for i in range(x.ndim) if i != axis])
        low, high = jnp.min(x, others), jnp.max(x, others)
    shape = () if axis is None else [-1 if i == axis else 1 for i in range(x.ndim)]
    low, high = jnp.reshape(low, shape), jnp.reshape(high, shape)
    most = 2 ** (num_bits - 1) if signed_input else 2**num_bits
    first, last = [jnp.asarray(n, x.dtype) for n in (narrow_range - most if signed_input else 0, most - 1)]
    by_low, by_high = [
        jnp.where(n * end > 0, n / end, jnp.finfo(x.dtype).max.astype(x.dtype)) for n, end in ((first, low), (last, high))
    ]
    step = jnp.where(by_low < by_high, low / first, high / last)
    if range_given:
        x = jnp.clip(x, first * step, last * step)
    return ROUNDINGS[round_mode](x * jnp.minimum(by_low, by_high)) * step


_straight = op("QuantizeAndDequantizeV2", infer=_checked, refuses=_crossed)(_rounded)
_clipped = op("QuantizeAndDequantizeV4", infer=_checked, refuses=_crossed, saves="input input_min input_max")(_rounded)


@gradient(_straight)
def _(dy):
    return dy, None, None


@gradient(_clipped)
def _(dy, input, input_min, input_max, *, axis):  # the ends get 0, as in TensorFlow
    low, high = input_min, input_max
    if axis is not None:
        shape = [-1 if i == axis else 1 for i in range(input.ndim)]
        low, high = [reshape(end, shape) if end.ndim else end for end in (low, high)]
    return where((input >= low) & (input <= high), dy, 0.0), *[
        zeros(extents_of(end), end.dtype) for end in (input_min, input_max)
    ]


def _call(kind, input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, axis):
    one_of(round_mode, ROUNDINGS, "round_mode")
    x = tensor(input, None if is_tensor(input) or hasattr(input, "dtype") else "float32")
    return kind(
        x,
        tensor(input_min, x.dtype),
        tensor(input_max, x.dtype),
        signed_input=bool(signed_input),
        num_bits=int(num_bits),
        range_given=bool(range_given),
        round_mode=round_mode,
        narrow_range=bool(narrow_range),
        axis=None if axis is None else axis_of(axis, x.ndim),
    )


@public
def quantize_and_dequantize(
    input,
    input_min,
    input_max,
    signed_input=True,
    num_bits=8,
    range_given=False,
    round_mode="HALF_TO_EVEN",
    name=None,
    narrow_range=False,
    axis=None,
):
    """Quantize like `quantize_and_dequantize_v2`, with the gradient of the identity.

    >>> print(tf.quantization.quantize_and_dequantize([-1.0, 0.3, 1.7], -1.0, 1.5, num_bits=3, range_given=True).numpy())
    [-1.   0.5  1.5]
    """
    return _call(_straight, input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, axis)


@public
def quantize_and_dequantize_v2(
    input,
    input_min,
    input_max,
    signed_input=True,
    num_bits=8,
    range_given=False,
    round_mode="HALF_TO_EVEN",
    name=None,
    narrow_range=False,
    axis=None,
):
    """Round floats to integers of `num_bits` and back; shape and dtype of `input`.

    The scale is the largest that maps the range into the integers. The range is that of the values, or with `range_given` from
    `input_min` to `input_max`, to which values are clipped. With `axis` each index along it has its own range. `signed_input`
    uses integers of both signs, `narrow_range` leaves out the lowest one. `round_mode` is "HALF_TO_EVEN" or "HALF_UP". The
    gradient passes straight through between `input_min` and `input_max`. It is 0 outside, and 0 for the ends themselves.

    >>> tf.quantization.quantize_and_dequantize_v2([-1.0, 0.3, 1.7], -1.0, 1.5, num_bits=3, range_given=True).numpy()
    array([-1. ,  0.5,  1.5], dtype=float32)
    """
    return _call(_clipped, input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, axis)
