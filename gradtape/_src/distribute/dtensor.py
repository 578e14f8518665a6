"""DTensor: tensors and variables on a mesh. The layout of a value is the sharding of its array."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.base.errors import InternalError, UnimplementedError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.platform import xla
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor, variable_of
from gradtape._src.core.tensors.tensor import Stored, Tensor, extents_of, graph_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.device_spec import DeviceSpec
from gradtape._src.distribute import sharding
from gradtape._src.distribute.clients import full_job_name
from gradtape._src.distribute.datasets import DistributedIterator
from gradtape._src.distribute.mesh import MATCH, Layout, Mesh, checked, is_layout, is_on_a_mesh, layout_of
from gradtape._src.ops.array.shape import reshape
from gradtape._src.ops.debugging.printing import array_text
from gradtape._src.ops.math.reduction import reduce_sum


class _Fields:
    """The mesh of the innermost `default_mesh` that is open in this thread."""

    mesh: Mesh | None = field(None, per_replica=True)


_local = declare(_Fields)


def _eagerly(name: str) -> None:
    if engine.tracing():
        raise RuntimeError(f"`{name}` must be called eagerly. In a function XLA decides where values lie: ask for the result's.")


# ---------------------------------------------------------------------------------------------------------------------
# Contexts


@public
def default_mesh(mesh: Mesh) -> contextlib.AbstractContextManager[None]:
    """Open a context with a default mesh, which `get_default_mesh` returns.

    The context changes no layout: values on no mesh are replicated when combined with values on one. `call_with_layout`
    changes layouts.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> with dtensor.default_mesh(mesh):
    ...     print(dtensor.get_default_mesh() == mesh)
    True
    """
    if not isinstance(mesh, Mesh):
        raise ValueError(f"Expect `mesh` to be `Mesh`, got {type(mesh)}: tf.experimental.dtensor.create_mesh makes one.")
    return setting(mesh=mesh)


@public
def run_on(mesh: Mesh) -> contextlib.AbstractContextManager[None]:
    """Open a context like `default_mesh`, its later name.

    >>> dtensor = tf.experimental.dtensor
    >>> with dtensor.run_on(dtensor.create_mesh([("x", 1)], devices=["CPU:0"])):
    ...     print(dtensor.get_default_mesh().shape())
    [1]
    """
    return default_mesh(mesh)


def get_default_mesh() -> Mesh | None:
    """Return the mesh of the innermost `default_mesh` that is open; None outside of all.

    >>> print(tf.experimental.dtensor.get_default_mesh())
    None
    """
    return _local.mesh


def device_name() -> str:
    """Return TensorFlow's name of DTensor's device. `tf.device` accepts it, without effect.

    >>> tf.experimental.dtensor.device_name()
    '/job:localhost/replica:0/task:0/device:CUSTOM:0'
    """
    return f"/job:{full_job_name()}/device:CUSTOM:0"


# ---------------------------------------------------------------------------------------------------------------------
# Changes of layout


@public
def relayout(tensor: Any, layout: Layout, name: str | None = None) -> Tensor:
    """Change the layout of a tensor to `layout`; gradients pass. `MATCH` keeps the layout of an axis.

    UnknownError for a layout of another rank, or an extent that the mesh does not divide.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> dtensor.fetch_layout(dtensor.relayout([1.0, 2.0], dtensor.Layout(["x"], mesh))).sharding_specs
    ['x']
    """
    return _laid_out(tensor, layout)


def _laid_out(value: Any, layout: Layout) -> Tensor:
    x = tensor(value)
    if x.node.aval.dtype == object:
        raise UnimplementedError.saying("Strings lie on the host: a layout is for numbers. Use them as they are.")
    wanted = checked(layout, x.node.aval.shape, match=True)
    if engine.tracing() or engine.local.tapes or MATCH in wanted.sharding_specs:
        return sharding.relayout(x, wanted.sharding)
    return sharding.place(x, wanted.sharding)


@public
def copy_to_mesh(tensor: Any, layout: Layout, source_layout: Layout | None = None) -> Tensor:
    """Change the layout like `relayout`; `source_layout` has no effect.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> x = dtensor.copy_to_mesh([1.0, 2.0], dtensor.Layout.replicated(mesh, rank=1))
    >>> dtensor.is_dtensor(x), x.numpy()
    (True, array([1., 2.], dtype=float32))
    """
    return _laid_out(tensor, layout)


@public
def relayout_like(tensor: Any, layout_tensor: Any, name: str | None = None) -> Tensor:
    """Change the layout to that of another tensor or DVariable. In a function only a DVariable's is known, else XLA chooses.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> like = dtensor.copy_to_mesh([1.0, 2.0], dtensor.Layout(["x"], mesh))
    >>> dtensor.fetch_layout(dtensor.relayout_like([3.0], like)).sharding_specs
    ['x']
    """
    layout = getattr(layout_tensor, "layout", None)
    if not isinstance(layout, Layout):
        if engine.tracing():
            return _as_tensor(tensor)
        layout = fetch_layout(layout_tensor)
    return _laid_out(tensor, layout)


def _as_tensor(value: Any) -> Tensor:
    return tensor(value)


@public
def call_with_layout(fn: Callable[..., Any], layout: Layout | None, *args: Any, **kwargs: Any) -> Any:
    """Call `fn(*args, **kwargs)` and change the layout of all tensors in its result to `layout`; None changes nothing.

    Results of eager code are computed in parts, each on its device. Random numbers are those of one device.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> dtensor.call_with_layout(tf.ones, dtensor.Layout(["x"], mesh), shape=[2]).numpy()
    array([1., 1.], dtype=float32)
    """
    if layout is None:
        return fn(*args, **kwargs)
    with default_mesh(is_layout(layout, match=True).mesh):
        results = fn(*args, **kwargs)
    return nest.map_structure(lambda item: _laid_out(item, layout) if isinstance(item, Tensor) else item, results)


# ---------------------------------------------------------------------------------------------------------------------
# Inspection


@public
def is_dtensor(tensor: Any) -> bool:
    """Return whether a tensor or variable is on a Mesh. RuntimeError in a function.

    >>> print(tf.experimental.dtensor.is_dtensor(tf.constant(1.0)))
    False
    """
    _eagerly("is_dtensor")
    if _own_layout(tensor) is not None:
        return True
    return isinstance(tensor, (Tensor, Stored)) and is_on_a_mesh(_value(tensor))


def _own_layout(value: Any) -> Layout | None:
    """Return the layout of a DVariable, else None. On a mesh of one device its value may be on the host."""
    variable = variable_of(value)
    return variable.layout if isinstance(variable, DVariable) else None


def _value(held: Any) -> Any:
    held = variable_of(held)
    return engine.value(held.held() if isinstance(held, Variable) else held.node)


@public
def fetch_layout(tensor: Any) -> Any:
    """Return the layout of a tensor or variable. InvalidArgumentError if it is on no mesh, RuntimeError in a function.

    It is None for other objects. XLA chooses the layouts of results; on a mesh of one device they may have none.

    >>> dtensor = tf.experimental.dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))
    >>> dtensor.fetch_layout(dtensor.call_with_layout(tf.ones, layout, [2])) == layout
    True
    """
    _eagerly("fetch_layout")
    if not isinstance(tensor, (Tensor, Stored)):
        return None
    if (own := _own_layout(tensor)) is not None:
        return own
    value = _value(tensor)
    layout = layout_of(value)
    if layout is None and is_on_a_mesh(value):
        raise UnimplementedError.saying(
            f"XLA split one axis along two dimensions of the mesh, which no Layout says: {value.sharding.spec}. Use relayout."
        )
    if layout is None:
        raise invalid(
            "FetchLayout expects a tensor placed on the layout device.\nThis one lies on no mesh: ask dtensor.is_dtensor(x), or "
            "use dtensor.copy_to_mesh."
        )
    return layout


@public
def check_layout(tensor: Any, layout: Layout) -> None:
    """Check that the layout of a tensor or variable is `layout`; ValueError if it is another.

    >>> dtensor = tf.experimental.dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))
    >>> dtensor.check_layout(dtensor.call_with_layout(tf.ones, layout, [2]), layout)
    """
    found = fetch_layout(tensor)
    if found != layout:
        raise ValueError(f"Layout of tensor: {found}, did not match expected layout: {layout}")


@public
def pack(tensors: Sequence[Any], layout: Layout) -> Tensor:
    """Join parts, one for each device of this process in the order of the mesh, to one tensor with the layout `layout`.

    Each part goes to its device. Parts that are replicas of each other must be equal, which is not checked. RuntimeError in a
    function.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> dtensor.pack([[1, 2]], dtensor.Layout(["x"], mesh)).numpy()
    array([1, 2], dtype=int32)
    """
    _eagerly("pack")
    devices = [device for device in is_layout(layout).mesh.jax_mesh.devices.flat if device.process_index == jax.process_index()]
    if len(tensors) != len(devices):
        raise invalid(
            f"The dtensor device {device_name()} expected {len(devices)} inputs to DTensorPack, but got {len(tensors)}.\nGive a "
            "part for each of mesh.local_devices()."
        )
    parts = [tensor(part) for part in tensors]
    first = parts[0].node.aval
    if first.dtype == object:
        raise UnimplementedError.saying("Strings lie on the host: a layout is for numbers. Use them as they are.")
    if any(part.node.aval.dtype is not first.dtype for part in parts):
        found = [part.dtype.name for part in parts]
        raise InternalError.saying(f"Components of a PackedTensor must all have the same dtype\nReceived {found}.")
    if any(part.node.aval.shape != first.shape for part in parts):
        shapes = [part.node.aval.shape for part in parts]
        raise UnimplementedError(
            None, None, f"Components of a PackedTensor must currently all have the same shape\nReceived {shapes}."
        )
    if layout.rank != len(first.shape):
        raise invalid(
            "Packed layout should have the same rank as the rank for each component. The rank of each component is: "
            f"{len(first.shape)}, while layout has rank: {layout.rank}\nLayout: {layout.to_string()}\n"
        )
    values = [engine.value(part.node) for part in parts]
    if any(is_on_a_mesh(value) and not value.is_fully_replicated for value in values):
        raise invalid("Does not support packing a Tensor that is already on dtensor device\nUse dtensor.relayout.")
    placed = [xla.put(value, device) for value, device in zip(values, devices, strict=True)]
    shape = layout.global_shape_from_local_shape(first.shape)
    return tensor(jax.make_array_from_single_device_arrays(shape, layout.sharding, placed))


@public
def unpack(tensor: Any) -> list[Tensor]:
    """Return the parts of a tensor on devices of this process, in the order of the mesh: the inverse of `pack`.

    InvalidArgumentError if the tensor is on no mesh, RuntimeError in a function.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("x", 1)], devices=["CPU:0"])
    >>> [part.numpy() for part in dtensor.unpack(dtensor.pack([[1, 2]], dtensor.Layout(["x"], mesh)))]
    [array([1, 2], dtype=int32)]
    """
    _eagerly("unpack")
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Expecting a Tensor, got {type(tensor)}. Of a variable give v.read_value().")
    value = engine.value(tensor.node)
    if not is_on_a_mesh(value):
        raise invalid(
            f"DTensorUnpack expects a tensor placed on the DTensor device: {device_name()}, but input was placed on device: "
            f"{tensor.device}.\nUse dtensor.copy_to_mesh first."
        )
    return [_as_tensor(part) for _, part in _parts(value)]


def _parts(value: jax.Array) -> list[tuple[jax.Device, jax.Array]]:
    """Return the part of an array on each device of this process, in the order of the mesh."""
    held = {shard.device: shard.data for shard in value.addressable_shards}
    return [(device, held[device]) for device in value.sharding.mesh.devices.flat if device in held]  # type: ignore[attr-defined]


@public
def barrier(mesh: Mesh, barrier_name: str | None = None, timeout_in_ms: int | None = None) -> None:
    """Wait until all devices of a mesh, and all clients, have finished their computations.

    `barrier_name` and `timeout_in_ms` have no effect.

    >>> dtensor = tf.experimental.dtensor
    >>> dtensor.barrier(dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))
    """
    part = np.ones([1] * len(mesh.shape()), np.float32)
    met = float(reduce_sum(pack([part] * mesh.num_local_devices(), Layout(mesh.dim_names, mesh))))
    if met != mesh.size:
        raise ValueError(f"Global barrier produced wrong mesh size : {met} while mesh has actual size : {mesh.size}")


def _described(value: Any) -> tuple[str, str] | None:
    """Format an array and its layout as in TensorFlow; None for an array on no mesh."""
    layout = layout_of(value)
    if layout is None:
        return None
    parts = [(DeviceSpec.from_string(name), np.asarray(part)) for name, (_, part) in _named(layout.mesh, value)]
    if layout.is_fully_replicated() and parts:
        return array_text(parts[0][1]), layout.to_string()
    texts = [f'"{spec.device_type}:{spec.device_index or 0}": {array_text(part)}' for spec, part in parts]
    return f"{{{', '.join(texts)}}}", layout.to_string()


def _named(mesh: Mesh, value: jax.Array) -> list[tuple[str, Any]]:
    return list(zip(mesh.local_devices(), _parts(value), strict=False))


hooks.clients.laid_out = _described


# ---------------------------------------------------------------------------------------------------------------------
# Variables and datasets


class DVariable(sharding.DistributedVariable):
    """A variable on a mesh, with the layout of its initial value, or `layout`. Assigned values get the same layout.

    InvalidArgumentError if the initial value is on no mesh and there is no `layout`, or if its layout differs from `layout`.

    >>> dtensor = tf.experimental.dtensor
    >>> layout = dtensor.Layout(["x"], dtensor.create_mesh([("x", 1)], devices=["CPU:0"]))
    >>> v = dtensor.DVariable([1.0, 2.0], layout=layout)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.reduce_sum(v * v)
    >>> v.assign_sub(tape.gradient(y, v)).numpy(), v.layout == layout
    (array([-1., -2.], dtype=float32), True)
    """

    layout: Layout
    save_as_bf16 = False

    @public
    def __init__(self, initial_value: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> None:
        layout = kwargs.pop("layout", None)
        if callable(initial_value):
            initial_value = initial_value()
        x = tensor(initial_value, dtype)
        if layout is not None:
            layout = checked(layout, x.node.aval.shape)
            if x.node.value is None:
                x = tensor(sharding.begun(x, layout.sharding))
        super().__init__(x, *args, **kwargs)
        node = self._tensor.node
        found = layout_of(node.value) if graph_of(node) is None else None
        if layout is None:
            if found is None:
                raise invalid("Neither layout nor DTensor initial value are provided.\nGive `layout=dtensor.Layout([…], mesh)`.")
            layout = found
        elif found is not None and layout != found and not found.is_fully_replicated():
            raise invalid(f"Conflicting layout are provided for initial value layout ({found}) and variable ({layout}).")
        self.layout = layout
        self._sharding = self.layout.sharding
        if found != layout and graph_of(node) is None:
            node.value = sharding.put(node.value, self._sharding)


class DTensorDataset:
    """A dataset of batches on a mesh. `layouts` is a layout, or a nest of layouts like that of the elements.

    The elements are batched to `global_batch_size`; an incomplete batch is dropped. With `dataset_already_batched` an element
    is the batch of one replica. The number of replicas is the extent of the mesh's dimension `batch_dim`. The dataset can be
    iterated, also in functions.

    >>> dtensor = tf.experimental.dtensor
    >>> mesh = dtensor.create_mesh([("batch", 1)], devices=["CPU:0"])
    >>> layout = dtensor.Layout(["batch"], mesh)
    >>> dataset = dtensor.DTensorDataset(
    ...     tf.data.Dataset.range(5), mesh=mesh, layouts=layout, global_batch_size=2, batch_dim="batch"
    ... )
    >>> [batch.numpy().tolist() for batch in dataset]
    [[0, 1], [2, 3]]
    """

    @public
    def __init__(
        self,
        dataset: Any,
        *,
        mesh: Mesh,
        layouts: Any,
        global_batch_size: int,
        dataset_already_batched: bool = False,
        batch_dim: str | None = None,
        prefetch: int | None = None,
        tf_data_service_config: Any = None,
    ) -> None:
        if tf_data_service_config is not None:
            raise NotImplementedError("Multi-client DTensorDataset is currently not supported. Give each client its dataset.")
        nest.assert_same_structure(dataset.element_spec, layouts)
        specs, flat = nest.flatten(dataset.element_spec), nest.flatten(layouts)
        replicas = mesh.dim_size(batch_dim) if batch_dim else 1
        for layout in flat:
            if batch_dim and batch_dim != layout.sharding_specs[0]:
                raise ValueError(f"batch_dim {batch_dim} was specified but at least one layout did not contain it: {layout}")
        _check_elements(flat, specs, dataset_already_batched)
        if global_batch_size % replicas:
            raise ValueError(
                f"`global_batch_size` {global_batch_size} is not divisible by the {replicas} replicas of dimension {batch_dim!r}."
            )
        expected = global_batch_size // replicas
        if dataset_already_batched:
            if specs[0].shape[0] != expected:
                raise ValueError(
                    "per_replica_batch_size does not matched expected size based on the mesh, got "
                    f"{specs[0].shape[0]} but expected {expected}."
                )
            batched = dataset.batch(replicas, drop_remainder=True)
        else:
            batched = dataset.batch(global_batch_size, drop_remainder=True)
        self._batched = batched if prefetch is None else batched.prefetch(prefetch)
        self._layouts, self._in_parts = layouts, dataset_already_batched
        inner = [spec.shape[1:] if dataset_already_batched else spec.shape for spec in specs]
        made = [TensorSpec([global_batch_size, *rest], spec.dtype, spec.name) for rest, spec in zip(inner, specs, strict=True)]
        self._spec = nest.pack_sequence_as(dataset.element_spec, made)

    @property
    def element_spec(self) -> Any:
        """A nest of specs: the structure of a batch."""
        return self._spec

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(iter(self._batched), lambda element, _: self.placed(element), self.element_spec)

    def placed(self, element: Any) -> Any:
        """Change the layout of a batch."""

        def laid_out(x: Any, layout: Layout) -> Tensor:
            return _laid_out(reshape(x, [-1, *extents_of(x)[2:]]) if self._in_parts else x, layout)

        return nest.map_structure(laid_out, element, self._layouts)


def _check_elements(layouts: Sequence[Layout], specs: Sequence[Any], batched: bool) -> None:
    if not specs:
        raise ValueError("Expected input element spec of at least one element, was empty.")
    for layout, spec in zip(layouts, specs, strict=True):
        if spec.shape.rank is None:
            raise ValueError(f"Dataset element shape must have a valid rank, got spec {spec}.")
        expected = spec.shape.rank + (not batched)
        if layout.rank != expected:
            raise ValueError(
                f"Expected layout with rank {expected} for element spec {spec}, got layout {layout.sharding_specs}. Check that "
                "the dataset is not batched before passing to DTensorDataset."
            )
        if batched and spec.shape[0] is None:
            raise ValueError(
                f"Size of batch dimension of element spec {spec} is None. Ensure drop_remainder=True when batching the dataset."
            )
        if batched and spec.shape[0] != specs[0].shape[0]:
            raise ValueError(f"Size of batch dimension of element spec {spec} does not match expected size {specs[0].shape[0]}.")
