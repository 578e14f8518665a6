"""The code of a source that is used where nothing ran: in another branch, a loop without a trip, a `try` that failed."""

from __future__ import annotations

from typing import Literal

from gradtape._src.explain import source as text
from gradtape._src.explain.evidence import Evidence, Said
from gradtape._src.explain.words import Words


class BranchNotTaken(Evidence):
    code, named = "branch_not_taken", "the condition, loop or `except`"
    when = "the source is used in a branch that did not run, in a loop without a trip, or in a `try` that failed"
    of: Literal["branch", "loop", "try"]

    def said(self, w: Words) -> Said:
        match self.of:
            case "try":
                return Said(
                    f"{w.source} is used in a `try` that failed, and `{text.text(self.line)}` hides its error",
                    "print the error, or leave the except clause out, and do what the error says",
                )
            case "loop":
                return Said(
                    f"{w.source} is used in the loop {self.written}, which made no trip",
                    "let the loop run once at least, or ask for `unconnected_gradients='zero'`",
                )
            case "branch":
                return Said(
                    f"{w.source} is used in a branch of {self.written} that did not run",
                    "look at the condition: the side that does not run has no gradient, or zeros; where both are to learn, add "
                    "them with soft weights, tf.sigmoid(…)",
                )
