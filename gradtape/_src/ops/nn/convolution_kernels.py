"""The kernels of convolutions, and their lowering rules. The ops are in `convolution`."""

import itertools
import math
from functools import partial

from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import compiled_with, lowered, lowering
from gradtape._src.core.programs.traits import Trait
from gradtape._src.ops.nn import planes
from gradtape._src.ops.nn.as_products import is_looped, product_of_patches, products_of_cells
from gradtape._src.ops.nn.window import CHANNELS_LAST, cells, padded, spatial_axes, stacked_views, views

# Up to this number of channels, of window cells, and of bytes of all patches of an image, a convolution and the gradient to its
# filter are one product with these patches. Those of a 7 × 7 stem take 30 MB: 24 ms of CPU time, and 8 by XLA's own convolution.
FEW_CHANNELS, FEW_CELLS, SMALL_PATCHES = 4, 25, 24 << 20
FEW_ENTRIES = 4096  # entries of a filter of one cell up to which the places are put on one axis: 1.6 ms for 3.9; 17 for 15 above

# ---------------------------------------------------------------------------------------------------------------------
# XLA's own convolutions. `ways` are the Sweeps of the window over the spatial axes; filters are [*window, channels / groups,
# outputs].


def _groups(channels, filter_shape):
    return channels // filter_shape[-2]


def _filter_format(data_format, kind):
    """Return the order of the filter's axes in JAX's letters: the spatial axes as in the image, then `kind`."""
    return data_format.replace("N", "").replace("C", "") + kind


def _in_order(x, kernel, numbers):
    """Return permutations that bring the axes of image, filter and result to the order [batch, *spatial, channels]."""
    (batch, channel, *spatial), (outputs, inputs, *window), (first, second, *others) = lax.conv_dimension_numbers(
        x.shape, kernel.shape, numbers
    )
    return (batch, *spatial, channel), (*window, inputs, outputs), (first, *others, second)


@lowered("a convolution of any order of axes")
def _convolved(x, kernel, *, strides, padding, numbers, **more):
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=numbers, **more)


def _padded_before(x, kernel, *, strides, padding, numbers, lhs_dilation=None, **more):
    _, _, *spatial = lax.conv_dimension_numbers(x.shape, kernel.shape, numbers).lhs_spec
    around = [(0, 0, 0)] * x.ndim
    for axis, (low, high), apart in zip(spatial, padding, lhs_dilation or [1] * len(spatial), strict=True):
        around[axis] = low, high, apart - 1
    x = lax.pad(x, jnp.zeros((), x.dtype), around)
    return _convolved(x, kernel, strides=strides, padding=[(0, 0)] * len(spatial), numbers=numbers, **more)


lowering(
    _convolved,
    when=lambda x, kernel, *, padding, **_: not all(map(xla.is_number, itertools.chain(*padding))),
    rule=_padded_before,
    because="symbols in the padding, in an exported program: JAX pads by symbols, but convolves by numbers only",
)


def _convolved_in_order(x, kernel, *, strides, padding, numbers, **more):
    letters, order = CHANNELS_LAST[x.ndim - 2], _in_order(x, kernel, numbers)
    formats = letters, _filter_format(letters, "IO"), letters
    x, kernel = jnp.transpose(x, order[0]), jnp.transpose(kernel, order[1])
    found = lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=formats, **more)
    return jnp.transpose(found, [order[2].index(axis) for axis in range(x.ndim)])


lowering(
    _convolved,
    platform="cpu",
    when=lambda x, kernel, *, numbers, **_: any(axes != tuple(range(x.ndim)) for axes in _in_order(x, kernel, numbers)),
    rule=_convolved_in_order,
    because="another order than that of XLA's fast code. XLA brings axes into it itself, but not in loops: 1.9 ms for 0.1, for "
    "each step of a convolutional LSTM",
)


@lowered("a convolution")
def convolve(x, kernel, *, ways, data_format):
    _, channel = spatial_axes(data_format)
    return _convolved(
        x,
        kernel,
        strides=[way.stride for way in ways],
        padding=[way.padding for way in ways],
        numbers=(data_format, _filter_format(data_format, "IO"), data_format),
        rhs_dilation=[way.dilation for way in ways],
        feature_group_count=_groups(x.shape[channel], kernel.shape),
    )


