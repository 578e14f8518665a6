"""Convolutions of one to three spatial axes: strided, dilated, grouped, transposed.

A convolution is linear in the image and in the filter, so it is three ops: itself, and its transposes with respect to both.
Each is the gradient of the other two, so gradients of any order need no other op.
"""

from functools import partial
from typing import NamedTuple

from gradtape._src.core.base.errors import UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.tensors.convert import is_tensor, static_list, tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _reshape, expand_dims, plain, squeeze
from gradtape._src.ops.nn.convolution_kernels import KERNELS
from gradtape._src.ops.nn.spread import constant_over, filter_of_constant, input_of_constant
from gradtape._src.ops.nn.window import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    check_paddings,
    flat_format,
    flat_geometry,
    geometry,
    not_both,
    over_batches,
    sequence,
    spatial_axes,
    sweeps,
    swept,
    widened,
)
from gradtape._src.ops.shapes import FLOATING, one_of, require

# ---------------------------------------------------------------------------------------------------------------------
# Shapes


def check_geometry(rank, strides, padding, explicit_paddings, data_format, dilations):
    """Raise InvalidArgumentError or UnimplementedError unless the attributes of a window are valid."""
    one_of(data_format, (CHANNELS_LAST[rank], CHANNELS_FIRST[rank]), "data_format")
    check_paddings(padding, explicit_paddings, data_format)
    spatial, channel = spatial_axes(data_format)
    for values, what, each in (
        (strides, "strides", "Row and column strides"),
        (dilations, "dilations", "Dilated rates"),
    ):
        if values[0] != 1 or values[channel] != 1:
            message = (
                f"Current implementation does not yet support {what} in the batch and depth dimensions: received "
                f"{list(values)} for {data_format}. Give 1 for these two."
            )
            raise invalid(message) if what == "dilations" else UnimplementedError.saying(message)
        if any(values[axis] < 1 for axis in spatial):
            raise invalid(f"{each} should be larger than 0: received {what}={list(values)}.")


def image_and_filter(rank, image, filter_shape, **geometry):
    """Raise InvalidArgumentError unless the shapes of image and filter are valid for a window over `rank` axes."""
    check_geometry(rank, **geometry)
    if len(filter_shape) != rank + 2:
        raise invalid(
            f"convolution filter must be {rank + 2}-dimensional: {plain(filter_shape)}. Its axes are those of the "
            "window, then channels (divided by groups), then outputs."
        )
    if len(image) != rank + 2:
        raise invalid(
            f"convolution input must be {rank + 2}-dimensional: {plain(image)}. Its axes are those of "
            f"{geometry['data_format']}; expand_dims puts a missing one in."
        )
    if 0 in (*filter_shape[:-2], filter_shape[-1]):
        raise invalid(
            f"filter must not have zero elements (i.e. all dimensions must be non-zero): its shape is {plain(filter_shape)}."
        )
    if filter_shape[-2] == 0:
        raise invalid(f"filter depth must be strictly positive, got 0: its shape is {plain(filter_shape)}.")


