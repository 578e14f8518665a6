"""TensorFlow 1's `image`. Other names are those of `gradtape.image`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.v1.ops.images import (
    ResizeMethod as ResizeMethod,
    crop_and_resize as crop_and_resize,
    draw_bounding_boxes as draw_bounding_boxes,
    extract_glimpse as extract_glimpse,
    extract_image_patches as extract_image_patches,
    resize_area as resize_area,
    resize_bicubic as resize_bicubic,
    resize_bilinear as resize_bilinear,
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
    resize_image_with_pad as resize_image_with_pad,
    resize_images as resize_images,
    resize_nearest_neighbor as resize_nearest_neighbor,
    transpose_image as transpose_image,
)

resize = resize_images

__getattr__ = _falls_back(__name__, "image")
