"""The packages of the extras, and the message about one that is not installed."""

from importlib import metadata


def requirements(extra: str) -> list[str]:
    """Return what an extra asks for, as `pillow>=11`; nothing where gradtape runs from a folder and was not installed."""
    try:
        stated = [requirement.partition(";") for requirement in metadata.requires("gradtape") or []]
    except metadata.PackageNotFoundError:
        return []
    return [package.strip() for package, _, marker in stated if marker.replace('"', "'").strip() == f"extra == '{extra}'"]


def missing(extra: str, error: ImportError) -> str:
    """Return a message with the command that installs the packages of the extra.

    The command works whether gradtape itself came from an index, a copy of the repository or a wheel.
    """
    packages = [repr(package) for package in requirements(extra)] or [(error.name or "").partition(".")[0]]
    return f"{error}: pip install {' '.join(packages)}"
