"""All rows of the op test table, by family: the files `rows_<family>.py` in the folders of this one."""

import importlib
from pathlib import Path

_FOLDERS = {path.stem.removeprefix("rows_"): path.parent.name for path in Path(__file__).parent.glob("*/rows_*.py")}
FAMILIES = tuple(sorted(_FOLDERS))


def load():
    """`({"family-name": Row}, {family: the exception that its import raised})`."""
    rows, broken = {}, {}
    for family in FAMILIES:
        try:
            module = importlib.import_module(f"tests.ops.{_FOLDERS[family]}.rows_{family}")
        except Exception as error:  # so that the other families' tests still run; a test of its own fails
            broken[family] = error
            continue
        for row in module.ROWS:
            assert f"{family}-{row.name}" not in rows, f"two rows of {family} are called {row.name}"
            rows[f"{family}-{row.name}"] = row
    return rows, broken


def leading(rows):
    """The rows that are the first of an op: of all, of those that have gradients of second order, of those compared with JAX's.

    So is a row that names no op: it stands for a function made of ops.
    """
    known, found = set(), set()
    for row in rows:
        covers = {(op, row.order >= 2, row.order >= 2 and row.oracle) for op in row.ops}
        if not row.ops or covers - known:
            known |= covers
            found.add(row)
    return found


ROWS, BROKEN = load()
LEADING = leading(ROWS.values())
