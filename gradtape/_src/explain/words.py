"""The sentences about a break: the cause and the fix, in the user's own names."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradtape._src.core import hooks
from gradtape._src.core.journal import Line
from gradtape._src.core.places import place
from gradtape._src.explain import source as text, words_of_values as values
from gradtape._src.explain.breaks import Break
from gradtape._src.explain.callers import MADE, in_a_thread
from gradtape._src.explain.diagnosis import Diagnosis
from gradtape._src.explain.edits import fixes
from gradtape._src.explain.exits import left_library
from gradtape._src.explain.merged import of_a_metric
from gradtape._src.explain.rewritten import as_floating, stopped_through, without_call
from gradtape._src.explain.smooth import has_own_advice, in_its_words, instead_of

# What a value that goes no further decides, and what to compute with instead.
DECIDED = {
    "branch": ("which branch runs, or how often a loop does,", "a soft weight, tf.sigmoid(…)"),
    "index": ("which elements are taken", "weights that follow it smoothly, or an interpolation"),
    "size": ("how many elements there are", "a soft count, tf.reduce_sum(tf.sigmoid(…))"),
}


# What to compute with in the place of an order of elements.
ORDERS = {
    "Sort": "take the sorted values, `tf.sort(x)`, or a soft rank, `tf.reduce_sum(tf.sigmoid(x[None] - x[:, None]), 1)`",
    "TopKV2": "take the values that top_k gives beside the places, or multiply by a soft choice, `tf.nn.softmax(x)`",
}


class Words:
    """The names in which one source, its target and the tape are spoken of; `code` is what stands for the source in a fix.

    `asked` is the line of the gradient call.
    """

    def __init__(self, source: str, target: str, tape: str, code: str | None = None, asked: Line = text.NO_LINE) -> None:
        self.source, self.target, self.tape, self.code, self.asked = source, target, tape, code or source, asked

    def diagnosis(self, broken: Break, also: tuple[Diagnosis, ...] = ()) -> Diagnosis:
        """Return the Diagnosis of a break."""
        cause, mend = SENTENCES[broken.code](self, broken)
        if decides := broken.detail.get("decides"):
            what, soft = DECIDED[decides]
            cause += f"; what follows only decides {what} on the way to {self.target}"
            if not has_own_advice(broken):
                mend = f"compute {self.target} from the value of {self.source} too, for example with {soft}"
        file, line = text.file(broken.line), text.number(broken.line)
        process = hooks.clients.process()
        made = fixes(broken, mend, self.asked, self.tape)
        return Diagnosis(broken.code, file, line, broken.op, _sentence(cause), _sentence(mend), also, process, made)

    def diagnoses(self, breaks: Sequence[Break]) -> Diagnosis:
        """Return the Diagnosis of the first of several breaks on one way, with the others under `also`."""
        return self.diagnosis(breaks[0], tuple([replace(self.diagnosis(b), process="") for b in breaks[1:]]))


def _sentence(words: str) -> str:
    return words + ("" if not words or words.endswith((".", "`")) else ".")


def _name(broken: Break) -> str:
    return str(broken.detail.get("name") or text.stored_name(broken.line) or "x")


def _not_watched(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("automatic") is False:
        cause = f"the tape was opened with watch_accessed_variables=False, and nobody watched {w.source}"
    else:
        cause = f"{w.source} is a tensor, not a Variable, and no tape watched it"
    return cause, f"inside the tape, before {w.source} is used, write `{w.tape}.watch({w.code})`"


def _watched_late(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"{b.written} ran before `{w.tape}.watch({w.code})`, which counts from where it stands",
        f"move `{w.tape}.watch({w.code})` to "
        + ("the line after the one that computes it" if b.detail.get("made") else "the beginning of the tape"),
    )


def _rebound(w: Words, b: Break) -> tuple[str, str]:
    name = _name(b)
    each = text.one_by_one(b.line)
    if each is not None:
        return f"{name} held Variables, and {b.written} filled it with tensors that no tape watches", (
            f"change the Variables instead: `{each}`"
        )
    if "path" in b.detail or w.source.startswith((f"{name}[", f"{name}.")):
        return _replaced(w, b, name)
    new = "another Variable" if text.makes_a_variable(b.line) else "a tensor that no tape watches"
    cause = f"the name {name} was a Variable's, and {b.written} gave it to {new}"
    assigned = text.assignments(b.line)
    if assigned is None:
        return cause, f"change the Variable instead: try `{name}.assign(…)` with the new value, and keep its name"
    return cause, f"change the Variable instead: `{assigned}`"


def _replaced(w: Words, b: Break, name: str) -> tuple[str, str]:
    """Return the sentences about a step that gives new tensors in the place of Variables, which an object or list held."""
    cause = f"{w.source} was a Variable, and {b.written} put a tensor in its place, which no tape watches"
    entry, new = re.fullmatch(rf"{re.escape(name)}\[([^\]]*)\]", w.source), text.value_of(b.line, name)
    if entry is None or new is None:
        change = f"`{w.source}.assign(…)` with the new value, and keep what holds it"
    elif entry[1].isdigit():
        change = f"`for variable, new in zip({name}, {new}): variable.assign(new)`"
    else:
        change = f"`for key, new in {new}.items(): {name}[key].assign(new)`"
    return cause, f"change the Variables instead: try {change}"


def _unused(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("linear") is not None:
        called = text.text(b.detail["linear"])
        return (
            f"the gradient of `{called}` is a constant to {w.source}: what is differentiated there is linear in it, or "
            f"piecewise so; {w.target} does not depend on {w.source} any more",
            "the derivative is zero; `unconnected_gradients='zero'` gives it as zeros",
        )
    said = f"{w.target} does not depend on {w.source}"
    if (late := b.detail.get("late")) is not None:
        return (
            f"{said}: the function in {b.written} looks up {late} when it is called, after the loop, and finds the last one",
            f"bind it where the function is made, by a default: `lambda x, {late}={late}: …`",
        )
    if (again := b.detail.get("again")) is not None:
        where = place(text.file(again), text.number(again))
        said = f"{said}: `{text.text(again)}` ({where}) computes the same value again, and that one is used"
        return said, _from_the_source(w, b)
    mend = f"compute {w.target} from {w.source}, or leave it out of the sources"
    if (end := b.detail.get("end")) is not None:
        where = place(text.file(end), text.number(end))
        said += f": it is used in `{text.text(end)}` ({where}), and what comes of that goes no further"
        mend = f"compute {w.target} from what that gives, or leave {w.source} out of the sources"
        if (
            text.same_line(end, b.line)
            and text.in_a_loop(end)
            and (name := text.target(b.line))
            and (value := text.value_of(b.line, name))
        ):
            mend = f"add up what the loop computes, and do not begin again each time: `{name} += {value}`"
    if (holder := b.detail.get("computed_by")) is not None:
        said += f": it was computed from the variables of `{holder}`"
        mend = f"take the variables of `{holder}` as sources, or leave {w.source} out"
    if (read := b.detail.get("read")) and not b.detail.get("uncalled"):
        said += f": it was computed from {' and '.join(read)}"
        mend = f"compute {w.target} from {w.source}, or take as the source what it was computed from"
    if (given := b.detail.get("unread")) is not None:
        function, parameter = given
        said = f"{w.target} does not depend on {w.source}: `{function}` never uses its argument {parameter}"
        mend = f"compute what `{function}` returns from {parameter}"
    if (alone := b.detail.get("uncalled")) is not None:
        said += f", and nothing of `{alone}` ran under the tape"
        mend = f"call `{alone}` under the tape and compute {w.target} from what it gives, or leave it out of the sources"
    if (derived := b.detail.get("derived")) is not None:
        where = place(text.file(derived), text.number(derived))
        said += f", which `{text.text(derived)}` ({where}) computed beside it: what {w.target} was computed from is another value"
        mend = f"compute {w.source} first, and {w.target} from it; or take as the source what {w.target} was computed from"
    return said, mend


def _from_the_source(w: Words, b: Break) -> str:
    """Return the fix of a target whose inputs have the source's value from elsewhere; of two Keras models one is made."""
    if not b.detail["models"]:
        return f"compute {w.target} from {w.source} itself"
    inner, outer = b.detail["models"]
    both = f"{outer.keras}.Model({outer.model}.inputs, [{inner.output}, {outer.output}])"
    results = f"{inner.result}, {outer.result}"
    return f"make one model of the two, `both = {both}`, and in the tape write `{results} = both({outer.given})`"


