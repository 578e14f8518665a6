"""The codes of ops without a derivative, and of what stops a gradient by its meaning."""

from __future__ import annotations

import re

from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import OfOp, Said
from gradtape._src.explain.smooth import in_its_words, instead_of
from gradtape._src.explain.words import Words

# What to compute with in the place of an order of elements.
ORDERS = {
    "Sort": "take the sorted values, `tf.sort(x)`, or a soft rank, `tf.reduce_sum(tf.sigmoid(x[None] - x[:, None]), 1)`",
    "TopKV2": "take the values that top_k gives beside the places, or multiply by a soft choice, `tf.nn.softmax(x)`",
}


class Index(OfOp):
    """`index` says that the result only says which elements an op takes."""

    index: bool = False


class NotFloating(Index):
    """`through` is the function in which a `cast` is followed by more that has no derivative."""

    code, named = "not_floating", "the cast, or where it was made"
    when = "an integer, bool or string on the way; also one that only chooses elements or a size"
    cast: bool = False
    through: str | None = None

    def said(self, w: Words) -> Said:
        cast_there = re.search(r"cast|int|astype", text.text(self.line) or "cast")
        if self.index and not cast_there:  # a layer's own
            return Said(
                f"{self.written} looks up rows by {w.source}, which only says which rows are taken, and has no derivative",
                "ask for the gradient of what is taken: call the embedding by itself under the tape, watch what it gives, and "
                f"compute {w.target} from that",
            )
        if self.index:
            return Said(
                f"{self.written} makes an index, which only says which elements are taken, and has no derivative",
                "interpolate: take the elements at tf.floor and one further, weighted by the fraction of the position",
            )
        if self.through is not None:
            return Said(
                f"{self.written} casts to a dtype that is not floating, and what follows has no derivative either",
                f"pass the gradient straight through all of it: `x + tf.stop_gradient({self.through}(x) - x)`",
            )
        if self.cast:
            cause = f"{self.written} casts to a dtype that is not floating, and integers have no derivative"
            if cast_there:
                straight = "pass the gradient straight through: `x + tf.stop_gradient(tf.round(x) - x)`"
                return Said(cause, *in_its_words(f"leave out the cast; where it is meant to round, {straight}", self))
            wrong = "look at the order of the arguments: what stands for labels is cast, in a loss of Keras's the first one"
            return Said(cause, wrong)
        if self.step is None:
            return self._source(w)
        if self.op in ORDERS:  # values in the place of an order: what follows has to be written anew
            cause = f"{self.op} in {self.written} gives numbers of places, and an order has no derivative"
            return Said(cause, in_its_words(ORDERS[self.op], self)[0])
        return Said(
            f"{self.op} in {self.written} gives a dtype that is not floating, through which no gradient flows",
            "go on with floating values, not with integers or bools that are made of them",
        )

    def _source(self, w: Words) -> Said:
        """Return the sentences about a source that is not floating itself."""
        made = rewritten.as_floating(self.line)
        return Said(
            f"{w.source} is not floating, and only floating and complex tensors have gradients",
            f"make {w.source} with dtype=tf.float32{f': `{made}`' if made else ''}; if it says which elements are taken, ask for "
            "the gradient of what they are taken from, or of what is taken",
        )


class NotDifferentiable(Index):
    code, named = "not_differentiable", "the op"
    when = "an op without a derivative; also a condition that only decides which branch runs, or how often a loop does"
    reason: str | None = None

    def said(self, w: Words) -> Said:
        reason = self.reason or "its gradient function gives None for this input"
        if self.op is not None and self.op.startswith("CustomGradient"):
            cause = f"the function with a gradient of its own in {self.written}: {reason}"
            return Said(cause, "return a gradient from its grad function")
        return Said(f"{self.op} in {self.written} has no derivative: {reason}", *instead_of(self, index=self.index))


class NoGradientRegistered(OfOp):
    code, when, named = "no_gradient_registered", "an op without a gradient function", "the op"

    def said(self, w: Words) -> Said:
        return Said(
            f"no gradient is registered for {self.op} in {self.written}",
            f'register one with `@tf.RegisterGradient("{self.op}")`, or wrap the call in tf.custom_gradient',
        )


class Stopped(OfOp):
    code, when, named = "stopped", "`stop_gradient` cut the way", "its line"

    def said(self, w: Words) -> Said:
        cause = f"stop_gradient in {self.written} makes its argument a constant"
        through = rewritten.stopped_through(self.line)
        if through is not None:  # a gradient that is to pass straight through, with all of it stopped
            return Said(cause, f"stop the difference only: `{through[1]}`", text.span(through[0]))
        detour = re.search(r"\b([\w.]+) \+ (?:\w+\.)*stop_gradient\(([\w.]+) - \1\)", text.text(self.line) or "")
        if detour is not None:  # which passes all of the gradient by the value that is taken
            return Said(
                cause,
                f"the line passes the gradient straight to {detour[1]}; give {detour[2]} a loss of its own, "
                f"`tf.reduce_mean(({detour[2]} - tf.stop_gradient({detour[1]})) ** 2)`",
            )
        written = rewritten.without_call(self.line)
        return Said(cause, "leave out `tf.stop_gradient`" + (f": `{written}`" if written else ""))