def _dense_aval(rank, input, filter, **geometry):
    """Infer the Aval of a convolution; InvalidArgumentError if image and filter do not match."""
    require(input, (*FLOATING, "int32") if rank == 2 else FLOATING)
    image_and_filter(rank, input.shape, filter.shape, **geometry)
    _, channel = spatial_axes(geometry["data_format"])
    depth, (inputs, outputs) = input.shape[channel], filter.shape[-2:]
    if depth % inputs:
        raise invalid(
            f"input depth must be evenly divisible by filter depth: {depth} vs {inputs}\nThe filter "
            f"{plain(filter.shape)} has its channels on the second last axis; the input {plain(input.shape)} has them on "
            f"axis {channel} ({geometry['data_format']})."
        )
    if depth == 0 or outputs % (depth // inputs):
        raise invalid(
            f"output depth must be evenly divisible by number of groups: {outputs} vs {depth // inputs}. An input of "
            f"{depth} channels and a filter of {inputs} make {depth // inputs} groups."
        )
    ways = sweeps(input.shape, filter.shape[:-2], **geometry)
    return aval(swept(input.shape, ways, channel, outputs), input.dtype)


def transposed_aval(what, forward, input, filter, out_backprop, **geometry):
    """Raise InvalidArgumentError unless the cotangent has the shape that `forward` infers from image and filter."""
    expected = forward(input=input, filter=filter, **geometry)
    if out_backprop.ndim != input.ndim:
        raise invalid(f"{what}: out_backprop must be {input.ndim}-dimensional: {plain(out_backprop.shape)}.")
    spatial, channel = spatial_axes(geometry["data_format"])
    if out_backprop.shape[0] != input.shape[0]:
        raise invalid(
            f"{what}: input and out_backprop must have the same batch size. Input batch: {input.shape[0]}, outbackprop "
            f"batch: {out_backprop.shape[0]}, batch_dim: 0"
        )
    if out_backprop.shape[channel] != expected.shape[channel]:
        raise invalid(
            f"{what}: filter and out_backprop must have the same out_depth: {expected.shape[channel]} vs "
            f"{out_backprop.shape[channel]}. The filter is {plain(filter.shape)}."
        )
    for place, axis in enumerate(spatial):
        if out_backprop.shape[axis] != expected.shape[axis]:
            raise invalid(
                f"{what}: Size of out_backprop doesn't match computed: actual = {out_backprop.shape[axis]}, computed = "
                f"{expected.shape[axis]} spatial_dim: {axis} input: {input.shape[axis]} filter: {filter.shape[place]} "
                f"output: {out_backprop.shape[axis]} stride: {geometry['strides'][axis]} "
                f"dilation: {geometry['dilations'][axis]}"
            )


# ---------------------------------------------------------------------------------------------------------------------
# The ops


class Family(NamedTuple):
    """A kind of convolution and its two transposes, as functions of Tensors."""

    forward: object
    to_input: object
    to_filter: object


def family(types, forward_aval, kernels, own=1, traits="product contracts", in_groups=lambda shape: shape):
    """Define the three ops of a kind of convolution, each with its gradient, under the type names `types`.

    `forward_aval` is the aval rule of the convolution; `kernels` are functions of arrays, shapes and Sweeps; `in_groups`
    converts the shape of a filter to [*window, channels / groups, outputs]; `own` is that of `flops.convolution`.
    """

    def to_input_aval(filter, out_backprop, *, input_sizes, **geometry):
        transposed_aval(types[1], forward_aval, aval(input_sizes, filter.dtype), filter, out_backprop, **geometry)
        return aval(input_sizes, filter.dtype)

    def to_filter_aval(input, out_backprop, *, filter_sizes, **geometry):
        transposed_aval(types[2], forward_aval, input, aval(filter_sizes, input.dtype), out_backprop, **geometry)
        return aval(filter_sizes, input.dtype)

    @op(types[0], infer=forward_aval, saves="input filter", flops=flops.convolution(1, -1, own), traits=traits)
    def forward(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
        ways = sweeps(input.shape, filter.shape[:-2], strides, padding, explicit_paddings, data_format, dilations)
        return kernels[0](input, filter, ways=ways, data_format=data_format)

    @op(types[1], infer=to_input_aval, saves="filter out_backprop", flops=flops.convolution(0, 1, own), traits=traits)
    def to_input(filter, out_backprop, *, input_sizes, strides, padding, explicit_paddings, data_format, dilations):
        ways = sweeps(input_sizes, filter.shape[:-2], strides, padding, explicit_paddings, data_format, dilations)
        return kernels[1](filter, out_backprop, shape=input_sizes, ways=ways, data_format=data_format)

    @op(types[2], infer=to_filter_aval, saves="input out_backprop", flops=flops.convolution(-1, 1, own), traits=traits)
    def to_filter(input, out_backprop, *, filter_sizes, strides, padding, explicit_paddings, data_format, dilations):
        ways = sweeps(input.shape, filter_sizes[:-2], strides, padding, explicit_paddings, data_format, dilations)
        return kernels[2](input, out_backprop, shape=filter_sizes, ways=ways, data_format=data_format)

    @gradient(forward)
    def _(dy, input, filter, needs_input, needs_filter, **geometry):
        shape, filter_shape = extents_of(input), extents_of(filter)
        dx = dk = None
        constant = constant_over(dy, spatial_axes(geometry["data_format"])[0])
        if constant is None:
            if needs_input:
                dx = to_input(filter, dy, input_sizes=shape, **geometry)
            if needs_filter:
                dk = to_filter(input, dy, filter_sizes=filter_shape, **geometry)
        else:
            dense = in_groups(filter_shape)
            if needs_input:
                dx = input_of_constant(_reshape(filter, shape=dense), constant, shape, geometry)
            if needs_filter:
                dk = _reshape(filter_of_constant(input, constant, dense, geometry), shape=filter_shape)
        return dx, dk

    @gradient(to_input)
    def _(dx, filter, out_backprop, needs_filter, needs_out_backprop, *, input_sizes, **geometry):
        return (
            to_filter(dx, out_backprop, filter_sizes=extents_of(filter), **geometry) if needs_filter else None,
            forward(dx, filter, **geometry) if needs_out_backprop else None,
        )

    @gradient(to_filter)
    def _(dk, input, out_backprop, needs_input, needs_out_backprop, *, filter_sizes, **geometry):
        return (
            to_input(dk, out_backprop, input_sizes=extents_of(input), **geometry) if needs_input else None,
            forward(input, dk, **geometry) if needs_out_backprop else None,
        )

    return Family(forward, to_input, to_filter)


_types = {
    2: ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    3: ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
}
_traits = {2: "product contracts convolves", 3: "product contracts"}
DENSE = {k: family(types, partial(_dense_aval, k), KERNELS, traits=_traits[k]) for k, types in _types.items()}

# ---------------------------------------------------------------------------------------------------------------------
# The public functions


@public
def conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None) -> Tensor:
    """Convolve over one axis: `input` [..., width, channels] with `filters` [extent, channels / groups, outputs].

    The result is [..., width, outputs]. `padding` is "SAME" (its width is the input's, divided by the stride and rounded up),
    "VALID" (none), or a list of pairs. The dtype is floating.

    >>> tf.nn.conv1d(tf.reshape(tf.range(4.0), [1, 4, 1]), tf.ones([2, 1, 1]), 1, "VALID").numpy().ravel()
    array([1., 3., 5.], dtype=float32)
    """
    attributes, axis = flat_geometry(stride, padding, data_format, dilations, called="stride")
    image, kernel = expand_dims(tensor(input), axis - 4), expand_dims(tensor(filters), 0)
    return squeeze(over_batches(image, 4, lambda x: DENSE[2].forward(x, kernel, **attributes)), axis - 4)


def _like(input, filters):
    """Convert the images to a Tensor, an array to the dtype of the filters."""
    return tensor(input, filters.dtype if is_tensor(filters) and not is_tensor(input) else None)


@public
def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None) -> Tensor:
    """Convolve over two axes: `input` [..., height, width, channels], `filters` [height, width, channels, outputs].

    With strides s, dilations d and padding p: y[n, h, w, o] = Σ x[n, h·s + i·d − p, w·s + j·d − p, c] · k[i, j, c, o]. The
    result is [..., height, width, outputs]. With `data_format="NCHW"` the channels are before the spatial axes. `strides` and
    `dilations` are one int, one for each spatial axis, or four. `padding` is "SAME", "VALID", or four pairs. If the filter has
    fewer channels than the input, both are split into groups. The dtype is floating or int32, and is kept.
    InvalidArgumentError if the shapes do not match.

    >>> tf.nn.conv2d(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), 1, "VALID").numpy().ravel()
    array([4., 4., 4., 4.], dtype=float32)
    """
    attributes = geometry(2, strides, padding, data_format, dilations)
    return over_batches(_like(input, filters), 4, lambda x: DENSE[2].forward(x, filters, **attributes))