def _kept(b: Break) -> tuple[str, str]:
    """Return the sentences about a value that was computed once, and not again under the tape that is asked."""
    why = b.detail["kept"]
    return (
        f"{b.written} ran before this tape opened, and `{why}` keeps what it gave, so the tape has not seen it",
        f"compute it anew under each tape, without `{why}`",
    )


def _outside_tape(w: Words, b: Break) -> tuple[str, str]:
    if "kept" in b.detail:
        return _kept(b)
    if b.detail.get("parts"):
        return (
            f"{b.written} ran after the tape closed, and takes what several tapes recorded, of which each knows its own part",
            "open one tape around all of it, with this line inside; or add up the gradients of the parts",
        )
    when = "before the tape opened" if b.detail.get("early") else "after the tape closed"
    if (given := b.detail.get("minimize")) is not None:
        return (
            f"{b.written} ran before `{given}` opened its tape, so the tape has not seen it",
            f"compute it in the function that `{given}` is given",
        )
    moved = f"{_moved(b, 'into', 'in')} the tape's `with` block"
    if (loop := b.detail.get("loop")) is not None:
        moved = f"open the tape before the loop in line {loop}, and let the loop run in its `with` block"
    return f"{b.written} ran {when}, so the tape has not seen it", _when_it_runs(b) or moved


