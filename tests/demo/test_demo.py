"""The demo learns, says where the tape broke, draws its picture, and gives the same bits for the same seed."""

import io
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import gradtape_cli
from gradtape._src.cli import commands
from gradtape._src.demo import train
from gradtape._src.demo.picture import COLUMNS, ROWS, draw_digits, heat


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=200, highlight=False)


def test_a_short_run_shows_every_part(tmp_path, console, monkeypatch):
    original = train.load_digits
    monkeypatch.setattr(train, "load_digits", lambda random: (original(random)[0][:320], original(random)[1]))
    picture = tmp_path / "digits.png"
    result = train.run_demo(epochs=4, seed=1, out=picture, console=console)
    said = console.file.getvalue()
    assert result.accuracy > 0.4  # 0.5 to 0.65, by the seed; 0.1 by chance
    assert result.broken == [None] * 8
    assert f"test accuracy {result.accuracy:.4f}, seed 1, digest of the weights {result.digest[:16]}" in said
    assert "2 epochs of Keras's fit, then 2 of a loop with a GradientTape" in said
    assert re.search(r"20/20 .*loss [01]\.\d{4} .*accuracy [01]\.\d{3} .*\d steps/s", said)
    line = train.broken_tape.__code__.co_firstlineno + 3
    assert f"train.py:{line}: left_library" in said
    with Image.open(picture) as image:
        assert image.format == "PNG"


def test_the_command_reads_97_of_100_digits(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "tune_allocator", lambda: None)
    gradtape_cli.main(["demo", "--out", str(tmp_path / "digits.png")])
    said = re.search(r"test accuracy (\d\.\d{4}), seed 0, digest", capsys.readouterr().out)
    assert float(said[1]) >= 0.97


def test_a_run_is_the_same_in_another_process(tmp_path, pytestconfig):
    """To the bit: when a program is compiled is decided by counts, not by clocks."""
    picture = tmp_path / "digits.png"
    command = [sys.executable, "-m", "gradtape", "demo", "--seed", "2", "--epochs", "2", "--out", str(picture)]
    runs = [
        subprocess.Popen(command, cwd=pytestconfig.rootpath, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    found = [re.search(r"test accuracy .*, seed 2, digest of the weights \w+", run.communicate(timeout=300)[0]) for run in runs]
    assert found[0][0] == found[1][0]


def test_the_seed_decides_the_weights():
    def digest(seed):
        return train.digest_of(train.make_network(seed, 1, 0.1).variables)

    assert digest(0) == digest(0) != digest(1)


def test_saliency_is_the_gradient_of_the_winning_score():
    network = train.make_network(3, 1, 0.1)
    images = np.random.default_rng(1).random((2, 8, 8, 1)).astype("float32")
    predictions, saliency = train.saliency(network, images)
    scores = network(images).numpy()
    assert predictions.tolist() == scores.argmax(axis=1).tolist()
    row, column = np.unravel_index(saliency[0].argmax(), (8, 8, 1))[:2]
    step = np.zeros_like(images)
    step[0, row, column] = 1e-3
    change = (network(images + step).numpy() - network(images - step).numpy())[0, predictions[0]] / 2e-3
    assert saliency[0, row, column, 0] == pytest.approx(abs(change), rel=2e-2)


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (COLUMNS + 1, 2), (100, ROWS)])
def test_the_picture_has_a_place_for_each_digit(count, rows):
    digits = np.zeros((count, 8, 8), "float32")
    labels = np.arange(count) % 10
    one_row = draw_digits(digits[:1], labels[:1], labels[:1], digits[:1])
    sheet = draw_digits(digits, labels, labels, digits)
    assert sheet.width == one_row.width
    assert sheet.height - one_row.height == pytest.approx((rows - 1) * one_row.height, abs=rows * 12)


def test_mistakes_come_first_and_in_red():
    digits, labels = np.zeros((2, 8, 8), "float32"), np.array([3, 4])
    mistaken = draw_digits(digits, labels, np.array([3, 9]), digits)
    in_order = draw_digits(digits[::-1], labels[::-1], np.array([9, 3]), digits)
    assert mistaken.tobytes() == in_order.tobytes()
    reddish = np.asarray(mistaken).astype(int) @ [1, -1, 0] > 100
    assert reddish[:, : mistaken.width // COLUMNS].any()
    assert not reddish[:, mistaken.width // COLUMNS :].any()


def test_saliency_runs_from_white_to_the_darkest_red():
    colours = heat(np.linspace(0, 3, 64).reshape(8, 8))
    assert colours[0, 0].tolist() == [255, 255, 255]
    assert colours[-1, -1].tolist() == [165, 0, 38]
    assert heat(np.zeros((8, 8))).tolist() == np.full((8, 8, 3), 255.0).tolist()
