"""`dot_product_attention` by cuDNN's kernel. What needs a GPU is in `tests/gpu`: here a stand-in is traced, and XLA runs."""

import importlib
import math

import jax
import numpy as np
import pytest

import gradtape as tf

LENGTH, OTHER = 384, 512
USUAL = 1.0 / math.sqrt(8)


@pytest.fixture
def a_gpu(monkeypatch):
    """A machine that says it has a GPU, and a kernel that has the shapes of cuDNN's; `called` says how it was called."""
    assert tf.keras.ops  # loads Keras, before its backend can be
    called, flash = [], importlib.import_module("keras_gradtape.src.ops._nn.flash")

    def attention(query, key, value, *, mask, scale, is_causal, implementation, return_residual):
        called.append((implementation, mask is None, scale, is_causal))
        return query, query[..., 0]

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [kind])
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: True)
    monkeypatch.setattr(jax.nn, "dot_product_attention", attention)
    flash._functions.cache_clear()
    flash._refused.cache_clear()
    yield called
    flash._functions.cache_clear()
    flash._refused.cache_clear()


def drawn(length=OTHER, heads=2, size=8, dtype=tf.bfloat16, seed=0):
    return tf.constant(np.random.default_rng(seed).standard_normal((2, length, heads, size)), dtype)


def attended(query, key, value, flash_attention=None, **options):
    """The result and the gradients."""
    with tf.GradientTape() as tape:
        tape.watch([query, key, value])
        y = tf.keras.ops.dot_product_attention(query, key, value, flash_attention=flash_attention, **options)
        loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
    return [tf.cast(each, tf.float32).numpy() for each in [y, *tape.gradient(loss, [query, key, value])]]


COUNTS = np.random.default_rng(1).random((2, 1, 1, OTHER)) > 0.3


@pytest.mark.parametrize(
    ("length", "heads", "options", "called"),
    [
        (OTHER, 2, {}, ("cudnn", True, USUAL, False)),
        (OTHER, 2, {"is_causal": True, "scale": 0.2}, ("cudnn", True, 0.2, True)),
        (LENGTH, 2, {"is_causal": True}, ("cudnn", False, USUAL, False)),
        (LENGTH, 4, {"mask": COUNTS}, ("cudnn", False, USUAL, False)),
        (OTHER, 2, {"mask": COUNTS, "is_causal": True}, ("cudnn", False, USUAL, True)),
    ],
)
def test_long_attention_of_16_bits_is_given_to_the_kernel(a_gpu, length, heads, options, called):
    query, key, value = drawn(length, heads), drawn(seed=1), drawn(seed=2)
    found, expected = attended(query, key, value, **options), attended(query, key, value, False, **options)
    assert a_gpu[-1] == called
    for array, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(array, other, atol=0.03 * np.abs(other).max())


@pytest.mark.parametrize("long", [False, True])
def test_short_attention_and_float32_are_left_to_xla(a_gpu, long):
    x = drawn(OTHER, dtype=tf.float32) if long else drawn(64)
    tf.keras.ops.dot_product_attention(x, x, x).numpy()
    assert not a_gpu


@pytest.mark.parametrize(
    ("shape", "options", "reason"),
    [
        ({"dtype": tf.float32}, {}, "it takes bfloat16 and float16, received float32"),
        ({}, {"bias": np.zeros((OTHER, OTHER))}, "it takes no bias"),
        ({"size": 12}, {}, "a multiple of 8 up to 128; received 12 for keys, 12 for values"),
        ({"size": 136}, {}, "received 136 for keys"),
        ({"length": 13}, {}, "lengths must be even, received 13 and 13"),
    ],
)
def test_who_asks_for_flash_attention_hears_why_not(a_gpu, shape, options, reason):
    x = drawn(**shape)
    with pytest.raises(ValueError, match=reason):
        tf.keras.ops.dot_product_attention(x, x, x, flash_attention=True, **options)


def test_what_jax_refuses(a_gpu, monkeypatch):
    def refuse(*arguments, **named):
        raise NotImplementedError("Compute capability 10.3 requires cuDNN version >= 9.11.")

    monkeypatch.setattr(jax.nn, "dot_product_attention", refuse)
    x = drawn()
    with pytest.raises(ValueError, match="cannot compute this: Compute capability"):
        tf.keras.ops.dot_product_attention(x, x, x, flash_attention=True)
    assert tf.keras.ops.dot_product_attention(x, x, x).shape == x.shape


def test_flash_attention_needs_a_gpu():
    x = drawn()
    with pytest.raises(ValueError, match="Flash attention cannot compute this: there is no GPU of CUDA"):
        tf.keras.ops.dot_product_attention(x, x, x, flash_attention=True)
    assert tf.keras.ops.dot_product_attention(x, x, x).shape == x.shape
