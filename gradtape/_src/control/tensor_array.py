"""`TensorArray`: tensors by index, each written once. It is a list in eager code, and one tensor in a compiled loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import optree

from gradtape._src.autodiff.backward import Operation
from gradtape._src.control.tensor_array_size import Growth, entries_for, is_around
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import InvalidArgumentError, OutOfRangeError, invalid
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, gradient, op, ran
from gradtape._src.core.declarations.spec import TypeSpec
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.programs.op import Op, Refusals, define
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, static, static_list, tensor
from gradtape._src.core.tensors.scopes import executing_eagerly
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval, changes, with_rows
from gradtape._src.core.values.dim import is_unknown, unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import number_of_rows, zeros_like, zeros_of
from gradtape._src.ops.array.extents import shape as shape_of
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat, split, stack, unstack
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, reshape, zeros


def _write(buffer: Any, value: Any, index: Any) -> Any:
    inside = (index >= 0) & (index < buffer.shape[0])
    at = jnp.where(inside, index, 0)
    before = lax.dynamic_index_in_dim(buffer, at, keepdims=False)
    return lax.dynamic_update_index_in_dim(buffer, jnp.where(inside, value, before), at, 0)


def _outside(buffer: Any, index: Any) -> Refusals:
    wrong = (index < 0) | (index >= len(buffer))
    yield wrong, lambda: f"Trying to modify element {index} in a list with {len(buffer)} elements."


def _written(buffer: Any, value: Any, index: Any) -> Any:
    """Write an entry of strings, on the host."""
    result = buffer.copy()
    if 0 <= index < len(buffer):
        result[index, ...] = value
    return result


def _write_aval(buffer: Aval, value: Aval, index: Aval) -> Aval:
    return buffer


WRITE = define(Op("TensorListSetItem", _write, infer=_write_aval, saves="index", strings=_written, flops=0))


@gradient(WRITE)
def _write_gradient(op: Operation, dy: Tensor) -> list[Any]:
    _, value, index = op.entry.inputs
    d_value = gather(dy, EagerTensor(index)) if op.needed[1] else None
    d_buffer = None
    if op.needed[0]:
        d_buffer = EagerTensor(engine.record(WRITE, (dy.node, zeros_of(value).node, index)))
    return [d_buffer, d_value, None]


@op(
    "TensorListResize", infer=lambda buffer, index: with_rows(buffer, unknown()), unhosted=AT_ONCE,
    saves="buffer", flops=0,
)  # fmt: skip
def _resized(buffer, index):
    """Append zero rows to the NumPy array `buffer` until it has a row `index`."""
    missing = max(0, int(index) + 1 - len(buffer))
    nothing = b"" if buffer.dtype.hasobject else 0
    return np.concatenate([buffer, np.full((missing, *buffer.shape[1:]), nothing, buffer.dtype)])


@gradient(_resized)
def _(op, dy):
    return [dy[: shape_of(op.inputs[0])[0]], None]


def _rows_like(count: Any, entry: Tensor) -> Tensor:
    """Return zeros for `count` entries in the shape of this one."""
    return broadcast_to(expand_dims(zeros_like(entry), 0), concat([[count], shape_of(entry)], 0))


def _is_branch(scope: Any) -> bool:
    """Return whether a branch or the body of a loop is recorded, whose code may never run."""
    return getattr(scope, "nested", False)


def _beyond(why: str, what: str, at: int, count: int) -> OutOfRangeError | InvalidArgumentError:
    """Return the error for an index out of range: OutOfRangeError in eager code, InvalidArgumentError in a function."""
    if executing_eagerly():
        return OutOfRangeError.saying(why)
    return InvalidArgumentError.saying(f"Trying to {what} element {at} in a list with {count} elements. {why}")


class TensorArraySpec(TypeSpec):
    """The spec of a TensorArray: shape and dtype of its elements, whether it grows, whether all elements have one shape.

    >>> print(tf.TensorArraySpec([2], tf.int32))
    TensorArraySpec(TensorShape([2]), tf.int32, False, True)
    """

    __slots__ = ("_parts",)

    @public
    def __init__(
        self, element_shape: Any = None, dtype: Any = dtypes.float32, dynamic_size: bool = False, infer_shape: bool = True
    ) -> None:
        self._parts = TensorShape(element_shape), dtypes.as_dtype(dtype), dynamic_size, infer_shape

    @property
    def value_type(self) -> type[TensorArray]:
        """The class TensorArray."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return self._parts


