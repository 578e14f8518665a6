"""Optional packages (extras): their import on first use, and the message for a missing one."""

import functools
from importlib import import_module, metadata
from typing import Any


@functools.cache
def package(module: str, what: str, extra: str = "files", named: str = "a package") -> Any:
    """Import a module of an extra; ImportError with instructions if it is missing.

    `what`, a plural, begins the sentence, which says that it needs what `named` names.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need {named}, which is not installed. {missing(extra, error)}") from error


def requirements(extra: str, of: str = "gradtape") -> list[str]:
    """Return the requirements of an extra of a package, such as `pillow>=11`; an empty list if the package is not installed."""
    try:
        stated = [requirement.partition(";") for requirement in metadata.requires(of) or []]
    except metadata.PackageNotFoundError:
        return []
    return [package.strip() for package, _, marker in stated if f"extra == '{extra}'" in marker.replace('"', "'")]


def missing(extra: str, error: ImportError) -> str:
    """Return a message with the command that installs the packages of an extra.

    The command works however gradtape itself was installed.
    """
    packages = [repr(package) for package in requirements(extra)] or [(error.name or "").partition(".")[0]]
    return f"{error}: pip install {' '.join(packages)}"
