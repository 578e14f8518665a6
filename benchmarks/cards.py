"""The GPU of this machine, and the peak performance of its model."""

import subprocess
import sys
from dataclasses import dataclass

FIND = "import jax; print(jax.devices()[0].platform, jax.devices()[0].device_kind)"


@dataclass(frozen=True)
class Card:
    """Peak FLOP/s of dense products in TensorFloat-32 and in bfloat16, memory bandwidth in bytes/s, and bytes of memory."""

    float32: float
    bfloat16: float
    bandwidth: float
    memory: float


# From NVIDIA's data sheets of the H100, H200 and A100 (tensor cores, without sparsity, which doubles the printed numbers). The
# first entry whose words are all in the card's name applies.
KNOWN = {
    "H200": Card(495e12, 989e12, 4.8e12, 141e9),
    "H100 PCIe": Card(378e12, 756e12, 2.0e12, 80e9),
    "H100 HBM3": Card(495e12, 989e12, 3.35e12, 80e9),
    "A100 80GB PCIe": Card(156e12, 312e12, 1.935e12, 80e9),
    "A100 80GB": Card(156e12, 312e12, 2.039e12, 80e9),
    "A100": Card(156e12, 312e12, 1.555e12, 40e9),
}


def name() -> str | None:
    """Return the name of JAX's GPU, or None."""
    found = subprocess.run([sys.executable, "-c", FIND], capture_output=True, text=True)
    platform, _, kind = found.stdout.strip().partition(" ")
    return kind if platform in ("gpu", "cuda", "rocm") else None


def known(card: str | None) -> Card | None:
    """Return the data of a card by its name, such as "NVIDIA A100-SXM4-80GB"."""
    return next((found for words, found in KNOWN.items() if all(word in (card or "") for word in words.split())), None)
