"""A row's data in bfloat16: the rounded result of its `start()`, also as PyTorch's tensors."""

import functools

EXACT = "rounded"  # numbers of bfloat16 stored in float32, the reference for results in bfloat16
TOLERANCES = {"float32": 5e-3, "bfloat16": 5e-2}  # on a GPU, where all sides compute float32 products in TensorFloat-32


def rounded(start, dtype="bfloat16"):
    """Return `start` of a row with floating-point arrays rounded to bfloat16, as arrays of `dtype`, in the same nest."""
    from ml_dtypes import bfloat16

    def of(value):
        if isinstance(value, list | tuple):
            return type(value)(map(of, value))
        return value.astype(bfloat16).astype(dtype) if value.dtype == "float32" else value

    return functools.wraps(start)(lambda *arguments: of(start(*arguments)))


def set_up_torch(device, precision):
    """Make `device`, "cpu" or "gpu", the default, also for bfloat16, with TensorFloat-32 products as on the other sides."""
    import torch

    from_numpy = torch.from_numpy
    place = "cuda" if device == "gpu" else "cpu"

    def tensor_of(array):
        if array.dtype == "bfloat16":
            return from_numpy(array.view("int16")).view(torch.bfloat16).to(place)
        return from_numpy(array).to(place)

    torch.from_numpy = tensor_of
    torch.set_default_dtype(torch.bfloat16 if precision == "bfloat16" else torch.float32)
    if device == "gpu":
        torch.set_default_device("cuda")
        torch.set_float32_matmul_precision("high")


def wide(array):
    """Convert an array of NumPy or PyTorch to NumPy, and bfloat16, which array files do not support, to float32."""
    import numpy as np

    if hasattr(array, "detach"):
        array = array.detach().cpu()
        return array.float().numpy() if "bfloat16" in str(array.dtype) else array.numpy()
    array = np.asarray(array)
    return array.astype("float32") if array.dtype == "bfloat16" else array
