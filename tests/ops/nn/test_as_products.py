"""Convolutions of which the compiler for CPUs would make loops: it gets products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gradtape._src.ops.nn import as_products, convolution_kernels
from gradtape._src.ops.nn.window import sweeps


def compiled(kernel, *shapes, **named):
    arrays = [np.ones(shape, "float32") for shape in shapes]
    return jax.jit(lambda *arrays: kernel(*arrays, **named)).lower(*arrays).compile().as_text()


@pytest.mark.parametrize(("size", "looped"), [(4, True), (5, False)])
def test_what_the_compiler_would_make_loops_of(size, looped):
    image, window = (2, size, size, 8), (5, 5, 8, 4)
    ways = sweeps(image, window[:2], (1, 1, 1, 1), "SAME", (), "NHWC", (1, 1, 1, 1))
    forward = compiled(convolution_kernels.convolve, image, window, ways=ways, data_format="NHWC")
    dy = (2, size, size, 4)
    to_input = compiled(convolution_kernels.to_input, window, dy, shape=image, ways=ways, data_format="NHWC")
    assert [" convolution(" not in text for text in (forward, to_input)] == [looped] * 2


@pytest.mark.parametrize("stride", [1, 2])
def test_three_axes_are_planes(stride):
    image, window = (1, 8, 8, 8, 2), (3, 3, 3, 2, 4)
    ways = sweeps(image, window[:3], (1, *[stride] * 3, 1), "SAME", (), "NDHWC", (1,) * 5)
    dy, named = (1, *[way.out for way in ways], 4), {"ways": ways, "data_format": "NDHWC"}
    texts = [
        compiled(convolution_kernels.convolve, image, window, **named),
        compiled(convolution_kernels.to_input, window, dy, shape=image, **named),
        compiled(convolution_kernels.to_filter, image, (*dy[:4], 4), shape=window, **named),
    ]
    assert not any("dim_labels=b012f" in text or "dim_labels=f012b" in text for text in texts)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_axes_in_a_loop_are_in_the_order_of_fast_code(data_format):
    image, window = (2, 6, 6, 3), (3, 3, 3, 4)
    if data_format == "NCHW":
        image = (2, 3, 6, 6)
    strides = (1, 1, 1, 1)
    ways = sweeps(image, window[:2], strides, "SAME", (), data_format, strides)

    def loop(x, kernel, dy):
        def body(_, carry):
            named = {"ways": ways, "data_format": data_format}
            y = convolution_kernels.convolve(carry[0], carry[1], **named)
            dx = convolution_kernels.to_input(carry[1], dy + y, shape=image, **named)
            return dx, convolution_kernels.to_filter(carry[0], dy + y, shape=(3, 3, 3, 4), **named)

        return jax.lax.fori_loop(0, 3, body, (x, kernel))

    dy = (2, 6, 6, 4) if data_format == "NHWC" else (2, 4, 6, 6)
    found = [line for line in compiled(loop, image, window, dy).splitlines() if " convolution(" in line]
    assert found and all("dim_labels=b01f_01io->b01f" in line for line in found)


def test_sixteen_bits_are_added_up_in_float32():
    """The sum of 25 ones and the 0.001s behind each: in 16 bits 0.001 is lost beside 25."""
    image, kernel = (1, 1, 1, 1), jnp.full((5, 5, 1, 26), 0.001, "float16").at[..., 0].set(1.0)
    ways = sweeps(image, (5, 5), (1, 1, 1, 1), "EXPLICIT", [0, 0, 4, 4, 4, 4, 0, 0], "NHWC", (1, 1, 1, 1))
    dy = jnp.ones((1, 5, 5, 26), "float16")
    found = as_products.products_of_cells(kernel, dy, shape=image, ways=ways, data_format="NHWC")
    assert found.dtype == "float16" and abs(float(found[0, 0, 0, 0]) - 25.625) < 0.02


def test_planes_of_sixteen_bits_are_added_up_in_float32():
    """2048 + 1 is 2048 in 16 bits."""
    image, kernel = jnp.ones((1, 3, 1, 1, 1), "float16"), jnp.array([2048, 1, 1], "float16").reshape(3, 1, 1, 1, 1)
    ways = sweeps(image.shape, (3, 1, 1), (1,) * 5, "VALID", (), "NDHWC", (1,) * 5)
    found = convolution_kernels.convolve(image, kernel, ways=ways, data_format="NDHWC")
    assert found.dtype == "float16" and found.item() == 2050
