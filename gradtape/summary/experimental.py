"""The step of summaries, and their names."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.summary.summary import (
    get_step as get_step,
    set_step as set_step,
    summary_scope as summary_scope,
    write_raw_pb as write_raw_pb,
)

__getattr__ = _missing(__name__)