@hides("has_entries_like is_copied open_entry")
class TensorArray:
    """Tensors of one dtype by index. `write` returns a new array; `read`, `stack` and `concat` return entries.

    `size` is the number of entries; with `dynamic_size` it grows as needed. Entries never written are zeros. With
    `clear_after_read` (the default) each entry can be read once. Always continue with the array that a method returned.

    >>> array = tf.TensorArray(tf.float32, size=2)
    >>> array = array.write(0, 1.0)
    >>> array = array.write(1, 2.0)
    >>> array.stack().numpy().tolist()
    [1.0, 2.0]
    """

    @public
    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clear = True if clear_after_read is None else bool(clear_after_read)
        self._shape = TensorShape(element_shape)
        self._infer = bool(infer_shape)
        if size is None:
            raise ValueError("Size must be declared for TensorArrays: give size=, and dynamic_size=True if it grows.")
        self._size, self._stated = static(size, "size"), size
        self._entries: dict[int, Tensor] = {}  # the written entries; `_buffer` replaces them after a write at an unknown index
        self._read: set[int] = set()
        self._buffer: Tensor | None = None
        self._known: Aval | None = None  # of the entries, in a graph where their shape is unknown
        self._last: Tensor | None = None  # an entry of unknown shape
        self._room: Growth | None = None  # the loop whose writes it has room for already
        self._copied = False  # whether writes in eager code change a copy, as in the functions of datasets

    @property
    def _type_spec(self) -> TensorArraySpec:
        return TensorArraySpec(self._shape, self._dtype, self._dynamic, self._infer)

    @property
    def dtype(self) -> dtypes.DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The shape of each entry, with None for unknown extents."""
        return self._shape

    @property
    def flow(self) -> Tensor:
        """A tensor that stands for the array's state."""
        return tensor(0)

    @property
    def handle(self) -> None:
        """None, as there is no resource."""
        return None

    def _count(self) -> Any:
        rows = None if self._buffer is None else self._buffer.node.aval
        return rows.shape[0] if rows is not None and rows.ranked else self._size

    @public
    def size(self, name: str | None = None) -> Tensor:
        """Return the number of entries, an int32 scalar."""
        self._check_size()
        count = self._count()
        if not is_unknown(count):
            return tensor(count)
        if self._buffer is None:  # unknown until the graph runs
            return cast(self._stated, dtypes.int32)
        return shape_of(self._buffer)[0]

    def _copy(self) -> TensorArray:
        """Return itself in eager code, as in TensorFlow; a copy under a trace, where each branch has its own."""
        if engine.local.trace.scope is None and not self._copied:
            return self
        new = object.__new__(TensorArray)
        vars(new).update(vars(self))
        new._entries, new._read = dict(self._entries), set(self._read)
        return new

    def _accepted(self, value: Any) -> Tensor:
        given = value.dtype if is_tensor(value) else dtypes.string if isinstance(value, (str, bytes)) else self._dtype
        if given != self._dtype:
            raise invalid(f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {given.name}")
        entry = tensor(value, None if is_tensor(value) else self._dtype)
        if self._infer:
            shape = entry.node.aval.tensor_shape if entry.node.aval.ranked else entry.shape
            if not self._shape.is_compatible_with(shape):
                raise ValueError(f"Incompatible shape for value ({entry.shape}), expected ({self._shape})")
            self._shape = self._shape.merge_with(shape)
        if changes(entry.node.aval):
            self._known, self._last = entry.node.aval, entry
        return entry

    def is_copied(self) -> TensorArray:
        """Have all writes change a copy, also in eager code; return this array."""
        self._copied = True
        return self

    def open_entry(self) -> Tensor | None:
        """Return an entry whose shape is unknown until session time, or None."""
        return self._last

    def has_entries_like(self, entry: Tensor) -> None:
        """Set an example of the entries, for a graph where their shape is unknown."""
        self._known, self._last = entry.node.aval, entry

    def _element(self) -> Aval | None:
        """Return the Aval of an entry, or None."""
        if self._known is None and self._shape.is_fully_defined():
            return aval(tuple(self._shape), self._dtype.numpy)
        if self._known is None and self._entries and not self._infer:  # the entries may differ, but must be equal to be stacked
            return next(iter(self._entries.values())).node.aval
        return self._known

    def _index(self, index: Any, grows: bool = False) -> int | Tensor:
        """Return the index, as an int if it is known.

        An index out of range in a branch or loop stays a tensor, since that code may never run.
        """
        scope = engine.local.trace.scope
        if scope is None or not is_tensor(index):
            at = static(index, "index")
        elif (known := constant_folding.folded(tensor(index).node)) is not None:
            at = int(known)
        else:
            return tensor(index)
        inside = at >= 0 and (grows or at < self._count())
        return at if inside or not _is_branch(scope) else tensor(at)

    @public
    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return an array with `value` at `index`."""
        entry = self._accepted(value)  # as in TensorFlow, also of a result that is dropped
        new = self._copy()
        at = self._index(index, self._dynamic)
        if isinstance(at, int):
            count = new._count()
            if at < 0:
                raise _beyond(f"Writing to negative indices (index {at}) is not allowed.", "modify", at, count)
            if at >= count and not self._dynamic:
                why = f"Tried to write to index {at} but array is not resizeable and size is: {count}. Give dynamic_size=True."
                raise _beyond(why, "modify", at, count)
            if new._buffer is None:
                new._size = max(count, at + 1)
                new._entries[at] = entry
                new._read.discard(at)
                return new
            new._grow(at + 1)
            at = tensor(at)
        elif self._dynamic:
            try:
                new._grow(entries_for(at.node, self._room))
            except engine.NeedsValues:
                if engine.graph_around() is None:
                    raise
                new._buffer = ran(_resized, new._materialized(), at)
        if not new._infer:
            if new._element() is None:
                new._known = entry.node.aval
            elif new._element() is not entry.node.aval:
                raise engine.NeedsValues("the entries of a TensorArray that is written in a loop have different shapes")
        buffer = new._materialized(entry)
        place, scope = cast(at, dtypes.int32).node, engine.local.trace.scope
        checked = WRITE_CHECK if scope is None else scope.guarded(WRITE_CHECK, (buffer.node, place), ())
        place = engine.record(checked, (buffer.node, place)) if checked.guards else place
        new._buffer = EagerTensor(engine.record(WRITE, (buffer.node, entry.node, place)))
        return new

    def _grow(self, count: int) -> None:
        """Make room for `count` entries."""
        missing = count - self._count()
        if missing <= 0:
            return
        if self._buffer is None:
            self._size = count
        else:
            rows = zeros((missing, *extents_of(self._buffer)[1:]), self._dtype)
            self._buffer = concat([self._buffer, rows], 0)

    def _whole(self) -> Tensor:
        self._check_size()
        return self._materialized()

    def _check_size(self) -> None:
        if is_around(self._room):
            raise engine.NeedsValues("the size of a TensorArray is asked for in the loop that makes it longer")

    def _materialized(self, like: Tensor | None = None) -> Tensor:
        """Return all entries as one tensor, with zeros for entries never written.

        `like` is an entry, for a graph in which extents may be unknown.
        """
        if self._buffer is not None:
            return self._buffer
        element = self._element()
        if not self._size and element is None:
            return zeros((0,), self._dtype)
        if element is None:
            raise self._unknown("Tried to stack elements of an empty list with non-fully-defined element_shape")
        if like is not None and like.node.aval.open and not self._entries:
            return _rows_like(self._size, like)
        if not self._entries or is_unknown(self._size):
            if element.ranked:
                buffer = zeros((self._size, *element.shape), self._dtype)
            else:  # as many rows as the graph's run says, in the shape of the entry
                buffer = hooks.graphs.put_off(_rows_like, (self._size, self._last), {})
            for at, entry in self._entries.items():
                buffer = EagerTensor(engine.record(WRITE, (buffer.node, entry.node, tensor(at).node)))
            return buffer
        return stack([self._entry(i) for i in range(self._size)])

    @public
    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return the entry at `index`."""
        at = self._index(index)
        if isinstance(at, Tensor):
            if self._buffer is None and self._element() is None and _is_branch(engine.local.trace.scope):
                raise engine.NeedsValues("a TensorArray is read before the shape of its entries is known. Give element_shape=")
            return gather(self._materialized(), at)
        self._check_index(at)
        if self._buffer is not None:
            return self._buffer[at]
        if at in self._read:
            raise invalid(
                f"Could not read index {at} twice because it was cleared after a previous read (perhaps try setting "
                "clear_after_read = false?)"
            )
        entry = self._entry(at)
        if self._clear and at in self._entries and executing_eagerly():
            self._read.add(at)
            del self._entries[at]
        return entry

    def _check_index(self, at: int) -> None:
        count = self._count()
        if not is_unknown(count) and not 0 <= at < count:
            raise _beyond(f"Tried to read from index {at} but array size is: {count}", "access", at, count)

    def _entry(self, at: int) -> Tensor:
        found = self._entries.get(at)
        if found is not None:
            return found
        element = self._element()
        if element is None:
            raise self._unknown("Trying to read an uninitialized tensor but element_shape is not fully defined")
        if not element.ranked and self._last is not None:
            return zeros_like(self._last)
        return zeros(element.shape, self._dtype)

    def _unknown(self, what: str) -> ValueError | InvalidArgumentError:
        message = f"{what}: {self._shape}. Write an entry first, or give element_shape=."
        return ValueError(message) if engine.local.trace.scope is None else invalid(message)

    @public
    def stack(self, name: str | None = None) -> Tensor:
        """Return all entries, as one tensor of shape [size, …]."""
        return self._whole()

    @public
    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return the entries at `indices`, stacked."""
        if engine.local.trace.scope is None and self._buffer is None:
            places = static_list(indices, "indices")
            for place in places:
                self._check_index(place)
            return stack([self._entry(place) for place in places])
        return gather(self._materialized(), indices)

    @public
    def concat(self, name: str | None = None) -> Tensor:
        """Concatenate all entries along their first axis."""
        self._check_size()
        if self._buffer is not None and self._buffer.node.aval.open and self._buffer.node.aval.ndim > 1:
            return reshape(self._buffer, [-1, *self._buffer.node.aval.shape[2:]])
        if self._buffer is not None and not self._buffer.node.aval.ranked:
            return reshape(self._buffer, concat([[-1], shape_of(self._buffer)[2:]], 0))
        written = [self._entry(at) for at in range(self._size)] if self._buffer is None else unstack(self._buffer)
        for number, entry in enumerate(written):
            if entry.node.aval.ranked and not entry.ndim:
                raise invalid(f"Concat saw a scalar shape at index {number} but requires at least vectors.")
        if not written:
            return zeros((0, *list(self._shape)[1:]) if self._shape.rank else (0,), self._dtype)
        return concat(written, 0)

    @public
    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Return an array whose entries are the rows of `value`."""
        rows = tensor(value, None if is_tensor(value) else self._dtype)
        count, _ = number_of_rows(rows)
        known = not is_unknown(count) and not is_unknown(self._count())
        if known and count > self._count() and not self._dynamic:
            raise ValueError(f"Cannot unstack {count} tensors into a TensorArray of static size {self._count()}")
        new = self._copy()
        if self._infer and rows.node.aval.ranked:
            new._shape = self._shape.merge_with(extents_of(rows)[1:])
        new._read = set()
        if engine.local.trace.scope is None:
            new._buffer, new._entries = None, dict(enumerate(unstack(rows)))
        else:
            new._buffer, new._entries = rows, {}
        new._size = count
        return new

    @public
    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Return an array with row k of `value` at `indices[k]`."""
        places = static_list(indices, "indices")
        result = self
        for place, row in zip(places, unstack(tensor(value, None if is_tensor(value) else self._dtype)), strict=True):
            result = result.write(place, row)
        return result

    @public
    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return an array whose entries are parts of `value`, with these lengths along its first axis."""
        rows = tensor(value, None if is_tensor(value) else self._dtype)
        sizes = static_list(lengths, "lengths")
        if not rows.ndim:
            raise invalid("Expected value to be at least a vector, but received shape: []")
        extents = (*sizes, rows.node.aval.shape[0])
        if not any(map(is_unknown, extents)) and sum(sizes) != extents_of(rows)[0]:
            raise invalid(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(sizes)} and value's shape is: {list(extents_of(rows))}"
            )
        if not self._dynamic and len(sizes) != self._count():
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({self._count()} vs. {len(sizes)}), and the TensorArray "
                "is not marked as dynamically resizeable. Give dynamic_size=True."
            )
        new = self._copy()
        new._infer = False
        new._buffer, new._read = None, set()
        new._entries, new._size = dict(enumerate(split(rows, sizes, 0))), len(sizes)
        return new

    @public
    def identity(self) -> TensorArray:
        """Return the same array."""
        return self._copy()

    @public
    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> None:
        """Raise NotImplementedError: use a tape, which differentiates through the array."""
        raise NotImplementedError("TensorArray.grad is not supported in TensorFlow 2: use a GradientTape.")

    @public
    def close(self, name: str | None = None) -> None:
        """Drop the entries."""
        self._entries = {}


