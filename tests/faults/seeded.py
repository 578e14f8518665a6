"""Seeded faults, which the tests must find. `seeded.txt` lists each with the tests that should fail.

`python -m tests.faults.seeded [NAME …]` runs these tests once for each fault, and prints the first that fails. No file changes:
this module is also a pytest plugin, which replaces the text when Python imports the source.
"""

import importlib.machinery
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CHOSEN = "GRADTAPE_TEST_FAULT"


class Fault(NamedTuple):
    name: str
    file: str
    right: str
    wrong: str
    tests: list[str]

    @property
    def path(self):
        return ROOT / "gradtape/_src" / self.file

    @property
    def source(self):
        """The file with the fault."""
        text = self.path.read_text("utf-8")
        if text.count(self.right) != 1:
            raise LookupError(f"{self.file} has not once what the fault {self.name} replaces, but {text.count(self.right)} times")
        return text.replace(self.right, self.wrong)


def faults():
    """Return the faults of `seeded.txt`, by name."""
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    found = {}
    for name, file, tests, right, wrong in re.findall(r"^(\w+) (\S+) (.+)\n((?:- .*\n)+)((?:\+ .*\n)+)", text, re.MULTILINE):
        texts = ["\n".join(line[2:] for line in lines.splitlines()) for lines in (right, wrong)]
        found[name] = Fault(name, file, *texts, shlex.split(tests))
    return found


class Wrong(importlib.machinery.SourceFileLoader):
    """The loader of the module with the fault."""

    def get_code(self, fullname):
        return self.source_to_code(chosen.source, self.path)


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        spec = super().find_spec(fullname, path, target)
        if spec is None or spec.origin != str(chosen.path):
            return None
        spec.loader = Wrong(fullname, spec.origin)
        return spec


chosen = faults().get(os.environ.get(CHOSEN))


def pytest_configure(config):
    if chosen is not None:
        sys.meta_path.insert(0, Finder)


def found_by(fault):
    """Run the tests of a fault; return the first that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-p", "tests.faults.seeded", *fault.tests]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {CHOSEN: fault.name}, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(result.stdout + result.stderr)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - |$)", result.stdout, re.MULTILINE)
    return failed and failed[1]


def main(*names):
    missed = 0
    for fault in faults().values():
        if not names or fault.name in names:
            test = found_by(fault)
            missed += test is None
            print(f"{fault.name:24} {fault.file:32} {test or 'NOT FOUND'}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
