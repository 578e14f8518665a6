"""`gradtape info`: facts about the installation for bug reports."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import jax

from gradtape import __version__
from gradtape._src.compat.door.version import VERSION
from gradtape._src.core.base.extras import requirements
from gradtape._src.core.native import twins
from gradtape._src.core.platform import compile_cache, lowerings as table

PACKAGES = "jax jaxlib keras numpy scipy ml_dtypes".split()
BESIDE = "tensorflow torch".split()
FOR_USERS = "checkpoints demo export files gpu pictures summary".split()


def report() -> str:
    """Return the facts, one per line: versions, devices, the cache of compiled programs, extras."""
    rows = list(_facts())
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"{name:<{width}}  {fact}" for name, fact in rows])


def lowerings() -> str:
    """Return the table of lowerings as text: an entry for each rule, and for each set of compiler options."""
    return "\n".join([f"{of} · {platform} · {by}\n    {because}" for platform, of, by, because in table.listed()])


def _facts() -> Iterator[tuple[str, str]]:
    yield "gradtape", f"{__version__}, for programs of TensorFlow {VERSION}"
    yield "recording in", twins.which()
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield "system", platform.platform()
    for package in PACKAGES:
        yield package, _version(package) or "not installed"
    for package in BESIDE:
        if found := _version(package):
            yield package, f"{found}, beside gradtape"
    yield "devices", ", ".join([str(device) for device in jax.devices()])
    yield "compiled programs", _cache()
    for extra in FOR_USERS:
        packages = [package for requirement in requirements(extra) for package in _packages(requirement)]
        missing = [package for package in packages if _version(package) is None]
        yield f"extra {extra}", f"not installed: {', '.join(missing)}" if missing else "installed"


def _packages(requirement: str) -> list[str]:
    """Return the packages that a requirement names: of `jax[cuda13]>=0.10` JAX, and what its extra asks for."""
    package, *rest = re.split(r"[^\w.-]", requirement, maxsplit=1)
    extras = rest[0].partition("]")[0].split(",") if requirement.startswith(f"{package}[") else []
    further = [found for extra in extras for found in requirements(extra.strip(), of=package)]
    return [package, *[re.split(r"[^\w.-]", found, maxsplit=1)[0] for found in further]]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cache() -> str:
    folder = compile_cache.cache_folder()
    if folder is None:
        return "not kept on disk (GRADTAPE_CACHE_DIR is empty)"
    files = [path for path in Path(folder).glob("*") if path.is_file()] if Path(folder).is_dir() else []
    return f"{folder}: {len(files):,} files, {sum([path.stat().st_size for path in files]) / 1e6:,.1f} MB"
