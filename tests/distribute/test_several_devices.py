"""Programs on four devices, which the CPU is told to be. They run in one process of their own: its start is what costs."""

import functools
import os

import pytest

from tests.distribute.checks import ENVIRONMENT, checks_of, outcomes_of

PROGRAMS = "on_four_devices.py", "replicas_on_four_devices.py", "training_on_four_devices.py"
ON_FOUR = {**ENVIRONMENT, "XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"}


@functools.cache
def outcomes(program):
    """The outcomes, or the error of a process that failed: it is not started again for each check."""
    try:
        return outcomes_of(program, ON_FOUR)
    except Exception as error:
        return error


def rows():
    """The checks of each program; those of the one that takes longest belong to the long tests."""
    for program in PROGRAMS:
        marks = pytest.mark.long if program == "on_four_devices.py" else ()
        yield from [pytest.param(program, check, marks=marks) for check in checks_of(program)]


@pytest.mark.parametrize("program, check", list(rows()))
def test_on_four_devices(program, check, count):
    found = outcomes(program)
    if isinstance(found, Exception):
        raise found
    assert found[check] is None, found[check]
    count("programs run on four devices")


@pytest.mark.long
def test_what_goes_over_the_wire(tmp_path):
    """The scaling model of docs/distribution.md: its bytes are those of the collectives in the compiled step."""
    flags = f"--xla_force_host_platform_device_count=8 --xla_dump_to={tmp_path}"
    environment = {**ENVIRONMENT, "XLA_FLAGS": flags, "DUMP": str(tmp_path)}
    environment["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # a program from the disk is not dumped
    found = outcomes_of("on_eight_devices.py", environment)
    copies, parts = found["MirroredStrategy"], found["FullyShardedStrategy"]
    count, size = copies.pop("all-reduce")  # gradients, and the losses of all replicas
    assert count == 1 and size == copies.pop("parameters") + 4 * 8
    assert sum(size for _, size in copies.values()) < 0.01 * parts["parameters"]  # rows to their replicas
    assert parts["all-reduce"][1] == parts["parameters"] + 4
    assert 1.0 <= parts["all-gather"][1] / parts["parameters"] < 1.25  # weights, and activations where that is less
    assert parts["all-to-all"][1] < 0.05 * parts["parameters"]
