"""Programs on four devices, which the CPU is told to be. They run in one process of their own: its start is what costs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("on_four_devices.py")
CHECKS = re.findall(r"^def (check_\w+)", PROGRAM.read_text("utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def outcomes():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(PROGRAM.parents[2])}
    done = subprocess.run([sys.executable, PROGRAM], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("check", CHECKS)
def test_on_four_devices(outcomes, check, count):
    assert outcomes[check] is None, outcomes[check]
    count("programs run on four devices")


@pytest.mark.long
def test_what_goes_over_the_wire(tmp_path):
    """The scaling model of docs/distribution.md: its bytes are those of the collectives in the compiled step."""
    flags = f"--xla_force_host_platform_device_count=8 --xla_dump_to={tmp_path}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "DUMP": str(tmp_path)}
    environment["JAX_ENABLE_COMPILATION_CACHE"] = "false"  # a program from the disk is not dumped
    program = PROGRAM.with_name("on_eight_devices.py")
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    copies, parts = found["MirroredStrategy"], found["FullyShardedStrategy"]
    assert copies == {"parameters": copies["parameters"], "all-reduce": [1, copies["parameters"] + 4]}  # gradients, and the loss
    assert parts["all-reduce"][1] == parts["parameters"] + 4
    assert 1.0 <= parts["all-gather"][1] / parts["parameters"] < 1.25  # weights, and activations where that is less
    assert parts["all-to-all"][1] < 0.05 * parts["parameters"]
