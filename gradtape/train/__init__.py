"""Checkpoints and exported programs: `tf.train`."""

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.distribute.cluster import ClusterSpec as ClusterSpec
from gradtape._src.train.checkpoint import Checkpoint as Checkpoint
from gradtape._src.train.manager import CheckpointManager as CheckpointManager
from gradtape._src.train.options import CheckpointOptions as CheckpointOptions
from gradtape._src.train.reader import (
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from gradtape._src.train.stablehlo import export_stablehlo as export_stablehlo
from gradtape._src.train.state import (
    checkpoints_iterator as checkpoints_iterator,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
)
from gradtape.train import experimental as experimental

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
