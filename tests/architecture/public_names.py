"""Print every public name of gradtape, one a line: `gradtape.math.sin`. With `--write`, into the snapshot.

A script, so that it runs in a process of its own, where no other import has added to the namespace.
"""

import sys
from pathlib import Path
from types import ModuleType

SNAPSHOT = Path(__file__).with_suffix(".txt")


def public_names(module: ModuleType) -> list[str]:
    """The dotted public names of `module` and of its public submodules."""
    names, pending = set(), [module]
    while pending:
        namespace = pending.pop()
        for name in dir(namespace):
            if name.startswith("_"):
                continue
            dotted = f"{namespace.__name__}.{name}"
            names.add(dotted)
            value = getattr(namespace, name, None)
            if isinstance(value, ModuleType) and value.__name__ == dotted:
                pending.append(value)
    return sorted(names)


def drift(committed: list[str], current: list[str]) -> str:
    """What has come and gone, as text; empty where nothing has."""
    come, gone = sorted(set(current) - set(committed)), sorted(set(committed) - set(current))
    lines = [f"  + {name}" for name in come] + [f"  - {name}" for name in gone]
    return "\n".join(["the public names have changed:", *lines, "If that is meant: make snapshot"]) if lines else ""


if __name__ == "__main__":
    import gradtape

    text = "".join(f"{name}\n" for name in public_names(gradtape))
    if sys.argv[1:] == ["--write"]:
        SNAPSHOT.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
