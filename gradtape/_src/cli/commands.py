"""The command `gradtape`: its arguments, and what each command does."""

import argparse
import errno
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gradtape import __version__
from gradtape._src.cli.completion import SHELLS, completion
from gradtape._src.cli.program import Program, of_module, of_script
from gradtape._src.compat.door.opening import as_tensorflow
from gradtape._src.compat.door.version import VERSION
from gradtape._src.core.allocator import tune_allocator
from gradtape._src.core.extras import missing
from gradtape._src.core.native import twins


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line `arguments`, by default those of the process."""
    parser = argparse.ArgumentParser(prog="gradtape", description="Automatic differentiation of TensorFlow programs.")
    versions = f"gradtape {__version__} (for programs of TensorFlow {VERSION}), recording in {twins.which()}"
    parser.add_argument("--version", action="version", version=versions)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train a small network on real handwritten digits")
    demo.add_argument("--epochs", type=positive, default=15, help="passes over the data (default: 15)")
    demo.add_argument("--seed", type=natural, default=0, help="of the weights and the batches (default: 0)")
    demo.add_argument("--out", type=Path, default=Path("digits.png"), help="the picture (default: digits.png)")
    demo.set_defaults(command=demo_command)

    run = commands.add_parser(
        "run",
        help="run a program that says `import tensorflow as tf` on gradtape",
        usage="gradtape run [-h] [-m] program ...",
    )
    add_program(run)
    run.set_defaults(command=run_command)

    why = commands.add_parser(
        "why",
        help="run a program, and say why gradients in it are None, zero or NaN",
        usage="gradtape why [-h] [--html FILE] [-m] program [--html FILE] ...",
    )
    why.add_argument("--html", type=Path, metavar="FILE", help="write a page with the source, the tapes and the reasons")
    add_program(why)
    why.set_defaults(command=why_command)

    several = commands.add_parser(
        "launch",
        help="run a program in several processes on this machine, which find each other by TF_CONFIG",
        usage="gradtape launch [-h] -n COUNT [-m] program ...",
    )
    several.add_argument("-n", dest="count", type=positive, required=True, metavar="COUNT", help="the number of processes")
    add_program(several)
    several.set_defaults(command=launch_command)

    info = commands.add_parser("info", help="show versions, devices, the cache and extras: what a report of a fault needs")
    info.set_defaults(command=info_command)

    words = commands.add_parser("completion", help="print the completion of this command line for a shell")
    words.add_argument("shell", choices=SHELLS)
    words.set_defaults(command=lambda parsed: print(completion(commands.choices, parsed.shell), end=""))

    parsed = parser.parse_args(arguments)
    parsed.command(parsed)


def add_program(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a program as Python's own command line does."""
    command.add_argument("-m", dest="module", action="store_true", help="the program is a module's name, as for `python -m`")
    command.add_argument("program", help="path of the script")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in sys.argv[1:]")


def at_least(least: int, text: str) -> int:
    """Return `text` as an integer of at least `least`, or argparse's error."""
    if text.isdecimal() and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"received {text!r}, expected an integer of at least {least}")


natural, positive = partial(at_least, 0), partial(at_least, 1)


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
    from gradtape._src.cli.info import report

    print(report())


def run_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape run`."""
    program_of(parsed, "gradtape run").run(parsed.arguments)


def launch_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape launch`."""
    from gradtape._src.cli.launch import launch

    raise SystemExit(launch(parsed.count, [*(["-m"] if parsed.module else []), parsed.program, *parsed.arguments]))


def why_command(parsed: argparse.Namespace) -> None:
    """Run `gradtape why`: like `gradtape run`, and at the end the reasons. Exit code 1 if something was missing, or 130."""
    take_html(parsed)
    program = program_of(parsed, "gradtape why")
    from gradtape._src.explain.pictures.page import pictured
    from gradtape._src.explain.report import watching
    from gradtape._src.profile.profile import costs

    with watching() as report, pictured(report, Path(program.file), parsed.html, costs):
        try:
            program.run(parsed.arguments)
        except SystemExit as ended:
            print(report, flush=True)
            raise SystemExit(ended.code or int(report.missing)) from None
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            print(report, flush=True)
            raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1) from None
    print(report, flush=True)
    raise SystemExit(int(report.missing))


def take_html(parsed: argparse.Namespace) -> None:
    """Let `--html FILE` stand behind the script too; with one before it, all behind it is the script's."""
    if parsed.html is None:
        option = argparse.ArgumentParser(prog="gradtape why", add_help=False, allow_abbrev=False)
        option.add_argument("--html", type=Path)
        taken, parsed.arguments = option.parse_known_args(parsed.arguments)
        parsed.html = taken.html
    if parsed.html is not None:
        parsed.html = parsed.html.absolute()  # the script may change the directory
        try:
            if parsed.html.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            tempfile.TemporaryFile(dir=parsed.html.parent).close()  # now, and not when the script is through
        except OSError as error:
            print(f"gradtape why: cannot write {str(parsed.html)!r}: {error.strerror}", file=sys.stderr)
            raise SystemExit(2) from None


def program_of(parsed: argparse.Namespace, command: str) -> Program:
    """Return the program that a command was given: a script, or with -m a module. The door is open when it is looked for."""
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
    """Make the process ready to run a program that imports `tensorflow`, and perhaps Keras for it."""
    tune_allocator()
    as_tensorflow()
