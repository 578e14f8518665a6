"""The names in which a break is described, and the Diagnosis made of its sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gradtape._src.autodiff.custom import CUSTOM
from gradtape._src.core.base import hooks
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.diagnosis import Diagnosis
from gradtape._src.explain.edits import fixes
from gradtape._src.explain.evidence import Evidence, OfZeros, Said
from gradtape._src.explain.history import Name
from gradtape._src.explain.smooth import has_own_advice

PLACE = re.compile(r"` \(([^()`]+):(\d+)\)")  # as behind a cited line
# For a value that only decides: the sentence about the decision, and a differentiable replacement.
DECIDED = {
    "branch": ("which branch runs, or how often a loop does,", "a soft weight, tf.sigmoid(…)"),
    "index": ("which elements are taken", "weights that follow it smoothly, or an interpolation"),
    "size": ("how many elements there are", "a soft count, tf.reduce_sum(tf.sigmoid(…))"),
}


class Words(NamedTuple):
    """The names of one source, its target and the tape for the sentences; `code` stands for the source in a fix.

    `asked` is the line of the gradient call. `name_of` returns the name of a variable, `held_by` that of the variable with a
    value.
    """

    source: str
    target: str
    tape: str
    code: str
    asked: Line
    name_of: Callable[[Any], str]
    held_by: Callable[[Name], str | None]

    def diagnosis(self, broken: Evidence) -> Diagnosis:
        """Return the Diagnosis of a break."""
        said = broken.said(self)
        if broken.decides:
            what, soft = DECIDED[broken.decides]
            said = said._replace(cause=f"{said.cause}; what follows only decides {what} on the way to {self.target}")
            if not has_own_advice(broken):
                advice = f"compute {self.target} from the value of {self.source} too, for example with {soft}"
                said = Said(said.cause, advice, whole=said.whole)
        if broken.apart:
            said = said._replace(cause=f"another way is cut, too: {said.cause}")
        file, line = text.file(broken.line), text.number(broken.line)
        said = said._replace(cause=_with_short_places(_as_called(broken, said.cause), file))
        process = hooks.clients.process()
        made = fixes(broken.line, said, self.asked)
        sentences = _sentence(said.cause), _sentence(said.mend)
        for_all = broken.said(self._replace(source="")).mend if isinstance(broken, OfZeros) else ""
        found = Diagnosis(broken.code, file, line, broken.op, *sentences, (), process, made, "", broken.apart, for_all)
        return replace(found, _otherwise=said.otherwise)

    def diagnoses(self, breaks: Sequence[Evidence]) -> Diagnosis:
        """Return the Diagnosis of the first break on a path, with the others under `also`."""
        first = self.diagnosis(breaks[0])
        _same, *others = dict.fromkeys([replace(d, process="") for d in (first, *map(self.diagnosis, breaks[1:]))])
        return replace(first, also=tuple(others))


def _as_called(broken: Evidence, cause: str) -> str:
    """Return a cause with the op spelled as in the line: `tf.where` for SelectV2, `+` for AddV2."""
    match text.expression_at(broken.line, broken.op):
        case ast.Call(func=function) if re.match(r"(tf|tensorflow)\.", ast.unparse(function)) or broken.op == CUSTOM.type:
            written = ast.unparse(function)
        case ast.BinOp(op=operator):
            written = f"`{ast.unparse(ast.BinOp(ast.Name('a'), operator, ast.Name('b')))[2:-2]}`"
        case ast.Compare(ops=[comparison]):
            written = f"`{ast.unparse(ast.Compare(ast.Name('a'), [comparison], [ast.Name('b')]))[2:-2]}`"
        case ast.Subscript():
            written = "the index"
        case _:
            return cause
    return cause.replace(f"{broken.op} in {broken.written}", f"{written} in {broken.written}")


def _with_short_places(cause: str, file: str | None) -> str:
    """Return a cause with shorter places: lines of `file` by number alone, other files by base name."""
    return PLACE.sub(
        lambda found: f"` (line {found[2]})" if found[1] == file else f"` ({place(found[1], int(found[2]), short=True)})", cause
    )


def _sentence(words: str) -> str:
    return words + ("" if not words or words.endswith((".", "`")) else ".")
