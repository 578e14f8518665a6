"""The commands of `gradtape`, one function each; `gradtape_cli` declares their arguments."""

import argparse
import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradtape._src.cli.program import Script, of_module, of_script
from gradtape._src.compat.door.opening import as_tensorflow
from gradtape._src.core.base.extras import missing
from gradtape._src.core.base.folding import folded
from gradtape._src.core.platform.allocator import tune_allocator
from gradtape._src.files.whole import replacing

UNASKED = 20.0  # seconds for all copies with which `why` tries fixes


def demo_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape demo`."""
    tune_allocator()
    try:
        from gradtape._src.demo.train import run_demo
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", "sklearn"):
            raise
        raise SystemExit(f"gradtape demo: {missing('demo', error)}") from None

    run_demo(parsed.epochs, parsed.seed, parsed.out)


def info_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape info`."""
    from gradtape._src.cli.info import lowerings, report

    print(lowerings() if parsed.lowerings else report())


def run_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape run`."""
    program_of(parsed, "gradtape run").run(parsed.arguments)


def launch_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape launch`."""
    from gradtape._src.cli.launch import launch

    raise SystemExit(launch(parsed.count, [*(["-m"] if parsed.module else []), parsed.program, *parsed.arguments]))


def profile_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape profile`: like `gradtape run`, with the costs at the end. The exit code is the program's own."""
    take_html(parsed, "gradtape profile")
    program = program_of(parsed, "gradtape profile")
    from gradtape._src.profile import watched as profiled

    with profiled.watching() as watched:
        ended = outcome(program, parsed.arguments)
    print(profiled.text(watched, shutil.get_terminal_size((110, 24)).columns), flush=True)
    if parsed.html is not None:
        with replacing(str(parsed.html), save=False) as part:
            Path(part).write_text(profiled.page(watched, program.name), "utf-8", errors="replace")
        print(f"gradtape profile: wrote {parsed.html}", flush=True)
    raise SystemExit(ended)


def outcome(program: Script, arguments: Sequence[str]) -> Any:
    """Run a program to its end, show its traceback, and return its exit status as for `sys.exit`."""
    try:
        program.run(arguments)
    except SystemExit as error:
        return error.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return None


def why_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape why`: like `gradtape run`, with the reasons at the end. Exit code 1 if a gradient was missing, or 130."""
    take_html(parsed, "gradtape why")
    program = program_of(parsed, "gradtape why")
    from gradtape._src.cli.copies import Effects, run_copy
    from gradtape._src.explain.pictures.page import pictured
    from gradtape._src.explain.report import watching
    from gradtape._src.explain.tried import try_fixes
    from gradtape._src.profile.profile import costs

    effects = Effects()

    def run(files: Mapping[str, str], seconds: float | None) -> None:
        with effects.listening(refusing=seconds is not None):
            run_copy(program, parsed.arguments, files, seconds)

    with watching(done=lambda: effects.first) as report, pictured(report, Path(program.file), parsed.html, costs):
        with effects.listening():
            ended = outcome(program, parsed.arguments)
        if ended != 130:
            with contextlib.suppress(KeyboardInterrupt):  # the report is printed nevertheless
                try_fixes(report, run, None if parsed.try_fixes else UNASKED)
    print(folded(str(report), sys.stdout), flush=True)
    if parsed.html is not None:
        print(f"gradtape why: wrote {parsed.html}", flush=True)
    raise SystemExit(ended or int(report.missing))


def take_html(parsed: argparse.Namespace, command: str) -> None:
    """Accept `--html FILE` and `--try-fixes` after the script, too. If one is before it, all later arguments are the script's."""
    has_fixes = hasattr(parsed, "try_fixes")
    if parsed.html is None and not (has_fixes and parsed.try_fixes):
        option = argparse.ArgumentParser(prog=command, add_help=False, allow_abbrev=False)
        option.add_argument("--html", type=Path)
        if has_fixes:
            option.add_argument("--try-fixes", action="store_true")
        _, parsed.arguments = option.parse_known_args(parsed.arguments, parsed)
    if parsed.html is not None:
        parsed.html = parsed.html.absolute()  # the script may change the directory
        try:
            if parsed.html.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            tempfile.TemporaryFile(dir=parsed.html.parent).close()  # fails now if the folder is not writable
        except OSError as error:
            print(f"{command}: cannot write {str(parsed.html)!r}: {error.strerror}", file=sys.stderr)
            raise SystemExit(2) from None


def program_of(parsed: argparse.Namespace, command: str) -> Script:
    """Return the program of a command, a script or (with -m) a module. The door is open while it is searched."""
    try:
        if not parsed.module:
            program = of_script(parsed.program)
        open_door()
        return of_module(parsed.program) if parsed.module else program
    except OSError as error:
        said = f"cannot open {parsed.program!r}: {error.strerror}"
    except ImportError as error:
        if not parsed.module:
            raise
        said = str(error)
    print(f"{command}: {said}", file=sys.stderr)
    raise SystemExit(2)


def open_door() -> None:
    """Prepare the process for a program that imports `tensorflow`, and perhaps Keras on it."""
    tune_allocator()
    as_tensorflow()