def _when_it_runs(b: Break) -> str | None:
    """Return the advice for what runs where a function or class is made, or a generator is read; None for any other line."""
    if (text.text(b.line) or "").startswith(("def ", "async def ")):
        return "compute it in the body of the function, under the tape: a default is computed once, where the function is made"
    code = b.line[0]
    if b.detail.get("function") == "<module>":
        return "compute it in a function that is called under the tape: the body of a module runs once, where it is imported"
    if code is not None and code.co_flags & inspect.CO_GENERATOR:
        return "read the generator under the tape, as by `list(…)`: what it computes runs where it is read"
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        return "make the coroutine and await it under the tape: it runs where it is awaited"
    if b.detail.get("elsewhere") and code is not None and code.co_name in MADE:
        return "compute it in a method, or a property, that runs under the tape: this runs once, where the object is made"
    if code is not None and code.co_name != "<module>" and not code.co_flags & inspect.CO_OPTIMIZED:
        return "compute it in a method, under the tape: the body of a class runs once, where the class is made"
    return None


def _recording_paused(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"{b.written} ran under stop_recording, so to the tape its result is a constant",
        f"{_moved(b, 'out of', 'outside of')} the `with {w.tape}.stop_recording():` block",
    )


def _moved(b: Break, move: str, call: str) -> str:
    """Return the advice to move a line, or to call the function in which it stands elsewhere."""
    if b.detail.get("elsewhere"):
        return f"compute what {b.written} computes again {call}"
    return f"call `{b.detail['function']}` {call}" if "function" in b.detail else f"move {b.written} {move}"


