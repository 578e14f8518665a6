"""Programs of checks that run in a process of their own, as they need several devices: how one reports, and is run."""

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

from tests.light import leave_out

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(HERE.parents[1])}


def checks_of(program):
    """Return the names of the checks in a program of this folder."""
    return re.findall(r"^def (check_\w+)", (HERE / program).read_text("utf-8"), re.MULTILINE)


def outcomes_of(program, environment=ENVIRONMENT):
    """Run a program of this folder, and return what it prints last: of checks their tracebacks, None for those that passed."""
    done = subprocess.run([sys.executable, HERE / program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def report(program):
    """Call the checks among the globals of a program, and print their outcomes."""
    leave_out()
    print(json.dumps({name: _outcome(check) for name, check in list(program.items()) if name.startswith("check_")}))


def _outcome(check):
    try:
        check()
    except Exception:
        return traceback.format_exc()
