"""Numbers of threads."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.core.settings.switches import (
    get_inter_op_parallelism_threads as get_inter_op_parallelism_threads,
    get_intra_op_parallelism_threads as get_intra_op_parallelism_threads,
    set_inter_op_parallelism_threads as set_inter_op_parallelism_threads,
    set_intra_op_parallelism_threads as set_intra_op_parallelism_threads,
)

__getattr__ = _missing(__name__)
