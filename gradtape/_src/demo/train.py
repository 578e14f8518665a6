"""The demo from data to picture: train on scikit-learn's handwritten digits, look at the result, break a tape."""

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
from gradtape._src.demo.network import Momentum, Network
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
    """What a run of the demo found: accuracy on the test images, digest of the final weights, broken gradients."""

    accuracy: float
    digest: str
    broken: list


def load_digits(random: np.random.Generator) -> tuple[Digits, Digits]:
    """The 1,797 digits that scikit-learn ships, shuffled and split into training and test sets."""
    data = datasets.load_digits()
    digits = Digits((data.images[..., np.newaxis] / 16).astype("float32"), data.target.astype("int64"))
    order = random.permutation(len(digits))
    return digits[order[TEST_IMAGES:]], digits[order[:TEST_IMAGES]]


def accuracy_of(scores, labels):
    """The share of rows of `scores` [N, 10] whose winner is the label."""
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(scores, axis=1), labels), tf.float32))


def cross_entropy(scores, labels):
    """The mean cross-entropy of `scores` [N, 10] and integer `labels` [N]."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))


def train_step(network: Network, optimizer: Momentum, batch: Digits, rate: float):
    """One step of gradient descent on `batch`; returns its loss and accuracy, both scalar tensors."""
    with tf.GradientTape() as tape:
        scores = network(batch.images)
        loss = cross_entropy(scores, batch.labels)
    optimizer.update(tape.gradient(loss, network.variables), rate)
    return loss, accuracy_of(scores, batch.labels)


def train(
    network: Network,
    digits: Digits,
    epochs: int,
    random: np.random.Generator,
    report: Callable[[int, float, float], None],
) -> None:
    """Train `network` on batches drawn by `random`, at a rate that falls linearly to 0.

    Every few steps `report(steps done, loss, accuracy)` is called: reading a value runs what is pending, so the steps
    in between are left to the library.
    """
    optimizer = Momentum(network.variables)
    steps_per_epoch = len(digits) // BATCH
    steps, done = epochs * steps_per_epoch, 0
    for _ in range(epochs):
        order = random.permutation(len(digits))
        for first in range(0, steps_per_epoch * BATCH, BATCH):
            batch = digits[order[first : first + BATCH]]
            loss, accuracy = train_step(network, optimizer, batch, rate=RATE * (1 - done / steps))
            done += 1
            if done % STEPS_BETWEEN_REPORTS == 0 or done == steps:
                report(done, float(loss), float(accuracy))


def saliency(network: Network, images: np.ndarray):
    """The predictions [N] for `images` [N, 8, 8, 1], and |d winning score / d pixel|, shaped as the images."""
    pixels = tf.constant(images)
    with tf.GradientTape() as tape:
        tape.watch(pixels)
        scores = network(pixels)
        winning = tf.reduce_max(scores, axis=1)
    return tf.argmax(scores, axis=1).numpy(), tf.abs(tape.gradient(winning, pixels)).numpy()


def broken_tape(network: Network, digits: Digits) -> list:
    """The gradients of a loss that takes a detour through NumPy."""
    with tf.GradientTape() as tape:
        scores = np.asarray(network(digits.images))  # the tape ends here
        loss = cross_entropy(scores, digits.labels)
    return tape.gradient(loss, network.variables)


def digest_of(variables: Sequence) -> str:
    """The SHA-256 of the values of `variables`: equal for two runs exactly when every bit is."""
    digest = hashlib.sha256()
    for variable in variables:
        digest.update(variable.numpy().tobytes())
    return digest.hexdigest()


def train_with_progress(network, digits, epochs, random, console: Console) -> None:
    """`train`, with a bar that shows loss, accuracy and steps per second."""
    columns = (
        TextColumn("training"),
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
    """Train, test, draw the picture `out`, break a tape; say all of it on `console`."""
    console = console or Console(highlight=False)
    random = np.random.default_rng(seed)
    training, test = load_digits(random)
    console.print(f"{len(training):,} handwritten digits to learn from, {len(test)} to be tested on")

    network = Network(random)
    train_with_progress(network, training, epochs, random, console)
    accuracy = float(accuracy_of(network(test.images), test.labels))
    digest = digest_of(network.variables)
    console.print(f"test accuracy [bold]{accuracy:.4f}[/bold], seed {seed}, digest of the weights {digest[:16]}")

    predictions, gradients = saliency(network, test.images)
    draw_digits(test.images[..., 0], test.labels, predictions, gradients[..., 0]).save(out)
    console.print(f"test digits, what was read, and which pixels decided it: [bold]{out}[/bold]")

    broken = broken_tape(network, test[:BATCH])
    console.print("\nA tape that is broken on purpose:\n")
    console.print(inspect.getsource(broken_tape), style="cyan", markup=False)
    console.print(f"→ {broken}\n", markup=False)
    console.print(
        "[bold]Why None:[/bold] np.asarray took the scores out of the library, so the tape saw no op between the "
        "weights and the loss.\n[bold]Instead:[/bold] pass the tensor on as it is, "
        "cross_entropy(network(digits.images), digits.labels)."
    )
    return Result(accuracy, digest, broken)
