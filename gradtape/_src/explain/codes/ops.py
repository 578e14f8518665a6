"""The codes of ops without a derivative, and of ops that stop gradients on purpose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.custom import CLOSED, CUSTOM
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import Op, ops
from gradtape._src.core.programs.program import CALL, ELEMENT, FUNCTION
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import Evidence, OfOp, Said, cited, of_no_way, of_steps
from gradtape._src.explain.history import History, Name, Step, opens
from gradtape._src.explain.smooth import declared, in_its_words, instead_of, of_function
from gradtape._src.explain.words import Words
from gradtape._src.ops.array.cast import _cast
from gradtape._src.ops.array.shape import _stop_gradient
from gradtape._src.ops.array.sort import _arg_max
from gradtape._src.ops.math.compare import EQUAL, NOT_EQUAL
from gradtape._src.ops.math.counting import _dense_bincount
from gradtape._src.ops.math.segment import _unsorted_sum

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View

TALLIES = [f.op.type for f in (_dense_bincount, _unsorted_sum)]
COMPARED = {False: [EQUAL.type, *TALLIES], True: [EQUAL.type, NOT_EQUAL.type, *TALLIES]}  # whether a rounding is counted


class Index(OfOp):
    """`index` is the type of the op whose elements the result selects, if it has no other use; else empty."""

    index: str = ""


class NotFloating(Index):
    """`through` is the function in which a `cast` precedes more ops without a derivative; `then` is such an op after it."""

    code, named = "not_floating", "the cast, or where it was made"
    when = "an integer, bool or string on the way; also one that only chooses elements or a size"
    cast: bool = False
    through: str | None = None
    then: str | None = None

    def said(self, w: Words) -> Said:
        cast_there = re.search(r"cast|int|astype", text.text(self.line) or "cast")
        if self.step is None:
            return self._source(w)
        if self.index and not cast_there and "Entropy" not in self.index:  # an embedding layer casts its indices
            cause = f"{self.written} looks up rows by {w.source}, which only says which rows are taken, and has no derivative"
            alone = "call the embedding by itself under the tape, watch what it gives"
            return Said(cause, f"ask for the gradient of what is taken: {alone}, and compute {w.target} from that")
        if self.index and cast_there:
            if "bool" in (text.text(self.line) or ""):
                cause = f"{self.written} makes a mask, which only says which elements are taken, and has no derivative"
                return Said(cause, "leave out the cast, and multiply by that value as a soft mask, in the place of the bool")
            cause = f"{self.written} makes an index, which only says which elements are taken, and has no derivative"
            return Said(cause, "interpolate: take the elements at tf.floor and one further, weighted by the position's fraction")
        if self.through is not None:
            cause = f"{self.written} casts to a dtype that is not floating, and what follows has no derivative either"
            return Said(cause, f"pass the gradient straight through all of it: `x + tf.stop_gradient({self.through}(x) - x)`")
        if self.cast:
            cause = f"{self.written} casts to a dtype that is not floating, and integers have no derivative"
            if cast_there and self.then is not None:
                return Said(cause, "leave out the cast, and " + in_its_words(declared(self.then), self)[0], whole=False)
            if cast_there:
                straight = "pass the gradient straight through: `x + tf.stop_gradient(tf.round(x) - x)`"
                beside = " and the dtype of the result" if re.search(r"=\s*tf\.u?int", text.text(self.line) or "") else ""
                return Said(cause, *in_its_words(f"leave out the cast{beside}; where it is meant to round, {straight}", self))
            if (inside := of_function(self)) is not None:
                return Said(cause, inside)
            wrong = "look at the order of the arguments: what stands for labels is cast, in a loss of Keras's the first one"
            return Said(cause, wrong)
        if advice := declared(self.op):  # an order of places must be replaced by an order of values
            cause = f"{self.op} in {self.written} gives numbers of places, and an order has no derivative"
            return Said(cause, in_its_words(advice, self)[0])
        cause = f"{self.op} in {self.written} gives a dtype that is not floating, through which no gradient flows"
        return Said(cause, "go on with floating values, not with integers or bools that are made of them")

    def _source(self, w: Words) -> Said:
        """Return the sentences about a source that is not floating itself."""
        if self.index:
            cause = f"{w.source} is not floating: it only says which elements are taken, and has no derivative"
            return Said(
                cause, "ask for the gradient of what is taken: watch what the embedding gives, and take that as the source"
            )
        made = rewritten.as_floating(self.line)
        cause = f"{w.source} is not floating, and only floating and complex tensors have gradients"
        return Said(cause, f"make {w.source} with dtype=tf.float32{f': `{made}`' if made else ''}")


class NotDifferentiable(Index):
    code, named = "not_differentiable", "the op"
    when = (
        "an op without a derivative; also a condition that only decides which branch runs, or how often a loop does; or a value "
        "that a function with a gradient of its own uses without taking it as an argument"
    )
    reason: str | None = None
    stepped: bool = False  # piecewise constant, with a result that resembles the input
    counted: str = ""  # the type of the op that compares class numbers with others, as in an accuracy, or counts them
    closed_over: bool = False  # a function with a gradient of its own uses the value, and does not take it as an argument

    def said(self, w: Words) -> Said:
        reason = self.reason or "its gradient function gives None for this input"
        if self.op is not None and self.op.startswith(CUSTOM.type):
            cause = f"the function with a gradient of its own in {self.written}: {reason}"
            taken = "make the value an argument of that function, and " if self.closed_over else ""
            return Said(cause, f"{taken}return a gradient from its grad function")
        cause = f"{self.op} in {self.written} has no derivative, because {reason}"
        if self.counted in TALLIES:
            soft = "count softly: sum the probabilities, tf.nn.softmax(x), in the place of the class numbers; beside labels "
            return Said(cause, in_its_words(f"{soft}as in tf.matmul(tf.one_hot(labels, n), p, transpose_a=True)", self)[0])
        if self.counted:
            loss = "tf.keras.losses.binary_crossentropy" if self.stepped else "tf.nn.sparse_softmax_cross_entropy_with_logits"
            return Said(cause, f"take a loss that follows the scores, such as {loss}: an accuracy only counts")
        return Said(cause, *instead_of(self, self.stepped, bool(self.index)))


class NoGradientRegistered(OfOp):
    code, when, named = "no_gradient_registered", "an op without a gradient function", "the op"

    def said(self, w: Words) -> Said:
        cause = f"no gradient is registered for {self.op} in {self.written}"
        own = f'register one with `@tf.RegisterGradient("{self.op}")`, or wrap the call in tf.custom_gradient'
        return Said(cause, f"{advice}; or {own}" if (advice := declared(self.op)) else own)


class Stopped(OfOp):
    code, when, named = "stopped", "`stop_gradient` cut the way", "its line"
    meant = True
    forgotten: Line | None = None  # a line under the tape that also uses the source, and whose value is never read

    def said(self, w: Words) -> Said:
        found = re.search(r"[\w.]*stop_gradient|back_prop=False", text.text(self.line) or "")
        cause = f"{found[0] if found else 'stop_gradient'} in {self.written} makes a constant of what it is given"
        through = rewritten.stopped_through(self.line)
        if through is not None:  # a straight-through gradient whose sum is stopped as a whole
            return Said(cause, f"stop the difference only: `{through[1]}`", text.span(through[0]))
        detour = re.search(r"\b([\w.]+) \+ (?:\w+\.)*stop_gradient\(([\w.]+) - \1\)", text.text(self.line) or "")
        if detour is not None:  # the whole gradient bypasses the selected value
            loss = f"`tf.reduce_mean(({detour[2]} - tf.stop_gradient({detour[1]})) ** 2)`"
            return Said(
                cause, f"the line passes the gradient straight to {detour[1]}; give {detour[2]} a loss of its own, {loss}"
            )
        if self.forgotten is not None:
            cause = f"{cause}, and what {cited(self.forgotten)} computes goes no further"
            return Said(cause, f"add {text.stored_name(self.forgotten)} to {w.target}")
        written = rewritten.without_stop(self.line)
        return Said(cause, f"leave out `{found[0] if found else 'tf.stop_gradient'}`" + (f": `{written}`" if written else ""))


@of_steps(40)
def _stopped(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    return Stopped(step.line, op.type, step) if op is not None and op.type == _stop_gradient.op.type else None


@of_steps(50)
def _without_gradient(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    if op is None or not without_gradient(op):
        if op is CLOSED and step.attrs[2][step.attrs[0] + step.inputs.index(before)] is None:
            reason = "its gradient function returns None for this argument"
            return NotDifferentiable(step.line, op.type, step, reason=reason)
        return None
    if not inexact(view.history.aval(before)):  # the op that made the integer is the break
        return None
    if op.reason is None:
        return NoGradientRegistered(step.line, op.type, step)
    steps = view.history.steps
    stepped = "piecewise constant" in op.reason and view.history.aval(step.name) is view.history.aval(before)
    index = "" if stepped else chosen_by(view.history, step.name)
    classes = stepped or op.type == _arg_max.op.type
    after = [steps[name] for name in view.history.after([step.name]) if name in steps] if classes else []
    by = {s.how for s in after if s.how in COMPARED[stepped] and (stepped or not inexact(view.history.aval(s.inputs[0])))}
    return NotDifferentiable(
        step.line,
        op.type,
        step,
        reason=op.reason,
        index=index,
        stepped=stepped,
        counted="" if index else min(by, default=""),
    )


@of_no_way(40)
def _closed_over(case: Apart) -> Evidence | None:
    """Find a function with a gradient of its own that uses a value, but gives gradients for its arguments alone."""
    history, reason = case.view.history, "it uses a value that is none of its arguments, for which it gives no gradient"
    reached = history.after(case.source.names)
    for step in [history.steps[name] for name in case.used if name in history.steps]:
        if any(name in reached for name in step.hidden):
            return NotDifferentiable(step.line, CUSTOM.type, step, reason=reason, closed_over=True)
    return None


def without_gradient(op: Op) -> bool:
    """Return whether neither an op nor a Program inside of it has a gradient function."""
    return op.gradient is None and not opens(op) and op is not ELEMENT and op is not CUSTOM


@of_steps(60)
def _not_floating(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    history = view.history
    if op is None or inexact(history.aval(step.name)):
        return None
    if op.type == _cast.op.type:
        after = [user.how for user in history.users.get(step.name, ()) if user.how in ops and without_gradient(ops[user.how])]
        then = next((how for how in after if declared(how)), None)
        return NotFloating(step.line, op.type, step, cast=True, index=chosen_by(history, step.name), then=then)
    if op in (CALL, FUNCTION) or not inexact(history.aval(before)):
        return None
    made = history.steps.get(step.inputs[0]) if op is ELEMENT else step
    return NotFloating(step.line, op.type if made is step else (made or step).how, step)


def inexact(aval: Any) -> bool:
    """Return whether a value may be floating or complex; for several values, whether any may be."""
    if aval is None:
        return True
    return any(map(inexact, aval)) if type(aval) is tuple else aval.inexact


def chosen_by(history: History, name: Name) -> str:
    """Return the type of the op that takes or puts elements at a non-differentiable index; empty if the index has other uses.

    Values computed from the index are followed up to ops that also take floating elements.
    """
    waiting, seen, taken = [name], {name}, ""
    while waiting:
        for step in history.users.get(waiting.pop(), ()):
            result = history.aval(step.name)
            if result is None:
                continue
            if not inexact(result):
                waiting += [step.name] if step.name not in seen else []
                seen.add(step.name)
            elif any(_elements(history.aval(i)) for i in step.inputs if i not in seen):
                taken = step.how
            else:
                return ""  # a cast, or a function of the number
    return taken


def _elements(aval: Any) -> bool:
    return aval is not None and type(aval) is not tuple and aval.inexact and bool(aval.shape)
