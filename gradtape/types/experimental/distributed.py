"""Types of what a strategy gives, for annotations and `isinstance`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.distribute.values import PerReplica as PerReplica

__getattr__ = _missing(__name__)
