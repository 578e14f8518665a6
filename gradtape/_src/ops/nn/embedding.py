"""Embedding lookup: rows of tables by id."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.select import dynamic_stitch
from gradtape._src.ops.array.shape import host_constant, reshape
from gradtape._src.ops.math.clip import clip_by_norm


class PartitionedParameters:
    """A table in parts. With "mod", row k is row k // n of part k % n; with "div" the parts are concatenated."""

    def __init__(self, tables, strategy="div"):
        if strategy not in ("div", "mod"):
            raise ValueError(f"Unrecognized partition strategy: {strategy}. Must be one of either `mod` or `div`.")
        self.tables, self.strategy = tables, strategy

    def places(self, ids):
        """Return the part of each of `ids` (NumPy's), and its row there. With "div" the first parts may have one row more."""
        count = len(self.tables)
        if self.strategy == "mod":
            return ids % count, ids // count
        each, extra = divmod(sum(int(extents_of(table)[0]) for table in self.tables), count)
        part = np.maximum(ids // (each + 1), (ids - extra) // max(each, 1))  # host-side: ids
        return part, np.where(part < extra, ids % (each + 1), (ids - extra) % max(each, 1))

    def rows(self, ids):
        """Return the rows `ids`. Each is gathered from its part, so the gradient of a part covers only its own rows."""
        part, row = self.places(to_numpy(ids.node).reshape(-1))
        wrong = (part < 0) | (part >= len(self.tables))
        if wrong.any():
            at = int(wrong.argmax())
            raise invalid(f"partitions[{at}] = {part[at]} is not in [0, {len(self.tables)}): no part has such a row.")
        chosen = [np.flatnonzero(part == i) for i in range(len(self.tables))]
        found = [gather(table, host_constant(row[own])) for table, own in zip(self.tables, chosen, strict=True)]
        stitched = dynamic_stitch([host_constant(own.astype(np.int32)) for own in chosen], found)
        return reshape(stitched, [*extents_of(ids), *extents_of(found[0])[1:]])


@public
def embedding_lookup(params, ids, max_norm=None, name=None):
    """Return the rows `ids` of the table `params` [rows, …]: shape `ids.shape + params.shape[1:]`.

    `params` may be a list of tables to concatenate; the first ones have one row more if the rows do not divide evenly. Rows
    with a norm above `max_norm` are scaled down to it. The gradient to a table is `IndexedSlices` of the rows that were looked
    up. InvalidArgumentError for an id out of range.

    >>> tf.nn.embedding_lookup(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [1, 0]).numpy().tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not is_tensor(params):
        if not params:
            raise ValueError("Length of params is currently 0. Need at least one param.")
        params = PartitionedParameters([table if is_tensor(table) else tensor(table) for table in params])
    if isinstance(params, PartitionedParameters) and len(params.tables) == 1:
        (params,) = params.tables
    ids = tensor(ids)
    rows = params.rows(ids) if isinstance(params, PartitionedParameters) else gather(params, ids)
    return rows if max_norm is None else clip_by_norm(rows, max_norm, list(range(ids.ndim, rows.ndim)))
