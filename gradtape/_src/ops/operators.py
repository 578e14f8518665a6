"""Python's operators on tensors and variables.

Dtypes follow TensorFlow: two tensors must have one dtype, any other operand is converted to the tensor's. `==` and `!=` with
`None`, or of shapes that do not broadcast, are a plain False and True.
"""

from gradtape._src.core.base import naming
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.declarations.define import binary_operator, left_to
from gradtape._src.core.tensors.convert import dtype_of, is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, of_plain_graph
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.linalg.matmul import MAT_MUL, matmul
from gradtape._src.ops.math import arithmetic, compare, elementary, rounding


def _pair(function, name):
    """Create the operator `name` and its reflected form from a function of two tensors."""

    def forward(self, other):
        try:
            return function(self, other)
        except BaseException as error:
            if left_to(other, f"__r{name}__", error):
                return NotImplemented
            cut(error)
            raise

    def reflected(self, other):
        try:
            return function(other, self)
        except BaseException as error:
            cut(error)
            raise

    return forward, reflected


def _matrices(x, y):
    """Return `x @ y`; an array on the left is converted to the dtype of the tensor."""
    return matmul(x if is_tensor(x) else tensor(x, y.dtype), y)


def _product(x, y):
    """Return `x * y`. With a bool tensor as an operand the result is bool; the other operand is converted as an integer."""
    if any(is_tensor(operand) and dtype_of(operand).kind == "b" for operand in (x, y)):
        x = x if is_tensor(x) else tensor(x, y.dtype)
        return cast(arithmetic.multiply(cast(x, "int32"), cast(y, "int32")), "bool")
    return arithmetic.multiply(x, y)


def _logic(on_bools, on_integers, name):
    """Create `&`, `|` or `^`: logical for bools, bitwise for integers."""

    def function(x, y):
        dtype = dtype_of(x if is_tensor(x) else y)
        return (on_bools if dtype.kind == "b" else on_integers)(x, y)

    return _pair(public(function), name)


OPERATORS = {
    "add": (
        binary_operator(arithmetic.add, "add", arithmetic.sum_of_two.op)[0],
        binary_operator(arithmetic.sum_of_two, "add")[1],
    ),
    "sub": binary_operator(arithmetic.subtract, "sub"),
    "mul": binary_operator(_product, "mul", arithmetic.multiply.op),
    "truediv": binary_operator(arithmetic.divide, "truediv", arithmetic.realdiv.op),
    "floordiv": _pair(rounding.floordiv, "floordiv"),
    "mod": _pair(rounding.floormod, "mod"),
    "divmod": _pair(lambda x, y: (rounding.floordiv(x, y), rounding.floormod(x, y)), "divmod"),
    "pow": _pair(elementary.pow, "pow"),
    "matmul": (binary_operator(matmul, "matmul", MAT_MUL, (False, False), rank=2)[0], _pair(_matrices, "matmul")[1]),
    "and": _logic(compare.logical_and, compare.bitwise_and, "and"),
    "or": _logic(compare.logical_or, compare.bitwise_or, "or"),
    "xor": _logic(compare.logical_xor, compare.bitwise_xor, "xor"),
    "lshift": _pair(compare.left_shift, "lshift"),
    "rshift": _pair(compare.right_shift, "rshift"),
}


def _equality(function, made, of_none):
    """Create `==` or `!=`: element-wise, or one bool if the shapes do not broadcast or the other operand is None."""
    compared, _ = binary_operator(function, "eq", made, (False,))

    def compare(self, other):
        if other is None:
            return of_none
        if naming.open_graphs and of_plain_graph((self if isinstance(self, Tensor) else self._tensor).node):
            same = self is other or (isinstance(self, Tensor) and isinstance(other, Tensor) and self.node is other.node)
            return same is not of_none  # in a graph `==` is identity of tensors
        return compared(self, other)

    return public(compare)


@public
def _invert(self):
    return (compare.logical_not if self.dtype.is_bool else compare.invert)(self)


@public
def _round(self, digits=None):
    if digits is None:
        return rounding.round(self)
    scale = 10.0**digits
    return rounding.round(self * scale) / scale


COMPARISONS = {
    "lt": binary_operator(compare.less, "lt")[0],
    "le": binary_operator(compare.less_equal, "le")[0],
    "gt": binary_operator(compare.greater, "gt")[0],
    "ge": binary_operator(compare.greater_equal, "ge")[0],
    "eq": _equality(compare.equal_or_false, compare.EQUAL, of_none=False),
    "ne": _equality(compare.not_equal_or_true, compare.NOT_EQUAL, of_none=True),
}
UNARY = {"neg": arithmetic.negative, "pos": tensor, "abs": arithmetic.abs, "invert": _invert, "round": _round}

for kind in (Tensor, Variable):
    for name, (forward, reflected) in OPERATORS.items():
        attach(kind, **{f"__{name}__": forward, f"__r{name}__": reflected})
    for name, comparison in COMPARISONS.items():
        attach(kind, **{f"__{name}__": comparison})
    for name, operator in UNARY.items():
        attach(kind, **{f"__{name}__": operator})

# The operators of TensorFlow's `Tensor.OVERLOADABLE_OPERATORS`, which include those of Python 2.
_OVERLOADABLE = "truediv floordiv mod pow matmul add sub mul and or xor div".split()
attach(
    Tensor,
    OVERLOADABLE_OPERATORS={
        *(f"__{prefix}{name}__" for name in _OVERLOADABLE for prefix in ("", "r")),
        *(f"__{name}__" for name in "abs neg invert lt le gt ge eq ne getitem".split()),
    },
    __div__=OPERATORS["truediv"][0],
    __rdiv__=OPERATORS["truediv"][1],
    __nonzero__=Tensor.__bool__,
)


def _no_update(symbol, update):
    """Create the operator `+=` and the like for variables, which raises: it would rebind the variable's name to a tensor."""

    def refuse(self, other):
        raise RuntimeError(
            f"`{update[0]} {symbol}= value` with `tf.Variable`s is not supported. Use `{update[1]}` to modify the "
            f"variable, or `out = {update[0]} {symbol} value` if you need to get a new output Tensor."
        )

    return public(refuse)


attach(
    Variable,
    __iadd__=_no_update("+", ("variable", "variable.assign_add(value)")),
    __isub__=_no_update("-", ("variable", "variable.assign_sub(value)")),
    __imul__=_no_update("*", ("var", "var.assign(var * value)")),
    __itruediv__=_no_update("/", ("var", "var.assign(var / value)")),
    __ipow__=_no_update("**", ("var", "var.assign(var ** value)")),
)
