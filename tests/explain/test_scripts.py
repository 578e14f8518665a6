"""Whole scripts as users ask about them: `gradtape why` names code and line, and what it shows as a fix was seen to mend.

The last line of a script may have a part of the advice, where no change of a line mends, or of the fix.
"""

import contextlib
import re
from pathlib import Path

import pytest

from gradtape._src.cli.copies import run_copy
from gradtape._src.cli.program import of_script
from gradtape._src.explain.report import watching
from gradtape._src.explain.tried import try_fixes
from tests.explain.table import MARK

FOLDER = Path(__file__).parent / "scripts"
LAST = re.compile(r"(?:# (Advice|Fix): (.*))?")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_the_script(path, count):
    program = of_script(str(path))
    lines = path.read_text().splitlines()
    marks = {(found[1], number) for number, line in enumerate(lines, 1) if (found := MARK.search(line))}
    with watching() as report, contextlib.suppress(Exception):  # of a step without a gradient
        run_copy(program, [], {}, None)
    try_fixes(report, lambda files, seconds: run_copy(program, [], files, seconds), None)
    if path.stem.startswith("right_"):
        assert not report.missing and report.calls, str(report)
        count("right scripts with nothing missing")
        return
    first = report.findings[0].diagnosis
    told = {(d.code, d.line) for d in (first, *first.also)}
    assert (first.code, first.line) in marks <= told, str(report)
    kind, part = LAST.match(lines[-1]).groups()
    label = "fix, tried" if kind == "Fix" or part is None else "advice"
    assert first.label.startswith(label) and (part or "") in first.mend, str(report)
    count("broken scripts explained")
