"""Run the programs of docs/ecosystem.md that need other libraries, each in a process of its own: `make test-ecosystem`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.test_docs import blocks

PAGE = Path(__file__).parents[2] / "docs/ecosystem.md"


def main() -> None:
    """Run each block, behind the one that all share, and end with 1 if one fails."""
    found = blocks(PAGE.read_text("utf-8"))
    shared = next(block.text for block in found if block.language == "python")
    failed = []
    for block in [block for block in found if block.language == "py"]:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.py"
            program.write_text(shared + block.text, "utf-8")
            environment = os.environ | {"KERAS_BACKEND": "gradtape", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
            done = subprocess.run([sys.executable, str(program)], cwd=folder, env=environment, capture_output=True, text=True)
        name = block.text.splitlines()[0]
        print(f"{'passed' if done.returncode == 0 else 'FAILED'}: {name}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stderr[-2000:])
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
