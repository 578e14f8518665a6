"""The packages of the extras, and the message about one that is not installed."""

from importlib import metadata


def requirements(extra: str, of: str = "gradtape") -> list[str]:
    """Return what an extra of a package asks for, as `pillow>=11`; nothing where the package was not installed."""
    try:
        stated = [requirement.partition(";") for requirement in metadata.requires(of) or []]
    except metadata.PackageNotFoundError:
        return []
    return [package.strip() for package, _, marker in stated if f"extra == '{extra}'" in marker.replace('"', "'")]


def missing(extra: str, error: ImportError) -> str:
    """Return a message with the command that installs the packages of the extra.

    The command works whether gradtape itself came from an index, a copy of the repository or a wheel.
    """
    packages = [repr(package) for package in requirements(extra)] or [(error.name or "").partition(".")[0]]
    return f"{error}: pip install {' '.join(packages)}"