@lowered("a convolution's transpose, to the image")
def to_input(kernel, dy, *, shape, ways, data_format):
    """Convolve dy, with zeros inserted for the stride, with the reversed filter."""
    _, channel = spatial_axes(data_format)
    groups, kind = _groups(shape[channel], kernel.shape), "OI"
    if groups > 1:  # swaps inputs and outputs within each group
        *extents, inputs, outputs = kernel.shape
        kernel = jnp.swapaxes(kernel.reshape(*extents, inputs, groups, -1), -3, -1)
        kernel, kind = kernel.reshape(*extents, outputs // groups, groups * inputs), "IO"
    return _convolved(
        dy,
        lax.rev(kernel, range(len(ways))),
        strides=[1] * len(ways),
        padding=[(way.reach - 1 - way.low, way.size - way.span + way.low) for way in ways],
        numbers=(data_format, _filter_format(data_format, kind), data_format),
        lhs_dilation=[way.stride for way in ways],
        rhs_dilation=[way.dilation for way in ways],
        feature_group_count=groups,
    )


@lowered("a convolution's transpose, to the filter")
def to_filter(x, dy, *, shape, ways, data_format):
    """Convolve the image with dy, with batch and channel axes swapped."""
    numbers = (
        data_format.translate(str.maketrans("NC", "CN")),
        data_format.translate(str.maketrans("NC", "IO")),
        _filter_format(data_format, "NC"),
    )
    strides, padding, dilation = zip(*[(way.dilation, way.padding, way.stride) for way in ways], strict=True)
    return _convolved(x, dy, strides=strides, padding=padding, numbers=numbers, rhs_dilation=dilation)


def _patches_product(x, dy, *, shape, ways, data_format):
    """Compute the gradient to the filter as [window · channels, places] × [places, outputs]."""
    spatial, channel = spatial_axes(data_format)
    x = jnp.transpose(x, (channel, 0, *spatial))
    patches = stacked_views(*padded(x, [way._replace(axis=axis) for axis, way in enumerate(ways, 2)]))
    places = jnp.transpose(dy, (0, *spatial, channel)).reshape(-1, shape[-1])
    return jnp.matmul(patches.reshape(cells(ways) * shape[-2], -1), places).reshape(shape)


def _group_products(x, dy, *, shape, ways, data_format):
    """Compute the gradient to the filter as [channels, places] × [places, outputs] for each window cell and group."""
    _, channel = spatial_axes(data_format)
    groups = _groups(x.shape[channel], shape)

    def grouped(image):
        return image.reshape(*image.shape[:channel], groups, -1, *image.shape[channel + 1 :])

    dy = grouped(dy)
    others = [axis for axis in range(dy.ndim) if axis not in (channel, channel + 1)]
    numbers = (others, others), ([channel], [channel])
    products = [lax.dot_general(grouped(view), dy, numbers) for view in views(*padded(x, ways))]
    return jnp.swapaxes(jnp.stack(products), 1, 2).reshape(shape)


def _product_of_places(x, dy, *, shape, ways, data_format):
    """Compute the gradient to a filter of one cell as [channels, places] × [places, outputs]."""
    (view,), channel = views(x, ways), spatial_axes(data_format)[1]
    if channel == dy.ndim - 1 and math.prod(shape) <= FEW_ENTRIES:
        view, dy, channel = view.reshape(-1, view.shape[-1]), dy.reshape(-1, dy.shape[-1]), 1
    others = [axis for axis in range(dy.ndim) if axis != channel]
    return lax.dot_general(view, dy, ((others, others), ((), ()))).reshape(shape)


KERNELS = convolve, to_input, to_filter

# ---------------------------------------------------------------------------------------------------------------------
# Alternative rules

LOOPED = "more cells than the image has: XLA makes loops of it. The last layer of a discriminator takes 132 ms for 1.3"
PLANES = (
    "three axes, as XLA has fast code for two. 16 × 16 × 16 cells, 8 images: from 32 channels to 32 in 11 ms of CPU time for 63, "
    "16 images of 1 channel to 8 in 1.4 for 16"
)


def _is_one_group(image, filter_shape, data_format):
    return image[spatial_axes(data_format)[1]] == filter_shape[-2]


def _has_small_patches(x, *, ways, data_format):
    channels = x.shape[spatial_axes(data_format)[1]]
    extents = x.shape[0], *[way.out for way in ways], channels, cells(ways), x.dtype.itemsize
    few = channels <= FEW_CHANNELS and cells(ways) <= FEW_CELLS
    return few and all(map(xla.is_number, extents)) and math.prod(extents) <= SMALL_PATCHES


def _is_of_few_products(x, *, ways, data_format):
    small = _has_small_patches(x, ways=ways, data_format=data_format)
    return small or is_looped([way.out for way in ways], [way.size for way in ways])


lowering(
    convolve,
    platform="cpu",
    when=lambda x, kernel, *, ways, data_format: (
        _is_one_group(x.shape, kernel.shape, data_format) and is_looped([way.extent for way in ways], [way.size for way in ways])
    ),
    rule=product_of_patches,
    because=LOOPED,
)
lowering(
    convolve,
    platform="cpu",
    when=lambda x, kernel, *, ways, data_format: (
        _is_one_group(x.shape, kernel.shape, data_format)
        and _has_small_patches(x, ways=ways, data_format=data_format)
        and x.dtype.itemsize >= 4  # convolutions add up 16-bit floats in float32
    ),
    rule=product_of_patches,
    because="few channels and cells: one product with the image's patches. 3 × 3 cells, 32 images of 32 × 32 in color: 0.8 ms of "
    "CPU time for 1.3",
)
lowering(
    convolve,
    platform="cpu",
    when=lambda x, kernel, *, ways, data_format: _is_one_group(x.shape, kernel.shape, data_format) and planes.fit(ways),
    rule=partial(planes.convolved, convolve),
    because=PLANES,
)
lowering(
    to_input,
    platform="cpu",
    when=lambda kernel, dy, *, shape, ways, data_format: (
        _is_one_group(shape, kernel.shape, data_format) and is_looped([way.extent for way in ways], [way.out for way in ways])
    ),
    rule=products_of_cells,
    because=LOOPED,
)
lowering(
    to_input,
    platform="cpu",
    when=lambda kernel, dy, *, shape, ways, data_format: _is_one_group(shape, kernel.shape, data_format) and planes.fit(ways),
    rule=partial(planes.to_input, to_input),
    because=PLANES,
)
lowering(
    to_filter,
    when=lambda x, dy, *, shape, ways, data_format: not _is_one_group(x.shape, shape, data_format),
    rule=_group_products,
    because="several groups: a product for each, and for each cell of the window",
)
lowering(
    to_filter,
    platform="cpu",
    when=lambda x, dy, *, shape, ways, data_format: cells(ways) == 1,
    rule=_product_of_places,
    because="a filter of one cell: one product. From 64 channels to 256 on 56 × 56 cells, 16 images: 15 ms of CPU time for 50",
)
lowering(
    to_filter,
    platform="cpu",
    when=lambda x, dy, *, shape, ways, data_format: _is_of_few_products(x, ways=ways, data_format=data_format),
    rule=_patches_product,
    because="few channels and cells, or a cotangent of more cells than the image: one product with the image's patches",
)
lowering(
    to_filter,
    platform="cpu",
    when=lambda x, dy, *, shape, ways, data_format: planes.fit(ways),
    rule=partial(planes.to_filter, to_filter),
    because=PLANES,
)
compiled_with(
    "convolving",
    "cpu",
    when=Trait.CONVOLVES,
    because="XLA's compiler gives a convolution to YNNPACK, which computes it on one core; Eigen takes all. Products stay with "
    "YNNPACK, and sums, which it adds up pairwise",
    xla_cpu_experimental_ynn_fusion_type="LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE",
)
