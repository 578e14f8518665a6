"""The variants for which a row may have a function, and the Python environments of their peers."""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORKPLACE = ROOT / ".bench"

# PyTorch's own index has builds without CUDA, a tenth of the size: name it in PIP_EXTRA_INDEX_URL to have them.
REQUIREMENTS = {
    "asdex": ["asdex>=0.5.1", "jax>=0.10,<0.12"],
    "diffrax": ["diffrax>=0.7", "jax>=0.10,<0.12"],
    "folx": ["folx>=0.2.30", "jax>=0.10,<0.12"],
    "gradtape": [],
    "jax": [],
    "optimistix": ["optimistix>=0.1", "jax>=0.10,<0.12"],
    "tensorflow": ["tensorflow==2.21.0"],
    "torch": ["torch==2.13.0", "numpy", "keras>=3.15.1,<3.17"],
}


@dataclass(frozen=True)
class Variant:
    """A column of the table: `function` of a row's file, run in the environment of `peer`.

    Two are gradtape with a setting, for rows that request it: `tuned` keeps memory, `pure` records ops in Python.
    """

    name: str
    title: str
    peer: str
    function: str
    tuned: bool = False
    pure: bool = False


VARIANTS = (
    Variant("gradtape", "gradtape", "gradtape", "gradtape"),
    Variant("gradtape_run", "gradtape run", "gradtape", "gradtape", tuned=True),
    Variant("gradtape_python", "gradtape in Python", "gradtape", "gradtape", pure=True),
    Variant("gradtape_fit", "gradtape, Keras fit", "gradtape", "gradtape_fit"),
    Variant("gradtape_dataset", "gradtape, over the Dataset", "gradtape", "gradtape_dataset"),
    Variant("tensorflow_eager", "TensorFlow eager", "tensorflow", "tensorflow_eager"),
    Variant("tensorflow_function", "tf.function", "tensorflow", "tensorflow_function"),
    Variant("torch_eager", "PyTorch eager", "torch", "torch_eager"),
    Variant("torch_compile", "torch.compile", "torch", "torch_compile"),
    Variant("jax_jit", "jax.jit", "jax", "jax_jit"),
    Variant("keras_tensorflow", "Keras on TensorFlow", "tensorflow", "keras_tensorflow"),
    Variant("keras_jax", "Keras on JAX", "jax", "keras_jax"),
    Variant("keras_torch", "Keras on PyTorch", "torch", "keras_torch"),
    Variant("scipy", "SciPy", "gradtape", "scipy"),
    Variant("optimistix", "Optimistix", "optimistix", "optimistix"),
    Variant("diffrax", "Diffrax", "diffrax", "diffrax"),
    Variant("folx", "folx", "folx", "folx"),
    Variant("asdex", "asdex", "asdex", "asdex"),
)
TITLES = {variant.name: variant.title for variant in VARIANTS}


class PeerUnavailable(Exception):
    """Raised with the reason if a peer cannot be installed."""


def python_of(peer: str, given: dict[str, str]) -> str:
    """Return a Python that can import `peer`: the given one, this one, or that of an environment created here.

    Raises PeerUnavailable if pip cannot install it.
    """
    if peer in given:
        return given[peer]
    if not REQUIREMENTS[peer] or importlib.util.find_spec(peer):
        return sys.executable
    environment = WORKPLACE / peer
    python, stamp = environment / "bin" / "python", environment / "requirements"
    wanted = " ".join(REQUIREMENTS[peer])
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", environment], check=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
        command = [*pip, "install", "-qq", "--retries", "1", *REQUIREMENTS[peer]]
        installed = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if installed.returncode:
            errors = [line for line in installed.stderr.splitlines() if line.startswith("ERROR")]
            raise PeerUnavailable("; ".join(errors) or installed.stderr.strip())
        stamp.write_text(wanted)
    return str(python)


VERSION = """
import importlib.metadata, sys
print(importlib.metadata.version(sys.argv[1]))
"""


def version_of(peer: str, python: str) -> str:
    """Return the version of `peer` that `python` imports, or "here" for gradtape run from its folder."""
    found = subprocess.run([python, "-c", VERSION, peer], capture_output=True, text=True)
    return found.stdout.strip() or "here"
