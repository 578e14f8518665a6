"""TensorFlow 1's image functions, which differ in pixel positions of resizing, and in names and order of arguments."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.shape import expand_dims
from gradtape._src.ops.image import boxes as boxes_of, detection, geometry as image_ops, glimpses, resize
from gradtape._src.ops.nn import patches
from gradtape._src.v1.ops.respelled import respelled


class ResizeMethod:
    """The values of `method` in `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


@public
def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize `images`, [batch, height, width, channels], to `size` (height, width) by linear interpolation; float32.

    `align_corners` aligns the corners of new and old images; `half_pixel_centers` gives TensorFlow 2's positions.
    """
    return resize._bilinear(
        tensor(images), size=resize._size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@public
def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize like `resize_bilinear`, by cubic interpolation."""
    return resize._bicubic(
        tensor(images), size=resize._size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@public
def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Resize like `resize_bilinear`, by nearest neighbours, in the dtype of `images`."""
    return resize._nearest(
        tensor(images), size=resize._size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@public
def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Resize like `resize_bilinear`, by the mean over the area of a new pixel. As in TensorFlow it has no gradient."""
    return resize._area(tensor(images), size=resize._size(size), align_corners=align_corners)


METHODS = {
    **dict.fromkeys((0, "bilinear"), resize_bilinear),
    **dict.fromkeys((1, "nearest"), resize_nearest_neighbor),
    **dict.fromkeys((2, "bicubic"), resize_bicubic),
    **dict.fromkeys((3, "area"), resize_area),
}


@public
def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize `images`, with or without a batch axis, to `size` by a method of `ResizeMethod`.

    Images of that size are returned unchanged, in their own dtype.
    """
    images = tensor(images)
    if images.ndim not in (3, 4):
        raise ValueError(f"'images' must have either 3 or 4 dimensions. Received shape {images.shape}.")
    if method not in METHODS:
        raise ValueError("Resize method is not implemented: give one of tf.image.ResizeMethod.")
    batch = images if images.ndim == 4 else expand_dims(images, 0)
    target = resize._size(size)
    if preserve_aspect_ratio:
        target = resize._within(target, batch.node.aval.shape[1:3])
    if tuple(target) == batch.node.aval.shape[1:3]:
        return images
    return resize.unbatched(METHODS[method](batch, target, align_corners), images)


@public
def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False
) -> Tensor:
    """Resize `image` to fit into the target with its aspect ratio kept, and pad it with zeros on both sides."""
    return resize.fitted(
        image, target_height, target_width, lambda images, size: resize_images(images, size, method, align_corners)
    )


resize_image_with_crop_or_pad = image_ops.resize_with_crop_or_pad
transpose_image = image_ops.transpose


crop_and_resize = respelled(
    boxes_of.crop_and_resize,
    "image boxes box_ind crop_size method extrapolation_value name box_indices",
    box_ind="box_indices",
)
extract_image_patches = respelled(patches.extract_patches, "images ksizes strides rates padding name sizes", ksizes="sizes")


@public
def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """Return `images` with the borders of boxes, like `tf.image.draw_bounding_boxes`."""
    return detection.draw_bounding_boxes(images, boxes, colors)


extract_glimpse = glimpses.extract_glimpse_v1
