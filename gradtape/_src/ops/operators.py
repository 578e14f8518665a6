"""Python's operators on tensors and variables."""
from gradtape._src.core.tensor import Tensor, EagerTensor, emit
from gradtape._src.core.variable import Variable
from gradtape._src.ops import math, matmul


def _binary(function):
    op = function.op

    def forward(self, other):
        if type(other) is EagerTensor and type(self) is EagerTensor:
            x, y = self.node, other.node
            if x.aval.dtype is y.aval.dtype:
                try:
                    return emit(op, (x, y))
                except BaseException as error:
                    cut(error)
                    raise
        return function(self, other)

    def reflected(self, other):
        return function(other, self)

    return forward, reflected

from gradtape._src.core.errors import cut

for kind in (Tensor, Variable):
    for name, function in (("add", math.add), ("sub", math.subtract), ("mul", math.multiply), ("matmul", matmul.matmul)):
        forward, reflected = _binary(function)
        setattr(kind, f"__{name}__", forward)
        setattr(kind, f"__r{name}__", reflected)
    kind.__neg__ = lambda self: math.negative(self)
    kind.__truediv__ = lambda self, other: math.multiply(self, 1.0/other)
    kind.__gt__ = lambda self, other: math.greater(self, other)