@public
def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None) -> Tensor:
    """Convolve over three axes: `input` [..., depth, height, width, channels]; see `conv2d`.

    >>> tf.nn.conv3d(tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1]), [1, 1, 1, 1, 1], "VALID").numpy().ravel()
    array([8.], dtype=float32)
    """
    attributes = geometry(3, strides, padding, data_format, dilations)
    return over_batches(_like(input, filters), 5, lambda x: DENSE[3].forward(x, filters, **attributes))


@public
def convolution(input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None) -> Tensor:
    """Apply `conv1d`, `conv2d` or `conv3d`, by the rank of `filters`. ValueError if both strides and dilations are above 1.

    >>> tf.nn.convolution(tf.reshape(tf.range(4.0), [1, 4, 1]), tf.ones([2, 1, 1])).numpy().ravel()
    array([1., 3., 5.], dtype=float32)
    """
    filters = tensor(filters)
    rank = filters.ndim - 2
    if rank not in (1, 2, 3):
        raise ValueError(
            f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={rank}: filters of shape {filters.shape} "
            "have two axes beside the spatial ones."
        )
    not_both(sequence(strides, rank, "", "strides"), sequence(dilations, rank, "", "dilations"))
    return (conv1d, conv2d, conv3d)[rank - 1](tensor(input), filters, strides, padding, data_format, dilations)


@public
def atrous_conv2d(value, filters, rate, padding, name=None):
    """Apply `conv2d` with a filter that is dilated by `rate`: `convolution` with dilations.

    >>> print(tf.nn.atrous_conv2d(tf.ones([1, 5, 5, 1]), tf.ones([3, 3, 1, 1]), 2, "VALID").numpy().ravel())
    [9.]
    """
    return convolution(value, filters, padding=padding, dilations=rate)


# ---------------------------------------------------------------------------------------------------------------------
# Transposed


