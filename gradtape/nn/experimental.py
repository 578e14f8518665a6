"""Dropout with other sources of randomness: `tf.nn.experimental`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.nn.dropout import general_dropout as general_dropout, stateless_dropout as stateless_dropout

__getattr__ = _missing(__name__)
