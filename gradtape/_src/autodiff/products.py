"""Gradients that are sums of products over trips or rows: done as one product, which is cheaper than their sum."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from gradtape._src.core.program import Node
from gradtape._src.core.tensor import EagerTensor, Tensor, emit
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.linalg.einsum import einsum
from gradtape._src.ops.math.arithmetic import add_n

Product = tuple[Node, Node, Node]  # two factors of one trip, and what is made of them


def products_of(node: Node, fixed: Sequence[Node]) -> list[Product]:
    """Return the products whose sum is the gradient of one trip. There are none if it is no such sum. The same holds if a
    factor is the same in all trips (one of `fixed`). So it does if all factors take more room than the sum.
    """
    terms: list[Product] = []
    stack = [node]
    while stack:
        current = stack.pop()
        if current.trace is None:
            return []
        if current.op.type in ("AddV2", "AddN"):
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
    kind = node.op.type
    if kind == "Einsum":
        return len(node.inputs) == 2 and "->" in node.attrs[0] and "." not in node.attrs[0]
    if kind == "GatherV2Grad":
        return node.attrs[:2] == (0, 0)
    return kind in ("MatMul", "Conv2DBackpropFilter")


def summed_products(terms: Sequence[Product], stacked: Mapping[Node, Node]) -> Tensor:
    """Sum the products over all trips; `stacked` gives each factor's values in all of them."""
    parts = [_summed(node, EagerTensor(stacked[a]), EagerTensor(stacked[b])) for a, b, node in terms]
    total: Tensor = parts[0] if len(parts) == 1 else add_n(parts)
    return total


def _summed(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Compute `node` from factors with one more axis in front, summed over that axis."""
    kind, attrs = node.op.type, node.attrs
    if kind == "MatMul":
        equation = f"t{'km' if attrs[0] else 'mk'},t{'nk' if attrs[1] else 'kn'}->mn"
    elif kind == "Einsum":
        (trip, *_) = [letter for letter in string.ascii_letters if letter not in attrs[0]]
        equation = trip + attrs[0].replace(" ", "").replace(",", f",{trip}", 1)
    else:  # a sum over places already: those of all trips are more of them
        if kind == "Conv2DBackpropFilter":
            a, b = [reshape(x, (-1, *x.shape[2:])) for x in (a, b)]
        result: Tensor = emit(node.op, (a.node, b.node), attrs)
        return result
    product: Tensor = einsum(equation, a, b)
    return product
