"""The code of a source that is used only in a function that was not called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradtape._src.explain import source as text
from gradtape._src.explain.callers import MADE
from gradtape._src.explain.codes.branches import file_of
from gradtape._src.explain.codes.instead import used_under_tape
from gradtape._src.explain.codes.unused import Unused
from gradtape._src.explain.evidence import Evidence, of_no_way
from gradtape._src.explain.ran import Ran
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart


class NeverCalled(Unused):
    """A function that uses the source did not run under the tape."""

    function: str

    def why(self, w: Words) -> str:
        return f": `{self.function}`, which uses it, did not run under the tape"

    def mend(self, w: Words) -> str:
        return f"call `{self.function}` and compute {w.target} from what it gives, or leave {w.source} out of the sources"


@of_no_way(125)
def _never_called(case: Apart) -> Evidence | None:
    """Find the function by the lines that the interpreter noted; ops alone do not tell that it was not called."""
    noted, name = None if case.view.tape is None else case.view.tape.lines, text.file(case.made)
    tree = text.tree(name)
    if noted is None or name is None or tree is None or used_under_tape(case.view, case.source):
        return None
    ran, file = Ran((), noted), file_of(tree)
    functions = [function for use in file.uses(tree, frozenset(case.names)) if (function := file.function(use)) is not None]
    idle = [function for function in functions if function.name not in MADE and not ran.saw(name, function.body, function.lineno)]
    return NeverCalled(case.made, function=idle[0].name) if idle else None