WRITE_CHECK = define(
    Op(
        "TensorListSetItemCheck", lambda buffer, index: index, infer=lambda buffer, index: index, refuses=_outside,
        reason="it gives an index", flops=0, traits="own",
    )
)  # fmt: skip


def _children(array: TensorArray) -> tuple[list[Any], Any]:
    """Return the pytree children: the tensor of all entries, or nothing while their shape is unknown."""
    known = array._buffer is not None or array._element() is not None
    dims = tuple(array._shape.as_list()) if known and array._shape.rank is not None else None
    room = array._room if is_around(array._room) else None
    aux = (array._dtype, array._dynamic, array._clear, array._infer, dims, array._known, array._count(), room)
    return ([array._materialized()] if known else []), aux


def _assembled(aux: Any, parts: Iterable[Any]) -> TensorArray:
    dtype, dynamic, clear, infer, shape, element, count, room = aux
    new = TensorArray(dtype, count, dynamic, clear, infer_shape=infer, element_shape=shape)
    new._known, new._room = element, room
    for part in parts:
        new._buffer = part
    return new


# optree's type stub asks for a Collection, though any class is allowed.
optree.register_pytree_node(TensorArray, _children, _assembled, namespace=nest.EXPANDED)  # type: ignore[arg-type]


def settled(values: Sequence[Any], after: Sequence[Any], growth: Growth | None = None) -> list[Any]:
    """Give the arrays in `values` that lack an entry shape (and size) those that they have in `after`.

    `growth` is the loop that writes beyond their present size.
    """
    result = []
    for before, later in zip(values, after, strict=True):
        if isinstance(before, TensorArray) and isinstance(later, TensorArray):
            before = before._copy()
            if before._element() is None or later._known is not None:
                before._shape, before._known, before._last = later._shape, later._known, later._last
            element = before._element()
            if (
                is_unknown(later._count()) and not is_unknown(before._count()) and element is not None
            ):  # in a graph, the size is known when it runs
                known = TensorShape([None]).concatenate(element.open_shape)
                before._buffer = EagerTensor(engine.graph_around().opened(before._materialized().node, known))
            elif later._count() > before._count():
                before._grow(later._count())
                if not is_around(before._room):
                    before._room = growth
        result.append(before)
    return result
