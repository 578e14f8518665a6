"""Cooperative replicas: a function runs in each replica in turn, up to each `merge_call`, where it waits for the others.

Each replica runs in its own greenlet in the caller's thread. So all record into one program, and errors and interrupts are
raised in place.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from gradtape._src.core.base import ambient, hooks
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Trace
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.distribute import context
from gradtape._src.distribute.context import EnteredStrategy, ReplicaContext
from gradtape._src.distribute.rounds import known_rounds
from gradtape._src.distribute.values import joined, unwrapped

hooks.clients.known_rounds = known_rounds


class Merge(NamedTuple):
    """A `merge_call` of one replica."""

    function: Callable[..., Any]
    args: Any
    kwargs: Any


def _open(opened: ambient.Taken, trace: Trace) -> None:
    """Restore a saved ambient state. Its tapes, which recorded `trace`, continue in the current trace."""
    ambient.put(opened)
    scopes.enter_scope(scopes.prefix())
    for reference in engine.local.tapes if engine.local.trace is not trace else ():
        tape = reference()
        if tape is not None:
            tape.moved(trace, engine.local.trace)


class RunningReplicas:
    """A running replica; `go_on` resumes it up to its next `merge_call`, or to its end."""

    def __init__(self, strategy: Any, number: int, call: Callable[[int], Any], variables: list[Variable]) -> None:
        self._variables, self._made = variables, 0
        replica = ReplicaContext(strategy, number, strategy.extended._count, self)
        self._greenlet = greenlet(lambda _: self._run(replica, number, call))
        self._greenlet.gr_context = contextvars.copy_context()
        self._opened = ambient.forked(ambient.taken())
        self._around, self._trace = _place(), engine.local.trace

    def _run(self, replica: ReplicaContext, number: int, call: Callable[[int], Any]) -> Any:
        with context.entered(EnteredStrategy(replica.strategy, replica)):
            return call(number)

    def go_on(self, given: Any = None) -> Any:
        """Continue the replica with the result of its `merge_call`; return its next Merge, or its final result."""
        return self._switch(self._greenlet.switch, given)

    def end(self) -> None:
        """End the replica at the point where it waits, which exits its contexts."""
        if self._greenlet:  # started and not ended
            self._switch(self._greenlet.throw, GreenletExit)

    def _switch(self, how: Callable[[Any], Any], given: Any) -> Any:
        around, begun = ambient.taken(), engine.local.trace
        _open(self._opened, self._trace)
        try:
            return how(given)
        finally:
            self._opened, self._trace = ambient.taken(), engine.local.trace
            _open(around, begun)

    @property
    def ended(self) -> bool:
        """Whether the replica's function has returned."""
        return bool(self._greenlet.dead)

    def merge(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Wait, in the replica, for the other replicas; return this replica's part of the result of `merge_fn`."""
        if _place() != self._around:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function. This can often happen if the function `fn` "
                "passed to `strategy.run()` contains a nested `@tf.function`, and the nested `@tf.function` contains a "
                "synchronization point, such as aggregating gradients (e.g, optimizer.apply_gradients), or if the function "
                "`fn` uses a control flow statement which contains a synchronization point in the body. Such behaviors are not "
                "yet supported. Instead, please avoid nested `tf.function`s or control flow statements that may potentially "
                "cross a synchronization boundary, for example, wrap the `fn` passed to `strategy.run` or the entire "
                "`strategy.run` inside a `tf.function` or move the control flow out of `fn`."
            )
        return getcurrent().parent.switch(Merge(merge_fn, args, kwargs))

    def made(self, create: Callable[[], Variable]) -> Variable:
        """Return the variable created by `create` in the first replica; others get the same variable."""
        self._made += 1
        if len(self._variables) < self._made:
            self._variables.append(create())
        return self._variables[self._made - 1]


def _place() -> tuple[Any, Any]:
    """Return the identity of the current trace (function, branch or loop); it is the same for all eager code."""
    trace = engine.local.trace
    return trace.parent and trace, trace.scope


def in_each(strategy: Any, call: Callable[[int], Any]) -> list[Any]:
    """Call `call(number)` in each replica; return the results. An error in one of them ends the others."""
    variables: list[Variable] = []  # variables created in replicas
    running = [RunningReplicas(strategy, number, call, variables) for number in range(strategy.extended._count)]
    try:
        reached = _round(strategy, [replica.go_on for replica in running])
        while not all(ended := [replica.ended for replica in running]):
            if any(ended):
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() calls: replicas "
                    f"{[i for i, e in enumerate(ended) if e]} have returned, while {[i for i, e in enumerate(ended) if not e]} "
                    "wait for them. Aggregate gradients, assign to variables and create them in all replicas, or in none."
                )
            given = _merged(strategy, reached)
            steps = [functools.partial(replica.go_on, unwrapped(given, number)) for number, replica in enumerate(running)]
            reached = _round(strategy, steps)
        return reached
    finally:
        for replica in running:
            replica.end()


def _round(strategy: Any, steps: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all replicas up to their next meeting; in a function note the nodes that each of them records."""
    reached, ends = [], [len(engine.local.trace.nodes)]
    for step in steps:
        reached.append(step())
        ends.append(len(engine.local.trace.nodes))
    trace, copies = engine.local.trace, strategy.extended._layout.copies
    if trace.scope is not None and getattr(trace.scope, "trace", None) is trace and hasattr(trace.scope, "rounds"):
        trace.scope.rounds.append(([range(start, end) for start, end in itertools.pairwise(ends)], copies.mesh))
    return reached


def _merged(strategy: Any, merges: list[Merge]) -> Any:
    """Call the function of a `merge_call` across replicas."""
    args, kwargs = joined([tuple(merge.args) for merge in merges]), joined([merge.kwargs for merge in merges])
    with context.entered(EnteredStrategy(strategy, None)):
        return merges[0].function(strategy, *args, **kwargs)
