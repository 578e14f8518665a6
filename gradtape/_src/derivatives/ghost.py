"""Norms of per-example gradients without the gradients ("ghost norms"), from the gradient Program of one example.

A gradient G = AᵀB of A [t, m] and B [t, n] has ‖G‖² = Σ (AAᵀ ∘ BBᵀ). That takes t² numbers where G takes m·n (Goodfellow,
"Efficient per-example gradient computations" (2015), for t = 1; Li, Tramèr, Liang and Hashimoto, "Large language models can be
strong differentially private learners" (2022), section 4.1, for sequences; Bu, Mao and Xu, "Scalable and efficient training of
large convolutional neural networks with differential privacy" (2022), section 3, for convolutions). The same holds for the rows
that a lookup adds up. Any other gradient is computed, and its squares summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.dtypes import float32
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import _gather_gradient
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import _broadcast_to, broadcast_to, reshape, transpose
from gradtape._src.ops.linalg.einsum import _einsum
from gradtape._src.ops.linalg.matmul import MAT_MUL, matmul
from gradtape._src.ops.math.arithmetic import add_n
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.nn.convolution import DENSE
from gradtape._src.ops.nn.patches import extract_patches


class Factors(NamedTuple):
    """A part AᵀB of a gradient: `a` is A [t, m], `b` is B [t, n]. A lookup has `rows` [t] instead: row numbers of the table."""

    a: Tensor | None
    b: Tensor
    rows: Tensor | None
    size: int  # number of elements of A


@memoized
def norms_program(gradients: Program) -> Program:
    """Return the Program of the squared norm of each output of `gradients`, with its parameters."""

    def norms(*given: Node) -> list[Node]:
        return [squared_norm(node).node for node in tracing.inline(gradients, given)]

    return tracing.program_of(norms, gradients.parameters[: arity(gradients)])


def squared_norm(gradient: Node) -> Tensor:
    """Return the sum of the squares of a gradient's elements, by its factors if these are smaller."""
    parts = factors_of(gradient)
    if parts:
        steps = sum([int(extents_of(p.b)[0]) for p in parts])
        if steps * steps + sum([p.size for p in parts]) < gradient.aval.size:
            return _by_grams(parts)
    return sum_of_squares(EagerTensor(gradient))


def factors_of(gradient: Node) -> list[Factors]:
    """Return the products whose sum is the gradient, all of one kind; an empty list if it has another form."""
    found: list[Factors] = []
    stack = [gradient]
    while stack:
        node = stack.pop()
        if node.trace is None:
            return []
        if Trait.ADDS in node.op.traits and all(i.aval is node.aval for i in node.inputs):
            stack += node.inputs
        elif Trait.KEEPS_NORM in node.op.traits and not stack and not found:
            stack.append(node.inputs[0])
        elif node.op.plain in FACTORS:
            factors = FACTORS[node.op.plain](node)
            if factors is None:
                return []
            found.append(factors)
        else:
            return []
    same_kind = len({f.rows is None for f in found}) == 1 and len({extents_of(f.b)[1] for f in found}) == 1
    return found if same_kind else []


def _of_product(node: Node) -> Factors:
    inputs: list[Tensor] = [EagerTensor(n) for n in node.inputs]
    a, b = inputs
    flip_a, flip_b = node.attrs
    a = a if flip_a else transpose(a)
    b = transpose(b) if flip_b else b
    return Factors(a, b, None, a.node.aval.size)


def _of_einsum(node: Node) -> Factors | None:
    """Return the factors of a contracted weight: axes in both operands are summed, axes in one are kept."""
    terms, arrow, out = node.attrs[0].replace(" ", "").partition("->")
    named = terms.split(",")
    if not arrow or len(named) != 2 or "." in terms or any(len(set(n)) < len(n) for n in named):
        return None
    order = [0, 1] if out and out[0] in named[0] else [1, 0]
    first, second = [named[i] for i in order]
    summed = [c for c in first if c not in out]
    kept = [c for c in first if c in out]
    others = [c for c in second if c in out]
    if sorted(c for c in second if c not in out) != sorted(summed) or "".join(kept + others) != out:
        return None
    inputs: list[Tensor] = [EagerTensor(node.inputs[i]) for i in order]
    a, b = inputs
    steps = math.prod([a.node.aval.shape[first.index(c)] for c in summed])
    a = transpose(a, [first.index(c) for c in summed + kept])
    b = transpose(b, [second.index(c) for c in summed + others])
    return Factors(reshape(a, [steps, -1]), reshape(b, [steps, -1]), None, a.node.aval.size)


