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
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, PROGRAM], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("check", CHECKS)
def test_on_four_devices(outcomes, check, count):
    assert outcomes[check] is None, outcomes[check]
    count("programs run on four devices")
