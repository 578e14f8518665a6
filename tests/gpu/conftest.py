"""Which device is the card, and the process beside it that has only the CPU."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

SIMULATED = os.environ.get("GRADTAPE_TEST_CARD") == "cpu"
NO_CARD = "no GPU that JAX knows; GRADTAPE_TEST_CARD=cpu takes the CPU in its place"


def pytest_collection_modifyitems(config, items):
    """Without `-m gpu` only the sample is left; it runs on whatever device there is."""
    if "gpu" not in (config.getoption("-m") or ""):
        left_out = {i for i in items if i.get_closest_marker("gpu") and not i.get_closest_marker("sample")}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def card(pytestconfig):
    """JAX's device that the tests are for. They are skipped where there is none."""
    import jax

    device = jax.devices()[0]
    if device.platform == "cpu" and not SIMULATED and "gpu" in (pytestconfig.getoption("-m") or ""):
        pytest.skip(NO_CARD)
    return device


@pytest.fixture(scope="session")
def on_cpu(card):
    """`on_cpu(function, *arguments)`: what a function of a module gives in a process that has only the CPU."""
    before = os.environ.get("JAX_PLATFORMS")
    os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        pool.submit(os.getpid).result()
    finally:
        if before is None:
            del os.environ["JAX_PLATFORMS"]
        else:
            os.environ["JAX_PLATFORMS"] = before
    yield lambda function, *arguments: pool.submit(function, *arguments).result()
    pool.shutdown()
