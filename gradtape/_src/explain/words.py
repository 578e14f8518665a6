"""The sentences about a break: the cause and the fix, in the user's own names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradtape._src.core import hooks
from gradtape._src.core.places import place
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import Break
from gradtape._src.explain.diagnosis import Diagnosis
from gradtape._src.explain.edges import FINITE, SMALLER, at_the_edge
from gradtape._src.explain.exits import left_library
from gradtape._src.explain.smooth import instead_of

# What a value that goes no further decides, and what to compute with instead.
DECIDED = {
    "branch": ("which branch runs, or how often a loop does,", "a soft weight, tf.sigmoid(…)"),
    "index": ("which elements are taken", "weights that follow it smoothly, or an interpolation"),
    "size": ("how many elements there are", "a soft count, tf.reduce_sum(tf.sigmoid(…))"),
}


class Words:
    """The names in which one source, its target and the tape are spoken of."""

    def __init__(self, source: str, target: str, tape: str) -> None:
        self.source, self.target, self.tape = source, target, tape

    def diagnosis(self, broken: Break, also: tuple[Diagnosis, ...] = ()) -> Diagnosis:
        """Return the Diagnosis of a break."""
        cause, mend = SENTENCES[broken.code](self, broken)
        if decides := broken.detail.get("decides"):
            what, soft = DECIDED[decides]
            cause += f"; what follows only decides {what} on the way to {self.target}"
            mend = f"compute {self.target} from the value of {self.source} too, for example with {soft}"
        file, line = text.file(broken.line), text.number(broken.line)
        process = hooks.clients.process()
        return Diagnosis(broken.code, file, line, broken.op, _sentence(cause), _sentence(mend), also, process)

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
    return cause, f"inside the tape, before {w.source} is used, write `{w.tape}.watch({w.source})`"


def _watched_late(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"{b.written} ran before `{w.tape}.watch({w.source})`, which counts from where it stands",
        f"move `{w.tape}.watch({w.source})` to the beginning of the tape",
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
    cause = f"the name {name} was a Variable's, and {b.written} gave it to a tensor that no tape watches"
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
    if (again := b.detail.get("again")) is not None:
        where = place(text.file(again), text.number(again))
        said = f"{said}: `{text.text(again)}` ({where}) computes the same value again, and that one is used"
        return said, _from_the_source(w, b)
    mend = f"compute {w.target} from {w.source}, or leave it out of the sources"
    if (end := b.detail.get("end")) is not None:
        where = place(text.file(end), text.number(end))
        said += f": it is used in `{text.text(end)}` ({where}), and what comes of that goes no further"
        mend = f"compute {w.target} from what that gives, or leave {w.source} out of the sources"
    if (holder := b.detail.get("computed_by")) is not None:
        said += f": it was computed from the variables of `{holder}`"
        mend = f"take the variables of `{holder}` as sources, or leave {w.source} out"
    if (read := b.detail.get("read")) and not b.detail.get("uncalled"):
        said += f": it was computed from {' and '.join(read)}"
        mend = f"compute {w.target} from {w.source}, or take as the source what it was computed from"
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
    (inner, features, _), (outer, model, given) = b.detail["models"]
    both = f"keras.Model({model}.inputs, [{features}.output, {model}.output])"
    return f"make one model of the two, `both = {both}`, and in the tape write `{inner}, {outer} = both({given})`"


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
    moved = f"{_moved(b, 'into', 'in')} the tape's `with` block"
    return f"{b.written} ran {when}, so the tape has not seen it", _when_it_runs(b) or moved


def _when_it_runs(b: Break) -> str | None:
    """Return the advice for what runs where a function or class is made, or a generator is read; None for any other line."""
    if (text.text(b.line) or "").startswith(("def ", "async def ")):
        return "compute it in the body of the function, under the tape: a default is computed once, where the function is made"
    code = b.line[0]
    if code is not None and code.co_flags & inspect.CO_GENERATOR and not b.detail["early"]:
        return "read the generator under the tape, as by `list(…)`: what it computes runs where it is read"
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
    if b.detail.get("index"):
        return (
            f"{b.written} makes an index, which only says which elements are taken, and has no derivative",
            "interpolate: take the elements at tf.floor and one further, weighted by the fraction of the position",
        )
    if b.detail.get("how") == "cast":
        cause = f"{b.written} casts to a dtype that is not floating, and integers have no derivative"
        if re.search(r"cast|int|astype", text.text(b.line) or "cast"):
            return cause, "leave out the cast"
        return cause, "look at the order of the arguments: what stands for labels is cast, in a loss of Keras's the first one"
    if b.step is not None:
        return (
            f"{b.op} in {b.written} gives a dtype that is not floating, through which no gradient flows",
            "go on with floating values, not with integers or bools that are made of them",
        )
    return (
        f"{w.source} is not floating, and only floating and complex tensors have gradients",
        f"make {w.source} with dtype=tf.float32; if it says which elements are taken, ask for the gradient of what they are "
        "taken from, or of what is taken",
    )


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
    through = re.search(r"(\w+\.)*stop_gradient\(([\w.]+) \+ \(?([\w.]+) - \2\)?\)", text.text(b.line) or "")
    if through is not None:  # a gradient that is to pass straight through, with all of it stopped
        return cause, f"stop the difference only: `{through[2]} + tf.stop_gradient({through[3]} - {through[2]})`"
    return cause, "leave out `tf.stop_gradient`"


def _state(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("how") == "variable":
        return (
            f"{b.written} made a Variable of the value, and state stops gradients",
            "use the tensor itself, without tf.Variable",
        )
    if re.search(r"\.update_state\(|\.result\(", text.text(b.line) or ""):
        return (
            f"{b.written} is a metric's: the value went into its state, and state stops gradients",
            "compute the loss from the tensor that the metric is given, or by a loss of Keras's, and keep the metric beside it",
        )
    return (
        f"the value went into a variable's state in {b.written}, and state stops gradients",
        "keep the new value in a tensor and compute with that; assign it afterwards",
    )


def _not_trainable(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("unused"):
        model = re.match(r"(.*)\.variables\b", w.source)
        return (
            f"{w.source} was made with trainable=False and is only kept up to date: {w.target} does not depend on it",
            f"take `{model[1] if model else 'model'}.trainable_variables` as sources",
        )
    return (
        f"{w.source} was made with trainable=False, so the tape does not watch it by itself",
        f"inside the tape write `{w.tape}.watch({w.source})`, or make it with trainable=True",
    )


def _branch_not_taken(w: Words, b: Break) -> tuple[str, str]:
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
            if gradient == "same tape"
            else f"nest the tapes: put {b.written}, and the `with` block of the tape it asks, {block}"
        )
        if called := b.detail.get("function"):
            mend = f"call `{called}` in the `with` block of {w.tape}, so that the gradient taken there is recorded"
        return f"the gradient taken in {b.written} was not recorded by the tape that is asked, as that was not open", mend
    return f"{b.written} was recorded by another tape", f"compute it under {w.tape}, or ask the tape that recorded it"


def _tape_used(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("reset"):
        return f"{b.written} made the tape forget what was before it", f"do it before, or leave out `{w.tape}.reset()`"
    return (
        f"{b.written} used up the tape: one that is not persistent gives one set of gradients",
        "open it with `tf.GradientTape(persistent=True)`, or ask for all gradients in one call",
    )


def _other_thread(w: Words, b: Break) -> tuple[str, str]:
    return f"{b.written} ran in another thread, and a tape records its own thread", "compute it in the thread of the tape"


def _wrong_object(w: Words, b: Break) -> tuple[str, str]:
    how = b.detail.get("how")
    if how == "stale":
        return (
            f"{b.written} took {w.source}'s value before the tape opened; {w.target} was computed from that",
            f"inside the tape use {w.source} itself",
        )
    if how == "copied":
        return f"{w.source} is a copy, made in {b.written}; {w.target} was computed from the original", "pass the original"
    if how == "copy":
        return (
            f"{b.written} made a copy of {w.source}, and {w.target} was computed from the copy",
            "pass the copy, or use the original",
        )
    if how == "instead":
        own, holder = b.detail["own"], b.detail["holder"]
        return (
            f"{w.target} was computed from `{holder}` in {b.written}, and nothing of `{own}`, which holds {w.source}, ran under "
            "the tape",
            f"call `{own}` there, in the place of `{holder}`; or pass the variables of `{holder}`",
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
    name, holder = b.detail.get("name"), b.detail.get("holder")
    if holder is None:
        return (
            f"{w.target} was computed from another variable, {name}, than the one that was passed",
            "pass the variable that is used now, for example after a layer was built again",
        )
    return (
        f"{w.target} was computed from another variable than {w.source}: from {name}, which `{holder}` holds",
        f"pass the variables of `{holder}`, or compute {w.target} from those that were passed",
    )


# -- zeros


def _share(b: Break) -> str:
    return f"{100 * b.detail.get('fraction', 1.0):.0f} %"


MET = "nothing is left to learn from these values: try harder examples, or a larger margin"


def _dead_relu(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("met"):
        return f"all that {b.written} gives is 0, and so is {w.target}: every margin is met", MET
    return (
        f"{_share(b)} of the units of {b.op} in {b.written} are inactive, and with them all that the target uses",
        "try tf.nn.leaky_relu, a smaller rate, or another initialization",
    )


def _saturated(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("alone"):
        return (
            f"{b.op} in {b.written} is over an axis of one element, where it always gives 1",
            "try tf.sigmoid for one output, or give the softmax an output for each class",
        )
    return (
        f"{b.op} in {b.written} is saturated: it is flat where its input is",
        "try to scale its input down, or give the loss the logits (tf.nn.…_cross_entropy_with_logits)",
    )


def _where_side(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"the condition of {b.written} takes the other side in {_share(b)} of the elements, and in all that the target uses",
        "check the condition; what is not taken has the gradient 0",
    )


def _clipped(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("met"):
        return f"all that {b.written} gives is 0, and so is {w.target}: every margin is met", MET
    return (
        f"{b.written} clips {_share(b)} of the elements to its bound, where it is flat",
        "widen the bounds, or pass the gradient straight through: `x + tf.stop_gradient(tf.clip_by_value(x, low, high) - x)`",
    )


def _piecewise_constant(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("second"):
        return (
            f"the activation in {b.written} is piecewise linear, so its second derivative is 0 wherever it exists",
            "try a smooth one where a derivative is differentiated again: tf.tanh, tf.nn.softplus or tf.nn.silu",
        )
    return (
        f"{b.op} in {b.written} is piecewise constant: its derivative is 0 wherever it exists",
        "pass the gradient straight through: `x + tf.stop_gradient(step(x) - x)`, or use tf.tanh for a sign",
    )


def _masked_out(w: Words, b: Break) -> tuple[str, str]:
    if b.detail.get("empty"):
        return f"{b.written} keeps no element at all, so nothing of {w.source} is left", "check the condition: it holds nowhere"
    return (
        f"the mask in {b.written} is 0 in {_share(b)} of its elements, and wherever {w.source} counts",
        "check the mask: it leaves nothing of this source",
    )


def _zero_factor(w: Words, b: Break) -> tuple[str, str]:
    factors, at, made = text.factors(b.line), b.detail.get("at"), b.detail.get("made", text.NO_LINE)
    variable = b.detail.get("name")
    called = variable or (factors[at] if at is not None and at < len(factors) == 2 else None)
    cause = f"{b.written} multiplies by " + (f"{called}, which is 0" if called else "a factor that is 0")
    if made[0] is not None and not text.same_line(made, b.line) and (line := text.text(made)):
        cause += f" since `{line}` ({place(text.file(made), text.number(made))})"
    if variable is not None:
        return cause, f"start {variable} at other values than 0, or look at the step that made it 0"
    return cause, "check that factor: a weight, a rate or an input of zeros"


def _dropped_out(w: Words, b: Break) -> tuple[str, str]:
    return (
        f"dropout in {b.written} dropped {_share(b)} of the elements, and all that {w.source} reaches",
        "try a lower rate, or ask again: other elements are dropped the next time",
    )


def _underflow(w: Words, b: Break) -> tuple[str, str]:
    dtype, size = b.detail["dtype"], b.detail.get("magnitude")
    about = f"a value of about {size:.1e}" if size else f"a value smaller than any of {dtype}"
    return f"in {b.written} {about} underflows to 0 in {dtype}", _wider(dtype, "scale the loss up and the gradient down")


def _overflow(w: Words, b: Break) -> tuple[str, str]:
    dtype = b.detail["dtype"]
    return (
        f"{b.op} in {b.written} gives a value too large for {dtype}: it becomes infinite, where what follows is flat",
        _wider(dtype, "scale the values down"),
    )


def _wider(dtype: str, scaled: str) -> str:
    """Return advice for values beyond the limits of a dtype."""
    if dtype in ("float16", "bfloat16"):
        return f"try to compute this in tf.float32, or {scaled} (loss scaling)"
    wider = "" if dtype == "float64" else ", or tf.float64"
    return f"try to compute with logarithms, such as sums of tf.math.log(…) in the place of products{wider}"


def _not_selected(w: Words, b: Break) -> tuple[str, str]:
    if b.op in ("Complex", "Real", "Imag"):
        return (
            f"what follows {b.written} depends on the other part of the complex number, and not on that of {w.source}",
            "let the target depend on both parts, such as by tf.math.angle, or leave the source out",
        )
    return (
        f"{b.op} in {b.written} takes other elements than those of {w.source}",
        "use what the target takes, or leave the source out",
    )


def _stationary(w: Words, b: Break) -> tuple[str, str]:
    if b.op is not None and b.op.startswith("CustomGradient"):
        return (
            f"the gradient function of the tf.custom_gradient that {b.written} calls gives zeros here",
            "look at what that function returns for what it is given",
        )
    mend = "try to start from another value"
    if b.detail.get("met"):
        mend = f"{w.target} is 0 already: nothing is left to learn from these values; else try to start from another one"
    return f"the derivative of {b.op} in {b.written} is 0 at this value", mend


def _cancelled(w: Words, b: Break) -> tuple[str, str]:
    if "alone" in b.detail:
        return (
            f"the outputs of {b.op} in {b.written} add up to the same, whatever goes in, and all of them get the same gradient",
            "let the target depend on single outputs, as a cross entropy does, not on their sum or mean",
        )
    if "opposed" in b.detail:
        return (
            f"{b.written} takes the same value several times, and what comes back along them adds up to 0",
            "keep one of them as a constant, where it is to be one: `tf.stop_gradient(x)`",
        )
    if "through" in b.detail:
        return (
            f"what flows back through {b.op} in {b.written} adds up to 0: to shift all of {w.source} changes nothing there, as "
            "before a normalization, or the changes balance at this value",
            f"before a normalization leave {w.source} out, or let it act behind what takes the shift away; else try to start "
            "from another value",
        )
    return (
        f"what comes from {b.written} and from other ways to {w.source} adds up to 0",
        "check the signs of the parts of the loss, and that what is normalized has more than one element",
    )


# -- NaN and infinity


def _nonfinite(w: Words, b: Break) -> tuple[str, str]:
    what = "NaN" if b.code == "nan_origin" else "infinity"
    if b.line[0] is None and b.op is None:
        return f"the gradient of {w.source} holds a {what}", "look at the values that go into the target"
    mend = at_the_edge(b, FINITE)
    dtype = b.detail.get("dtype")
    if b.detail.get("where") == "assigned":
        return (
            f"the variable {b.detail['name']} is not finite since {b.written}, and it reaches the gradient of {w.source}",
            "look at what it was given there; where a step did so, its gradient was too large or not finite: try a smaller "
            "rate, or tf.clip_by_global_norm",
        )
    if b.detail.get("where") == "made":
        cause = f"a value in {b.written} is not finite in {dtype}, and it reaches the gradient of {w.source}"
        if b.detail["missing"]:
            return cause, "look for NaN in the data there: try to leave these rows out, or to fill them, `np.nan_to_num(x)`"
        return cause, f"write a number that {dtype} holds, between `tf.{dtype}.min` and `tf.{dtype}.max`"
    if b.detail.get("where") == "given":
        since = b.detail["since"]
        made = f" since `{text.text(since)}` ({place(text.file(since), text.number(since))})" if text.text(since) else ""
        return (
            f"{b.op} in {b.written} takes a value that was not finite before{made}, and it reaches the gradient of {w.source}",
            "look for NaN and infinity in the data and the variables: `tf.debugging.check_numerics(x, 'x')`",
        )
    if dtype is not None:
        return (
            f"{b.op} in {b.written} gives a value too large for {dtype}, and it reaches the gradient of {w.source}",
            _wider(dtype, "scale the values down")
            if dtype in ("float16", "bfloat16")
            else SMALLER
            if b.op == "Pow"
            else at_the_edge(b, SMALLER),
        )
    if b.detail.get("where") == "forward":
        return f"{b.op} in {b.written} gives a value that is not finite, and it reaches the gradient of {w.source}", mend
    return f"the derivative of {b.op} in {b.written} is not finite at this value, and it reaches {w.source}", mend


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
    "dead_relu": _dead_relu,
    "saturated": _saturated,
    "where_side": _where_side,
    "clipped": _clipped,
    "piecewise_constant": _piecewise_constant,
    "masked_out": _masked_out,
    "zero_factor": _zero_factor,
    "dropped_out": _dropped_out,
    "underflow": _underflow,
    "overflow": _overflow,
    "not_selected": _not_selected,
    "stationary": _stationary,
    "cancelled": _cancelled,
    "nan_origin": _nonfinite,
    "inf_origin": _nonfinite,
}
