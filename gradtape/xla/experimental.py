"""Code that asks for XLA."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.ops.xla import compile as compile, jit_scope as jit_scope

__getattr__ = _missing(__name__)
