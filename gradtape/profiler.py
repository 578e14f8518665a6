"""What a computation and its gradient cost."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.profile.profile import Profile as Profile, profile as profile

__getattr__ = _missing(__name__)
