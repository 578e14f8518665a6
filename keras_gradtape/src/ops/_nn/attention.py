"""Attention."""

from keras.src.backend.common import dtypes

import gradtape as tf
from keras_gradtape.src.ops._nn.flash import is_worth_it, scaled_dot_product_flash_attention, why_not
from keras_gradtape.src.ops.core import cast, convert_to_tensor


def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    query, key, value = map(convert_to_tensor, (query, key, value))
    if {query.ndim, key.ndim, value.ndim} != {4}:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={query.shape}, key.shape={key.shape}, value.shape={value.shape}."
        )
    if query.dtype is not key.dtype or key.dtype is not value.dtype:
        dtype = dtypes.result_type(query.dtype.name, key.dtype.name, value.dtype.name)
        query, key, value = [cast(x, dtype) for x in (query, key, value)]
    bias = None if bias is None else convert_to_tensor(bias, query.dtype)
    mask = None if mask is None else convert_to_tensor(mask, "bool")
    if flash_attention or (flash_attention is None and is_worth_it(query, key)):
        reason = why_not(query, key, value, bias)
        if reason is None:
            return scaled_dot_product_flash_attention(query, key, value, mask, scale, is_causal)
        if flash_attention:
            raise ValueError(f"Flash attention cannot compute this: {reason}. Give flash_attention=None or False.")
    return tf.nn.scaled_dot_product_attention(query, key, value, bias, mask, scale, is_causal)