def _output_shape(output_shape, image, filters, rank, data_format):
    """Return the full shape of a transposed convolution's result, if only its spatial extents are given."""
    extents = static_list(output_shape, "output_shape")
    if len(extents) == rank:
        batch, channels = extents_of(image)[0], extents_of(filters)[-2]
        extents = (batch, channels, *extents) if data_format.startswith("NC") else (batch, *extents, channels)
    if len(extents) != rank + 2:
        raise invalid(
            f"input_sizes must be {rank + 2}-dimensional, got: {len(extents)}: output_shape={list(extents)} for {data_format}."
        )
    if any(extent < 0 for extent in extents):
        raise invalid(f"output_shape must not be negative: received {list(extents)}.")
    return extents


def _transposed(rank, input, filters, output_shape, strides, padding, data_format, dilations):
    attributes = geometry(rank, strides, padding, data_format, dilations)
    input, filters = _like(input, filters), tensor(filters)
    sizes = _output_shape(output_shape, input, filters, rank, attributes["data_format"])
    return DENSE[rank].to_input(filters, input, input_sizes=sizes, **attributes)


@public
def conv1d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None
) -> Tensor:
    """Return the transpose of `conv1d` with respect to its input; see `conv2d_transpose`.

    `input` [batch, width, outputs], `filters` [extent, channels, outputs].

    >>> tf.nn.conv1d_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], 2).shape
    TensorShape([1, 4, 1])
    """
    attributes, axis = flat_geometry(strides, padding, data_format, dilations, called="stride")
    input, filters = tensor(input), tensor(filters)
    sizes = widened(_output_shape(output_shape, input, filters, 1, flat_format(data_format)[0]), axis)
    image, kernel = expand_dims(input, axis), expand_dims(filters, 0)
    return squeeze(DENSE[2].to_input(kernel, image, input_sizes=sizes, **attributes), axis)


@public
def conv2d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None, name=None
) -> Tensor:
    """Return the transpose of `conv2d` with respect to its input, also called deconvolution.

    `input` [batch, height, width, outputs], `filters` [height, width, channels, outputs], `output_shape` the four extents of
    the result, or its height and width. `conv2d` of that shape must give the shape of `input`.

    >>> tf.nn.conv2d_transpose(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1]), [1, 4, 4, 1], 2).shape
    TensorShape([1, 4, 4, 1])
    """
    return _transposed(2, input, filters, output_shape, strides, padding, data_format, dilations)


@public
def conv3d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NDHWC", dilations=None, name=None
) -> Tensor:
    """Return the transpose of `conv3d` with respect to its input; see `conv2d_transpose`.

    >>> print(tf.nn.conv3d_transpose(tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1]), [1, 4, 4, 4, 1], 2).shape)
    (1, 4, 4, 4, 1)
    """
    return _transposed(3, input, filters, output_shape, strides, padding, data_format, dilations)


@public
def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):
    """Apply `conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by the length of `output_shape`.

    >>> print(tf.nn.conv_transpose(tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], 2).numpy().ravel())
    [1. 1. 1. 1.]
    """
    if not isinstance(output_shape, (Tensor, Stored)) and not hasattr(output_shape, "__len__"):
        raise ValueError(f"`output_shape` must be a tensor or sized collection. Received: output_shape={output_shape}")
    extents = static_list(output_shape, "output_shape")
    if not 3 <= len(extents) <= 5:
        raise ValueError(
            f"`output_shape` must be of length 3, 4 or 5. Received: output_shape={list(extents)} of length {len(extents)}."
        )
    transposed = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[len(extents) - 3]
    return transposed(input, filters, extents, strides, padding, data_format, dilations)


@public
def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """Return the transpose of `atrous_conv2d` with respect to its input; see `conv2d_transpose`.

    >>> y = tf.nn.atrous_conv2d_transpose(tf.ones([1, 1, 1, 1]), tf.ones([2, 2, 1, 1]), [1, 3, 3, 1], 2, "VALID")
    >>> print(y.numpy()[0, :, :, 0])
    [[1. 0. 1.]
     [0. 0. 0.]
     [1. 0. 1.]]
    """
    value, filters = tensor(value), tensor(filters)
    if value.ndim == filters.ndim == 4 and extents_of(value)[3] != extents_of(filters)[3]:
        raise ValueError(
            "`value` channel count must be compatible with `filters` input channel count. Received: "
            f"value.shape={value.shape} with channel count {value.shape[3]} and filters.shape={filters.shape} with "
            f"input channel count {filters.shape[3]}."
        )
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    return _transposed(2, value, filters, output_shape, 1, padding, "NHWC", rate)
