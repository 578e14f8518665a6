"""The names of `tf.experimental.dtensor`: tensors and variables that lie on a mesh of devices."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.distribute.clients import (
    client_id as client_id,
    create_distributed_mesh as create_distributed_mesh,
    create_mesh as create_mesh,
    full_job_name as full_job_name,
    heartbeat_enabled as heartbeat_enabled,
    initialize_accelerator_system as initialize_accelerator_system,
    job_name as job_name,
    jobs as jobs,
    local_devices as local_devices,
    num_clients as num_clients,
    num_global_devices as num_global_devices,
    num_local_devices as num_local_devices,
    preferred_device_type as preferred_device_type,
    shutdown_accelerator_system as shutdown_accelerator_system,
)
from gradtape._src.distribute.dtensor import (
    DTensorDataset as DTensorDataset,
    DVariable as DVariable,
    barrier as barrier,
    call_with_layout as call_with_layout,
    check_layout as check_layout,
    copy_to_mesh as copy_to_mesh,
    default_mesh as default_mesh,
    device_name as device_name,
    fetch_layout as fetch_layout,
    get_default_mesh as get_default_mesh,
    is_dtensor as is_dtensor,
    pack as pack,
    relayout as relayout,
    relayout_like as relayout_like,
    run_on as run_on,
    unpack as unpack,
)
from gradtape._src.distribute.mesh import MATCH as MATCH, UNSHARDED as UNSHARDED, Layout as Layout, Mesh as Mesh

initialize_multi_client = initialize_accelerator_system
initialize_tpu_system = initialize_accelerator_system
shutdown_tpu_system = shutdown_accelerator_system

__getattr__ = _missing(__name__)
