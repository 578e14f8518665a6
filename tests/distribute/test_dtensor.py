"""`tf.experimental.dtensor`: on eight devices, which the CPU is told to be, in one process of their own; clients and examples."""

import doctest
import importlib
import socket
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from tests.distribute.checks import ENVIRONMENT, checks_of, outcomes_of

dtensor = tf.experimental.dtensor
PROGRAM = "dtensor_on_eight_devices.py"


@pytest.fixture(scope="module")
def outcomes():
    return outcomes_of(PROGRAM)


@pytest.mark.parametrize("check", checks_of(PROGRAM))
def test_on_eight_devices(outcomes, check, count):
    assert outcomes[check] is None, outcomes[check]
    count("programs run on eight devices")


@pytest.mark.parametrize("module", ["clients", "dtensor", "mesh"])
def test_examples(module, count):
    failed, ran = doctest.testmod(importlib.import_module(f"gradtape._src.distribute.{module}"), extraglobs={"tf": tf, "np": np})
    assert not failed
    count("examples of docstrings run", ran)


def test_a_single_client():
    assert (dtensor.num_clients(), dtensor.client_id(), dtensor.jobs(), dtensor.job_name()) == (1, 0, [], "localhost")
    assert dtensor.full_job_name() == "localhost/replica:0/task:0" and dtensor.heartbeat_enabled()
    with pytest.raises(ValueError, match="Unexpected task ID 1 in local runs"):
        dtensor.full_job_name(1)


def test_clients_of_the_environment(monkeypatch):
    monkeypatch.setenv("DTENSOR_JOBS", "host1:1,host2:1,host3:1")
    monkeypatch.setenv("DTENSOR_CLIENT_ID", "2")
    monkeypatch.setenv("DTENSOR_ENABLE_HEARTBEAT", "0")
    assert (dtensor.num_clients(), dtensor.client_id(), dtensor.job_name()) == (3, 2, "worker")
    assert dtensor.jobs() == ["host1:1", "host2:1", "host3:1"] and not dtensor.heartbeat_enabled()
    assert dtensor.full_job_name() == "worker/replica:0/task:2" and dtensor.full_job_name(1) == "worker/replica:0/task:1"
    monkeypatch.setenv("DTENSOR_JOB_NAME", "mine")
    assert dtensor.job_name() == "mine"
    for number, text in [("3", r"must be < 3, got 3"), ("-1", r"must be >= 0, got -1")]:
        monkeypatch.setenv("DTENSOR_CLIENT_ID", number)
        with pytest.raises(ValueError, match=f"Environment variable DTENSOR_CLIENT_ID {text}"):
            dtensor.client_id()


@pytest.mark.parametrize(
    "name, text",
    [
        ("enable_save_as_bf16", r"tf\.train\.Checkpoint saves and restores a DVariable"),
        ("name_based_save", r"tf\.train\.Checkpoint saves and restores a DVariable"),
        ("create_tpu_mesh", r"dtensor\.create_distributed_mesh spans TPUs"),
    ],
)
def test_names_that_are_not_there_say_what_to_do(name, text):
    with pytest.raises(AttributeError, match=rf"gradtape has no tf\.experimental\.dtensor\.{name}\. Out of scope: {text}"):
        getattr(dtensor, name)


CLIENT = """
import numpy as np
import gradtape as tf

dtensor = tf.experimental.dtensor
dtensor.initialize_accelerator_system("CPU")
mesh, client = dtensor.create_distributed_mesh([("batch", 4)]), dtensor.client_id()
rows, x = dtensor.Layout(["batch", "unsharded"], mesh), np.arange(8, dtype="f").reshape(8, 1)
packed = dtensor.pack([x[4 * client : 4 * client + 2], x[4 * client + 2 : 4 * client + 4]], rows)
w = dtensor.DVariable(np.ones([1, 1], "f"), layout=dtensor.Layout.replicated(mesh, 2))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - 1.0) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss

losses = [float(step(packed)) for _ in range(2)]
dtensor.barrier(mesh)
parts = [part.numpy().ravel().tolist() for part in dtensor.unpack(dtensor.copy_to_mesh(x, rows))]
print(mesh.local_device_ids(), losses, float(w), parts, w.layout == dtensor.fetch_layout(w))
"""


@pytest.mark.long
def test_two_clients():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    environment = ENVIRONMENT | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "DTENSOR_JOBS": f"{address},localhost:1",
    }
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT], env=environment | {"DTENSOR_CLIENT_ID": str(i)}, stdout=subprocess.PIPE, text=True
        )
        for i in range(2)
    ]
    told = [client.communicate(timeout=300)[0].splitlines()[-1] for client in clients]
    assert [client.returncode for client in clients] == [0, 0]
    numbers = "[11.5, 5.032000541687012] 0.5380000472068787"
    assert told == [
        f"[0, 1] {numbers} [[0.0, 1.0], [2.0, 3.0]] True",
        f"[2, 3] {numbers} [[4.0, 5.0], [6.0, 7.0]] True",
    ]
