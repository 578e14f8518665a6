"""How checkpoints are cut into files: `tf.train.experimental`."""

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.train.options import ShardByTaskPolicy as ShardByTaskPolicy, ShardingCallback as ShardingCallback

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
