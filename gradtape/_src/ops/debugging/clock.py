"""`timestamp`: the time of day as a tensor."""

import time

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors.convert import constant
from gradtape._src.core.tensors.tensor import handle
from gradtape._src.core.values.aval import aval

FLOAT64 = np.dtype(np.float64)


def _now():
    return np.float64(time.time())


NOW = define(Op("Timestamp", _now, infer=lambda: aval((), FLOAT64), host=_now, effect=True, reason="it depends on no tensor"))


@public
def timestamp(name=None):
    """Return the seconds since the epoch, a float64 scalar. A function reads the clock at each call, in order with other effects.

    >>> bool(tf.timestamp() <= tf.timestamp())
    True
    """
    if engine.local.trace.parent is None:
        return constant(_now())
    return handle(engine.record(NOW, (), ()))
