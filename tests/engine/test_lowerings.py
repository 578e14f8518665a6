"""The table of lowerings: which rule is chosen, and that what is compiled for a platform is the rule for it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gradtape._src.core.platform import arrays, lowerings
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.ops.array import gather
from gradtape._src.ops.image import resize, sampling
from gradtape._src.ops.linalg import matmul, matrix_functions, systems
from gradtape._src.ops.nn import convolution_kernels, maxima
from gradtape._src.ops.nn.window import sweeps
from gradtape._src.ops.random import philox


def shaped(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def convolving(image, window, data_format="NHWC", stride=1):
    """The arguments of the three convolutions of `image` with `window`."""
    ones = (1,) * len(image)
    strides = tuple([stride if letter not in "NC" else 1 for letter in data_format])
    named = {"ways": sweeps(image, window[:-2], strides, "SAME", (), data_format, ones), "data_format": data_format}
    outs = iter([way.out for way in named["ways"]])
    result = [{"N": image[0], "C": window[-1]}.get(letter) or next(outs) for letter in data_format]
    x, kernel, dy = shaped(*image), shaped(*window), shaped(*result)
    return ((x, kernel), named), ((kernel, dy), named | {"shape": image}), ((x, dy), named | {"shape": window})


PLAIN = "convolve", "to_input", "to_filter"
PRODUCTS = "product_of_patches", "products_of_cells", "patches_product"
ON_PLANES = "convolved", "to_input", "to_filter"


@pytest.mark.parametrize(
    ("arguments", "on_cpu", "elsewhere"),
    [
        (convolving((2, 9, 9, 8), (3, 3, 8, 4)), PLAIN, PLAIN),
        (convolving((2, 9, 9, 3), (3, 3, 3, 4)), (PRODUCTS[0], PLAIN[1], PRODUCTS[2]), PLAIN),
        (convolving((64, 84, 84, 4), (3, 3, 4, 32)), PLAIN, PLAIN),
        (convolving((2, 9, 9, 8), (1, 1, 8, 4)), (*PLAIN[:2], "product_of_places"), PLAIN),
        (convolving((2, 8, 9, 9), (3, 3, 8, 4), "NCHW"), PLAIN, PLAIN),
        (convolving((2, 4, 4, 8), (5, 5, 8, 4)), (*PRODUCTS[:2], "to_filter"), PLAIN),
        (convolving((2, 4, 4, 8), (2, 2, 8, 4), stride=2), PLAIN, PLAIN),
        (convolving((2, 4, 4, 8), (5, 5, 4, 4)), (*PLAIN[:2], "group_products"), (*PLAIN[:2], "group_products")),
        (convolving((2, 6, 6, 6, 8), (3, 3, 3, 8, 4), "NDHWC"), ON_PLANES, PLAIN),
        (convolving((2, 6, 6, 6, 2), (2, 3, 3, 2, 4), "NDHWC"), (PRODUCTS[0], ON_PLANES[1], PRODUCTS[2]), PLAIN),
        (convolving((2, 20, 6, 6, 8), (17, 3, 3, 8, 4), "NDHWC"), PLAIN, PLAIN),
    ],
    ids=[
        "plain",
        "few channels",
        "large patches",
        "one cell",
        "channels first",
        "looped",
        "strided",
        "groups",
        "planes",
        "narrow planes",
        "many planes",
    ],
)
def test_a_convolution_has_one_ladder(arguments, on_cpu, elsewhere):
    points = convolution_kernels.convolve, convolution_kernels.to_input, convolution_kernels.to_filter
    for platform, expected in (("cpu", on_cpu), ("cuda", elsewhere), ("tpu", elsewhere)):
        found = [of.chosen(platform, *given, **named) for of, (given, named) in zip(points, arguments, strict=True)]
        assert [lowerings._named(rule).rpartition(".")[2] for rule in found] == list(expected), platform


WINDOWS = {extent: sweeps((1, 40, 1, 1), (extent, 1), (1,) * 4, "SAME", (), "NHWC", (1,) * 4) for extent in (16, 17)}
TAPS = {method: sampling.taps(method, 40, 2, sampling.Grid()) for method in ("bilinear", "area")}
LARGE, SMALL = {"x": shaped(1024, 1024), "matrix": shaped(1024, 1025)}, {"x": shaped(8, 9), "matrix": shaped(9, 8)}
PRODUCT = {"contracted": ((1,), (0,)), "dtype": "float32"}
ROWS = {"axis": 0, "batch_dims": 0}
IMAGE, MATRIX = shaped(1, 40, 1, 1), shaped(4, 4)


@pytest.mark.parametrize(
    ("of", "given", "named", "platform", "expected"),
    [
        (maxima.best, [IMAGE], {"ways": WINDOWS[16]}, "cpu", "best"),
        (maxima.best, [IMAGE], {"ways": WINDOWS[17]}, "cpu", "best_of_many"),
        (maxima.put, [IMAGE] * 3, {"ways": WINDOWS[17]}, "cuda", "put_by_place"),
        (maxima.pick, [IMAGE] * 3, {"ways": WINDOWS[17]}, HOST, "pick_by_place"),
        (resize._along, [IMAGE], {"axis": 1, "line": TAPS["bilinear"]}, "cpu", "along"),
        (resize._along, [IMAGE], {"axis": 1, "line": TAPS["area"]}, "cpu", "by_matrix"),
        (matmul._product, LARGE.values(), PRODUCT, "cuda", "of_padded"),
        (matmul._product, LARGE.values(), PRODUCT, "cpu", "product"),
        (matmul._product, SMALL.values(), PRODUCT, "cuda", "product"),
        (matrix_functions._square_root, [MATRIX], {}, "cpu", "each"),
        (matrix_functions._logarithm, [MATRIX], {}, "cuda", "logarithm"),
        (systems._has_no_pivot, [MATRIX], {}, HOST, "has_no_determinant"),
        (systems._has_no_pivot, [MATRIX], {}, "cpu", "has_no_pivot"),
        (gather._added_up, [shaped(3), shaped(3, dtype="int32")], ROWS | {"shape": (5,)}, "cpu", "side_by_side"),
        (gather._added_up, [shaped(3, 64), shaped(3, dtype="int32")], ROWS | {"shape": (5, 64)}, "cpu", "added_up"),
        (gather._added_up, [shaped(3), shaped(3, dtype="int32")], ROWS | {"shape": (5,)}, HOST, "added_up"),
        (philox._blocks_of, [shaped(3, dtype="int64"), MATRIX], {"shift": 1}, HOST, "repeated_blocks"),
        (philox._blocks_of, [shaped(3, dtype="int64"), MATRIX], {"shift": 1}, "cuda", "blocks_of"),
        (philox._blocks_of, [shaped(3, dtype="int64"), shaped(2)], {"shift": 1}, "cpu", "blocks_of"),
        (philox._blocks_of, [shaped(3, dtype="int64"), shaped(1, 1)], {"shift": 1}, "cpu", "stored_block"),
    ],
)
def test_sizes_and_devices_choose(of, given, named, platform, expected):
    assert lowerings._named(of.chosen(platform, *given, **named)).rpartition(".")[2] == expected


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("row", [(), (3,)])
def test_mapped_rows_are_added_up_side_by_side(row, shared):
    indices, dy = np.array([[1, 4, 1, 9], [0, 2, 2, 2], [3, 3, 3, 3]]), np.random.default_rng(0).normal(size=(2, 3, 4, *row))
    indices = indices[:1] * np.ones_like(indices) if shared else indices
    expected = np.zeros((2, 3, 5, *row))
    for a, b, i in np.ndindex(2, 3, 4):
        if indices[b, i] < 5:  # others are left out
            expected[a, b, indices[b, i]] += dy[a, b, i]

    def one(dy, indices):
        return gather._added_up(dy, indices, shape=(5, *row), **ROWS)

    over_rows = jax.vmap(one, (0, None if shared else 0))
    found = jax.jit(jax.vmap(over_rows, (0, None)))(dy, indices[0] if shared else indices)
    np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


@pytest.fixture
def power(monkeypatch):
    """A square that has a rule for each case."""
    monkeypatch.setattr(lowerings, "table", [])

    @lowered("a square")
    def of(x, *, many):
        return jnp.square(x)

    lowering(of, when=lambda x, *, many: many, rule=lambda x, *, many: jnp.exp(x), because="many")
    lowering(of, platform="cuda", rule=lambda x, *, many: jnp.sin(x), because="a GPU")
    lowering(of, platform="cpu", when=lambda x, *, many: x.ndim, rule=lambda x, *, many: jnp.cos(x), because="an axis")
    return of


@pytest.mark.parametrize(
    ("platform", "shape", "many", "expected"),
    [
        ("cpu", (), False, "multiply"),
        ("cpu", (2,), False, "cosine"),
        ("cuda", (2,), False, "sine"),
        ("tpu", (2,), False, "multiply"),
        ("cpu", (2,), True, "exponential"),
        ("cuda", (2,), True, "exponential"),
    ],
)
def test_a_program_holds_the_rule_of_the_device_that_it_is_compiled_for(power, platform, shape, many, expected):
    compiled = jax.jit(lambda x: power(x, many=many))
    text = jax.export.export(compiled, platforms=[platform])(shaped(*shape)).mlir_module()
    for name in ("multiply", "cosine", "sine", "exponential"):
        assert (f"stablehlo.{name}" in text) == (name == expected)


def test_the_host_has_its_own_rule_or_that_of_the_cpu(power):
    x = np.full(2, 0.5, "float32")
    with arrays.on_host():
        assert power(x, many=False)[0] == np.cos(x[0])
        lowering(power, platform=HOST, rule=lambda x, *, many: x + 8, because="the host")
        assert power(x, many=False)[0] == 8.5


def test_all_that_has_rules_is_listed():
    rows = list(lowerings.listed())
    assert len(rows) == sum([len(of.rules) for of in lowerings.table]) + len(lowerings.compiling)
    assert all(of.rules for of in lowerings.table)
    assert ("cpu", "a convolution", "planes.convolved", convolution_kernels.PLANES) in rows
    assert all(because[0].isalnum() and not because.endswith(".") for *_, because in rows)
