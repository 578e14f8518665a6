"""The command `gradtape`: its arguments. It stands beside the package, so that `--help` and completion need no import of JAX.

What each command does is in `gradtape._src.cli.commands`, which is imported when there is something to do.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from gradtape_cli.completion import SHELLS, completion


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line `arguments`, by default those of the process."""
    parser = argparse.ArgumentParser(prog="gradtape", description="Automatic differentiation of TensorFlow programs.")
    parser.add_argument("--version", action="version", version=f"gradtape {version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    add_demo(commands)

    run = commands.add_parser(
        "run",
        help="run a program that says `import tensorflow as tf` on gradtape",
        usage="gradtape run [-h] [-m] program ...",
    )
    add_program(run)
    run.set_defaults(command="run_command")

    why = commands.add_parser(
        "why",
        help="run a program, and say why gradients in it are None, zero or NaN",
        usage="gradtape why [-h] [--html FILE] [--try-fixes] [-m] program [--html FILE] [--try-fixes] ...",
    )
    why.add_argument("--html", type=Path, metavar="FILE", help="write a page with the source, the tapes and the reasons")
    said = "try fixes in copies of the program, though it runs for long, writes files or uses the network"
    why.add_argument("--try-fixes", action="store_true", help=said)
    add_program(why)
    why.set_defaults(command="why_command")

    cost = commands.add_parser(
        "profile",
        help="run a program, and show FLOPs, time and memory by line and layer",
        usage="gradtape profile [-h] [--html FILE] [-m] program [--html FILE] ...",
    )
    cost.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page, too")
    add_program(cost)
    cost.set_defaults(command="profile_command")

    several = commands.add_parser(
        "launch",
        help="run a program in several processes on this machine, which find each other by TF_CONFIG",
        usage="gradtape launch [-h] -n COUNT [-m] program ...",
    )
    several.add_argument("-n", dest="count", type=positive, required=True, metavar="COUNT", help="the number of processes")
    add_program(several)
    several.set_defaults(command="launch_command")

    info = commands.add_parser("info", help="show versions, devices, the cache and extras: what a report of a fault needs")
    info.add_argument("--lowerings", action="store_true", help="show instead by which rule what is computed on which device")
    info.set_defaults(command="info_command")

    words = commands.add_parser("completion", help="print the completion of this command line for a shell")
    words.add_argument("shell", choices=SHELLS)
    words.set_defaults(command="")

    parsed = parser.parse_args(arguments)
    if parsed.command:
        getattr(import_module("gradtape._src.cli.commands"), parsed.command)(parsed)
    else:
        print(completion(commands.choices, parsed.shell), end="")


def version() -> str:
    """Return gradtape's version: of the package where it is imported already, else of what is installed."""
    return getattr(sys.modules.get("gradtape"), "__version__", None) or metadata.version("gradtape")


def add_demo(commands: Any) -> None:
    """Add the command `demo`."""
    demo = commands.add_parser("demo", help="train a small network on real handwritten digits")
    demo.add_argument("--epochs", type=positive, default=15, help="passes over the data (default: 15)")
    demo.add_argument("--seed", type=natural, default=0, help="of the weights and the batches (default: 0)")
    demo.add_argument("--out", type=Path, default=Path("digits.png"), help="the picture (default: digits.png)")
    demo.set_defaults(command="demo_command")


def add_program(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a program as Python's own command line does."""
    command.add_argument("-m", dest="module", action="store_true", help="the program is a module's name, as for `python -m`")
    command.add_argument("program", help="path of the script")
    rest = command.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in sys.argv[1:]")
    rest.required = False  # so that argparse does not ask for them


def at_least(least: int, text: str) -> int:
    """Return `text` as an integer of at least `least`, or argparse's error."""
    if text.isdecimal() and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"received {text!r}, expected an integer of at least {least}")


natural, positive = partial(at_least, 0), partial(at_least, 1)
