"""Keras's own tests on this backend: `make test-keras` runs all, `make test-keras ARGS=--sample` those of a few minutes.

An argument such as `keras.src.layers.core` is the part of Keras to test; the others are pytest's.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.xla import QUICK

ALL = "layers ops optimizers losses metrics models trainers callbacks saving initializers random".split()
# Without those that need TensorFlow or PyTorch, which are not there where CI runs the sample.
SAMPLE = """
    layers.core.dense_test layers.core.embedding_test layers.convolutional.conv_test layers.rnn.lstm_test
    layers.normalization.layer_normalization_test layers.attention.attention_test
    losses.losses_test metrics.accuracy_metrics_test initializers.random_initializers_test
    optimizers.adam_test optimizers.sgd_test optimizers.optimizer_test
    callbacks.early_stopping_test models.sequential_test models.functional_test saving.saving_api_test ops.core_test
""".split()
ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    """Run the tests; gives pytest's exit code."""
    parts = [a for a in arguments if a.startswith("keras.")]
    options = [a for a in arguments if a not in ("--sample", *parts)]
    if not parts:
        parts = [f"keras.src.{name}" for name in (SAMPLE if "--sample" in arguments else ALL)]
    command = [sys.executable, "-m", "pytest", "-p", "tests.keras.plugin", "-p", "tests.keras.narrow"]
    command += ["-o", "addopts=", "-o", "filterwarnings=", "-o", "xfail_strict=false", "--pyargs", *parts, "-q", *options]
    fixed = {"KERAS_BACKEND": "gradtape", "PYTHONPATH": str(ROOT)}
    fixed["JAX_NUMPY_DTYPE_PROMOTION"] = "standard"  # the tests promote dtypes with jax.numpy, to know what to expect
    environment = {"XLA_FLAGS": QUICK, **os.environ, **fixed}
    return subprocess.run(command, env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
