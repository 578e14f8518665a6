"""Exchange of tensors with other libraries by the DLPack protocol, without copying memory."""

from __future__ import annotations

from typing import Any

import jax
import jax.dlpack

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.programs import journal
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, handle

# The values of DLPack's DLDeviceType.
_DEVICE_TYPES = {"cpu": 1, "gpu": 2, "cuda": 2, "rocm": 10}


class _Capsule:
    """A bare capsule as an object of the protocol. A capsule does not name its device, which is taken to be JAX's default."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DEVICE_TYPES.get(jax.default_backend(), 1), 0


def _elsewhere(array: Any) -> str | None:
    """Return advice for an array on a device that JAX does not have; None for any other array."""
    try:
        kind, number = array.__dlpack_device__()
        mine = {1, *[_DEVICE_TYPES[d.platform] for d in jax.devices() if d.platform in _DEVICE_TYPES]}
        known = [name for name, of in _DEVICE_TYPES.items() if of == kind and name != "gpu"]
    except Exception:  # JAX's own message is better for an invalid device
        return None
    if kind in mine:
        return None
    device = f"a {known[0]} device (number {number})" if known else f"a device of DLPack's kind {kind}"
    return (
        f"the array of type {type(array).__name__} lies on {device}, and JAX has {jax.default_backend()} here. Copy it to the "
        "host first (CuPy: array.get(), PyTorch: tensor.cpu()), or install JAX for that device."
    )


@public
def to_dlpack(tf_tensor: Any) -> Any:
    """Return a DLPack capsule of a tensor's memory, for another library's `from_dlpack`; nothing is copied.

    A capsule can be used once. Libraries that accept objects take the tensor itself: `numpy.from_dlpack(tensor)`,
    `torch.from_dlpack(tensor)`, `jax.dlpack.from_dlpack(tensor)`. A tensor is immutable, so the resulting array must only be
    read.

    >>> import jax
    >>> jax.dlpack.from_dlpack(tf.constant([1.0, 2.0])).sum().item()
    3.0
    """
    return tensor(tf_tensor).__dlpack__()


@public
def from_dlpack(dlcapsule: Any) -> Tensor:
    """Create a tensor on the memory of another library's array, given as an object with `__dlpack__` or as a capsule.

    Nothing is copied if XLA can use the memory as it is (dense, in row-major order, aligned to 16 bytes or more). The tensor may
    then show later writes into the array: write before, or copy. InvalidArgumentError for any other object, and for a dtype that
    JAX does not have.

    >>> import numpy as np
    >>> tf.experimental.dlpack.from_dlpack(np.arange(3)).numpy()
    array([0, 1, 2])
    """
    if type(dlcapsule).__name__ == "PyCapsule":
        dlcapsule = _Capsule(dlcapsule)
    elif not (hasattr(dlcapsule, "__dlpack__") and hasattr(dlcapsule, "__dlpack_device__")):
        raise invalid(
            f"from_dlpack takes a capsule, or an array with __dlpack__ and __dlpack_device__, received {dlcapsule!r} of type "
            f"{type(dlcapsule).__name__}. tf.convert_to_tensor takes lists and numbers."
        )
    elif hasattr(dlcapsule, "detach") and getattr(dlcapsule, "requires_grad", False):
        dlcapsule = dlcapsule.detach()  # PyTorch refuses to export a tensor that requires a gradient
    try:
        with xla.wide():
            array = jax.dlpack.from_dlpack(dlcapsule)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise invalid(f"from_dlpack cannot take this memory: {_elsewhere(dlcapsule) or error}") from None
    node = engine.constant(array)
    journal.made(node)
    return handle(node)
