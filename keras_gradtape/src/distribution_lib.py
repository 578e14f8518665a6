"""`keras.distribution` on gradtape, with JAX's devices, meshes and layouts. XLA partitions the computations."""

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
    """Return the names of JAX's devices, such as "gpu:0", by default of its default kind."""
    return [f"{device.platform}:{device.id}" for device in jax.devices(device_type and device_type.lower())]


def get_device_count(device_type=None):
    """Return the number of JAX's devices, by default of its default kind."""
    return jax.device_count(device_type and device_type.lower())


def _sharding(layout):
    """Convert a TensorLayout to a JAX sharding, which may also be given directly."""
    return getattr(layout, "backend_layout", layout)


def distribute_tensor(tensor, layout):
    """Change the layout of a tensor to `layout`."""
    return relayout(tensor, _sharding(layout))


def distribute_variable(value, layout):
    """Set the permanent layout of a new gradtape Variable."""
    return lay_out(value, _sharding(layout))


def distribute_data_input(per_process_batch, layout, batch_dim_name):
    """Change the layout of a batch to `layout`.

    Several processes have the same batch, and each takes its part. Without `auto_shard_dataset` each contributes its own part.
    A batch whose rows do not divide evenly is replicated.
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
    """Return a tensor of a batch in the layout of the current distribution."""
    distribution = global_state.get_global_attribute("distribution")
    if distribution is None or not tensor.shape.rank:
        return tensor
    layout = distribution.get_data_layout(tuple(tensor.shape))
    return distribute_data_input(tensor, layout, distribution.batch_dim_name)


def name_unmatched_keys(model):
    """Warn of keys of the current LayoutMap that match no path of a model's variables and outputs."""
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
    """Join the processes of a cluster; the process at the first address is the coordinator."""
    address, *others = job_addresses.split(",") if job_addresses else [None]
    if others and num_processes is not None and num_processes != len(others) + 1:
        raise ValueError(
            f"The provided job_addresses {[address, *others]} has {len(others) + 1} jobs, but num_processes is {num_processes}"
        )
    if address is not None and num_processes is not None and process_id is not None:
        group.join(address, process_id, num_processes)
    elif (address, num_processes, process_id) == (None, None, None) and group.join_started():
        pass
    else:  # under Kubernetes and on Cloud TPUs JAX finds the cluster
        jax.distributed.initialize(coordinator_address=address, num_processes=num_processes, process_id=process_id)
    if rng_utils.get_random_seed() is None:  # the same for all, so that their variables start with the same values
        seed = multihost_utils.broadcast_one_to_all(np.uint32(make_default_seed()))
        rng_utils.set_random_seed(int(seed))


def num_processes():
    return jax.process_count()


def process_id():
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
