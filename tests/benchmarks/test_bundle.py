"""What goes into the bundle for a machine without a network, and how large it may be."""

from pathlib import Path

from benchmarks import bundle


def test_jax_and_torch_stay_out():
    names = [
        "jax-0.10.2-py3-none-any.whl",
        "jaxlib-0.10.2-cp311.whl",
        "torch-2.13.0.whl",
        "ml_dtypes-0.6.0.whl",
        "numpy-2.4.6.whl",
    ]
    assert all(bundle.excluded(Path(name)) for name in names)
    assert not any(
        bundle.excluded(Path(name)) for name in ("keras-3.15.1-py3-none-any.whl", "gradtape-0.1.0.whl", "jaxtyping-1.0.whl")
    )


def test_what_the_tests_on_a_card_need_goes_in():
    named = " ".join(bundle.requirements())
    assert all(name in named for name in ("keras", "optree", "rich", "safetensors", "diastatic-malt", "pytest", "hypothesis"))


def test_a_bundle_above_the_limit_names_the_largest(tmp_path):
    wheels = [tmp_path / "small.whl", tmp_path / "large.whl"]
    for wheel, size in zip(wheels, (1000, 3000), strict=True):
        wheel.write_bytes(b" " * size)
    assert bundle.too_large(wheels, 5000) is None
    assert "The largest: large.whl" in bundle.too_large(wheels, 3500)
