"""Run the tests of libraries that were written for TensorFlow on gradtape: `make test-thirdparty`.

    python -m tests.thirdparty [--sample] [--baseline] [LIBRARY ...]

`passing/` lists the tests that pass on TensorFlow. Those of them that fail here stand in reasons.txt, each with its reason; a
failure without one, or too small a share of passing tests, is the exit code 1. `--baseline` writes `passing/` anew, in an
environment that has TensorFlow. The libraries come from PyPI, without their requirements, into `.thirdparty/`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from tests.thirdparty.libraries import LIBRARIES, Library
from tests.thirdparty.thirdparty_plugin import ENDED, EVERY
from tests.xla import QUICK

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".thirdparty"
AT_TIMES = "at times: "


def main(arguments: list[str]) -> int:
    """Run the tests of the named libraries, by default of all, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.thirdparty")
    parser.add_argument("--sample", action="store_true", help="only the tests of a minute, for CI")
    parser.add_argument("--baseline", action="store_true", help="run on TensorFlow, and write down what passes")
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY")
    parsed = parser.parse_args(arguments)
    known = [library.name for library in LIBRARIES]
    if unknown := set(parsed.libraries).difference(known):
        parser.error(f"no such library: {', '.join(sorted(unknown))}. There are {', '.join(known)}.")
    good = True
    for library in LIBRARIES:
        tests = library.sample if parsed.sample else library.tests
        if tests and library.name in (parsed.libraries or known):
            began = time.monotonic()
            ended = run(library, tests, parsed.baseline)
            if parsed.baseline:
                write_passing(library, ended)
            else:
                good &= compare(library, ended, parsed.sample, time.monotonic() - began)
    return 0 if good else 1


def run(library: Library, tests: tuple[str, ...], baseline: bool) -> dict[str, tuple[str, str]]:
    """Run `tests` of a library; return each test's outcome and the first line of its error."""
    installed, source = fetch(library)
    log = CACHE / f"{library.name}.jsonl"
    log.unlink(missing_ok=True)
    plugins = [] if baseline else ["-p", "gradtape.pytest"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *plugins,
        "-p",
        "thirdparty_plugin",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    command += ["--rootdir", str(source), "-o", "python_files=*_test.py test_*.py", "-q", "--tb=line", "-W", "ignore"]
    command += ["--continue-on-collection-errors", "-n", "auto", "--maxprocesses", "2", *library.options, *tests]
    fixed = {ENDED: str(log), EVERY: json.dumps(library.every), "PYTHONPATH": os.pathsep.join((str(installed), str(HERE)))}
    environment = {"XLA_FLAGS": QUICK, **os.environ, **fixed}
    subprocess.run(command, env=environment, cwd=source, stdout=subprocess.DEVNULL)
    ended: dict[str, tuple[str, str]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        report = json.loads(line)
        if ended.get(report["test"], ("passed",))[0] == "passed":  # a failure in the teardown counts, too
            ended[report["test"]] = report["outcome"], report["error"]
    return ended


def fetch(library: Library) -> tuple[Path, Path]:
    """Take a library from PyPI if it is not there yet; return where it is installed and where its tests are."""
    installed = CACHE / f"{library.name}-{library.version}"
    release, pip = f"{library.name}=={library.version}", [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if not installed.exists():
        partial = installed.with_suffix(".partial")
        subprocess.run([*pip, "install", "-q", "--no-deps", "--target", partial, release, *library.needs], check=True)
        if library.sdist:
            subprocess.run([*pip, "download", "-q", "--no-deps", "--no-binary", library.name, "-d", partial, release], check=True)
            with tarfile.open(next(partial.glob("*.tar.gz"))) as archive:
                archive.extractall(partial / "sdist", filter="data")
        partial.rename(installed)
    if library.files:
        with tarfile.open(HERE / library.files) as archive:
            archive.extractall(installed, filter="data")
    return installed, next((installed / "sdist").iterdir()) if library.sdist else installed


def compare(library: Library, ended: dict[str, tuple[str, str]], sample: bool, seconds: float) -> bool:
    """Print how a library does against TensorFlow, and return whether it does as well as it should."""
    passing, reasons = read_passing(library), read_reasons(library)
    expected = passing & ended.keys() if sample else passing
    failed = sorted(test for test in expected if ended.get(test, ("not run",))[0] != "passed")
    share = 1 - len(failed) / max(1, len(expected))
    print(
        f"{library.name} {library.version}: {len(expected) - len(failed)} of {len(expected)} tests that pass on TensorFlow pass"
        f" ({share:.1%}; wanted {library.share:.0%}), in {seconds:.0f} s"
    )
    unexplained = [test for test in failed if not any(_matches(test, name) for name in reasons)]
    for test in unexplained:
        print(f"  no reason in reasons.txt: {test}: {': '.join(ended.get(test, ('not run', '')))}")
    always = [name for name, reason in reasons.items() if not reason.startswith(AT_TIMES)]
    stale = [] if sample else [name for name in always if not any(_matches(test, name) for test in failed)]
    for name in stale:
        print(f"  passes, so it needs no reason: {name}")
    return bool(expected) and share >= library.share and not unexplained and not stale


def _matches(test: str, name: str) -> bool:
    return test.startswith(name[:-1]) if name.endswith("*") else test == name


def read_reasons(library: Library) -> dict[str, str]:
    """The tests of `library` in reasons.txt, with their reasons. A name with * at its end is the beginning of several.

    A reason that begins with `AT_TIMES` is of a test that passes on some machines.
    """
    reasons = {}
    for line in (HERE / "reasons.txt").read_text().splitlines():
        name, _, reason = line.partition("  # ")
        of, _, test = name.partition(" ")
        if of == library.name:
            reasons[test] = reason
    return reasons


def read_passing(library: Library) -> set[str]:
    """The tests of `library` that pass on TensorFlow. A line is a file, or indented, a test in it."""
    tests, file = set(), ""
    for line in (HERE / "passing" / f"{library.name}.txt").read_text().splitlines():
        if line.startswith(" "):
            tests.add(f"{file}::{line[1:]}")
        else:
            file = line
    return tests


def write_passing(library: Library, ended: dict[str, tuple[str, str]]) -> None:
    """Write down the tests of `library` that passed."""
    files: dict[str, list[str]] = {}
    for test in sorted(test for test, (outcome, _) in ended.items() if outcome == "passed"):
        file, _, name = test.partition("::")
        files.setdefault(file, []).append(f" {name}\n")
    text = "".join(f"{file}\n{''.join(names)}" for file, names in files.items())
    (HERE / "passing" / f"{library.name}.txt").write_text(text)
    passed = sum(map(len, files.values()))
    print(f"{library.name} {library.version}: {passed} of {len(ended)} tests pass on TensorFlow")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
