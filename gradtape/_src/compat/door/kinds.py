"""TensorFlow's private classes of tensors, by which libraries test whether code runs in a function."""

from __future__ import annotations

import abc
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors import tensor
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.tensors.variable import Variable

# The base class of tensors and variables in TensorFlow's `types.core`, from which libraries derive classes of variables.
AnyTensor = abc.ABCMeta("Tensor", (), {"__module__": "tensorflow.python.types.core"})
AnyTensor.register(tensor.Tensor)
AnyTensor.register(Variable)


class _Kind(type):
    """The metaclass of `EagerTensor` and `SymbolicTensor`: a tensor is an instance according to whether it has a value."""

    symbolic: bool

    @public
    def __call__(cls, value: Any, device: Any = None, dtype: Any = None) -> tensor.Tensor:
        if cls.symbolic:
            raise TypeError("A SymbolicTensor is made by a function or graph: use tf.function.")
        return convert_to_tensor(value, dtype)

    @public
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, tensor.Tensor) and tensor.is_symbolic_tensor(instance) is cls.symbolic

    @public
    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, tensor.EagerTensor)


class EagerTensor(tensor.Tensor, metaclass=_Kind):
    """The class of tensors with a value."""

    symbolic = False


class SymbolicTensor(tensor.Tensor, metaclass=_Kind):
    """The class of tensors of functions and graphs."""

    symbolic = True
