"""A row's numbers in bfloat16: what its `start()` draws, rounded, and PyTorch's tensors of that."""

import functools

EXACT = "rounded"  # numbers of bfloat16 in float32: what results in bfloat16 are compared with
TOLERANCES = {"float32": 5e-3, "bfloat16": 5e-2}  # on a card, where products of float32 are TensorFloat-32 on every side


def rounded(start, dtype="bfloat16"):
    """`start` of a row with its floating-point arrays rounded to bfloat16, as arrays of `dtype`, in the same nested lists."""
    from ml_dtypes import bfloat16

    def of(value):
        if isinstance(value, list | tuple):
            return type(value)(map(of, value))
        return value.astype(bfloat16).astype(dtype) if value.dtype == "float32" else value

    return functools.wraps(start)(lambda *arguments: of(start(*arguments)))


def set_up_torch(device, precision):
    """Make tensors on `device`, "cpu" or "gpu", also of bfloat16, with TensorFloat-32 in products as on the other sides."""
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
    """An array of NumPy's or PyTorch's as NumPy's; bfloat16, which files of arrays do not know, as float32."""
    import numpy as np

    if hasattr(array, "detach"):
        array = array.detach().cpu()
        return array.float().numpy() if "bfloat16" in str(array.dtype) else array.numpy()
    array = np.asarray(array)
    return array.astype("float32") if array.dtype == "bfloat16" else array
