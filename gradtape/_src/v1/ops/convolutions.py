"""Convolutions and pooling of `compat.v1.nn`: `filter`, `value`, `rate`, `use_cudnn_on_gpu`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list
from gradtape._src.ops.nn import convolution as convolutions, depthwise, morphology, pooling
from gradtape._src.v1.ops.respelled import respelled

ONES = (1, 1, 1, 1)

conv1d = respelled(
    convolutions.conv1d,
    "value filters stride padding use_cudnn_on_gpu data_format name input dilations",
    value="input",
    use_cudnn_on_gpu="",
)
conv2d = respelled(
    convolutions.conv2d,
    "input filter strides padding use_cudnn_on_gpu data_format dilations name filters",
    filter="filters",
    use_cudnn_on_gpu="",
)
conv3d = respelled(convolutions.conv3d, "input filter strides padding data_format dilations name filters", filter="filters")
convolution = respelled(
    convolutions.convolution,
    "input filter padding strides dilation_rate name data_format filters dilations",
    filter="filters",
    dilation_rate="dilations",
)


def _transposed(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = "value filter output_shape strides padding data_format name input filters dilations"
    return respelled(function, parameters, value="input", filter="filters")


conv2d_transpose = _transposed(convolutions.conv2d_transpose)
conv3d_transpose = _transposed(convolutions.conv3d_transpose)
depthwise_conv2d = respelled(
    depthwise.depthwise_conv2d, "input filter strides padding rate name data_format dilations", rate="dilations"
)
depthwise_conv2d_native = respelled(depthwise.depthwise_conv2d, "input filter strides padding data_format dilations name")
depthwise_conv2d_native_backprop_input = depthwise.depthwise_conv2d_backprop_input
depthwise_conv2d_native_backprop_filter = depthwise.depthwise_conv2d_backprop_filter
separable_conv2d = respelled(
    depthwise.separable_conv2d,
    "input depthwise_filter pointwise_filter strides padding rate name data_format dilations",
    rate="dilations",
)


@public
def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Return the gradient of `conv2d` with respect to its input, of shape `input_sizes`."""
    attributes = convolutions.geometry(2, strides, padding, data_format, dilations)
    sizes = static_list(input_sizes, "input_sizes")
    return convolutions.DENSE[2].to_input(filters if filter is None else filter, out_backprop, input_sizes=sizes, **attributes)


@public
def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Any:
    """Return the gradient of `conv2d` with respect to its filter, of shape `filter_sizes`."""
    attributes = convolutions.geometry(2, strides, padding, data_format, dilations)
    sizes = static_list(filter_sizes, "filter_sizes")
    return convolutions.DENSE[2].to_filter(input, out_backprop, filter_sizes=sizes, **attributes)


@public
def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = (1, *ONES),
    name: str | None = None,
) -> Any:
    """Return the gradient of `conv3d` with respect to its filter, of shape `filter_sizes`."""
    attributes = convolutions.geometry(3, strides, padding, data_format, dilations)
    sizes = static_list(filter_sizes, "filter_sizes")
    return convolutions.DENSE[3].to_filter(input, out_backprop, filter_sizes=sizes, **attributes)


conv3d_backprop_filter_v2 = conv3d_backprop_filter


@public
def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Compute the greyscale dilation, like `gradtape.nn.dilation2d`."""
    kernel, dilations = filters if filter is None else filter, rates if dilations is None else dilations
    return morphology.dilation2d(input, kernel, strides, padding, "NHWC", dilations)


@public
def erosion2d(value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: str | None = None) -> Any:
    """Compute the greyscale erosion, like `gradtape.nn.erosion2d`."""
    return morphology.erosion2d(value, kernel, strides, padding, "NHWC", rates)


def _pool(function: Callable[..., Any]) -> Callable[..., Any]:
    return respelled(function, "value ksize strides padding data_format name input", value="input")


max_pool = _pool(pooling.max_pool2d)
max_pool_v2 = pooling.max_pool
avg_pool = avg_pool2d = _pool(pooling.avg_pool2d)
avg_pool_v2 = pooling.avg_pool
max_pool_with_argmax = respelled(
    pooling.max_pool_with_argmax,
    "input ksize strides padding data_format Targmax name output_dtype include_batch_in_index",
    Targmax="output_dtype",
)
pool = respelled(
    pooling.pool,
    "input window_shape pooling_type padding dilation_rate strides name data_format dilations",
    dilation_rate="dilations",
)
