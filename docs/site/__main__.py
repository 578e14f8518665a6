"""Build the site into `build/site/html`: `python -m docs.site`."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from docs.site import codes, reference
from docs.site.assemble import INDEX, assemble, place
from docs.site.project import ROOT

BUILD = ROOT / "build/site"


def main() -> None:
    """Gather, generate and build the pages; a warning of Sphinx is an error."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the documentation site.")
    parser.add_argument("--without-notebooks", action="store_true", help="show the notebooks without running them")
    parsed = parser.parse_args()
    start = time.monotonic()
    changed = {place("docs/explain.md"): codes.linked, place(INDEX): reference.started}
    try:
        assemble(BUILD / "source", codes.made() | reference.made(), changed)
    except OSError as error:
        raise SystemExit(f"the site cannot be written: {error}. Make {BUILD} writable, or remove it.") from None
    print(f"pages gathered in {time.monotonic() - start:.0f} s", flush=True)
    os.environ["GRADTAPE_SITE_NOTEBOOKS"] = "0" if parsed.without_notebooks else "1"
    os.environ["IPYTHONDIR"] = str(ipython(BUILD / "ipython"))
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-j", "auto", "-c", str(ROOT / "docs/site")]
    ended = subprocess.run([*command, "-d", str(BUILD / "doctrees"), str(BUILD / "source"), str(BUILD / "html")], check=False)
    report = [sys.executable, "-m", "gradtape", "why", "train.py", "--html", str(BUILD / "html" / reference.REPORT)]
    subprocess.run(report, cwd=ROOT / "docs/site/sample", check=False, stdout=subprocess.DEVNULL)  # exit 1: a gradient is missing
    print(f"built in {time.monotonic() - start:.0f} s: {BUILD / 'html/index.html'}")
    raise SystemExit(ended.returncode)


def ipython(folder: Path) -> Path:
    """Write settings for the notebooks' kernels, in place of the user's own, and return their folder.

    Their log level hides the kernel's warning about unencrypted connections to this machine.
    """
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n', "utf-8")
    return folder


if __name__ == "__main__":
    main()
