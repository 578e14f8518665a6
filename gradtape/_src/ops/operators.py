"""Python's operators on tensors and variables.

Dtypes are TensorFlow's: two tensors must have one dtype, anything else takes the tensor's. `==` and `!=` of what cannot
be broadcast, or of `None`, are a plain False and True.
"""

import functools

from gradtape._src.core import naming
from gradtape._src.core.convert import dtype_of, is_tensor, tensor
from gradtape._src.core.define import binary_operator
from gradtape._src.core.errors import cut, public
from gradtape._src.core.tensor import Tensor, graph_of
from gradtape._src.core.variable import Variable
from gradtape._src.ops import arithmetic, compare, elementary
from gradtape._src.ops.cast import cast
from gradtape._src.ops.matmul import matmul
from gradtape._src.ops.rounding import round as rounded


def _pair(function):
    """A function of two tensors as an operator and its reflected form."""

    def reflected(self, other):
        try:
            return function(other, self)
        except BaseException as error:
            cut(error)
            raise

    return function, reflected


def _matrices(x, y):
    """`@`, where an array before a tensor takes its dtype."""
    return matmul(x if is_tensor(x) else tensor(x, y.dtype), y)


def _product(x, y):
    """`*`: where one operand is a tensor of bools the result is one, too, and the other counts as an integer."""
    if any(is_tensor(operand) and dtype_of(operand).kind == "b" for operand in (x, y)):
        x = x if is_tensor(x) else tensor(x, y.dtype)
        return cast(arithmetic.multiply(cast(x, "int32"), cast(y, "int32")), "bool")
    return arithmetic.multiply(x, y)


def _logic(on_bools, on_integers):
    """`&`, `|` and `^`: logical between bools, else on bits."""

    def function(x, y):
        dtype = dtype_of(x if is_tensor(x) else y)
        return (on_bools if dtype.kind == "b" else on_integers)(x, y)

    return _pair(public(function))


OPERATORS = {
    "add": (binary_operator(arithmetic.add, arithmetic.sum_of_two.op)[0], binary_operator(arithmetic.sum_of_two)[1]),
    "sub": binary_operator(arithmetic.subtract),
    "mul": binary_operator(_product, arithmetic.multiply.op),
    "truediv": binary_operator(arithmetic.divide, arithmetic.realdiv.op),
    "floordiv": _pair(arithmetic.floordiv),
    "mod": _pair(arithmetic.floormod),
    "divmod": _pair(lambda x, y: (arithmetic.floordiv(x, y), arithmetic.floormod(x, y))),
    "pow": _pair(elementary.pow),
    "matmul": (matmul, _pair(_matrices)[1]),
    "and": _logic(compare.logical_and, compare.bitwise_and),
    "or": _logic(compare.logical_or, compare.bitwise_or),
    "xor": _logic(compare.logical_xor, compare.bitwise_xor),
    "lshift": _pair(compare.left_shift),
    "rshift": _pair(compare.right_shift),
}


def _yielding(operator, reflected):
    """`operator`, which leaves an operand that it cannot convert, of a library with operators, to that one's own."""

    @functools.wraps(operator)
    def call(self, other):
        try:
            return operator(self, other)
        except (TypeError, ValueError) as error:
            kind = type(other)
            if kind.__module__ in ("builtins", "numpy") or is_tensor(other) or not hasattr(kind, reflected):
                cut(error)
                raise
        except BaseException as error:
            cut(error)
            raise
        return NotImplemented

    return call


def _equality(function, made, of_none):
    """`==` or `!=`: element by element; one bool if the shapes cannot be broadcast, or if the other side is None."""
    compared, _ = binary_operator(function, made, attrs=(False,))

    def compare(self, other):
        if other is None:
            return of_none
        if naming.open_graphs and graph_of((self if isinstance(self, Tensor) else self._tensor).node) is not None:
            same = self is other or (isinstance(self, Tensor) and isinstance(other, Tensor) and self.node is other.node)
            return same is not of_none  # in a graph `==` asks whether both are one tensor
        return compared(self, other)

    return public(compare)


@public
def _invert(self):
    return (compare.logical_not if self.dtype.is_bool else compare.invert)(self)


@public
def _round(self, digits=None):
    if digits is None:
        return rounded(self)
    scale = 10.0**digits
    return rounded(self * scale) / scale


COMPARISONS = {
    "lt": binary_operator(compare.less)[0],
    "le": binary_operator(compare.less_equal)[0],
    "gt": binary_operator(compare.greater)[0],
    "ge": binary_operator(compare.greater_equal)[0],
    "eq": _equality(compare.equal_or_false, compare.EQUAL, of_none=False),
    "ne": _equality(compare.not_equal_or_true, compare.NOT_EQUAL, of_none=True),
}
UNARY = {"neg": arithmetic.negative, "pos": tensor, "abs": arithmetic.abs, "invert": _invert, "round": _round}

for kind in (Tensor, Variable):
    for name, (forward, reflected) in OPERATORS.items():
        setattr(kind, f"__{name}__", _yielding(forward, f"__r{name}__"))
        setattr(kind, f"__r{name}__", reflected)
    for name, comparison in COMPARISONS.items():
        setattr(kind, f"__{name}__", comparison)
    for name, operator in UNARY.items():
        setattr(kind, f"__{name}__", operator)


def _no_update(symbol, update):
    """`variable += x` would make a tensor of the variable's name, and end the training of that variable unseen."""

    def refuse(self, other):
        raise RuntimeError(
            f"`{update[0]} {symbol}= value` with `tf.Variable`s is not supported. Use `{update[1]}` to modify the "
            f"variable, or `out = {update[0]} {symbol} value` if you need to get a new output Tensor."
        )

    return public(refuse)


Variable.__iadd__ = _no_update("+", ("variable", "variable.assign_add(value)"))
Variable.__isub__ = _no_update("-", ("variable", "variable.assign_sub(value)"))
Variable.__imul__ = _no_update("*", ("var", "var.assign(var * value)"))
Variable.__itruediv__ = _no_update("/", ("var", "var.assign(var / value)"))
Variable.__ipow__ = _no_update("**", ("var", "var.assign(var ** value)"))
