"""Rows of tables by number."""

from gradtape._src.core.convert import is_tensor, tensor
from gradtape._src.core.errors import public
from gradtape._src.ops.clip import clip_by_norm
from gradtape._src.ops.gather import gather
from gradtape._src.ops.joining import concat


@public
def embedding_lookup(params, ids, max_norm=None, name=None):
    """The rows `ids` of the table `params` [rows, …]: shape `ids.shape + params.shape[1:]`.

    `params` may be a list of tables, which are one behind the other. Rows longer than `max_norm` are scaled down to
    it. The gradient to a table is `IndexedSlices`: of the rows that were looked up. An id without a row is an
    InvalidArgumentError.
    """
    if params is None:
        raise ValueError("params must be specified")
    if not is_tensor(params) and isinstance(params, (list, tuple)):
        if not params:
            raise ValueError("Length of params is currently 0. Need at least one param.")
        params = params[0] if len(params) == 1 else concat([tensor(p) for p in params], 0)
    ids = tensor(ids)
    rows = gather(params, ids)
    return rows if max_norm is None else clip_by_norm(rows, max_norm, list(range(ids.ndim, rows.ndim)))
