"""The transformation of Python's `if`, `while` and `for` by `tf.function`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.control.directives import set_verbosity as set_verbosity, trace as trace
from gradtape._src.control.to_graph import to_code as to_code, to_graph as to_graph
from gradtape.autograph import experimental as experimental

__getattr__ = _missing(__name__)
