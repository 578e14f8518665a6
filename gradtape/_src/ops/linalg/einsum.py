"""Einstein summation. An equation such as `bij,bjk->bik` names the axes of each input and of the result.

A label that is missing from the result is summed over. A label that occurs twice in an input takes its diagonal. `...` stands
for any number of axes, which broadcast. The gradient of an `Einsum` is an `Einsum`.
"""

import functools
import re
import string

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.tensor import Tensor, emit, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, plain
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.shapes import COMPLEX, FLOATING, require

ELLIPSIS = "..."
DTYPES = (*FLOATING, "int32", "int64", "uint64", *COMPLEX)


# ---------------------------------------------------------------------------------------------------------------------
# Equations


@functools.lru_cache(maxsize=1024)
def _normal(equation, count):
    """Normalize an equation: remove spaces, add the result. ValueError if it is invalid, or not for `count` inputs."""
    equation = equation.replace(" ", "")
    if not re.fullmatch(r"([a-zA-Z]|\.{3})*(,([a-zA-Z]|\.{3})*)*(->([a-zA-Z]|\.{3})*)?", equation):
        raise ValueError(f"Subscripts have incorrect format: {equation}. Write labels (letters, ...) as in 'ij,jk->ik'.")
    inputs, arrow, output = equation.partition("->")
    inputs = inputs.split(",")
    if len(inputs) != count:
        raise ValueError(f'Got {count} inputs for equation "{equation}", expecting {len(inputs)}')
    for labels in (*inputs, output):
        if labels.count(ELLIPSIS) > 1:
            raise ValueError(f"Subscripts have incorrect format: {equation}. One ellipsis for each tensor is enough.")
    joined = "".join(inputs).replace(".", "")
    if not arrow:
        once = [label for label in sorted(set(joined)) if joined.count(label) == 1]
        return f"{equation}->{ELLIPSIS if ELLIPSIS in equation else ''}{''.join(once)}"
    for label in output.replace(".", ""):
        if label not in joined:
            raise ValueError(
                f"Output subscripts contain the label {label} not present in the input subscripts: {equation}. A label of the "
                "result must come from an input."
            )
        if output.count(label) > 1:
            raise ValueError(
                f"Output subscripts contain a label appearing more than once: {equation}. To put values on a diagonal, use "
                "linalg.diag."
            )
    return equation


@functools.lru_cache(maxsize=1024)
def _explicit(equation, ranks):
    """Return `(input labels, output labels)` of an equation for inputs of these ranks, as strings with a label for every axis."""
    inputs, _, output = equation.partition("->")
    inputs = inputs.split(",")
    spare = [letter for letter in string.ascii_letters if letter not in equation]
    wide = 0
    for labels, rank in zip(inputs, ranks, strict=True):
        if ELLIPSIS in labels:
            wide = max(wide, rank - len(labels.replace(ELLIPSIS, "")))
    broadcast = "".join(spare[:wide])
    result = []
    for index, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        named = len(labels.replace(ELLIPSIS, ""))
        if ELLIPSIS not in labels and rank != named:
            raise invalid(f"Expected input {index} to have rank {named} but got: {rank}. The equation is {equation}.")
        if rank < named:
            raise invalid(f"Expected input {index} to have rank at least {named} but got: {rank}. The equation is {equation}.")
        result.append(labels.replace(ELLIPSIS, broadcast[wide - (rank - named) :]))
    if wide and ELLIPSIS not in output:
        raise invalid(
            f"Output contains {wide} broadcasting dimension(s) but no ellipsis (...) was found in the output subscripts. The "
            f"equation is {equation}."
        )
    return tuple(result), output.replace(ELLIPSIS, broadcast), broadcast


def _extents(inputs, broadcast, shapes):
    """Return the extent of each label; those of `broadcast` may be 1 in some inputs."""
    extents = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for axis, (label, extent) in enumerate(zip(labels, shape, strict=True)):
            known = extents.setdefault(label, extent)
            if known == extent:
                continue
            if label not in broadcast:
                raise invalid(
                    f"Expected dimension {known} at axis {axis} of the input shaped {plain(shape)} but got dimension {extent}\n"
                    f"All axes of one label have one extent, and {label!r} has {known} and {extent}."
                )
            if 1 not in (known, extent):
                raise invalid(
                    f"In[0] and In[1] must have compatible batch dimensions: {' vs. '.join(map(plain, shapes))}. The axes of "
                    "an ellipsis must be equal, or 1."
                )
            extents[label] = max(known, extent)
    return extents


# ---------------------------------------------------------------------------------------------------------------------
# The op


def _einsum_rule(*inputs, equation):
    require(inputs[0], DTYPES)
    named, output, broadcast = _explicit(equation, tuple([x.ndim for x in inputs]))
    extents = _extents(named, broadcast, [x.shape for x in inputs])
    return aval(tuple([extents[label] for label in output]), inputs[0].dtype)


