"""Write what goes with the packages of a release: `python -m tests.packages.release dist`, in `make release`.

Checksums, the release's notes from the changelog, and of the packages that an installation brings the bill of materials
(CycloneDX 1.6) and the licences. What is installed here is read; nothing is asked of a package index.
"""

import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PACKAGE = "gradtape"


def closure(package: str) -> dict[str, list[str]]:
    """Return the packages that an installation of one brings here, each with those that it needs itself."""
    found: dict[str, list[str]] = {}
    todo = [(package, "")]
    while todo:
        name, extra = todo.pop()
        key = canonical(name)
        needed = [Requirement(line) for line in metadata.requires(name) or ()]
        needed = [r for r in needed if r.marker is None or r.marker.evaluate({"extra": extra})]
        new = [canonical(r.name) for r in needed]
        if set(new) <= set(found.get(key, [])) and key in found:
            continue
        found[key] = sorted({*found.get(key, []), *new})
        todo += [(r.name, extra) for r in needed for extra in ("", *r.extras)]
    return dict(sorted(found.items()))


def canonical(name: str) -> str:
    """Return the name of a package as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(name: str) -> str:
    """Return what a package says of its licence: the expression, else the classifiers, else its text's first line."""
    about = metadata.metadata(name)
    classified = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier", []) if c.startswith("License ::")]
    stated = (about.get("License") or "").strip().partition("\n")[0]
    return (
        about.get("License-Expression") or "; ".join(classified) or stated or first_line(name, about.get_all("License-File", []))
    )


def first_line(name: str, files: list[str]) -> str:
    """Return the first line of a package's first file of its licence."""
    there = [file for file in metadata.files(name) or () if file.name in {Path(each).name for each in files}]
    text = there[0].read_text("utf-8").strip() if there else ""
    return text.partition("\n")[0] or "not stated"


def bill(packages: dict[str, list[str]], main: str) -> dict[str, object]:
    """Return the bill of materials of packages as a CycloneDX document; `main` is what the bill is about."""

    def component(name: str) -> dict[str, object]:
        version = metadata.version(name)
        kind = "application" if name == main else "library"
        return {
            "type": kind,
            "name": name,
            "version": version,
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "purl": f"pkg:pypi/{name}@{version}",
            "licenses": [{"license": {"name": licence(name)}}],
        }

    parts = {name: component(name) for name in packages}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": parts[main]},
        "components": [part for name, part in parts.items() if name != main],
        "dependencies": [
            {"ref": parts[name]["bom-ref"], "dependsOn": [parts[needed]["bom-ref"] for needed in needs]}
            for name, needs in packages.items()
        ],
    }


def notes(changelog: str, version: str) -> str:
    """Return the section of the changelog for a version."""
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if version in title.partition(":")[0].split():
            return f"# gradtape {version}\n{text.rstrip()}\n"
    raise SystemExit(f"CHANGELOG.md has no section for {version}.")


def main(dist: Path) -> None:
    """Write the files into `dist`."""
    version = metadata.version(PACKAGE)
    packages = closure(PACKAGE)
    (dist / f"{PACKAGE}-{version}.cdx.json").write_text(json.dumps(bill(packages, PACKAGE), indent=1) + "\n", "utf-8")
    lines = [f"{name} {metadata.version(name)}: {licence(name)}" for name in packages]
    (dist / "LICENCES.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (dist / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version), "utf-8")
    made = sorted(path for path in dist.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in made]
    (dist / "SHA256SUMS").write_text("\n".join(sums) + "\n", "utf-8")
    print(f"{len(packages)} packages in the bill, {len(made)} files with a checksum.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
