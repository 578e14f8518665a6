"""Build the optional extension in C: hatchling calls `Hook` for a wheel; `python hatch_build.py -g …` builds it in place.

`Readme` is the README of the package's metadata.

Where no compiler is, or `GRADTAPE_PURE=1` says so, the package is made without it, and records in Python.
"""

import os
import re
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

from setuptools import Distribution, Extension

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # as a script
    BuildHookInterface = MetadataHookInterface = object

FOLDER = Path(__file__).resolve().parent / "gradtape/_src/core/native"


def build(flags: list[str]) -> Path | None:
    """Build the extension beside its source and return its path; None where that cannot be done, as setuptools then says."""
    source, made = FOLDER / "recording.c", FOLDER / f"recording{sysconfig.get_config_var('EXT_SUFFIX')}"
    made.unlink(missing_ok=True)
    if os.environ.get("GRADTAPE_PURE", "") not in ("", "0"):
        return None
    checksum = f"{zlib.crc32(source.read_bytes()):08x}"  # by which `native/twins.py` knows that it is of this source
    extension = Extension(
        "recording",
        [str(source)],
        define_macros=[("GRADTAPE_SOURCE", f'"{checksum}"')],
        extra_compile_args=flags,
        extra_link_args=flags,
        optional=True,
    )
    command = Distribution({"ext_modules": [extension]}).get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as folder:
        command.build_lib, command.build_temp = str(FOLDER), folder
        command.ensure_finalized()
        command.run()
    return made if made.exists() else None


class Hook(BuildHookInterface):
    """Puts the extension into the wheel, which is then for this Python and platform; without it, for all."""

    def initialize(self, version, build_data):
        """Build it in place, which an editable install uses as it is."""
        made = build([])
        if made is not None:
            build_data["artifacts"].append(made.relative_to(self.root).as_posix())
            build_data.update(pure_python=False, infer_tag=True)


class Readme(MetadataHookInterface):
    """Gives a package index the README with whole addresses, where a link to a file of the repository would lead nowhere."""

    def update(self, metadata):
        """Set the project's readme."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": linked(text, metadata["urls"]["Repository"])}


def linked(text: str, repository: str) -> str:
    """Return Markdown whose links to files of the repository are whole addresses; a link into the page itself stays."""
    text = re.sub(r"(!\[[^]]*)\]\((?!\w+://)([^)\s]+)\)", rf"\1]({repository}/raw/main/\2)", text)
    return re.sub(r"\]\((?!#|\w+://)([^)\s]+)\)", rf"]({repository}/blob/main/\1)", text)


if __name__ == "__main__":
    sys.exit(build(sys.argv[1:]) is None)
