"""`keras.distribution` on gradtape: devices, meshes and layouts are JAX's, and XLA partitions what is computed on them."""

import re
import warnings

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from keras.src.backend.common import global_state
from keras.src.random.seed_generator import make_default_seed
from keras.src.utils import rng_utils

import gradtape as tf
from gradtape._src.core.platform import xla
from gradtape._src.distribute import group
from gradtape._src.distribute.sharding import lay_out, place, relayout


def list_devices(device_type=None):
    """The names of JAX's devices, such as "gpu:0"; of its default kind, if none is given."""
    return [f"{device.platform}:{device.id}" for device in jax.devices(device_type and device_type.lower())]


def get_device_count(device_type=None):
    """The number of JAX's devices, of its default kind, if none is given."""
    return jax.device_count(device_type and device_type.lower())


def _sharding(layout):
    """A TensorLayout as JAX's sharding, which may be given as it is."""
    return getattr(layout, "backend_layout", layout)


def distribute_tensor(tensor, layout):
    """The same values, laid out as `layout` says."""
    return relayout(tensor, _sharding(layout))


def distribute_variable(value, layout):
    """A gradtape Variable that was just made, laid out as `layout` says, as it will stay."""
    return lay_out(value, _sharding(layout))


def distribute_data_input(per_process_batch, layout, batch_dim_name):
    """A batch laid out as `layout` says.

    Several processes have the same batch, of which each takes its part; or, without `auto_shard_dataset`, each gives a part of
    its own. A batch of rows that cannot be divided evenly is copied to all devices.
    """
    sharding, batch = _sharding(layout), tf.convert_to_tensor(per_process_batch)
    distribution = global_state.get_global_attribute("distribution")
    if jax.process_count() > 1 and distribution is not None and not distribution.auto_shard_dataset:
        with xla.wide():
            array = jax.make_array_from_process_local_data(sharding, batch.numpy())
        return tf.convert_to_tensor(array)
    extents = dict(sharding.mesh.shape)
    if batch.shape.rank and batch.shape[0] % extents.get(batch_dim_name, 1):
        sharding = NamedSharding(sharding.mesh, PartitionSpec())
    return place(batch, sharding)


def distribute_batch(tensor):
    """A tensor of a batch as the current distribution lays it out."""
    distribution = global_state.get_global_attribute("distribution")
    if distribution is None or not tensor.shape.rank:
        return tensor
    layout = distribution.get_data_layout(tuple(tensor.shape))
    return distribute_data_input(tensor, layout, distribution.batch_dim_name)


def name_unmatched_keys(model):
    """Warn of keys of the current LayoutMap that no path of a model's variables and outputs matches: they lay out nothing."""
    layouts = getattr(global_state.get_global_attribute("distribution"), "_layout_map", None)
    if not layouts or not model.built:
        return
    paths = [v.path for v in model.variables] + [f"{layer.path}/output" for layer in model._flatten_layers()]
    unmatched = [key for key in layouts if key not in paths and not any(re.fullmatch(key, path) for path in paths)]
    if unmatched:
        warnings.warn(
            f"The LayoutMap's keys {unmatched} match no variable of {model.name}. A key is a regular expression for a whole "
            f"path; those of the variables are {[v.path for v in model.variables][:20]}.",
            stacklevel=4,
        )


def initialize(job_addresses, num_processes, process_id):
    """Join the processes of a cluster: the first address is that of the process that the others meet."""
    address, *others = job_addresses.split(",") if job_addresses else [None]
    if others and num_processes is not None and num_processes != len(others) + 1:
        raise ValueError(
            f"The provided job_addresses {[address, *others]} has {len(others) + 1} jobs, but num_processes is {num_processes}"
        )
    if address is not None and num_processes is not None and process_id is not None:
        group.join(address, process_id, num_processes)
    elif (address, num_processes, process_id) == (None, None, None) and group.join_started():
        pass
    else:  # JAX finds out, under Kubernetes and on Cloud TPUs
        jax.distributed.initialize(coordinator_address=address, num_processes=num_processes, process_id=process_id)
    if rng_utils.get_random_seed() is None:  # the same for all, as their variables begin with the same values
        seed = multihost_utils.broadcast_one_to_all(np.uint32(make_default_seed()))
        rng_utils.set_random_seed(int(seed))


def num_processes():
    """The number of processes."""
    return jax.process_count()


def process_id():
    """The number of this process."""
    return jax.process_index()


def _to_backend_device(device_name):
    if isinstance(device_name, jax.Device):
        return device_name
    kind, _, number = str(device_name).partition(":")
    for device in jax.devices(kind):
        if device.id == int(number or 0):
            return device
    raise ValueError(f"Device not found: {device_name}. keras.distribution.list_devices() lists those that are there.")


def _to_backend_mesh(device_mesh):
    devices = [_to_backend_device(name) for name in device_mesh.devices.flatten()]
    return Mesh(np.array(devices).reshape(device_mesh.devices.shape), device_mesh.axis_names)


def _to_backend_layout(tensor_layout):
    if tensor_layout.device_mesh is None:
        raise ValueError("Cannot create sharding when device mesh is not set for TensorLayout.")
    return NamedSharding(tensor_layout.device_mesh.backend_mesh, PartitionSpec(*tensor_layout.axes))
