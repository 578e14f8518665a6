"""Install the sdist in `dist` with and without a compiler, and compare both, by `python -m tests.packages.installed dist`.

The command of each is tried, too. Each has an environment of its own, which finds the dependencies in this one. Nothing is
asked of a package index.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import zipfile
from pathlib import Path

import numpy as np

HELP_WITHIN = 0.3  # seconds, of the best of five: the others are the machine's
WITHOUT_COMPILER = {"CC": "no-such-compiler", "PATH": os.environ["PATH"]}
PROGRAM = """
import sys
import gradtape as tf
from gradtape._src.core.native import twins
x, w = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([[0.5, -0.5], [0.25, 1.0]])
for _ in range(5):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w)) * 2.0 + w)
    w.assign_sub(0.1 * tape.gradient(loss, w))
print(tf.__file__, twins.which().partition(" ")[0], loss.numpy().tobytes().hex(), w.numpy().tobytes().hex())
"""


def clean(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment variables of this process and these, without what would lead to another gradtape."""
    return {k: v for k, v in os.environ.items() if k not in ("GRADTAPE_PURE", "PYTHONPATH")} | environment


def wheel_of(sdist: Path, folder: Path, environment: dict[str, str]) -> Path:
    """Build the wheel of an sdist as pip does where it finds no wheel."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-qq", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "-w", folder, sdist], check=True, env=clean(environment))
    [wheel] = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment, and return its Python."""
    venv.create(folder, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "-qq"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    there = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(there, "dependencies.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    return python


BROKEN = """
import gradtape as tf
x = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = tf.constant(float(x))
tape.gradient(y, x)
"""


def command_faults(python: Path, folder: Path) -> list[str]:
    """Return what is wrong with the installed command: its help must come at once, and `why` must name the line of the break."""
    command, script = python.with_name("gradtape" + python.suffix), folder / "broken.py"
    script.write_text(BROKEN, "utf-8")
    took = []
    for _ in range(5):
        began = time.perf_counter()
        text = subprocess.run([command, "--help"], env=clean({}), check=True, capture_output=True, text=True).stdout
        took.append(time.perf_counter() - began)
    print(f"gradtape --help: {min(took):.2f} s at best, {max(took):.2f} s at worst")
    faults = [f"gradtape --help took {min(took):.2f} s, more than {HELP_WITHIN} s"] * (min(took) > HELP_WITHIN)
    faults += ["gradtape --help does not name its commands"] * ("why" not in text)
    told = subprocess.run([command, "why", script], cwd=folder, env=clean({}), capture_output=True, text=True)
    return faults + [f"gradtape why did not name line 5: {told.stdout[-500:]}{told.stderr[-500:]}"] * (
        "line 5: left_library" not in told.stdout
    )


def left_behind(python: Path, folder: Path) -> list[str]:
    """Uninstall gradtape, and return the files of it that are there still."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "uninstall", "-qq", "--yes"]
    subprocess.run([*pip, "gradtape"], check=True)
    return [str(path) for path in folder.rglob("*gradtape*")]


def main(dist: Path) -> None:
    """Print what each way gives; exit code 1 where one is not what it should be."""
    [sdist] = dist.resolve().glob("*.tar.gz")
    given, faults = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        for records, environment in (("C", {}), ("Python", WITHOUT_COMPILER)):
            folder = Path(temporary, records)
            wheel = wheel_of(sdist, folder / "wheel", environment)
            with zipfile.ZipFile(wheel) as packed:
                compiled = [name for name in packed.namelist() if name.endswith((".so", ".pyd"))]
            python = installed(wheel, folder / "environment")
            done = subprocess.run(
                [python, "-c", PROGRAM], cwd=temporary, env=clean(WITHOUT_COMPILER), check=True, capture_output=True, text=True
            )
            where, which, *given[records] = done.stdout.split()
            print(f"{wheel.name}: {len(compiled)} extension, records in {which}")
            if wheel.name.endswith("-none-any.whl") == bool(compiled):
                faults.append(f"{wheel.name} has {len(compiled)} extension, and its name says otherwise")
            faults += [f"{wheel.name} records in {which}, not in {records}"] * (which != records)
            faults += [f"{where} was imported in its place"] * (not where.startswith(str(folder.resolve())))
            faults += command_faults(python, folder)
            faults += [f"{path} stays after pip uninstall" for path in left_behind(python, folder / "environment")]
    results = [[np.frombuffer(bytes.fromhex(text), np.float32) for text in of] for of in given.values()]
    faults += ["the results differ"] * (not all(map(np.array_equal, *results)))
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