@op("Einsum", infer=_einsum_rule, saves="inputs", flops=flops.einsum, traits="product contracts")
def _einsum(*inputs, equation):
    named, output, broadcast = _explicit(equation, tuple([x.ndim for x in inputs]))
    if broadcast:
        extents = _extents(named, broadcast, [x.shape for x in inputs])
        pairs = [_without_ones(x, labels, extents, jnp.reshape) for x, labels in zip(inputs, named, strict=True)]
        inputs, named = zip(*pairs, strict=True)
    distinct = "".join(dict.fromkeys(output))
    result = jnp.einsum(f"{','.join(named)}->{distinct}", *inputs, preferred_element_type=inputs[0].dtype)
    return result if distinct == output else _on_diagonals(result, distinct, output)


def _without_ones(x, labels, extents, reshape):
    """Return `x` without axes of extent 1 that are broadcast, and the remaining labels."""
    left = [(label, n) for label, n in zip(labels, extents_of(x), strict=True) if n == extents[label]]
    if len(left) == len(labels):
        return x, labels
    return reshape(x, tuple([n for _, n in left])), "".join([label for label, _ in left])


def _on_diagonals(x, distinct, output):
    """Return `x`, with axes `distinct`, as a tensor with axes `output`: 0 except where all axes of one label have one index."""
    shape = tuple([x.shape[distinct.index(label)] for label in output])
    result = lax.broadcast_in_dim(x, shape, [output.index(label) for label in distinct])
    for axis, label in enumerate(output):
        if output.index(label) != axis:
            here, there = [lax.broadcasted_iota(jnp.int32, shape, a) for a in (axis, output.index(label))]
            result = jnp.where(here == there, result, jnp.zeros_like(result))
    return result


@gradient(_einsum)
def _(dy, inputs, needs_inputs, *, equation):
    shapes = [x.node.aval.shape for x in inputs]
    named, output, broadcast = _explicit(equation, tuple(map(len, shapes)))
    extents = _extents(named, broadcast, shapes)
    narrow = [_without_ones(x, labels, extents, _reshaped) for x, labels in zip(inputs, named, strict=True)]
    results = []
    for index, needed in enumerate(needs_inputs):
        dx = None
        if needed:
            others = [(conj(x), labels) for i, (x, labels) in enumerate(narrow) if i != index]
            dx = _reshaped(_cotangent(dy, output, others, narrow[index][1], extents), shapes[index])
        results.append(dx)
    return results


def _reshaped(x, shape):
    return x if x.node.aval.shape == shape else _reshape(x, shape=shape)


def _cotangent(dy, output, others, labels, extents):
    """Return the sum of products of `dy` and the other inputs, with the axes `labels`; missing axes are broadcast."""
    factors, given = [dy, *[x for x, _ in others]], [output, *[names for _, names in others]]
    distinct = "".join(dict.fromkeys(labels))
    shared = "".join([label for label in distinct if any(label in names for names in given)])
    target = labels if shared == distinct else shared
    dx = dy if given == [target] else _einsum(*factors, equation=f"{','.join(given)}->{target}")
    if shared == distinct:
        return dx
    dx = _reshaped(dx, tuple([extents[label] if label in shared else 1 for label in distinct]))
    dx = _broadcast_to(dx, shape=tuple([extents[label] for label in distinct]))
    return dx if labels == distinct else _einsum(dx, equation=f"{distinct}->{labels}")


# ---------------------------------------------------------------------------------------------------------------------
# The public function


@public
def einsum(equation, *inputs, **kwargs) -> Tensor:
    """Return the sum of products `equation` over all labels that are missing from the result.

        tf.einsum("bij,bjk->bik", x, y)  # products of matrices
        tf.einsum("ii->i", x)            # the diagonal
        tf.einsum("...ij->...ji", x)     # transposed matrices, in whatever batch

    Without `->` the result has the labels that occur once, in alphabetical order. `optimize` and `name` have no effect; the
    cheapest order of several products is chosen. Inputs have one numeric dtype. ValueError for an invalid equation,
    InvalidArgumentError for shapes that do not match it.

    >>> a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.einsum("ij,jk->ik", a, a).numpy().tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    >>> tf.einsum("ii->", a).numpy().item()
    5.0
    """
    unknown = kwargs.keys() - {"name", "optimize"}
    if unknown:
        raise TypeError(
            f"Invalid keyword arguments for einsum: {', '.join(sorted(unknown))}. Valid arguments: name, optimize, greedy."
        )
    equation = _normal(equation, len(inputs))
    return emit(_einsum.op, convert.operands(_einsum.op, inputs), (equation,))
