"""Run the notebooks from top to bottom, each in a kernel of its own: `python -m docs.site.notebooks [NAME …]`."""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from docs.site.project import ROOT

FOLDER = ROOT / "docs/notebooks"
LONGEST = 240  # seconds that a cell may run


def run(path: Path) -> None:
    """Run a notebook; raise SystemExit with the traceback of a cell that fails."""
    notebook = nbformat.read(path, as_version=4)
    try:
        NotebookClient(
            notebook,
            timeout=LONGEST,
            kernel_name="python3",
            resources={"metadata": {"path": str(ROOT)}},
            extra_arguments=["--log-level=ERROR"],
        ).execute()
    except CellExecutionError as error:
        raise SystemExit(f"{path.name}: {error}") from None


def main(names: list[str]) -> None:
    """Run the notebooks of these names, or all."""
    known = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    if unknown := sorted(set(names) - known.keys()):
        raise SystemExit(f"no notebook is called {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        start = time.monotonic()
        run(known[name])
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
