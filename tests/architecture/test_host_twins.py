"""What kernels use of `jnp` and `lax` has a twin on NumPy arrays, and nothing else has; ops that are not hosted need none."""

from gradtape._src.core.host.arrays import Numbers, Primitives
from tests.architecture.rules import sources

NONE = {
    "jax.lax.associative_scan", "jax.lax.bessel_i0e", "jax.lax.bessel_i1e", "jax.lax.betainc", "jax.lax.cond",
    "jax.lax.conv_general_dilated_patches", "jax.lax.igamma", "jax.lax.igamma_grad_a", "jax.lax.igammac", "jax.lax.linalg.eig",
    "jax.lax.linalg.lu", "jax.lax.map", "jax.lax.platform_dependent", "jax.lax.polygamma", "jax.lax.random_gamma_grad",
    "jax.lax.reduce", "jax.lax.zeta", "jax.numpy.fft", "jax.numpy.polyval",
}  # fmt: skip


def twin(name):
    """Return whether a name of `jax.numpy` or `jax.lax` has a twin."""
    module, *path = name.removeprefix("jax.").split(".")
    found = Numbers if module == "numpy" else Primitives
    if path[:1] == ["linalg"]:
        found, path = found.linalg, path[1:]
    return not path or hasattr(found, path[0])


def used():
    """Yield the names that the library uses of the modules of `core.arrays`."""
    for source in sources("gradtape/_src"):
        if "gradtape._src.core.platform.arrays import" in source.text:
            yield from [name for _, name in source.mentions() if name.startswith(("jax.numpy.", "jax.lax."))]


def test_names_without_a_twin_are_known():
    missing = {".".join(name.split(".")[: 4 if ".linalg." in name else 3]) for name in used() if not twin(name)}
    assert missing == NONE


def test_each_twin_is_used():
    scatters = {f"jax.lax.scatter{how}" for how in ("", "_add", "_max", "_min", "_mul", "_sub")}  # `ops/array/points` names them
    named = {".".join(name.split(".")[:3]) for name in used()} | scatters
    made = [("numpy", Numbers), ("lax", Primitives)]
    twins = {f"jax.{module}.{name}" for module, kind in made for name in vars(kind) if not name.startswith("__")}
    assert twins - named == set()
