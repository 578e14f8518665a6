"""Dropout with other sources of randomness: `tf.nn.experimental`."""

from gradtape._src.ops.dropout import general_dropout as general_dropout, stateless_dropout as stateless_dropout
