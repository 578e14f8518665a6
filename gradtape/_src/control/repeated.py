"""Python code of a library that eager code runs in each step: it is traced once for each key, and then recorded as one call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from gradtape._src.control import as_python
from gradtape._src.control.scope import SINGLETON, Scope, Traced, call_recorded, trace
from gradtape._src.core.base import ambient
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor

MOST = 16  # the number of keys kept; code that changes an attribute in each step would fill the memory


class Repeated:
    """The traces of one piece of code that assigns variables, by key.

    The first call with a key runs the Python code, the second one traces it. So a key that is never repeated costs nothing.
    """

    def __init__(self) -> None:
        # Key → (objects to keep alive, trace or whether to trace next).
        self._known: dict[Hashable, tuple[Any, Traced | bool]] = {}
        self.entered = False  # whether a call of a trace was ever recorded

    def call(self, key: Hashable, kept: Any, code: Callable[[list[Tensor]], Any], tensors: Sequence[Tensor]) -> None:
        """Run `code` on `tensors`, or record a call of its trace.

        `key` identifies all else on which the code depends. It may identify objects by `id`; `kept` keeps these alive. The user's
        line is added to the key, since errors name it for the ops of the trace.
        """
        nodes = [x.node for x in tensors]
        key = (key, journal.user_line(), tuple([node.aval for node in nodes]))
        found = self._known.get(key)
        body = True if found is None else found[1]
        if found is not None and body is True:
            body = _traced(code, nodes)
        elif found is None and len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = kept, body
        if isinstance(body, Traced):
            self.entered = True
            call_recorded(body, nodes)
        else:
            code(list(tensors))


def may_record(taped: bool = False) -> bool:
    """Return whether a call may be recorded as one op: in eager code, outside of replicas, tapes, pauses and op-by-op checks.

    With `taped`, tapes see each op nevertheless.
    """
    state = engine.local
    plain = state.trace.parent is None and state.trace.scope is None and state.trace.overrides is None and not state.pauses
    observed = execution.eager or as_python.everywhere or (not taped and engine.taped())
    return plain and not observed and ambient.local.replica is None


def _traced(code: Callable[[list[Tensor]], Any], nodes: Sequence[Node]) -> Traced | bool:
    """Trace the code; False if that fails, or if each call has to run at once."""
    parameters = [leaf(node.aval, None) for node in nodes]
    try:
        with tracing.creation_in_function(SINGLETON):
            body = trace(lambda: code([EagerTensor(node) for node in parameters]), parameters, Scope())
    except Exception:  # the Python code runs instead, and raises the right error
        return False
    program = body.program
    return not (program.hosted or program.effects or body.looked_at or body.draws) and body
