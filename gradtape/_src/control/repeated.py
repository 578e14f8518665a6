"""Python code of a library that eager code runs in each step: it is traced once for each key, and is one call from then on."""

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

MOST = 16  # keys that are remembered; a loop that changes an attribute in each step would fill the memory


class Repeated:
    """The traces of one piece of code that assigns variables, by key.

    The first call with a key runs the Python code, the second one traces it. So a key that never comes again costs nothing.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Any, Traced | bool]] = {}  # with what a key names; whether to trace the code next time

    def call(self, key: Hashable, kept: Any, code: Callable[[list[Tensor]], Any], tensors: Sequence[Tensor]) -> None:
        """Run `code` on `tensors`, or record a call of its trace.

        `key` holds whatever else the code depends on. It may name objects by identity, which `kept` keeps alive. The user's line,
        which errors name for the ops of a trace, is added to it.
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
            call_recorded(body, nodes)
        else:
            code(list(tensors))


def may_record(taped: bool = False) -> bool:
    """Return whether calls are recorded here as one: in eager code, where no replica or check looks at each op, nor a tape.

    `taped`: tapes see each op even so.
    """
    state = engine.local
    plain = state.trace.parent is None and state.trace.scope is None and state.trace.overrides is None
    watched = not taped and any(tape() is not None for tape in state.tapes)
    observed = execution.eager or as_python.everywhere or watched
    return plain and not observed and ambient.local.replica is None


def _traced(code: Callable[[list[Tensor]], Any], nodes: Sequence[Node]) -> Traced | bool:
    """Trace the code. False where that fails, or where each call has to run at once."""
    parameters = [leaf(node.aval, None) for node in nodes]
    try:
        with tracing.creation_in_function(SINGLETON):
            body = trace(lambda: code([EagerTensor(node) for node in parameters]), parameters, Scope())
    except Exception:  # the Python code runs instead, and raises what is really wrong
        return False
    program = body.program
    return not (program.hosted or program.effects or body.looked_at or body.draws) and body
