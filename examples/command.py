"""A program's `main` as a command: its parameters are the options."""

import argparse
import inspect
from collections.abc import Callable
from typing import Any


def command(main: Callable[..., Any]) -> None:
    """Call `main` with the options of the command line, each a parameter of it with its default."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(main))
    for name, parameter in inspect.signature(main).parameters.items():
        default = parameter.default
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    main(**vars(parser.parse_args()))
