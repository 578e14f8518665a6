"""Registration of the versions of public functions for RaggedTensors."""

import functools

from gradtape._src.ops import dispatch
from gradtape._src.ops.array.ragged import RaggedTensor

version = functools.partial(dispatch.version, RaggedTensor)
has_ragged = functools.partial(dispatch.holds, RaggedTensor)
