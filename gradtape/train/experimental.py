"""How checkpoints are cut into files, and states of Python in them: `tf.train.experimental`."""

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.train.options import ShardByTaskPolicy as ShardByTaskPolicy, ShardingCallback as ShardingCallback
from gradtape._src.train.python_state import PythonState as PythonState

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
