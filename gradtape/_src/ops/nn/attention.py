"""Attention: means of values, weighted by the similarity of their keys to a query."""

import math

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.rearrange import repeat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims
from gradtape._src.ops.linalg.einsum import einsum
from gradtape._src.ops.math.compare import greater_equal, logical_and
from gradtape._src.ops.nn.softmax import softmax

# The most negative finite mask value, scaled by 0.7 so that adding a score cannot overflow.
LEAST = {"float32": -0.7 * 3.4028235e38, "float64": -0.7 * 1.7976931348623157e308}


@public
def scaled_dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, name=None) -> Tensor:
    """Return softmax(`query` · `key`ᵀ · `scale` + `bias`) · `value`, for each head: [batch, targets, heads, width].

    `query` is [batch, targets, heads, size], `key` [batch, sources, heads, size], `value` [batch, sources, heads, width]; keys
    and values may have fewer heads, each shared by several query heads. `scale` is 1/√size by default. `bias` and `mask`
    (bool, True for sources that count) broadcast to [batch, heads, targets, sources]. `is_causal` masks the sources behind the
    target. A target without sources takes the mean of all. Softmax of 16-bit floats is computed in float32. Vaswani et al.,
    "Attention is all you need", 2017.

    >>> tf.nn.scaled_dot_product_attention(tf.ones([1, 2, 1, 4]), tf.ones([1, 3, 1, 4]), tf.ones([1, 3, 1, 4])).shape
    TensorShape([1, 2, 1, 4])
    """
    query, key, value = tensor(query), tensor(key), tensor(value)
    _check(query, key, value)
    _, targets, heads, size = extents_of(query)
    sources, served = extents_of(key)[1:3]
    if served != heads:
        key, value = [repeat(x, heads // served, axis=2) for x in (key, value)]
    dtype = query.dtype
    wide = dtypes.float32 if dtype.size == 2 else dtype
    logits = cast(einsum("btnh,bsnh->bnts", query, key), wide) * (1.0 / math.sqrt(size) if scale is None else scale)
    if bias is not None:
        logits = logits + (cast(bias, wide) if is_tensor(bias) else bias)
    if is_causal:
        causal = greater_equal(expand_dims(range_(targets), 1), range_(sources))
        mask = causal if mask is None else logical_and(tensor(mask), causal)
    if mask is not None:
        mask = tensor(mask)
        if mask.dtype != dtypes.bool:
            raise invalid(f"mask must be bool, received {mask.dtype.name}: what is to be added to the logits is bias=.")
        logits = where(mask, logits, LEAST[wide.name])
    return einsum("bnts,bsnh->btnh", cast(softmax(logits), dtype), value)


def _check(query, key, value):
    """Raise InvalidArgumentError unless the shapes are compatible."""
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise invalid(f"Attention takes tensors [batch, length, heads, size], received {shapes}. Use tf.expand_dims for a head.")
    asks, keys = extents_of(query), extents_of(key)
    if asks[0] != keys[0] or asks[3] != keys[3] or keys[:3] != extents_of(value)[:3]:
        raise invalid(f"query and key must agree in batch and size, key and value in batch, length and heads. Received {shapes}.")
    if not keys[2] or asks[2] % keys[2]:
        raise invalid(f"The heads of query must be a multiple of those of key. Received {shapes}.")
