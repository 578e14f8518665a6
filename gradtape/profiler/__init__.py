"""The cost of a computation and its gradient; traces of the devices' work."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.profile.profile import Profile as Profile, profile as profile
from gradtape.profiler import experimental as experimental

__getattr__ = _missing(__name__)
