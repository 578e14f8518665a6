"""The demo: train on scikit-learn's digits with `fit` and with a tape, draw the result, break a tape."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn import datasets

import gradtape as tf
from gradtape._src.demo.network import network as make_network
from gradtape._src.demo.picture import draw_digits

TEST_IMAGES = 360
BATCH = 32
RATE = 0.05
STEPS_BETWEEN_REPORTS = 10


@dataclass(frozen=True)
class Digits:
    """Images [N, 8, 8, 1] as float32 between 0 and 1, with their labels [N] as int64."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows) -> "Digits":
        return Digits(self.images[rows], self.labels[rows])


@dataclass(frozen=True)
class Result:
    """The result of the demo: accuracy on the test images, digest of the final weights, text about broken gradients."""

    accuracy: float
    digest: str
    broken: list


def load_digits(random: np.random.Generator) -> tuple[Digits, Digits]:
    """Return the 1,797 digits that scikit-learn ships, shuffled and split into training and test sets."""
    data = datasets.load_digits()
    digits = Digits((data.images[..., np.newaxis] / 16).astype("float32"), data.target.astype("int64"))
    order = random.permutation(len(digits))
    return digits[order[TEST_IMAGES:]], digits[order[:TEST_IMAGES]]


def train_step(network, images, labels):
    """Take one step of gradient descent on a batch, without an optimizer; return its loss and accuracy, both scalar tensors."""
    with tf.GradientTape() as tape:
        scores = network(images, training=True)
        loss = network.loss(labels, scores)
    gradients = tape.gradient(loss, network.trainable_variables)
    network.optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
    return loss, tf.reduce_mean(tf.cast(tf.equal(tf.argmax(scores, axis=1), labels), tf.float32))


def train(
    network,
    digits: Digits,
    epochs: int,
    random: np.random.Generator,
    report: Callable[[int, float, float], None],
) -> None:
    """Train `network` on batches drawn by `random`, in a loop with a tape.

    `report(steps done, loss, accuracy)` is called every few steps. Reading a value runs all pending ops, so that the library can
    combine the steps in between.
    """
    steps_per_epoch = len(digits) // BATCH
    steps, done = epochs * steps_per_epoch, 0
    for _ in range(epochs):
        order = random.permutation(len(digits))
        for first in range(0, steps_per_epoch * BATCH, BATCH):
            batch = digits[order[first : first + BATCH]]
            loss, accuracy = train_step(network, batch.images, batch.labels)
            done += 1
            if done % STEPS_BETWEEN_REPORTS == 0 or done == steps:
                report(done, float(loss), float(accuracy))


def saliency(network, images: np.ndarray):
    """Return the predictions [N] for `images` [N, 8, 8, 1], and |d winning score / d pixel|, shaped as the images."""
    pixels = tf.constant(images)
    with tf.GradientTape() as tape:
        tape.watch(pixels)
        scores = network(pixels)
        winning = tf.reduce_max(scores, axis=1)
    return tf.argmax(scores, axis=1).numpy(), tf.abs(tape.gradient(winning, pixels)).numpy()


def broken_tape(network, digits: Digits):
    """Return the gradients of a loss computed through NumPy, and gradtape's explanation of the first one."""
    with tf.GradientTape() as tape:
        scores = np.asarray(network(digits.images))  # the tape ends here
        loss = network.loss(digits.labels, scores)
    gradients = tape.gradient(loss, network.trainable_variables)
    return gradients, tf.autodiff.explain(loss, network.trainable_variables[0])


def digest_of(variables: Sequence) -> str:
    """Return the SHA-256 of the values of `variables`, which is equal for two runs if and only if all bits are."""
    digest = hashlib.sha256()
    for variable in variables:
        digest.update(variable.numpy().tobytes())
    return digest.hexdigest()


def train_with_progress(network, digits, epochs, random, console: Console) -> None:
    """Train like `train`, with a bar that shows loss, accuracy and steps per second."""
    columns = (
        TextColumn("training with a tape"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("accuracy {task.fields[accuracy]:.3f}"),
        TextColumn("{task.fields[speed]:,.0f} steps/s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=epochs * (len(digits) // BATCH), loss=np.nan, accuracy=np.nan, speed=0)

        def report(done, loss, accuracy):
            speed = progress.tasks[0].speed or 0
            progress.update(task, completed=done, loss=loss, accuracy=accuracy, speed=speed)

        train(network, digits, epochs, random, report)


def run_demo(epochs: int = 15, seed: int = 0, out: str | Path = "digits.png", console: Console | None = None) -> Result:
    """Train, test, draw the picture `out`, break a tape, and report on `console`."""
    console = console or Console(highlight=False)
    random = np.random.default_rng(seed)
    training, test = load_digits(random)
    console.print(f"{len(training):,} handwritten digits to learn from, {len(test)} to be tested on")

    fitted = max(1, 2 * epochs // 3)
    steps = fitted * -(-len(training) // BATCH) + (epochs - fitted) * (len(training) // BATCH)
    network = make_network(seed, steps, RATE)
    console.print(f"{fitted} epochs of Keras's fit, then {epochs - fitted} of a loop with a GradientTape")
    network.fit(training.images, training.labels, BATCH, fitted, verbose=1 if console.is_terminal else 2)
    train_with_progress(network, training, epochs - fitted, random, console)
    _, accuracy = network.evaluate(test.images, test.labels, verbose=0)
    digest = digest_of(network.variables)
    console.print(f"test accuracy [bold]{accuracy:.4f}[/bold], seed {seed}, digest of the weights {digest[:16]}")

    predictions, gradients = saliency(network, test.images)
    draw_digits(test.images[..., 0], test.labels, predictions, gradients[..., 0]).save(out)
    console.print(f"test digits, what was read, and which pixels decided it: [bold]{out}[/bold]")

    broken, diagnosis = broken_tape(network, test[:BATCH])
    console.print("\nA tape that is broken on purpose:\n")
    console.print(inspect.getsource(broken_tape), style="cyan", markup=False)
    console.print(f"→ {broken}\n", markup=False)
    console.print("[bold]Why None?[/bold] gradtape says:")
    console.print(str(diagnosis), markup=False)
    return Result(accuracy, digest, broken)
