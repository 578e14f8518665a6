"""Rows of attention."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.table import Row, boolean, real

Invalid = tf.errors.InvalidArgumentError
attend = tf.nn.scaled_dot_product_attention
FLOATS = ("float64", "float32", "float16", "bfloat16")
MASK = boolean(2, 1, 3, 4)
CAUSAL = np.tri(3, 4, dtype=bool)
SHAPES = (real(2, 3, 2, 2), real(2, 4, 2, 2), real(2, 4, 2, 3))
FEWER = (real(1, 2, 4, 2), real(1, 3, 2, 2), real(1, 3, 2, 1))


def attention(query, key, value, bias=0.0, mask=True, scale=None):
    logits = jnp.einsum("btnh,bsnh->bnts", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale) + bias
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(jnp.where(mask, logits, -1e300)), value)


def grouped(query, key, value):
    return attention(query, jnp.repeat(key, 2, 2), jnp.repeat(value, 2, 2))


ONES = np.ones((1, 2, 2, 2))
ROWS = (
    Row(
        "attention",
        attend,
        SHAPES,
        attention,
        dtypes=FLOATS,
        ops=("Einsum", "Softmax"),
        errors=(
            (lambda: attend(ONES[0], ONES, ONES), Invalid, r"received query \(2, 2, 2\), key"),
            (lambda: attend(ONES, ONES, ONES[:, :1]), Invalid, "key and value in batch, length and heads"),
            (lambda: attend(ONES[..., :1], ONES, ONES), Invalid, "must agree in batch and size"),
            (lambda: attend(ONES[:, :, :1], ONES, ONES), Invalid, "heads of query must be a multiple of those of key"),
            (lambda: attend(ONES, ONES, ONES, mask=np.ones((2, 2))), Invalid, "mask must be bool, received float64"),
        ),
    ),
    Row(
        "bias",
        lambda q, k, v, bias: attend(q, k, v, bias=bias, scale=0.3),
        (*SHAPES, real(3, 4)),
        lambda q, k, v, bias: attention(q, k, v, bias, scale=0.3),
    ),
    Row("mask", lambda q, k, v: attend(q, k, v, mask=MASK), SHAPES, lambda q, k, v: attention(q, k, v, mask=MASK)),
    Row(
        "causal-mask",
        lambda q, k, v: attend(q, k, v, mask=MASK | np.eye(3, 4, dtype=bool), is_causal=True),
        SHAPES,
        lambda q, k, v: attention(q, k, v, mask=(MASK | np.eye(3, 4, dtype=bool)) & CAUSAL),
    ),
    Row("fewer-heads", attend, FEWER, grouped),
    Row(
        "no-sources",
        lambda v: attend(v, v, v, mask=False),
        (real(1, 3, 1, 2),),
        lambda v: jnp.broadcast_to(jnp.mean(v, 1, keepdims=True), v.shape),
        special=((np.ones((1, 2, 1, 1), "float32"), np.ones((1, 2, 1, 1)), np.ones((1, 2, 1, 1))),),
    ),
)
