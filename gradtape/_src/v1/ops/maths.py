"""Mathematical functions with TensorFlow 1's signatures: `keep_dims`, `reduction_indices`, `div`, `to_float`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import operands, tensor
from gradtape._src.core.tensors.tensor import stated_shape
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import cast as casts, select, shape as array, sort
from gradtape._src.ops.math import arithmetic, elementary, reduction
from gradtape._src.ops.math.rounding import floor, floordiv
from gradtape._src.ops.random import distributions
from gradtape._src.v1.graphs import gradients as symbolic
from gradtape._src.v1.ops.respelled import respelled


def _either(new: Any, old: Any, names: tuple[str, str]) -> Any:
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{names[1]}' and '{names[0]}'. Give {names[0]} only.")
    return new if old is None else old


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = "input_tensor axis keepdims name reduction_indices keep_dims"
    return respelled(function, parameters, reduction_indices="axis", keep_dims="keepdims")


reduce_all = _reduction(reduction.reduce_all)
reduce_any = _reduction(reduction.reduce_any)
reduce_logsumexp = _reduction(reduction.reduce_logsumexp)
reduce_max = _reduction(reduction.reduce_max)
reduce_mean = _reduction(reduction.reduce_mean)
reduce_min = _reduction(reduction.reduce_min)
reduce_prod = _reduction(reduction.reduce_prod)
reduce_sum = _reduction(reduction.reduce_sum)


argmax = respelled(sort.argmax, "input axis name dimension output_type", dimension="axis")
argmin = respelled(sort.argmin, "input axis name dimension output_type", dimension="axis")
arg_max = respelled(sort.argmax, "input dimension output_type name", dimension="axis")
arg_min = respelled(sort.argmin, "input dimension output_type name", dimension="axis")


@public
def div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x / y, rounded down for integers."""
    first = tensor(x)
    return floordiv(x, y) if first.dtype.is_integer else arithmetic.realdiv(x, y)


count_nonzero = respelled(
    reduction.count_nonzero,
    "input_tensor axis keepdims dtype name reduction_indices keep_dims input",
    input_tensor="input",
    reduction_indices="axis",
    keep_dims="keepdims",
)


@public
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scale `t` so that its L2 norm divided by its number of elements is at most `clip_norm`."""
    t = tensor(t)
    inverse = elementary.rsqrt(reduction.reduce_sum(t * t)) * t.node.aval.size
    return t * clip_norm * arithmetic.minimum(inverse, 1.0 / clip_norm)


def _conversion(dtype: Any, name: str) -> Callable[..., Any]:
    def convert(x: Any, name: str = name) -> Any:
        return casts.cast_unless_variable(x, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"`x` cast to {dtype.name}."
    return public(convert)


to_float = _conversion(dtypes.float32, "ToFloat")
to_double = _conversion(dtypes.float64, "ToDouble")
to_int32 = _conversion(dtypes.int32, "ToInt32")
to_int64 = _conversion(dtypes.int64, "ToInt64")
to_bfloat16 = _conversion(dtypes.bfloat16, "ToBFloat16")
to_complex64 = _conversion(dtypes.complex64, "ToComplex64")
to_complex128 = _conversion(dtypes.complex128, "ToComplex128")


expand_dims = respelled(array.expand_dims, "input axis name dim", dim="axis")
squeeze = respelled(array.squeeze, "input axis name squeeze_dims", squeeze_dims="axis")


@public
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return `x` where `condition` is True, else `y`; a 1-D condition selects rows. Without both, return the indices of True."""
    if x is not None and y is not None:
        mask, (first, second) = tensor(condition), operands(select._select.op, (x, y), position=1)
        given, then, other = [stated_shape(node) for node in (mask.node, first, second)]
        rows = mask.ndim == 1 and first.aval.ndim > 0 and given.is_compatible_with(then[:1])
        if not then.is_compatible_with(other) or (mask.ndim and not rows and not given.is_compatible_with(then)):
            raise invalid(
                "'then' and 'else' must have the same size, and 'condition' be a scalar, a vector with an entry for each row, "
                f"or of their shape: received {then}, {other} and {given}. tf.where_v2 broadcasts. [Op:Select]"
            )
        if rows and first.aval.ndim > 1:
            mask = mask[(...,) + (None,) * (first.aval.ndim - 1)]
        return select.where(mask, x, y)
    return select.where(condition, x, y)


@public
def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Any:
    """Return `value` as a Tensor."""
    return tensor(value, dtype, preferred_dtype if dtype_hint is None else dtype_hint)


gradients = respelled(
    symbolic.gradients,
    "ys xs grad_ys name colocate_gradients_with_ops gate_gradients aggregation_method stop_gradients unconnected_gradients",
    colocate_gradients_with_ops="",
)
hessians = respelled(
    symbolic.hessians,
    "ys xs name colocate_gradients_with_ops gate_gradients aggregation_method",
    colocate_gradients_with_ops="",
)


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers


multinomial = respelled(distributions.categorical, "logits num_samples seed name output_dtype", output_dtype="dtype")
poisson = respelled(distributions.poisson, "lam shape dtype seed name")


@public
def floor_div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x / y, rounded down."""
    return floordiv(x, y) if tensor(x).dtype.is_integer else floor(arithmetic.realdiv(x, y))
