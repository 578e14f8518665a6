"""Try the Keras that is installed, newer than the one that the tests are for: `make test-keras-next`.

It prints each change of Keras that finds nothing to change, then runs `tests/keras` and, where the wheel has tests, Keras's own
sample.
"""

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

from keras_gradtape import edits, hook, versions
from tests.keras import own

FOLDER = Path(__file__).parent
SHIPPED = "layers/core/dense_test.py"  # a test of Keras's sample; wheels of nightly builds have none


def missed(keras: versions.Keras) -> list[str]:
    """What each change says that found nothing to change. The others are made, so that all of Keras is imported."""
    said: list[str] = []

    def tried(*arguments: object) -> None:
        try:
            edits.change(*arguments)  # type: ignore[arg-type]
        except RuntimeError as error:
            said.append(f"{error}\n    {error.__cause__ or 'The place is not there.'}")

    hook.change = tried
    os.environ["KERAS_BACKEND"] = "gradtape"
    for module in edits.of_version(keras.numbers):
        importlib.import_module(module)
    return said


def main(arguments: list[str]) -> int:
    """Print what broke; return 1 if something did."""
    keras = versions.installed()
    assert keras is not None
    print(f"Keras {keras.version}", flush=True)
    with warnings.catch_warnings(record=True) as told:  # that it is newer
        faults = missed(keras)
    print(*(warning.message for warning in told), *faults, f"{len(faults)} changes of Keras did not take.", sep="\n", flush=True)
    failed = bool(faults)
    failed |= subprocess.run([sys.executable, "-m", "pytest", "-q", str(FOLDER), *arguments]).returncode != 0
    if os.path.exists(os.path.join(keras.folder, "src", SHIPPED)):
        failed |= own.main(["--sample"]) != 0
    else:
        print(f"Keras's own tests were not run: the wheel of {keras.version} has none.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
