"""Fixtures for all tests: figures that are printed after a run, and the number of random cases."""

import contextlib
import gc
import os
import sys
from collections import Counter

from tests.xla import QUICK

# Before JAX is imported: a kernel that would silently promote two dtypes then fails.
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
# The tests compile thousands of small programs that are not needed again.
os.environ.setdefault("GRADTAPE_CACHE_DIR", "")
os.environ.setdefault("XLA_FLAGS", QUICK)

import hypothesis
import pytest

hypothesis.settings.register_profile("short", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("long", derandomize=True, deadline=None, max_examples=2_000)

COUNT = "count: "

COMPILED = "/jax/core/compile/backend_compile_duration"
KEPT = 1_000  # number of compiled programs to keep; JAX itself would keep 2,048 of each kind
compiled = 0  # number of compilations since all programs were dropped


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="draw many more random cases, and run the tests marked `long`")


def pytest_configure(config):
    gc.disable()  # while objects are created that live until the end
    hypothesis.settings.load_profile("long" if config.getoption("--long") else "short")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        long = {item for item in items if "long" in item.keywords}
        config.hook.pytest_deselected(items=[*long])
        items[:] = [item for item in items if item not in long]


def pytest_collection_finish():
    gc.freeze()  # without a collection: it takes most of a second, and frees little
    gc.enable()
    gc.set_threshold(20_000, 20, 20)  # and rarely later, as JAX creates many objects while tracing
    import jax.monitoring  # here, as the process that only distributes the tests does not need it

    jax.monitoring.register_event_duration_secs_listener(count_compiled)


def count_compiled(event, seconds, **more):
    global compiled
    compiled += event == COMPILED


def keep_what_lives():
    """Exclude all current objects from later garbage collections.

    Among thousands of tests and JAX's caches a collection takes most of a second. Many tests collect, and so does
    `tf.config.clear_cache`.
    """
    gc.collect()
    gc.freeze()


# Hooks set up what holds in every test: a fixture that all use costs a tenth of a millisecond, and there are 23,000 tests.
around = contextlib.ExitStack()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    around.enter_context(jax_with_64_bits(item.module))
    around.enter_context(compilers_take_no_time())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    with around:
        yield
    if compiled >= KEPT:
        forget_compiled()
    elif nextitem is None or nextitem.path != item.path:
        keep_what_lives()
    all_ran_on_host()


@contextlib.contextmanager
def jax_with_64_bits(module):
    """Enable 64 bits in JAX for tests that compare with it; other tests have the default of 32."""
    jax = sys.modules.get("jax")
    if {"jax", "jnp", "lax"}.isdisjoint(vars(module)):
        assert jax is None or not jax.config.jax_enable_x64, "a module of tests switched JAX's 64 bits on for all"
        yield
    else:
        with jax.enable_x64(True):
            yield


@contextlib.contextmanager
def compilers_take_no_time():
    """Stop the clock of the log about slow compilations, as a machine may be slow."""
    compilations = sys.modules.get("gradtape._src.core.engine.compilations")
    if compilations is None:
        yield
    else:
        clock, compilations.clock = compilations.clock, float  # 0.0
        try:
            yield
        finally:
            compilations.clock = clock


def all_ran_on_host():
    """Fail if an op with a NumPy kernel failed on the host, and was silently compiled."""
    execution = sys.modules.get("gradtape._src.core.engine.execution")
    assert execution is None or execution.counters.not_on_host == 0


def forget_compiled():
    """Drop compiled programs.

    JAX keeps an MLIR context of 1.4 MB for each program, and MLIR visits all of them when it creates one. Among 2,000 a
    program takes nearly twice as long to compile. Dropping too often would recompile kernels that several tests use.
    """
    global compiled
    import jax

    jax.clear_caches()
    gc.unfreeze()  # objects that only the caches held
    compiled = 0
    keep_what_lives()


@pytest.fixture(scope="session")
def fuzz_factor(pytestconfig):
    """Return the factor for the number of seeds of a fuzzing test: 1, or 20 under `make test-long`."""
    return 20 if pytestconfig.getoption("--long") else 1


@pytest.fixture
def compiled_early():
    """Compile programs when they are first seen, without running them on the host before."""
    import gradtape as tf

    tf.config.compile_early()
    yield
    tf.config.compile_early(False)


@pytest.fixture
def count(record_property):
    """Add to a figure that is printed after the run: `count("random programs compared", 250)`.

    Figures of one name are summed over all tests that passed, in all processes.
    """

    def add(what, number=1):
        record_property(COUNT + what, int(number))

    return add


def pytest_terminal_summary(terminalreporter):
    totals = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name.startswith(COUNT):
                totals[name.removeprefix(COUNT)] += value
    if totals:
        terminalreporter.section("counted")
        for what, total in sorted(totals.items()):
            terminalreporter.line(f"{total:>9,} {what}")
