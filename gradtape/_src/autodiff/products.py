"""Gradients that are sums of products over trips or rows, computed by one matrix product."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from gradtape._src.core.programs.program import Node
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, emit
from gradtape._src.ops.array.gather import _gather_gradient
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.linalg.einsum import _einsum, einsum
from gradtape._src.ops.linalg.matmul import MAT_MUL
from gradtape._src.ops.math.arithmetic import add_n
from gradtape._src.ops.nn.convolution import DENSE

EINSUM, TO_FILTER = _einsum.op, DENSE[2].to_filter.op
Product = tuple[Node, Node, Node]  # two factors in one trip, and their product


def products_of(node: Node, fixed: Sequence[Node]) -> list[Product]:
    """Return the products whose sum is the gradient of one trip.

    Empty if it is no such sum. Empty, too, if a factor is the same in all trips (one of `fixed`), or if the factors take more
    memory than the sum.
    """
    terms: list[Product] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.trace is None:
            return []
        if Trait.ADDS in current.op.traits:
            stack += current.inputs
        elif _is_product(current):
            a, b = current.inputs
            if a in fixed or b in fixed or a.aval.size + b.aval.size > current.aval.size:
                return []
            terms.append((a, b, current))
        else:
            return []
    return terms


def _is_product(node: Node) -> bool:
    op = node.op.plain
    if op is EINSUM:
        return len(node.inputs) == 2 and "->" in node.attrs[0] and "." not in node.attrs[0]
    if op is _gather_gradient.op:
        return node.attrs[:2] == (0, 0)
    return op in (MAT_MUL, TO_FILTER)


def summed_products(terms: Sequence[Product], stacked: Mapping[Node, Node]) -> Tensor:
    """Sum the products over all trips; `stacked` has each factor's values in all trips."""
    parts = [_summed(node, EagerTensor(stacked[a]), EagerTensor(stacked[b])) for a, b, node in terms]
    total: Tensor = parts[0] if len(parts) == 1 else add_n(parts)
    return total


def _summed(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Compute `node` from factors with an additional leading axis, summed over that axis."""
    op, attrs = node.op.plain, node.attrs
    if op is MAT_MUL:
        equation = f"t{'km' if attrs[0] else 'mk'},t{'nk' if attrs[1] else 'kn'}->mn"
    elif op is EINSUM:
        (trip, *_) = [letter for letter in string.ascii_letters if letter not in attrs[0]]
        equation = trip + attrs[0].replace(" ", "").replace(",", f",{trip}", 1)
    else:  # it sums over an axis already, which is extended by the trips
        if op is TO_FILTER:
            a, b = [reshape(x, (-1, *x.shape[2:])) for x in (a, b)]
        result: Tensor = emit(node.op, (a.node, b.node), attrs)
        return result
    product: Tensor = einsum(equation, a, b)
    return product
