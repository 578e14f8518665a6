"""Similarity measures of two images, and derivatives across an image."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.rearrange import pad
from gradtape._src.ops.array.shape import plain, reshape, zeros
from gradtape._src.ops.image.colour import convert_image_dtype
from gradtape._src.ops.math.arithmetic import square, squared_difference
from gradtape._src.ops.math.elementary import log, pow
from gradtape._src.ops.math.reduction import reduce_mean, reduce_prod, reduce_sum
from gradtape._src.ops.nn.activation import relu
from gradtape._src.ops.nn.depthwise import depthwise_conv2d
from gradtape._src.ops.nn.pooling import avg_pool

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
SOBEL = (((-1, -2, -1), (0, 0, 0), (1, 2, 1)), ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1)))


# ---------------------------------------------------------------------------------------------------------------------
# Neighbouring pixels


def _steps(images):
    """Return the differences of neighbouring pixels: down the rows, and along the columns."""
    return images[..., 1:, :, :] - images[..., :-1, :, :], images[..., 1:, :] - images[..., :-1, :]


@public
def total_variation(images, name=None):
    """Return the sum of the absolute differences of neighbouring pixels: a scalar for an image, [batch] for a batch.

    >>> float(tf.image.total_variation([[[1.0]], [[3.0]]]))
    2.0
    """
    images = tensor(images)
    if images.ndim not in (3, 4):
        raise ValueError(f"'images' must be either 3 or 4-dimensional. Received shape {images.shape}.")
    down, along = [reduce_sum(abs(steps), [-3, -2, -1]) for steps in _steps(images)]
    return down + along


@public
def image_gradients(image):
    """Return `(dy, dx)`, the differences to the next pixel down and to the right, shaped as `image`; 0 in the last row or
    column.

    `image` is [batch, height, width, channels].

    >>> dy, dx = tf.image.image_gradients(tf.reshape(tf.range(4.0), [1, 2, 2, 1]))
    >>> dy.numpy().ravel(), dx.numpy().ravel()
    (array([2., 2., 0., 0.], dtype=float32), array([1., 0., 1., 0.], dtype=float32))
    """
    image = tensor(image)
    if image.ndim != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    batch, height, width, depth = image.node.aval.shape
    down, along = _steps(image)
    last_row = zeros([batch, min(height, 1), width, depth], image.dtype)
    last_column = zeros([batch, height, min(width, 1), depth], image.dtype)
    return concat([down, last_row], 1), concat([along, last_column], 2)


@public
def sobel_edges(image):
    """Apply Sobel filters, down and to the right, with mirrored borders: [batch, height, width, channels, 2].

    >>> tf.image.sobel_edges(tf.zeros([1, 4, 4, 3])).shape
    TensorShape([1, 4, 4, 3, 2])
    """
    image = tensor(image)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    channels = image.node.aval.shape[3]
    kernels = np.tile(np.array(SOBEL).transpose(1, 2, 0)[:, :, None], (1, 1, channels, 1))
    edges = depthwise_conv2d(padded, tensor(kernels.tolist(), image.dtype), [1, 1, 1, 1], "VALID")
    return reshape(edges, [*image.node.aval.shape, 2])


# ---------------------------------------------------------------------------------------------------------------------
# Two images


def _comparable(img1, img2):
    """Raise ValueError unless both are batches of images of one shape; the batches must broadcast."""
    shapes = [x.node.aval.shape for x in (img1, img2)]
    for shape in shapes:
        if len(shape) < 3:
            raise ValueError(f"Shape {shape} must have rank at least 3: [..., height, width, channels].")
    first, second = shapes
    if first[-3:] != second[-3:]:
        raise ValueError(f"Shapes {first[-3:]} and {second[-3:]} are incompatible: the images must have one size.")
    if any(m != n and 1 not in (m, n) for m, n in zip(first[-4::-1], second[-4::-1], strict=False)):
        raise ValueError(f"Two images are not compatible: {first} and {second}")


def _as_single(max_val, img1, img2):
    """Convert two images, and the greatest value of the first, to float32 on the same scale."""
    greatest = convert_image_dtype(cast(max_val, img1.dtype), "float32")
    return convert_image_dtype(img1, "float32"), convert_image_dtype(img2, "float32"), greatest


@public
def psnr(a, b, max_val, name=None) -> Tensor:
    """Return the peak signal-to-noise ratio in decibels, 20·log₁₀(max_val) − 10·log₁₀(mean squared difference), for each
    image.

    `max_val` is the greatest value that images of this dtype can have, 1.0 or 255. The result is float32.

    >>> float(tf.image.psnr(tf.zeros([4, 4, 1]), tf.ones([4, 4, 1]), max_val=10.0))
    20.0
    """
    a, b, greatest = _as_single(max_val, tensor(a), tensor(b))
    error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
    _comparable(a, b)
    decibel = 10 / float(np.log(10))  # host-side: a constant
    return 2 * decibel * log(greatest) - decibel * log(error)


def _gaussian(size, sigma):
    distance = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)
    window = np.exp(distance * distance * np.float32(-0.5 / sigma**2))  # host-side: a constant
    return window / window.sum()


def _similarity(img1, img2, max_val, filter_size, filter_sigma, k1, k2):
    """Return `(similarity, contrast · structure)` of each channel at each position of the window, in float32."""
    shapes = [x.node.aval.shape for x in (img1, img2)]
    for shape in shapes:
        if any(extent < filter_size for extent in shape[-3:-1]):
            raise invalid(
                f"Expected the images to be at least as large as the filter: {plain(shape)} has less than filter_size="
                f"{filter_size} pixels along an axis. Give larger images or a smaller filter_size."
            )
    window = np.repeat(_gaussian(filter_size, filter_sigma)[:, None, None, None], shapes[0][-1], 2)
    down, along = tensor(window), tensor(window.swapaxes(0, 1))

    def smoothed(x):
        *batch, height, width, channels = x.node.aval.shape
        y = depthwise_conv2d(reshape(x, [-1, height, width, channels]), down, [1, 1, 1, 1], "VALID")
        y = depthwise_conv2d(y, along, [1, 1, 1, 1], "VALID")
        return reshape(y, [*batch, *y.node.aval.shape[1:]])

    c1, c2 = square(k1 * max_val), square(k2 * max_val)
    mean1, mean2 = smoothed(img1), smoothed(img2)
    product, squares = mean1 * mean2 * 2.0, square(mean1) + square(mean2)
    luminance = (product + c1) / (squares + c1)
    structure = (smoothed(img1 * img2) * 2.0 - product + c2) / (smoothed(square(img1) + square(img2)) - squares + c2)
    return luminance * structure, structure


@public
def ssim(
    img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False
):  # fmt: skip
    """Return the structural similarity in [−1, 1] of each pair of images; with `return_index_map`, at each position of the
    window.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity", 2004.

    >>> tf.image.ssim(tf.ones([16, 16, 1]), tf.ones([16, 16, 1]), max_val=1.0).numpy().round(4).item()
    1.0
    """
    img1, img2 = tensor(img1), tensor(img2)
    _comparable(img1, img2)
    img1, img2, max_val = _as_single(max_val, img1, img2)
    similarity, _ = _similarity(img1, img2, max_val, static(filter_size, "filter_size"), filter_sigma, k1, k2)
    return reduce_mean(similarity if return_index_map else reduce_mean(similarity, [-3, -2]), [-1])


@public
def ssim_multiscale(
    img1, img2, max_val, power_factors=WEIGHTS, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03
):  # fmt: skip
    """Return the structural similarity over several scales, each half of the one before: a number for each image.

    `power_factors` are the exponents of the scales; the contrast of each and the similarity of the last are multiplied.
    Wang, Simoncelli and Bovik, "Multiscale structural similarity for image quality assessment", 2003.

    >>> x = tf.random.stateless_uniform([1, 176, 176, 1], [1, 2])
    >>> print([tf.image.ssim_multiscale(x, y, 1.0).numpy().round(3).tolist() for y in (x, 0.9 * x, 0.5 * x)])
    [[1.0], [0.9950000047683716], [0.8230000138282776]]
    """
    img1, img2 = tensor(img1), tensor(img2)
    _comparable(img1, img2)
    img1, img2, max_val = _as_single(max_val, img1, img2)
    contrasts = []
    for scale in range(len(power_factors)):
        if scale:
            img1, img2 = _halved(img1), _halved(img2)
        similarity, structure = _similarity(img1, img2, max_val, static(filter_size, "filter_size"), filter_sigma, k1, k2)
        contrasts.append(relu(reduce_mean(structure, [-3, -2])))
    contrasts[-1] = relu(reduce_mean(similarity, [-3, -2]))
    powers = pow(stack(contrasts, axis=-1), tensor(power_factors, "float32"))
    return reduce_mean(reduce_prod(powers, [-1]), [-1])


def _halved(images):
    """Return images of half the size, by means over four pixels. A last odd row or column counts twice."""
    *batch, height, width, channels = images.node.aval.shape
    flat = reshape(images, [-1, height, width, channels])
    if height % 2 or width % 2:
        flat = pad(flat, [[0, 0], [0, height % 2], [0, width % 2], [0, 0]], "SYMMETRIC")
    halves = avg_pool(flat, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(halves, [*batch, *halves.node.aval.shape[1:]])
