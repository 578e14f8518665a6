"""Gather wheels for a machine without a network: gradtape and its dependencies, without JAX and PyTorch.

`python -m benchmarks.bundle build/gpu-bundle`, in `make gpu-bundle`. The folder must be smaller than 64 MiB, else it is
removed.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST = 64 << 20  # bytes of all wheels together
# Installed there: JAX with its plugin, PyTorch, and their dependencies.
THERE = ("jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "opt_einsum", "torch")
GROUP = "test-gpu"


def excluded(wheel: Path) -> bool:
    """Return whether the wheel is of an installed package."""
    return wheel.name.partition("-")[0].lower().replace("-", "_") in THERE


def too_large(wheels: list[Path], largest: int = LARGEST) -> str | None:
    """Return the error if all wheels together are too large, or None."""
    total = sum([wheel.stat().st_size for wheel in wheels])
    if total < largest:
        return None
    sizes = sorted([(wheel.stat().st_size, wheel.name) for wheel in wheels], reverse=True)
    heaviest = ", ".join([f"{name} {size / 2**20:.1f}" for size, name in sizes[:3]])
    return f"The wheels take {total / 2**20:.1f} MiB, and {largest >> 20} are allowed. The largest: {heaviest}."


def requirements() -> list[str]:
    """Return the requirements of the wheels: gradtape's dependencies, and those of its tests on a GPU."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return [*stated["project"]["dependencies"], *stated["dependency-groups"][GROUP]]


def gather(folder: Path) -> int:
    """Write the wheels into `folder`; return the exit status."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q"]
    with tempfile.TemporaryDirectory(prefix="gradtape-bundle-") as made:
        subprocess.run([*pip, "--no-deps", "-w", made, str(ROOT)], check=True)
        subprocess.run([*pip, "--prefer-binary", "-w", made, *requirements()], check=True)
        wheels = sorted([wheel for wheel in Path(made).glob("*.whl") if not excluded(wheel)])
        if fault := too_large(wheels):
            print(fault, file=sys.stderr)
            return 1
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for wheel in wheels:
            shutil.copy(wheel, folder)
            print(f"{wheel.stat().st_size / 2**20:6.2f} MiB  {wheel.name}")
        print(f"{sum([wheel.stat().st_size for wheel in wheels]) / 2**20:6.2f} MiB  in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(gather(Path(sys.argv[1] if len(sys.argv) > 1 else "build/gpu-bundle")))
