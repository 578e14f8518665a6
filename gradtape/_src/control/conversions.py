"""The state of autograph in a thread: whether what is called is transformed. Its import loads what transforms source."""

from malt.core import ag_ctx as ag_ctx

from gradtape._src.core.per_thread import OfOthers

OfOthers(ag_ctx.stacks, "control_status")
