"""The data of the examples: digits that scikit-learn ships, and a picture of them in characters."""

import numpy as np
from sklearn import datasets

TEST_ROWS = 360
SHADES = " .:-=+*#%@"


def digits(rows: int = 1437, seed: int = 0):
    """`(x, y), (x_test, y_test)`: images [rows, 8, 8, 1] between 0 and 1 with labels [rows], and 360 to test with."""
    data = datasets.load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images = (data.images[order, ..., np.newaxis] / 16).astype("float32")
    labels = data.target[order].astype("int32")
    train = slice(TEST_ROWS, TEST_ROWS + rows)
    return (images[train], labels[train]), (images[:TEST_ROWS], labels[:TEST_ROWS])


def picture(*images) -> str:
    """Images [height, width], or with a channel, side by side: the darker the character, the greater the value."""
    rows = np.concatenate([np.pad(np.asarray(image).reshape(np.shape(image)[:2]), ((0, 0), (0, 2))) for image in images], axis=1)
    shades = np.clip(rows * len(SHADES), 0, len(SHADES) - 1).astype(int)
    return "\n".join("".join(2 * SHADES[shade] for shade in row).rstrip() for row in shades)
