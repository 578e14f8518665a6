"""The codes of ops that ran outside of the tape's recording: at another time, in a pause, or under another tape."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from gradtape._src.core.programs.journal import Line, Taped
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import (
    MADE,
    OF_AN_OBJECT,
    PAUSES,
    SIMPLE,
    called_by,
    callers_in,
    functions_of,
    in_a_thread,
    loop_before,
    may_call,
    minimizing,
    opened_before,
    opening,
    scope_of,
)
from gradtape._src.explain.evidence import Evidence, Said, cited, of_places
from gradtape._src.explain.history import Name, Step
from gradtape._src.explain.kept import kept
from gradtape._src.explain.syntax import callee, mentioned, statements_of, within
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.breaks import View


class Placed(Evidence):
    """An op at a wrong place; the code beside the tape decides where it should go.

    - `function`: the op's function, which is called at the wrong place; `elsewhere`: it is not called beside the tape.
    - `kept`: the condition or decorator that has kept the value since the op ran.
    - `loop`: the line of a loop around the op that ends before the tape opens.
    - `minimize`: the optimizer's method that opens the tape.
    """

    function: str | None = None
    elsewhere: bool = False
    kept: str | None = None
    loop: int | None = None
    minimize: str | None = None

    def beside(self, asked: Line, after: Sequence[Evidence]) -> Evidence:
        """Return the evidence at the statement beside the tape that caused it; `asked` is the line of the gradient call.

        That statement may also explain the breaks `after` this one.
        """
        once = None if isinstance(self, RecordingPaused) else kept(self.line, asked)
        found = self._at_the_call(asked, after) if once is None else replace(self, line=once[0], kept=once[1])
        loops = found.early or isinstance(found, OtherTape)
        return replace(found, loop=loop_before(found.line, asked)) if loops else found

    def _at_the_call(self, asked: Line, after: Sequence[Evidence]) -> Self:
        """Return the evidence at the call of the op's function, if another function asked for the gradient.

        If no single statement is found the line stays that of the op, and `function` names the called function.
        """
        code = self.line[0]
        if isinstance(self, OtherTape) or code is None:
            return self
        given = minimizing(asked) if self.early else None
        if given is not None and scope_of(asked) is scope_of(self.line):
            return replace(self, minimize=given)
        around, own_scope, called = scope_of(asked), scope_of(self.line), called_by(self.line)
        inside = around in within(own_scope, ast.AST)
        if around is not own_scope and (inside or called is None):  # the function with the tape does not call it
            return replace(self, elsewhere=True)
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):  # generators and coroutines run later than their call
            return self
        if around is None or called is None or (own_scope is around and called in (code.co_name, "<module>")):
            return self
        for k, later in enumerate(after):
            caller = text.statement(later.line)
            if later.code != self.code or later.line[0] is code or caller is None:
                continue
            if called in mentioned(caller) or may_call(caller, called, functions_of(later.line), called in OF_AN_OBJECT):
                moved = replace(self, line=later.line)
                return moved if scope_of(later.line) is around else moved._at_the_call(asked, after[k + 1 :])
        return self._in_the_scope(around, asked, called, given)

    def _in_the_scope(self, around: ast.AST, asked: Line, called: str, given: str | None) -> Self:
        """Return the evidence at a call in the asking scope; `given` is the optimizer's method there."""
        own, at = statements_of(around), text.number(asked) or 0
        tape = opened_before(asked, "GradientTape")
        place = opened_before(asked, *PAUSES) if isinstance(self, RecordingPaused) else tape
        if tape is None and given is not None:
            before = [n for n in own if (n.end_lineno or 0) < at and isinstance(n, SIMPLE) and called in mentioned(n)]
            line = text.line_at(asked[0], before[-1].lineno) if before and asked[0] is not None else self.line
            return replace(self, line=line, minimize=given)
        found = [] if tape is None or place is None else callers_in(own, tape, place, self, asked, called)
        if len(found) != 1 or asked[0] is None:
            assert self.line[0] is not None
            return replace(self, function=self.line[0].co_qualname.rpartition("<locals>.")[2])
        return replace(self, line=text.line_at(asked[0], found[0].lineno))

    def moved(self, move: str, call: str) -> str:
        """Return the advice to move a line, or to call its function elsewhere."""
        if self.elsewhere:
            return f"compute what {self.written} computes again {call}"
        return f"call `{self.function}` {call}" if self.function is not None else f"move {self.written} {move}"

    def of_kept(self) -> Said:
        """Return the sentences about a value that was computed once and not again under this tape."""
        cause = f"{self.written} ran before this tape opened, and `{self.kept}` keeps what it gave, so the tape has not seen it"
        anew = "by `@property` in the place of" if "cached_property" in str(self.kept) else "without"
        return Said(cause, f"compute it anew under each tape, {anew} `{self.kept}`")


