"""What is wrong with the wheel and the sdist in a folder: `python -m tests.packages.contents dist`, in `make packages`."""

import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = {"wheel": 3_000_000, "sdist": 12_000_000}  # bytes
BESIDE_CODE = {".py", ".pyi", ".md", ".c", ".h", ".js", ".css", ".html", ".json", ".txt", ".typed", ".pth", ".so", ".pyd", ".npz"}
NEVER = ("__pycache__", ".pyc", ".git/", ".venv", ".pytest_cache", ".hypothesis")
IN_SDIST = "LICENSE README.md CHANGELOG.md CITATION.cff SECURITY.md pyproject.toml hatch_build.py Makefile".split()


def tracked(*folders: str) -> set[str]:
    """Return the files of the repository in these folders."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(listed.stdout.split("\n")) - {""}


def metadata_faults(metadata: Message) -> list[str]:
    """Return what the metadata of a package lacks."""
    faults = [
        f"the metadata has no {name}" for name in ("License-Expression", "Requires-Python", "Summary") if not metadata[name]
    ]
    text = metadata.get_payload()
    faults += ["the README has links that lead nowhere on a package index"] * ("](docs/" in text or "](examples/" in text)
    return faults + ["the metadata has no README"] * (not text.startswith("# gradtape"))


def wheel_faults(path: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        faults = metadata_faults(HeaderParser().parsestr(wheel.read(info).decode()))
    folder = info.partition("/")[0]
    ours = {name for name in names if not name.startswith(f"{folder}/")}
    faults += [
        f"{name} is missing"
        for name in sorted(tracked("gradtape", "gradtape_cli", "keras_gradtape", "keras_gradtape.pth") - ours)
    ]
    faults += [f"{name} does not belong there" for name in sorted(ours) if Path(name).suffix not in BESIDE_CODE]
    faults += [f"{name} does not belong there" for name in sorted(names) if any(part in name for part in NEVER)]
    faults += [
        f"{folder}/{name} is missing" for name in ("entry_points.txt", "licenses/LICENSE") if f"{folder}/{name}" not in names
    ]
    return faults + size_faults(path, "wheel")


def sdist_faults(path: Path) -> list[str]:
    """Return what is wrong with an sdist."""
    with tarfile.open(path) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {*IN_SDIST, *tracked("gradtape", "gradtape_cli", "keras_gradtape", "tests", "docs", "examples")}
    faults = [f"{name} is missing" for name in sorted(wanted - names)]
    faults += [f"{name} does not belong there" for name in sorted(names) if any(part in name for part in (*NEVER, ".so"))]
    return faults + size_faults(path, "sdist")


def size_faults(path: Path, kind: str) -> list[str]:
    """Return a line where the file is larger than a package of its kind should be."""
    size = path.stat().st_size
    return [f"{size:,} bytes are more than the {LARGEST[kind]:,} of a {kind}"] if size > LARGEST[kind] else []


def main(folder: Path) -> None:
    """Print what is wrong with each package, and its size; exit code 1 where something is."""
    [wheel], [sdist] = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    faults = [f"{wheel.name}: {fault}" for fault in wheel_faults(wheel)] + [
        f"{sdist.name}: {fault}" for fault in sdist_faults(sdist)
    ]
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