def _not_floating(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("index") and not re.search(r"cast|int|astype", text.text(b.line) or "cast"):  # a layer's own
        return (
            f"{b.written} looks up rows by {w.source}, which only says which rows are taken, and has no derivative",
            "ask for the gradient of what is taken: call the embedding by itself under the tape, watch what it gives, and "
            f"compute {w.target} from that",
        )
    if b.detail.get("index"):
        return (
            f"{b.written} makes an index, which only says which elements are taken, and has no derivative",
            "interpolate: take the elements at tf.floor and one further, weighted by the fraction of the position",
        )
    if (function := b.detail.get("through")) is not None:
        return (
            f"{b.written} casts to a dtype that is not floating, and what follows has no derivative either",
            f"pass the gradient straight through all of it: `x + tf.stop_gradient({function}(x) - x)`",
        )
    if b.detail.get("how") == "cast":
        cause = f"{b.written} casts to a dtype that is not floating, and integers have no derivative"
        if re.search(r"cast|int|astype", text.text(b.line) or "cast"):
            straight = "pass the gradient straight through: `x + tf.stop_gradient(tf.round(x) - x)`"
            return cause, in_its_words(f"leave out the cast; where it is meant to round, {straight}", b)
        return cause, "look at the order of the arguments: what stands for labels is cast, in a loss of Keras's the first one"
    if b.step is not None:
        if b.op in ORDERS:
            mend = in_its_words(ORDERS[b.op], b)
            b.place = None  # values in the place of an order: what follows has to be written anew
            return f"{b.op} in {b.written} gives numbers of places, and an order has no derivative", mend
        return (
            f"{b.op} in {b.written} gives a dtype that is not floating, through which no gradient flows",
            "go on with floating values, not with integers or bools that are made of them",
        )
    return (
        f"{w.source} is not floating, and only floating and complex tensors have gradients",
        f"make {w.source} with dtype=tf.float32{_as_floating(b)}; if it says which elements are taken, ask for the gradient of "
        "what they are taken from, or of what is taken",
    )


def _as_floating(b: Break) -> str:
    """Return the statement that makes a source, with a floating dtype, behind a colon; empty for anything else."""
    written = as_floating(b.line)
    return f": `{written}`" if written else ""


def _not_differentiable(w: Words, b: Break) -> tuple[str, str]:
    reason = b.detail.get("reason") or "its gradient function gives None for this input"
    if b.op is not None and b.op.startswith("CustomGradient"):
        return f"the function with a gradient of its own in {b.written}: {reason}", "return a gradient from its grad function"
    return f"{b.op} in {b.written} has no derivative: {reason}", instead_of(b)


def _no_gradient_registered(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"no gradient is registered for {b.op} in {b.written}",
        f'register one with `@tf.RegisterGradient("{b.op}")`, or wrap the call in tf.custom_gradient',
    )


def _stopped(w: Words, b: Break) -> tuple[str, str]:
    cause = f"stop_gradient in {b.written} makes its argument a constant"
    through = stopped_through(b.line)
    if through is not None:  # a gradient that is to pass straight through, with all of it stopped
        b.place = text.span(through[0])
        return cause, f"stop the difference only: `{through[1]}`"
    detour = re.search(r"\b([\w.]+) \+ (?:\w+\.)*stop_gradient\(([\w.]+) - \1\)", text.text(b.line) or "")
    if detour is not None:  # which passes all of the gradient by the value that is taken
        return cause, (
            f"the line passes the gradient straight to {detour[1]}; give {detour[2]} a loss of its own, "
            f"`tf.reduce_mean(({detour[2]} - tf.stop_gradient({detour[1]})) ** 2)`"
        )
    written = without_call(b.line)
    return cause, "leave out `tf.stop_gradient`" + (f": `{written}`" if written else "")


def _state(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("how") == "variable":
        return (
            f"{b.written} made a Variable of the value, and state stops gradients",
            "use the tensor itself, without tf.Variable",
        )
    if of_a_metric(b):
        return (
            f"{b.written} is a metric's: the value went into its state, and state stops gradients",
            _loss_of(b)
            or "compute the loss from the tensor that the metric is given, or by a loss of Keras's, and keep the "
            "metric beside it",
        )
    fix = "keep the new value in a tensor and compute with that; assign it afterwards"
    if (model := b.detail.get("model")) is not None:
        called = f"{model[0]}.stateless_call(values, {model[0]}.non_trainable_variables, x)"
        fix = (
            f"keep the new values in a list, like `{model[0]}.trainable_variables`, and call the model with it: `y, _ = {called}`"
        )
    return f"the value went into a variable's state in {b.written}, and state stops gradients", fix


def _loss_of(b: Break) -> str | None:
    """Return the fix of a metric that is called for a loss: the loss of Keras's that measures the same; None if there is none."""
    name, metric = b.detail.get("metric") or ("", None)
    loss = type(metric).__name__.replace("Accuracy", "Crossentropy")
    written = text.text(b.line) or ""
    if f"{name}(" not in written or not hasattr(getattr(sys.modules.get("keras"), "losses", None), loss):
        return None
    return f"use a loss of Keras's, and keep the metric beside it: `{written.replace(f'{name}(', f'tf.keras.losses.{loss}()(')}`"


def _not_trainable(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("unused"):
        model = re.match(r"(.*)\.variables\b", w.source)
        return (
            f"{w.source} was made with trainable=False and is only kept up to date: {w.target} does not depend on it",
            f"take `{model[1] if model else 'model'}.trainable_variables` as sources",
        )
    return (
        f"{w.source} was made with trainable=False, so the tape does not watch it by itself",
        f"inside the tape write `{w.tape}.watch({w.code})`, or make it with trainable=True",
    )


def _branch_not_taken(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("failed"):
        return (
            f"{w.source} is used in a `try` that failed, and `{text.text(b.line)}` hides its error",
            "print the error, or leave the except clause out, and do what the error says",
        )
    if b.detail.get("loop"):
        return (
            f"{w.source} is used in the loop {b.written}, which made no trip",
            "let the loop run once at least, or ask for `unconnected_gradients='zero'`",
        )
    return (
        f"{w.source} is used in a branch of {b.written} that did not run",
        "look at the condition: the side that does not run has no gradient, or zeros; where both are to learn, add them with "
        "soft weights, tf.sigmoid(…)",
    )


def _other_tape(w: Words, b: Break) -> tuple[str, str]:
    if "kept" in b.detail:
        return _kept(b)
    if gradient := b.detail.get("gradient"):
        block = f"into the `with` block of {w.tape}"
        mend = (
            f"move {b.written} {block}"
            if gradient == "same tape" or b.detail["nested"]
            else f"nest the tapes: put {b.written}, and the `with` block of the tape it asks, {block}"
        )
        if called := b.detail.get("function"):
            mend = f"call `{called}` in the `with` block of {w.tape}, so that the gradient taken there is recorded"
        return f"the gradient taken in {b.written} was not recorded by the tape that is asked, as that was not open", mend
    if (into := b.detail.get("into")) is not None:
        where = place(text.file(into), text.number(into))
        return (
            f"{b.written} takes what `{text.text(into)}` ({where}) computed in an earlier step, under the tape of that step",
            "take what this step computes; what is kept of an earlier one is a constant",
        )
    cause = f"{b.written} was recorded by another tape"
    if (loop := b.detail.get("loop")) is not None:
        return (
            cause,
            f"open {w.tape} before the loop in line {loop}, and leave out the tape in it; or ask that one for its gradient",
        )
    return cause, f"compute it under {w.tape}, or ask the tape that recorded it"


def _tape_used(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("reset"):
        return f"{b.written} made the tape forget what was before it", f"do it before, or leave out `{w.tape}.reset()`"
    return (
        f"{b.written} used up the tape: one that is not persistent gives one set of gradients",
        "open it with `tf.GradientTape(persistent=True)`, or ask for all gradients in one call",
    )


def _other_thread(w: Words, b: Break) -> tuple[str, str]:
    cause = f"{b.written} ran in another thread, and a tape records its own thread"
    found = None if b.line[0] is None else in_a_thread(b.line)
    if found is None:
        return cause, "compute it in the thread of the tape"
    return cause, f"compute it in the thread of the tape: `{found[1]}`, in the place of `{found[0]}`"


def _lines(numbers: Sequence[int | None]) -> str:
    """Return the words about further lines."""
    return "" if not numbers else f", and in line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _wrong_object(w: Words, b: Break) -> tuple[str, str]:
    how = b.detail.get("how")
    if how == "stale":
        return (
            f"{b.written} took {w.source}'s value before the tape opened; {w.target} was computed from that",
            f"inside the tape use {w.source} itself, or move {b.written} into its `with` block",
        )
    if how == "copied":
        return f"{w.source} is a copy, made in {b.written}; {w.target} was computed from the original", "pass the original"
    if how == "copy":
        return (
            f"{b.written} made a copy of {w.source}, and {w.target} was computed from the copy",
            "pass the copy, or use the original",
        )
    if how == "fresh":
        return (
            f"{b.written} made a new variable in the tape, and {w.target} was computed from that",
            "make the variable, or the layer that holds it, once and before the tape",
        )
    if how == "later":
        return (
            f"{b.written} made the variable {w.source} after {w.target} was computed",
            f"make it, or the layer that holds it, before, and compute {w.target} from it",
        )
    return _of_another(w, b, how)


def _of_another(w: Words, b: Break, how: str | None) -> tuple[str, str]:
    """Return the sentences about a target that was computed from another object than that of the source."""
    if how == "instead":
        own, holder = b.detail["own"], b.detail["holder"]
        return (
            f"{w.target} was computed from `{holder}` in {b.written}{_lines(b.detail['others'])}, and nothing of `{own}`, which "
            f"holds {w.source}, ran under the tape",
            f"call `{own}` there, in the place of `{holder}`; or pass the variables of `{holder}`",
        )
    if how == "anew":
        return (
            f"{b.written} makes the source anew, after {w.target} was computed, which came from another value",
            "give it a name, compute with it under the tape (`watch` it, if it is no Variable), and pass that name",
        )
    if how == "read":
        return (
            f"{w.target} was computed from {b.detail['called']}, which {b.written} filled from a file, and not from {w.source}",
            f"pass {b.detail['called']}, or compute {w.target} from {w.source}",
        )
    if how == "stood":
        return (
            f"{b.written} put another variable in the place of the one that {w.target} was computed from, as a tf.function does "
            "that was traced before",
            f"keep the variable and give it the new value, `{b.detail['place']}.assign(…)`; or make the function after it",
        )
    name, holder = b.detail.get("name"), b.detail.get("holder")
    if (default := b.detail.get("default")) is not None:
        function, parameter = default
        return (
            f"{w.target} was computed from {name}, which the default `{parameter}` of `{function}` holds since that was made, "
            f"and not from {w.source}",
            f"pass `{parameter}` when `{function}` is called",
        )
    if holder is None:
        return (
            f"{w.target} was computed from another variable, {name}, than the one that was passed",
            "pass the variable that is used now, for example after a layer was built again",
        )
    return (
        f"{w.target} was computed from another variable than {w.source}: from {name}, which `{holder}` holds",
        f"pass the variables of `{holder}`, or compute {w.target} from those that were passed",
    )


def _unknown(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("asked") is False:
        return f"no gradient call that is remembered had {w.source} among its sources", "pass the target, and not None"
    return (
        f"the tape gave None for {w.source}, and what is remembered of it does not show why",
        "ask sooner after the gradient call: what ran long ago is forgotten",
    )


SENTENCES: dict[str, Callable[[Words, Break], tuple[str, str]]] = {
    "not_watched": _not_watched,
    "watched_late": _watched_late,
    "rebound": _rebound,
    "unused": _unused,
    "outside_tape": _outside_tape,
    "recording_paused": _recording_paused,
    "left_library": left_library,
    "not_floating": _not_floating,
    "not_differentiable": _not_differentiable,
    "no_gradient_registered": _no_gradient_registered,
    "stopped": _stopped,
    "state": _state,
    "not_trainable": _not_trainable,
    "branch_not_taken": _branch_not_taken,
    "other_tape": _other_tape,
    "tape_used": _tape_used,
    "other_thread": _other_thread,
    "wrong_object": _wrong_object,
    "unknown": _unknown,
    "dead_relu": values.dead_relu,
    "saturated": values.saturated,
    "where_side": values.where_side,
    "clipped": values.clipped,
    "piecewise_constant": values.piecewise_constant,
    "masked_out": values.masked_out,
    "zero_factor": values.zero_factor,
    "dropped_out": values.dropped_out,
    "underflow": values.underflow,
    "overflow": values.overflow,
    "not_selected": values.not_selected,
    "stationary": values.stationary,
    "cancelled": values.cancelled,
    "nan_origin": values.nonfinite,
    "inf_origin": values.nonfinite,
}
