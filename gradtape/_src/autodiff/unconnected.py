"""The gradient of a source on which the target does not depend."""

from __future__ import annotations

import enum

from gradtape._src.core.base.public import public


class UnconnectedGradients(enum.Enum):
    """The gradient of an unconnected source: `None`, or zeros of the source's shape.

    >>> print(tf.UnconnectedGradients.ZERO.value)
    zero
    """

    NONE = "none"
    ZERO = "zero"

    @classmethod
    @public
    def _missing_(cls, value: object) -> None:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Give tf.UnconnectedGradients.NONE or .ZERO ('none', 'zero')."
        )


NONE = UnconnectedGradients.NONE
