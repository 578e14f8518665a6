"""Several processes that train together: the numbers of one, and an error on each when one of them is gone."""

import gc
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.distribute import group, watch

PROGRAM = Path(__file__).with_name("on_two_processes.py")


def launched(*way, count=2):
    """Run the program in `count` processes; returns the exit status, and the lines of each process."""
    command = [sys.executable, "-m", "gradtape", "launch", "-n", str(count), str(PROGRAM), *map(str, way)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    lines = [[] for _ in range(count)]
    for line in done.stdout.splitlines():
        number, _, text = line.removeprefix("[").partition("] ")
        if number.isdecimal():
            lines[int(number)].append(text)
    return done.returncode, lines


def alone():
    """The program's results in one process."""
    done = subprocess.run([sys.executable, PROGRAM, "train"], capture_output=True, text=True, timeout=240, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.long)])
def test_processes_train_as_one_does(count):
    """70 rows in batches of 30 and 32: some batches cannot be divided evenly, and all processes make the same steps."""
    status, lines = launched("train", count=count)
    assert status == 0, lines
    assert not any("Gloo" in line or "coordination_service" in line for each in lines for line in each)
    wanted, results = alone(), [json.loads(each[-1]) for each in lines]
    del wanted["drawn"], wanted["in a thread"]
    assert wanted.pop("why")[1] is None
    for number, result in enumerate(results):
        assert f"thread 'a reader' of process {number} asked for it" in result["in a thread"]
        assert result["drawn"] == results[0]["drawn"]
        assert result["uneven"] == [2, 2 * 12 // count]
        assert result["why"][0].startswith(f"process {number} of {count}: {PROGRAM}:")
        assert result["why"][1] == f"process {number} of {count}"
        for name, value in wanted.items():
            np.testing.assert_allclose(result[name], value, 1e-4, 1e-5, err_msg=name)


def under(launcher, way):
    """The program's two processes, in the environment that `mpirun` of Open MPI 4 or Slurm's `srun` gives; status and output."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        job = free.getsockname()[1] - 61440 & 4095  # JAX makes a port of the job's number
    if launcher == "mpirun":
        given = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_MCA_orte_hnp_uri": f"{job << 12}.0;tcp://127.0.0.1:9"}
        numbers = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"]
    else:
        given = {"SLURM_JOB_ID": str(job), "SLURM_NTASKS": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "localhost"}
        numbers = ["SLURM_PROCID", "SLURM_LOCALID"]
    given["JAX_PLATFORMS"], processes = "cpu", []
    for number in range(2):
        mine = dict.fromkeys(numbers, str(number))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        processes.append(subprocess.Popen([sys.executable, PROGRAM, way], env={**os.environ, **given, **mine}, **pipes))
    return [(process.communicate(timeout=240)[0], process.returncode) for process in processes]


@pytest.mark.long
@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
def test_processes_that_a_launcher_starts_find_each_other(launcher):
    wanted = alone()
    for output, status in under(launcher, "train"):
        assert status == 0, output
        result = json.loads(output.splitlines()[-1])
        np.testing.assert_allclose(result["losses"], wanted["losses"], 1e-4, 1e-5)
    (output, _), _ = under(launcher, "die")
    assert "UnavailableError: Process 1 of 2 has ended without a word" in output


@pytest.mark.long
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")
def test_mpirun():
    options = ["--allow-run-as-root", "--oversubscribe", "-x", "JAX_PLATFORMS=cpu"]
    command = ["mpirun", *options, "-n", "2", sys.executable, PROGRAM, "train"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and len(results) == 2, done.stderr
    wanted = alone()
    for result in results:
        np.testing.assert_allclose(result["losses"], wanted["losses"], 1e-4, 1e-5)


BY_RAY = """
import json, os, socket, sys
import ray


@ray.remote(num_cpus=1, max_calls=1)
def train(addresses, index):
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})
    import numpy as np
    import gradtape as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    x = np.arange(24, dtype="f").reshape(8, 3)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.SGD(1e-4), "mse")
    return model.fit(x, x[:, :1], batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"]


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
print(json.dumps(ray.get([train.remote(sys.argv[1:], index) for index in range(2)])))
"""


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install ray")
def test_ray(tmp_path):
    """The recipe of `docs/distribution.md`."""
    (tmp_path / "by_ray.py").write_text(BY_RAY)
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, tmp_path / "by_ray.py", *addresses]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout.splitlines()[-1])
    x, w, b, losses = np.arange(24.0).reshape(8, 3), np.ones(3), 0.0, []
    for _ in range(3):
        errors = []
        for rows in (x[:4], x[4:]):
            error = rows @ w + b - rows[:, 0]
            errors.append((error**2).mean())
            w, b = w - 1e-4 * 2 * error @ rows / 4, b - 1e-4 * 2 * error.mean()
        losses.append(np.mean(errors))
    assert first == second
    np.testing.assert_allclose(first, losses, 1e-4)


LOST = {
    "die": "Process 1 of 2 has ended without a word",
    "raise": "Process 1 of 2 raised ValueError: bad data",
    "interrupt": "Process 1 of 2 raised KeyboardInterrupt",
    "leave": "Process 1 of 2 has left, and this one waits for it",
    "stop": "Process 1 of 2 gave no sign of life for 10 s",
}


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way == "die" else pytest.mark.long) for way in LOST])
def test_a_process_that_is_gone_is_an_error_on_the_others(way):
    status, (lines, others) = launched(way)
    assert status != 0 and (way != "raise" or "This is process 1 of 2." in others)
    told = next(line for line in lines if "UnavailableError" in line)
    assert LOST[way] in told and "This is process 0" in told
    assert any("losses.append(float(train(batch)))" in line for line in lines)  # the user's line


@pytest.mark.parametrize("way", ["uneven", pytest.param("seeds", marks=pytest.mark.long)])
def test_what_is_not_the_same_in_all_is_an_error_on_all(way):
    """Fewer batches in one process, or other seeds."""
    status, lines = launched(way)
    assert status != 0
    for each in lines:
        assert any("InvalidArgumentError: The processes are not in step" in line for line in each), each


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 4])
def test_a_hundred_steps(count):
    """Data parallel, fully sharded and model parallel: the losses and predictions of one process, to 1e-5."""
    whole = subprocess.run([sys.executable, PROGRAM, "hundred"], capture_output=True, text=True, timeout=240, check=True)
    wanted = json.loads(whole.stdout.splitlines()[-1])
    status, lines = launched("hundred", count=count)
    assert status == 0, lines
    for each in lines:
        for name, values in json.loads(each[-1]).items():
            np.testing.assert_allclose(values, wanted[name], 1e-5, 1e-5, err_msg=name)


@pytest.mark.long
def test_process_0_writes_and_the_others_wait(tmp_path):
    """Who saves alone, or under another name, writes; what process 0 cannot write is an error on all.

    The launcher opens the door, so a checkpoint is TensorFlow's two files.
    """
    status, (first, second) = launched("save", tmp_path)
    assert status == 0
    *written, error = json.loads(first[-1])
    assert [name.partition(".")[0] for name in written] == [
        *["all", "all", "ckpt-1", "ckpt-1", "checkpoint", "model"],
        *["chief", "chief", "first", "first"],
    ]
    assert error == "ZeroDivisionError: division by zero"
    *written, error = json.loads(second[-1])
    assert [name.partition(".")[0] for name in written] == ["temporary", "temporary", "second", "second"]
    assert error.startswith("UnavailableError: Process 0 of 2 could not write")
    assert error.endswith("ZeroDivisionError: division by zero. This is process 1.")


@pytest.mark.long
def test_what_processes_wrote_in_parts_another_number_of_them_reads(tmp_path):
    """Each writes its parts, beside the training; 2 processes go on from there, and 1."""
    results = []
    for count, epochs in ((2, 2), (1, 4)):
        status, lines = launched("parts", tmp_path / "parts", epochs, count=count)
        assert status == 0, lines
        results.append(json.loads(lines[0][-1]))
    _, (lines,) = launched("parts", tmp_path / "whole", 4, count=1)
    for ours, theirs in zip(results[-1], json.loads(lines[-1]), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-3, 1e-4)


@pytest.mark.long
def test_backup_and_restore_goes_on_with_the_same_numbers(tmp_path):
    """Dropout and the optimizer's state are those of a run that was not interrupted."""
    _, lines = launched("backup", tmp_path / "whole", 9)
    epochs, wanted, left = json.loads(lines[0][-1])
    assert epochs == [0, 1, 2, 3, 4] and not left
    status, _ = launched("backup", tmp_path / "again", 2)
    assert status != 0
    status, lines = launched("backup", tmp_path / "again", 9)
    assert status == 0
    for each in lines:
        epochs, losses, left = json.loads(each[-1])
        assert epochs == [2, 3, 4] and not left
        np.testing.assert_allclose(losses, wanted[2:], 1e-6)


def fitting(count, folder, way):
    command = [sys.executable, "-m", "gradtape", "launch", "-n", str(count), str(PROGRAM), way, str(folder)]
    return subprocess.Popen(command, env={**os.environ, "JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE, text=True)


def children(process):
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    return [int(number) for number in found.stdout.split()]


@pytest.mark.long
@pytest.mark.parametrize("way", ["fit", "parts"])
def test_a_group_that_is_killed_ten_times_ends_as_one_that_is_not(tmp_path, way):
    """`kill -9` of one of four at random moments of the start and of `fit`; started again, it goes on from its checkpoint."""
    random = np.random.default_rng(0)
    alone = fitting(1, tmp_path / "whole", way)
    whole = json.loads(alone.communicate(timeout=240)[0].splitlines()[-1].removeprefix("[0] "))
    state = tmp_path / "killed" / "checkpoint"
    for kill in range(10):
        before, processes = state.read_text() if state.exists() else "", fitting(4, tmp_path / "killed", way)
        while kill % 3 and processes.poll() is None and (not state.exists() or state.read_text() == before):
            time.sleep(0.02)  # until an epoch has ended
        time.sleep(random.uniform(0.0, 0.3 if kill % 3 else 3.0))
        while len(living := children(processes)) < 4 and processes.poll() is None:
            time.sleep(0.02)
        os.kill(int(random.choice(living)), signal.SIGKILL)
        processes.communicate(timeout=60)
        assert processes.returncode != 0
    processes = fitting(4, tmp_path / "killed", way)
    out, _ = processes.communicate(timeout=240)
    assert processes.returncode == 0
    results = [json.loads(line[4:]) for line in out.splitlines() if line[4:6] == "[["]
    assert len(results) == 4
    for result in results:
        for ours, theirs in zip(result, whole, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-3, 1e-4)


# ---------------------------------------------------------------------------------------------------------------------
# The page


def scripts():
    """The first example of each of the page's first three sections, a script of its own."""
    page = (Path(__file__).parents[2] / "docs" / "distribution.md").read_text("utf-8")
    return [section.split("```python\n")[1].split("```")[0] for section in page.split("\n## ")[1:4]]


@pytest.mark.long
@pytest.mark.parametrize("number, processes", [(0, 1), (1, 4), (2, 1), (2, 2)])
def test_the_scripts_that_the_page_starts_with(tmp_path, number, processes):
    script = scripts()[number]
    assert len(script.splitlines()) <= 40
    (tmp_path / "train.py").write_text(script)
    way = ["launch", "-n", str(processes)] if processes > 1 else ["run"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-m", "gradtape", *way, str(tmp_path / "train.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert [line[-4:] for line in done.stdout.splitlines() if line.endswith("True")] == ["True"] * processes


# ---------------------------------------------------------------------------------------------------------------------
# Meeting


@pytest.fixture(autouse=True)
def ended(monkeypatch):
    """The watches of a test end with it, and no connection stays open."""
    watches, begun = [], watch.Watch.__init__

    def begin(self, *arguments):
        begun(self, *arguments)
        watches.append(self)

    monkeypatch.setattr(watch.Watch, "__init__", begin)
    yield
    for each in watches:
        each.end()
    for thread in threading.enumerate():
        if thread.name == "gradtape watch":
            thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def meeting(*processes, seconds=5.0):
    """Let processes, (number, count), meet in threads; returns what each got."""
    address, results = f"127.0.0.1:{free_port()}", {}

    def meet(place, number, count):
        try:
            results[place] = watch.meet(address, number, count, seconds)
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=meet, args=(place, *process)) for place, process in enumerate(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[place] for place in range(len(processes))]


def test_processes_meet_and_agree():
    (first, address), (second, same) = meeting((0, 2), (1, 2))
    assert address == same and first.number == 0 and second.number == 1
    waits = threading.Thread(target=second.agree, args=("a step",))
    waits.start()
    first.agree("a step")
    waits.join()
    errors = []

    def differs():
        with pytest.raises(tf.errors.InvalidArgumentError, match="process 1: another") as caught:
            second.agree("another")
        errors.append(caught.value)

    waits = threading.Thread(target=differs)
    waits.start()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Process 0 of 2 is about to run a step; process 1: another"):
        first.agree("a step")
    waits.join()
    assert errors


def test_files_that_process_0_writes_are_known_to_the_others():
    (first, _), (second, _) = meeting((0, 2), (1, 2))
    first.wrote("a", [1, 2])
    assert second.written("a")["stamp"] == [1, 2]
    first.wrote("other", None)
    assert second.written("b") is None  # it wrote another one in its place
    first.wrote("alone", None)
    first.wrote("c", None, "OSError: full")
    with second._changed:  # both reports have to be there: the first alone would say that "c" is not written
        assert second._changed.wait_for(lambda: len(second._written) == 2, 10)
    assert second.written("c")["error"] == "OSError: full"
    both = [threading.Thread(target=each.agree, args=("a step",)) for each in (first, second)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    ahead = threading.Thread(target=first.agree, args=("the next",))
    ahead.start()
    assert second.written("d") is None  # it has gone on without
    second.agree("the next")
    ahead.join()
    first.left.add(0)
    first._tell(left=0)
    assert second.written("e") is None
    (first, _), (second, _) = meeting((0, 2), (1, 2))
    first._tell(lost=0, why="is gone")
    with pytest.raises(tf.errors.UnavailableError, match="Process 0 of 2 is gone"):
        second.written("f")


def test_processes_hear_of_an_error():
    (first, _), (second, _) = meeting((0, 2), (1, 2))
    second.raised(ValueError("mine"))
    with pytest.raises(tf.errors.UnavailableError, match="Process 1 of 2 raised ValueError: mine"):
        first.agree("a step")


def test_processes_that_do_not_come():
    first, second = meeting((0, 3), (2, 3), seconds=0.5)
    assert isinstance(first, tf.errors.UnavailableError) and "[1] did not come" in first.message
    assert isinstance(second, tf.errors.UnavailableError) and "did not find all of 3 processes" in second.message
    (alone,) = meeting((1, 2), seconds=0.3)
    assert isinstance(alone, tf.errors.UnavailableError) and "found no process 0 at 127.0.0.1" in alone.message


@pytest.mark.parametrize(
    "processes, message",
    [(((0, 3), (1, 3), (1, 3)), "Two processes say that they are number 1 of 3"), (((0, 2), (1, 4)), "told of 4 processes")],
)
def test_processes_that_were_told_otherwise(processes, message):
    errors = meeting(*processes)
    assert any(isinstance(error, tf.errors.InvalidArgumentError) and message in error.message for error in errors)
    assert all(isinstance(error, Exception) for error in errors)


def test_an_address_in_use():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(tf.errors.UnavailableError, match=f"Process 0 cannot listen at {address}: Address already in use"):
            watch.meet(address, 0, 2, 1.0)


def test_what_is_no_process_is_turned_away():
    """A stranger that connects changes nothing."""
    port = free_port()
    found = []
    waits = threading.Thread(target=lambda: found.append(watch.meet(f"127.0.0.1:{port}", 0, 2, 10.0)))
    waits.start()
    for text in (b"GET / HTTP/1.1\n", b'{"process": "x"}\n', b"[1]\n"):
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port)) as stranger:
                    stranger.sendall(text)
                break
            except ConnectionRefusedError:
                pass
    watch.meet(f"127.0.0.1:{port}", 1, 2, 10.0)
    waits.join()
    assert found[0][0].count == 2


# ---------------------------------------------------------------------------------------------------------------------
# TF_CONFIG


def config(cluster, **task):
    return json.dumps({"cluster": cluster, "task": task})


def test_the_group_of_tf_config():
    assert group.of_config(None) == ([], 0)
    assert group.of_config(config({"worker": ["a:1", "b:2"]}, type="worker", index=1)) == (["a:1", "b:2"], 1)
    both = {"chief": ["a:1"], "worker": ["b:2", "c:3"]}
    assert group.of_config(config(both, type="worker", index=1)) == (["a:1", "b:2", "c:3"], 2)
    assert group.of_config(config(both, type="chief", index=0)) == (["a:1", "b:2", "c:3"], 0)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "TF_CONFIG is no cluster"),
        ("[]", "TF_CONFIG is no cluster"),
        (config({"worker": ["a:1"], "ps": ["b:2"]}, type="worker", index=0), r"tasks of types \['ps'\]"),
        (config({"worker": ["a:1"]}, type="worker", index=1), "is not in its cluster"),
        (config({"worker": ["a:1"]}, type="worker", index="x"), "TF_CONFIG is no cluster"),
    ],
)
def test_a_wrong_tf_config(text, message):
    with pytest.raises(ValueError, match=message):
        group.of_config(text)


@pytest.mark.parametrize("text", ["host", ":1", "host:", "host:0", "host:70000", "host:x"])
def test_a_wrong_address(text):
    with pytest.raises(ValueError, match="The address of a process is host:port"):
        watch.address_of(text)


def test_the_number_of_replicas_over_several_processes_is_told_once(caplog):
    """Tutorials multiply a batch by it: each would train with another batch without a word."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1 and not caplog.messages
    strategy._devices = 2  # as over two processes
    assert [strategy.num_replicas_in_sync for _ in range(3)] == [1, 1, 1]
    (said,) = caplog.messages
    assert "num_replicas_in_sync is 1: one replica sees whole batches" in said and "On TensorFlow it is 2." in said


def test_one_process_needs_no_group():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1 and group.joined() is None
    with pytest.raises(TypeError, match="TF_CONFIG"):
        tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=1)
