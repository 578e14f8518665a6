"""Types of tensors and functions, for annotations and `isinstance`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.compat.types import (
    AtomicFunction as AtomicFunction,
    Callable as Callable,
    GenericFunction as GenericFunction,
    PolymorphicFunction as PolymorphicFunction,
    SupportsTracingProtocol as SupportsTracingProtocol,
    TensorLike as TensorLike,
    TraceType as TraceType,
)
from gradtape._src.control.concrete import ConcreteFunction as ConcreteFunction
from gradtape._src.control.function_type import FunctionType as FunctionType
from gradtape.types.experimental import distributed as distributed

__getattr__ = _missing(__name__)
