"""The processor time that the import takes, with nothing computed."""

import importlib
from functools import partial

KEY = "e2"
TITLE = "processor time of the import"
MEASURE = "processor time"
TARGETS = {"tensorflow_eager": 1.0}
LIMIT = 1.0


def importing(package):
    """Return a step that imports a package; the number that it returns is no result."""

    def step():
        importlib.import_module(package)
        return 0

    return step


gradtape = partial(importing, "gradtape")
tensorflow_eager = partial(importing, "tensorflow")
torch_eager = partial(importing, "torch")
jax_jit = partial(importing, "jax")
