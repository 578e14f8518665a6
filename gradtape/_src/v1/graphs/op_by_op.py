"""Runs of a session that are not compiled: those whose shapes depend on values, and those in several steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.errors import invalid
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.program import Node, Trace
from gradtape._src.core.tensors.tensor import handle, name_of
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.replay import Replay, ValueScope, needed_nodes

if TYPE_CHECKING:
    from gradtape._src.v1.graphs.session import Feeds, Session


class OpByOp:
    """A run of a session in one step or more, op by op. An op that has run does not run again."""

    def __init__(self, session: Session) -> None:
        self._session, self._trace, self._tape = session, Trace(engine.LIMIT), GradientTape(persistent=True)
        self._scope = ValueScope(session.aval_of, session.value_of)
        self.replay = Replay(
            session.graph,
            {},
            {},
            self._scope,
            session.has_value,
            stream=session.stream,
            has_value=session.has_value,
            tape=self._tape,
        )

    def step(self, wanted: Sequence[Node], feeds: Feeds) -> list[Any]:
        """Run what `wanted` needs besides what has run; return its values, None for an operation."""
        replay, scope = self.replay, self._scope
        for node, fed in feeds.items():
            replay.values[node] = fed
            replay.fed[fed] = np.asarray(fed.value)
        with engine.recording_in(self._trace):
            with tracing.as_function(), self._tape, seeds.at_once():
                replay.run(wanted)
                results = [None if type(n.aval) is tuple else engine.value(replay.fetched(n)) for n in wanted]
            self._session.take(scope.written.values(), [engine.value(scope.after[id(v)]) for v in scope.written.values()])
            self._trace = engine.local.trace
        return results


class PartialRun:
    """A run whose feeds and fetches come in several steps, for `Session.partial_run`."""

    def __init__(self, session: Session, fetches: Iterable[Node], feeds: Iterable[Node]) -> None:
        self._session, self._run = session, OpByOp(session)
        self._waiting = {"fetch": set(fetches), "feed": set(feeds)}
        self._came: dict[str, set[Node]] = {"fetch": set(), "feed": set()}
        self._given: Feeds = {}  # all feeds, and the elements drawn from iterators
        self._live: dict[Node, Any] = {}  # the tensors of what has run, which keep its values

    @property
    def done(self) -> bool:
        """Whether all its feeds have been fed, and all its fetches fetched."""
        return not any(self._waiting.values())

    def step(self, wanted: Sequence[Node], feeds: Feeds) -> list[Any]:
        """Return the values of `wanted`, from these feeds and earlier ones; InvalidArgumentError if that is not possible."""
        self._check("feed", feeds, "been fed")
        self._check("fetch", wanted, "been fetched")
        values = self._run.replay.values
        missing = self._waiting["feed"] - set(feeds)
        for node in wanted:
            if not missing.isdisjoint([node, *needed_nodes(self._session.graph, [node], [*values, *feeds])]):
                raise invalid(f"Fetch {self._name(node)} can't be computed from the feeds that have been fed so far.")
        given = self._session.with_drawn(wanted, {**self._given, **feeds})
        results = self._run.step(wanted, {node: value for node, value in given.items() if node not in self._given})
        self._given = given
        for node, found in values.items():
            if node not in self._live:
                parts = found if isinstance(found, list) else [found] if type(found.aval) is not tuple else engine.elements(found)
                self._live[node] = [handle(part) for part in parts]
        for what, nodes in (("feed", feeds), ("fetch", wanted)):
            self._waiting[what].difference_update(nodes)
            self._came[what].update(nodes)
        return results

    def _check(self, what: str, nodes: Iterable[Node], came: str) -> None:
        for node in nodes:
            if node in self._came[what]:
                raise invalid(f"The {what} {self._name(node)} has already {came}.")
            if node not in self._waiting[what]:
                raise invalid(f"The {what} {self._name(node)} was not specified in partial_run_setup.")

    def _name(self, node: Node) -> str:
        return self._session.graph.operation_of(node).name if type(node.aval) is tuple else name_of(handle(node))