def _of_convolution(node: Node) -> Factors | None:
    """Return the factors of a filter: A has the patches of the image, B the cotangents, a row for each output position."""
    image, dy = [EagerTensor(n) for n in node.inputs]
    attrs = dict(zip(node.op.attributes, node.attrs, strict=True))
    *window, channels, outputs = attrs["filter_sizes"]
    if attrs["data_format"] != "NHWC" or attrs["padding"] not in ("SAME", "VALID") or channels != extents_of(image)[-1]:
        return None
    sizes = [1, *window, 1]
    places = dy.node.aval.size // outputs
    elements = channels * window[0] * window[1]
    if places * (places + elements) >= elements * outputs:
        return None  # the filter itself is smaller; decided before ops are recorded
    patches = extract_patches(image, sizes, list(attrs["strides"]), list(attrs["dilations"]), attrs["padding"])
    return Factors(reshape(patches, [places, elements]), reshape(dy, [places, outputs]), None, places * elements)


def _of_lookup(node: Node) -> Factors | None:
    """Return the factors of a table: the rows of B are added to `rows` of the table."""
    dy, indices = [EagerTensor(n) for n in node.inputs]
    axis, batch_dims, _ = node.attrs
    if axis != 0 or batch_dims != 0:
        return None
    rows = indices.node.aval.size
    return Factors(None, reshape(dy, [rows, dy.node.aval.size // max(rows, 1)]), reshape(indices, [rows]), 0)


def _of_equal_columns(node: Node) -> Factors | None:
    """Return the factors of a product broadcast from one column, because the cotangents of a layer's results are equal."""
    (column,) = node.inputs
    if column.op is None or column.op.plain is not MAT_MUL or column.aval.shape != (node.aval.shape[0], 1):
        return None
    found = _of_product(column)
    return found._replace(b=broadcast_to(found.b, (extents_of(found.b)[0], node.aval.shape[1])))


FACTORS: dict[Op, Callable[[Node], Factors | None]] = {
    MAT_MUL: _of_product,
    _broadcast_to.op: _of_equal_columns,
    _einsum.op: _of_einsum,
    DENSE[2].to_filter.op: _of_convolution,
    _gather_gradient.op: _of_lookup,
}


def _by_grams(parts: list[Factors]) -> Tensor:
    b = _rows([p.b for p in parts])
    if parts[0].rows is not None:
        rows = _rows([p.rows for p in parts])
        same = cast(equal(rows[:, None], rows[None, :]), b.dtype)
        return _sum(same * matmul(b, b, adjoint_b=True))
    a = _rows([p.a for p in parts])
    if extents_of(a)[0] == 1:
        return sum_of_squares(a) * sum_of_squares(b)
    return _sum(matmul(a, a, adjoint_b=True) * conj(matmul(b, b, adjoint_b=True)))


def _rows(parts: list[Tensor | None]) -> Tensor:
    """Stack the parts' factors, in at least 32 bits because squares overflow in 16."""
    whole: Tensor = parts[0] if len(parts) == 1 else concat(parts, 0)  # type: ignore[assignment]
    return _wide(whole)


def _wide(x: Tensor) -> Tensor:
    return cast(x, float32) if x.dtype.is_floating and x.dtype.size < 4 else x


def sum_of_squares(x: Tensor) -> Tensor:
    """Return the sum of the squares of the elements' absolute values, in at least 32 bits."""
    x = _wide(x)
    return _sum(x * conj(x))


def _sum(x: Tensor) -> Tensor:
    total: Tensor = real(reduce_sum(x))
    return total


def total(squares: list[Tensor]) -> Tensor:
    """Sum the squared norms of several sources, in the dtype of the first."""
    result: Tensor = add_n([cast(s, squares[0].dtype) for s in squares])
    return result