class OutsideTape(Placed):
    """`parts`: the op combines values that several tapes recorded."""

    code, when = "outside_tape", "an op ran before the tape opened, or after it closed"
    named = "that op, or the call of the function in which it stands; of what is kept since then, the line that keeps it"
    parts: bool = False

    def said(self, w: Words) -> Said:
        if self.kept is not None:
            return self.of_kept()
        if self.parts:
            cause = f"{self.written} ran after the tape closed, and takes what several tapes recorded, each of which knows a part"
            return Said(cause, "open one tape around all of it, with this line inside; or add up the gradients of the parts")
        if (given := self.minimize) is not None:
            cause = f"{self.written} ran before `{given}` opened its tape, so the tape has not seen it"
            return Said(cause, f"compute it in the function that `{given}` is given")
        moved = f"{self.moved('into', 'in')} the tape's `with` block"
        if self.loop is not None:
            moved = f"open the tape before the loop in line {self.loop}, and let the loop run in its `with` block"
        elif text.same_line(self.line, w.asked):
            moved = f"compute what is differentiated in the tape's `with` block, and pass that in {self.written}"
        when = "before the tape opened" if self.early else "after the tape closed"
        return Said(f"{self.written} ran {when}, so the tape has not seen it", self._when_it_runs() or moved)

    def _when_it_runs(self) -> str | None:
        """Return the advice for code in a default, a module's body or a generator; None for other lines."""
        if (text.text(self.line) or "").startswith(("def ", "async def ")):
            return "compute it in the function's body, under the tape: a default is computed once, where the function is made"
        code = self.line[0]
        if self.function == "<module>":
            return "compute it in a function that is called under the tape: the body of a module runs once, where it is imported"
        if code is not None and code.co_flags & inspect.CO_GENERATOR:
            return "read the generator under the tape, as by `list(…)`: what it computes runs where it is read"
        if code is not None and code.co_flags & inspect.CO_COROUTINE:
            return "make the coroutine and await it under the tape: it runs where it is awaited"
        if self.elsewhere and code is not None and code.co_name in MADE:
            return "compute it in a method, or a property, that runs under the tape: this runs once, where the object is made"
        if code is not None and code.co_name != "<module>" and not code.co_flags & inspect.CO_OPTIMIZED:
            return "compute it in a method, under the tape: the body of a class runs once, where the class is made"
        return None


class RecordingPaused(Placed):
    code, when = "recording_paused", "an op ran under `stop_recording`, or in `tf.init_scope`"
    named = "that op, or the call of the function in which it stands"

    def said(self, w: Words) -> Said:
        block = opened_before(self.line, *PAUSES)
        opened = [] if block is None else opening(block, *PAUSES)
        pause = ast.unparse(opened[0]) if opened else f"{w.tape}.stop_recording()"
        name = callee(opened[0]) if opened else "stop_recording"
        cause = f"{self.written} ran under {name}, so to the tape its result is a constant"
        functions = functions_of(self.line)
        for decorator in getattr(scope_of(self.line), "decorator_list", ()):
            if any("stop_recording" in ast.unparse(f) for f in functions.get(ast.unparse(decorator), ())):
                return Said(cause, f"leave out `@{ast.unparse(decorator)}`, which pauses the tape")
        return Said(cause, f"{self.moved('out of', 'outside of')} the `with {pause}:` block")


