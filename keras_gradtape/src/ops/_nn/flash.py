"""Attention by the fused kernel of cuDNN, which does not store logits (Dao et al., "FlashAttention", 2022)."""

import functools
import math

import jax
import jax.numpy as jnp

import gradtape as tf

# With fewer logits per head XLA is as fast.
WORTH = 512 * 256
WIDEST = 128
LEAST = -0.7 * float(jnp.finfo("float32").max)


def why_not(query, key, value, bias):
    """Return the reason why the fused kernel cannot compute this attention; None if it can."""
    if not tf.config.list_physical_devices("GPU") or not tf.test.is_built_with_cuda():
        return "there is no GPU of CUDA"
    if query.dtype not in (tf.bfloat16, tf.float16):
        return f"it takes bfloat16 and float16, received {query.dtype.name}"
    if bias is not None:
        return "it takes no bias"
    size, width = query.shape[-1], value.shape[-1]
    if size != width or size % 8 or size > WIDEST:
        return f"heads must be of one size, a multiple of 8 up to {WIDEST}; received {size} for keys, {width} for values"
    if None in (*query.shape, *key.shape):
        return f"shapes must be known, received {query.shape} and {key.shape}"
    if query.shape[1] % 2 or key.shape[1] % 2:
        return f"lengths must be even, received {query.shape[1]} and {key.shape[1]}"
    function, _ = _functions(1.0, False)
    specs = [jax.ShapeDtypeStruct(tuple(x.shape), x.dtype.as_numpy_dtype) for x in (query, key, value)]
    return _refused(function, *specs)


@functools.lru_cache
def _refused(function, *specs):
    """Return JAX's objection to these shapes and dtypes on this machine; None if there is none."""
    try:
        jax.eval_shape(function, *specs)
    except (NotImplementedError, RuntimeError, ValueError) as error:
        return str(error)
    return None


def is_worth_it(query, key):
    """Return whether the fused kernel is faster than XLA's attention; False for open lengths."""
    lengths = query.shape[1], key.shape[1]
    return None not in lengths and lengths[0] * lengths[1] >= WORTH


def scaled_dot_product_flash_attention(query, key, value, mask, scale, is_causal):
    """Compute `scaled_dot_product_attention` by cuDNN; on other devices, and for second derivatives, by XLA."""
    if is_causal and query.shape[1] != key.shape[1]:
        causal = tf.linalg.band_part(tf.ones([query.shape[1], key.shape[1]], tf.bool), -1, 0)
        mask, is_causal = causal if mask is None else tf.logical_and(mask, causal), False
    if mask is not None:
        *others, _, _ = (1,) * (4 - mask.shape.rank) + tuple(mask.shape)
        mask = tf.broadcast_to(mask, [*others, query.shape[1], key.shape[1]])
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    fused, plain = _functions(scale, bool(is_causal))
    return tf.jax_function(fused, plain, "cuda")(*([query, key, value] if mask is None else [query, key, value, mask]))


@functools.lru_cache
def _functions(scale, is_causal):
    """Return the fused and the plain function of query, key, value and an optional mask."""

    def fused(query, key, value, mask=None):
        # The logarithms are requested for the gradient, so that XLA finds one call instead of two.
        with jax.numpy_dtype_promotion("standard"):
            attended, _ = jax.nn.dot_product_attention(
                query, key, value, mask=mask, scale=scale, is_causal=is_causal, implementation="cudnn", return_residual=True
            )
        return attended

    def plain(query, key, value, mask=None):
        key, value = [jnp.repeat(x, query.shape[2] // x.shape[2], axis=2) for x in (key, value)]
        logits = jnp.einsum("btnh,bsnh->bnts", query, key).astype("float32") * scale
        if is_causal:
            causal = jnp.tri(logits.shape[2], logits.shape[3], dtype=bool)
            mask = causal if mask is None else mask & causal
        if mask is not None:
            logits = jnp.where(mask, logits, LEAST)
        return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(logits).astype(value.dtype), value)

    return fused, plain
