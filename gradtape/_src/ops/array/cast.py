"""Conversion between dtypes: `cast`, `bitcast`."""

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.base.signatures import known_as
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.shape import under_broadcast
from gradtape._src.ops.shapes import NUMERIC, require, spoken


def _cast_aval(x, DstT):
    if dtypes.string in (x.type, DstT):
        raise UnimplementedError.saying(
            f"Cast {spoken(x.type.name)} to {spoken(DstT.name)} is not supported: use "
            f"{'tf.strings.to_number' if x.type is dtypes.string else 'tf.as_string'}."
        )
    return aval(x.shape, DstT.numpy)


@op("Cast", infer=_cast_aval, cheap=True, takes_slices=True, flops=0, folds=lambda x, **_: x)
def _cast(x, *, DstT):
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not DstT.is_complex and not DstT.is_bool:
        x = jnp.real(x)
    if DstT.is_bool:
        return x != 0
    if DstT.is_integer and jnp.issubdtype(x.dtype, jnp.floating):
        return _truncated(x, DstT.numpy)
    if jnp.issubdtype(DstT.numpy, jnp.signedinteger) and x.dtype.itemsize > DstT.size and x.dtype.kind in "iu":
        return _narrowed(x, DstT.numpy)
    if x.dtype == bool:  # XLA computes `astype` from bool as a product, in which 0 times infinity or NaN is NaN
        return jnp.where(x, jnp.ones((), DstT.numpy), jnp.zeros((), DstT.numpy))
    return x.astype(DstT.numpy)


def _narrowed(x, dtype):
    """Cast integers to a smaller signed type, with wrap-around.

    The cast goes through the unsigned type: XLA's compiler for CPUs crashes on `and` and `or` of a value narrowed to a signed
    type (jaxlib 0.10.2).
    """
    return lax.bitcast_convert_type(x.astype(f"uint{8 * dtype.itemsize}"), dtype)


def _truncated(x, dtype):
    """Cast floats to integers as processors do: fractions are cut off, small types wrap around, NaN is the least integer."""
    via = jnp.int32 if dtype.itemsize < 4 or dtype == jnp.int32 else jnp.int64
    bits = 8 * jnp.dtype(via).itemsize - 1
    if x.dtype.itemsize == 2:
        x = x.astype(jnp.float32)
    fits = (x >= -(2.0**bits)) & (x < 2.0**bits)
    result = jnp.where(fits, x.astype(via), jnp.array(-(2**bits), via))
    result = _narrowed(result, dtype) if dtype.kind == "i" else result.astype(dtype)
    return jnp.where((x >= 2.0**63) & (x < 2.0**64), x.astype(dtype), result) if dtype == jnp.uint64 else result


@gradient(_cast)
def _(dy, x):
    if not x.node.aval.inexact:
        return None
    return cast(dy, x.dtype) if isinstance(dy, IndexedSlices) else under_broadcast(lambda dy: _cast(dy, DstT=x.dtype), dy)


def cast(x, dtype):
    """Convert `x` to `dtype`. IndexedSlices and SparseTensors keep their class."""
    dtype = dtypes.as_dtype(dtype)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, dtype), x.indices, x.dense_shape)
    if type(x).__name__ == "SparseTensor":
        return type(x)(x.indices, cast(x.values, dtype), x.dense_shape)
    x = tensor(x)
    return x if x.dtype is dtype else _cast(x, DstT=dtype)


@public
@known_as("cast")
def cast_unless_variable(x, dtype, name=None):
    """Return `x` with elements of `dtype`.

    Floats lose their fraction when they become integers, complex numbers their imaginary part when they become real.
    IndexedSlices stay slices, a SparseTensor sparse. A gradient goes through if both types are floating or complex. A variable
    of that dtype is returned itself, as in TensorFlow, so it is read when the result is used.

    >>> tf.cast([1.7, -1.7], tf.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    return x if isinstance(x, Variable) and x.dtype is dtypes.as_dtype(dtype) else cast(x, dtype)


def _bitcast_aval(input, type):
    require(input, NUMERIC)
    require(aval((), type.numpy), NUMERIC, "type")
    have, want, shape = input.type.size, type.size, input.shape
    if have < want:
        if not shape or shape[-1] * have != want:
            raise invalid(
                f"Cannot bitcast from {input.type.enum} to {type.enum} ({input.type.name} to {type.name}): the last "
                f"axis must hold {want // have} elements, received shape {list(shape)}."
            )
        shape = shape[:-1]
    elif have > want:
        shape = (*shape, have // want)
    return aval(shape, type.numpy)


# As in TensorFlow, `bitcast` has no gradient: LookupError.
@op("Bitcast", infer=_bitcast_aval, flops=0)
def _bitcast(input, *, type):
    have, want = dtypes.as_dtype(input.dtype), type
    if not have.is_complex and not want.is_complex:
        return lax.bitcast_convert_type(input, want.numpy)
    shape = _bitcast_aval(aval(input.shape, have.numpy), want).shape
    if have.is_complex:  # XLA has no bit representation of complex numbers
        input = jnp.stack([jnp.real(input), jnp.imag(input)], axis=-1)
    octets = lax.bitcast_convert_type(input, jnp.uint8)
    if not want.is_complex:
        return lax.bitcast_convert_type(octets.reshape(shape if want.size == 1 else (*shape, want.size)), want.numpy)
    parts = lax.bitcast_convert_type(octets.reshape(*shape, 2, want.size // 2), want.real_dtype.numpy)
    return lax.complex(parts[..., 0], parts[..., 1])


@public
def bitcast(input, type, name=None) -> Tensor:
    """Return the bits of `input` as elements of `type`.

    A smaller type adds a last axis. A larger type removes the last axis, whose extent must be the ratio of the sizes (else
    InvalidArgumentError).

    >>> hex(tf.bitcast(1.0, tf.uint32).numpy())
    '0x3f800000'
    """
    return _bitcast(tensor(input), type=dtypes.as_dtype(type))