class OtherTape(Placed):
    """`into` is the line of the tape's own block that computed the value in an earlier step."""

    code, named = "other_tape", "that op or gradient call; where the value is taken"
    when = "another tape recorded it, or the inner gradient was taken outside; also a value kept of an earlier step of the loop"
    into: Line | None = None

    def said(self, w: Words) -> Said:
        if self.kept is not None:
            return self.of_kept()
        if self.into is not None:
            cause = f"{self.written} takes what {cited(self.into)} computed in an earlier step, under the tape of that step"
            return Said(cause, "take what this step computes; what is kept of an earlier one is a constant")
        cause = f"{self.written} was recorded by another tape"
        if self.loop is not None:
            before = f"open {w.tape} before the loop in line {self.loop}, and leave out the tape in it"
            return Said(cause, f"{before}; or ask that one for its gradient")
        if scope_of(self.line) is scope_of(w.asked):
            return Said(cause, f"compute it again: put {self.written} into the block of {w.tape}, too; or use one tape for both")
        return Said(cause, f"compute it under {w.tape}, or ask the tape that recorded it")


class InnerGradient(Evidence):
    """The gradient of a tape, the `inner` or the same one, was taken while the asked tape was not open.

    `nested`: moving it alone is enough. `function` is the function in which it was taken.
    """

    code = OtherTape.code
    inner: Taped | None
    nested: bool
    function: str | None = None

    def said(self, w: Words) -> Said:
        cause = f"the gradient taken in {self.written} was not recorded by the tape that is asked, as that was not open"
        block = f"into the `with` block of {w.tape}"
        if self.function:
            return Said(cause, f"call `{self.function}` in the `with` block of {w.tape}, so that its gradient is recorded")
        if self.nested:
            return Said(cause, f"move {self.written} {block}")
        return Said(cause, f"nest the tapes: put {self.written}, and the `with` block of the tape it asks, {block}")


class TapeUsed(Evidence):
    code, when = "tape_used", "a tape that was used up, or reset"
    named = "the gradient call that did so, or the `reset`"
    reset: bool = False

    def said(self, w: Words) -> Said:
        if self.reset:
            cause = f"{self.written} made the tape forget what was before it"
            return Said(cause, f"do it before, or leave out `{w.tape}.reset()`")
        cause = f"{self.written} used up the tape: one that is not persistent gives one set of gradients"
        return Said(cause, "open it with `tf.GradientTape(persistent=True)`, or ask for all gradients in one call")


class OtherThread(Evidence):
    code, when, named = "other_thread", "the op ran in another thread", "the op"

    def said(self, w: Words) -> Said:
        cause = f"{self.written} ran in another thread, and a tape records its own thread"
        mend = "compute it in the thread of the tape"
        found = None if self.line[0] is None else in_a_thread(self.line)
        return Said(cause, mend if found is None else f"{mend}: `{found[1]}`, in the place of `{found[0]}`")


# -- finders of ops that the tape did not record


@of_places(10)
def _while_it_did_not_record(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    if view.tape is not None and step.thread is not None and step.thread != view.tape.thread:
        return OtherThread(outer.line, step.how, step)
    pauses = [] if view.tape is None else view.tape.paused
    if any(start <= step.at < stop or (step.how == "call" and step.at == stop) for start, stop in pauses):
        return RecordingPaused(outer.line, step.how, step)
    for call in view.calls:
        if call.start <= step.at < call.stop:
            inner = None if call.tape is view.tape else call.tape
            segments = [] if inner is None else inner.segments
            nested = all(view.sees((serial, start)) for serial, start, stop in segments if start < stop)
            return InnerGradient(call.line, None, step, inner=inner, nested=nested)
    return view.forgotten(lambda tape: view.sees(step.at, tape))


@of_places(80)
def _at_another_time(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    others = [tape for tape in view.history.tapes if tape is not view.tape] if step.how != "call" else []
    if any(view.sees(step.at, tape) for tape in others):
        return OtherTape(outer.line, step.how, step)
    opened = view.segments[0][:2] if view.segments else None
    early = opened is None or step.at < opened or (step.how == "call" and step.at == opened)
    return OutsideTape(outer.line, step.how, step, early=early)
