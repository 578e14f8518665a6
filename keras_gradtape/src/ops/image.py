"""The functions of `keras.ops.image`, Keras's `backend.image`."""

from keras_gradtape.src.ops._image.colour import (
    hsv_to_rgb as hsv_to_rgb,
    rgb_to_grayscale as rgb_to_grayscale,
    rgb_to_hsv as rgb_to_hsv,
)
from keras_gradtape.src.ops._image.filters import gaussian_blur as gaussian_blur, sobel_edges as sobel_edges
from keras_gradtape.src.ops._image.resize import resize as resize, scale_and_translate as scale_and_translate
from keras_gradtape.src.ops._image.sampling import (
    affine_transform as affine_transform,
    compute_homography_matrix as compute_homography_matrix,
    elastic_transform as elastic_transform,
    map_coordinates as map_coordinates,
    perspective_transform as perspective_transform,
)
