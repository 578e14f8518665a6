"""The programs of examples/ run, and learn something, with little data and few steps."""

import numpy as np
import pytest

from examples import (
    accumulation,
    custom_loop,
    distillation,
    gan,
    grad_cam,
    gradient_penalty,
    saliency_loss,
    tensor_parallel,
    train_step,
    vae,
)
from examples.command import command
from examples.data import digits, picture


def test_train_step_overridden():
    losses, accuracy = train_step.main(epochs=4, rows=320)
    assert losses[-1] < losses[0]
    assert accuracy > 0.6


def test_a_loop_by_hand():
    losses, accuracy = custom_loop.main(epochs=3, rows=320)
    assert losses[-1] < losses[0]
    assert accuracy > 0.5


def test_two_optimizers_in_one_step():
    before, after = gan.main(epochs=20, rows=256)
    assert after < before


def test_an_autoencoder_with_a_random_layer():
    losses, again = vae.main(epochs=3, rows=256)
    assert losses[-1] < losses[0]
    assert again.shape == (3, 8, 8, 1)
    assert again.min() >= 0 and again.max() <= 1


def test_grad_cam_gives_maps_between_0_and_1():
    _, maps = grad_cam.main(epochs=3, rows=256)
    assert maps.shape == (3, 8, 8)
    assert maps.min() >= 0
    assert set(maps.max(axis=(1, 2)).round(5)) <= {0, 1}


def test_a_map_weighs_the_channels_by_their_mean_gradient():
    model = grad_cam.make_model()
    images = digits(8)[0][0]
    classes, maps = grad_cam.grad_cam(model, images)
    # Behind the mean over the image stands one dense layer: the gradient at each place is its weight / 64.
    kernel = model.layers[-1].kernel.numpy()[:, classes].T
    channels = grad_cam.keras.Model(model.input, model.get_layer(grad_cam.LAST).output)(images).numpy()
    expected = np.maximum(np.einsum("nhwc,nc->nhw", channels, kernel / 64), 0)
    np.testing.assert_allclose(maps, expected / expected.max(axis=(1, 2), keepdims=True), rtol=1e-4, atol=1e-5)


def test_the_student_learns_and_the_teacher_stays_as_it_was():
    losses, accuracies, unchanged = distillation.main(epochs=4, rows=320)
    assert losses[-1] < losses[0]
    assert accuracies["student"] > 0.3
    assert unchanged


def test_a_gradient_inside_the_loss():
    before, after, penalty = gradient_penalty.main(steps=30)
    assert after < before
    assert penalty < 1


def test_saliency_inside_the_loss():
    results = saliency_loss.main(steps=40)
    assert results[5.0][0] > results[0.0][0] + 0.2


def test_gradients_are_accumulated_and_scaled():
    results = accumulation.main(epochs=2, rows=512)
    assert all(losses[-1] < losses[0] for losses in results.values())


def test_options_are_the_parameters_of_main(monkeypatch, capsys):
    def main(steps: int = 5, rate: float = 0.1):
        """Does nothing."""
        print(steps, rate)

    monkeypatch.setattr("sys.argv", ["program", "--steps", "7"])
    command(main)
    assert capsys.readouterr().out == "7 0.1\n"
    monkeypatch.setattr("sys.argv", ["program", "--epochs", "7"])
    with pytest.raises(SystemExit, match="2"):
        command(main)
    assert "unrecognized arguments: --epochs 7" in capsys.readouterr().err


def test_a_picture_is_darker_where_the_value_is_greater():
    assert picture(np.array([[0.0, 1.0], [0.5, 0.0]])) == "  @@\n++"


def test_a_mesh_of_one_device():
    losses, share = tensor_parallel.main(steps=20)
    assert losses[-1] < 0.5 * losses[0]
    assert share == 1
