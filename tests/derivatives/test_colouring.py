"""Colours of sparse matrices: what makes each kind of colouring one, by its definition, and the fewest that are known."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial import Delaunay

import gradtape as tf
from gradtape._src.derivatives import colouring
from gradtape._src.derivatives.symmetric_colouring import acyclic, star

Sparsity, own = tf.autodiff.Sparsity, tf.autodiff
MODES = ("forward", "reverse", "both", "symmetric", "substitution")


def stencil(*extents, corners=False, periodic=False):
    """A point of a grid and its neighbours: along the axes, or with corners."""
    points = np.stack(np.unravel_index(np.arange(np.prod(extents)), extents), 1)
    near = []
    for step in itertools.product((-1, 0, 1), repeat=len(extents)):
        if corners or np.count_nonzero(step) <= 1:
            moved = (points + step) % extents if periodic else points + step
            inside = ((moved >= 0) & (moved < extents)).all(1)
            near.append(np.stack([np.flatnonzero(inside), np.ravel_multi_index(moved[inside].T, extents)]))
    rows, columns = np.concatenate(near, 1)
    return sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)))


def elements(count):
    """Finite elements on triangles between random points."""
    triangles = Delaunay(np.random.default_rng(0).random((count, 2))).simplices
    rows, columns = np.repeat(triangles, 3, 1).ravel(), np.tile(triangles, (1, 3)).ravel()
    return sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)), (count, count))


def arrow(n, width=1):
    made = np.eye(n, dtype=bool)
    made[:width] = made[:, :width] = True
    return sparse.csr_matrix(made)


def diagonal(blocks):
    """A matrix of blocks along the diagonal. Of arrays, SciPy will make another class."""
    return sparse.csr_matrix(sparse.block_diag([sparse.coo_array(block) for block in blocks]))


def drawn(generator, height, width):
    return sparse.csr_matrix(generator.random((height, width)) < generator.choice([0.0, 0.05, 0.15, 0.3, 0.6, 1.0]))


# the matrix, products of a Jacobian, of a Hessian directly, of a Hessian by substitution
KNOWN = {
    "diagonal": (sparse.eye(20, format="csr"), 1, 1, 1),
    "tridiagonal": (stencil(60), 3, 3, 2),
    "5 points": (stencil(30, 30), 5, 5, 4),
    "5 points, a prime number of columns": (stencil(20, 23), 5, 5, 4),
    "5 points, periodic": (stencil(30, 30, periodic=True), 5, 5, 5),
    "9 points": (stencil(20, 20, corners=True), 9, 9, 6),
    "7 points in space": (stencil(8, 8, 8), 7, 7, 6),
    "27 points in space": (stencil(6, 6, 6, corners=True), 27, 27, 15),
    "finite elements": (elements(144), 11, 9, 5),
    "more finite elements": (elements(1000), 12, 10, 6),
    "arrow": (arrow(200), 3, 2, 2),
    "three rows and columns": (arrow(100, 3), 7, 4, 4),
    "full row": (sparse.vstack([np.ones((1, 50)), sparse.eye(50)], "csr"), 2, None, None),
    "full column": (sparse.hstack([np.ones((50, 1)), sparse.eye(50)], "csr"), 2, None, None),
    "dense": (sparse.csr_matrix(np.ones((7, 7))), 7, 7, 7),
    "batch": (diagonal([arrow(9)] * 30), 3, 2, 2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_as_few_as_are_known(name):
    matrix, *most = KNOWN[name]
    for mode, products in zip((None, "symmetric", "substitution"), most, strict=True):
        if products is not None:
            assert Sparsity(matrix, mode).products <= products, mode


def check_directly(found):
    """Each entry is alone at a place of a product, by the definition of the mode."""
    dense = found.matrix.toarray()
    if found.mode in ("forward", "reverse"):
        lines = dense.T if found.mode == "forward" else dense
        for colour in range(found.products):
            assert lines[found.colours == colour].sum(0).max(initial=0) <= 1  # structurally orthogonal
        return
    columns, rows = (found.colours,) * 2 if found.mode == "symmetric" else np.split(found.colours, [found.shape[1]])
    for i, j in zip(found.rows, found.columns, strict=True):
        alone = [columns[j] >= 0 and dense[i, columns == columns[j]].sum() == 1]
        if found.mode == "symmetric":
            alone.append(dense[j, columns == columns[i]].sum() == 1)
        else:
            alone.append(rows[i] >= 0 and dense[rows == rows[i], j].sum() == 1)
        assert any(alone), (i, j)


def check_numbers(found, generator):
    """The entries follow from the products of a matrix with such entries."""
    values = generator.normal(size=found.shape) * found.matrix.toarray()
    if found.mode in ("symmetric", "substitution"):
        values = values + values.T
    products = [found.seeds(np.float64, columns) @ (values.T if columns else values) for columns in found.sides]
    assert sum(map(len, products)) == found.products
    entries, places, signs = found.terms
    flat = np.concatenate([p.reshape(-1) for p in products])
    summed = np.bincount(entries, flat[places] * signs, len(found.rows)) if len(places) else np.zeros(0)
    expected = values[found.rows, found.columns]
    if found.mode == "substitution":
        np.testing.assert_allclose(summed, expected, 1e-12, 1e-12)
    else:
        np.testing.assert_array_equal(summed, expected)


@pytest.mark.parametrize("seed", range(60))
def test_random_patterns(seed):
    generator = np.random.default_rng(seed)
    height, width = generator.integers(0 if seed < 5 else 1, 15, 2)
    products = {}
    for mode in (None, *MODES):
        matrix = drawn(generator, height, height if mode in ("symmetric", "substitution") else width) if mode else None
        matrix = drawn(np.random.default_rng(seed), height, width) if mode not in ("symmetric", "substitution") else matrix
        found = Sparsity(matrix, mode)
        assert found.mode == mode or mode is None
        products[mode] = found.products
        if mode != "substitution":
            check_directly(found)
        check_numbers(found, generator)
    assert products[None] == min(products["forward"], products["reverse"]) or products[None] == products["both"]
    assert products[None] <= min(products["forward"], products["reverse"], products["both"] + 1)


@pytest.mark.parametrize("name", KNOWN)
def test_known_patterns(name):
    matrix = KNOWN[name][0]
    for mode in (None, *MODES) if matrix.shape[0] == matrix.shape[1] else (None, *MODES[:3]):
        check_numbers(Sparsity(matrix, mode), np.random.default_rng(0))


def bits(numbers):
    return [number.bit_length() - 1 for number in numbers]


@pytest.mark.parametrize("seed", range(40))
def test_stars_and_trees_by_their_definitions(seed):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 16))
    dense = np.triu(generator.random((n, n)) < generator.uniform(0.1, 0.7), 1)
    dense |= dense.T
    graph = [np.flatnonzero(line).tolist() for line in dense]
    order = generator.permutation(n).tolist()
    stars, trees = bits(star(graph, order)), bits(acyclic(graph, order))
    for v, w in zip(*np.nonzero(dense), strict=True):
        assert stars[v] != stars[w] and trees[v] != trees[w]
    for a, b, c, d in itertools.product(range(n), repeat=4):
        if len({a, b, c, d}) == 4 and dense[a, b] and dense[b, c] and dense[c, d]:
            assert len({stars[v] for v in (a, b, c, d)}) >= 3
    for one, other in itertools.combinations(range(n), 2):
        among = [v for v in range(n) if trees[v] in (one, other)]
        part = sparse.csr_matrix(dense[np.ix_(among, among)])
        assert part.nnz // 2 == len(among) - sparse.csgraph.connected_components(part)[0]  # a forest
    assert max(trees) <= max(stars)


def fewest(dense, colours):
    """Whether columns can be told apart by so many colours, by trying all."""
    n = dense.shape[1]
    meet = (dense.T.astype(int) @ dense) > 0
    pairs = [(i, j) for i in range(n) for j in range(i) if meet[i, j]]
    return any(all(c[i] != c[j] for i, j in pairs) for c in itertools.product(range(colours), repeat=n))


@pytest.mark.parametrize("seed", range(15))
def test_the_fewest_of_small_matrices(seed):
    """By trying all colourings of six columns: the candidates together find one with the fewest colours."""
    dense = np.random.default_rng(seed).random((6, 6)) < 0.3
    found = Sparsity(dense, "forward").products
    assert found <= 1 or not fewest(dense, found - 1)


def test_blocks_are_coloured_once(monkeypatch):
    shapes = []
    real = colouring._coloured
    monkeypatch.setattr(colouring, "_coloured", lambda pattern, mode: shapes.append(pattern.shape) or real(pattern, mode))
    block = np.array([[1, 1, 0, 1], [0, 1, 1, 0]])
    for mode in ("forward", "reverse", "both"):
        found = Sparsity(diagonal([block] * 50), mode)
        assert found.products == Sparsity(block, mode).products
        check_directly(found)
    assert shapes[0] == (2, 4)
    other = diagonal([block, block[:, ::-1]])  # blocks that differ
    shapes.clear()
    check_directly(Sparsity(other, "forward"))
    assert shapes == [(4, 8)]


def test_long_trees_are_not_used():
    """Where an entry would be found from many others, the direct colours are taken."""
    found = Sparsity(stencil(1000), "substitution")
    assert found.products == 3 and len(found.terms[0]) == len(found.rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["both", "forward", "reverse", None])
def test_jacobians(mode, dtype):
    x = tf.constant(np.random.default_rng(0).normal(size=12), dtype)
    w = tf.constant(np.random.default_rng(1).normal(size=12), dtype)

    def f(x):
        return tf.concat([[tf.reduce_sum(x * w)], x[0] * x[1:] ** 2], 0)

    pattern = own.jacobian_sparsity(f, x, mode)
    assert pattern.products == (3 if mode in ("both", None) else 12)
    dense = own.jacrev(f, x)
    tolerance = {"rtol": 1e-5} if dtype == "float32" else {"rtol": 1e-12}
    np.testing.assert_allclose(own.sparse_jacobian(f, x, pattern).toarray(), dense, **tolerance)
    np.testing.assert_allclose(own.sparse_jacobian(f, x, pattern, "dense", chunk_size=1), dense, **tolerance)
    inside = tf.function(lambda x: own.sparse_jacobian(f, x, pattern, "dense"))
    np.testing.assert_allclose(inside(x), dense, **tolerance)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sums = tf.reduce_sum(inside(x) ** 2), tf.reduce_sum(own.jacrev(f, x) ** 2)
    np.testing.assert_allclose(*[tape.gradient(y, x) for y in sums], **tolerance)


def test_both_sides_of_nests_and_variables():
    v, u = tf.Variable(np.arange(1.0, 5.0)), tf.Variable(np.float64([2.0, 3.0]))

    def f():
        return {"a": [tf.reduce_sum(v) * u[0]], "b": tf.concat([v**2 * v[0], u**2 * v[0]], 0)}

    for mode in ("both", None):
        pattern = own.jacobian_sparsity(f, (), mode, [v, u])
        expected = own.sparse_jacobian(f, (), own.jacobian_sparsity(f, (), "forward", [v, u]), sources=[v, u])
        np.testing.assert_allclose(own.sparse_jacobian(f, (), pattern, sources=[v, u]).toarray(), expected.toarray())


def meshed(dtype):
    triangles = Delaunay(np.random.default_rng(0).random((60, 2))).simplices
    weights = tf.constant(np.random.default_rng(1).random(len(triangles)), dtype)

    def energy(x):
        u = tf.gather(x, triangles)
        return tf.reduce_sum(weights * ((u[:, 0] - u[:, 1]) ** 4 + u[:, 1] * u[:, 2] ** 2 + tf.sin(u[:, 0] * u[:, 2])))

    return energy, tf.constant(np.random.default_rng(2).normal(size=60), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["symmetric", "substitution"])
def test_hessians(mode, dtype):
    energy, x = meshed(dtype)
    pattern = own.hessian_sparsity(energy, x, mode=mode)
    assert pattern.mode == mode and pattern.products <= (10 if mode == "symmetric" else 6)
    dense = own.hessian(energy, x)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(own.sparse_hessian(energy, x, pattern).toarray(), dense, **tolerance)
    inside = tf.function(lambda x: own.sparse_hessian(energy, x, pattern, "dense"))
    np.testing.assert_allclose(inside(x), dense, **tolerance)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sums = tf.reduce_sum(inside(x) ** 2), tf.reduce_sum(own.hessian(energy, x) ** 2)
    np.testing.assert_allclose(
        *[tf.convert_to_tensor(tape.gradient(y, x)) for y in sums], 1e-3 if dtype == "float32" else 1e-10, 1e-3
    )


def test_small_entries_beside_large_ones():
    """Directly each entry has all its digits. By substitution a small one has not, and where that shows it is told."""
    scale = tf.constant([1e12, 1e12, 1e-6, 1e-6, 1e12, 1e12, 1e-6, 1e-6], tf.float64)

    def f(x):
        y = x * scale
        return tf.reduce_sum(y[1:] * y[:-1] * tf.range(1.3, 8.0, dtype=tf.float64)) + tf.reduce_sum(y**2)

    x = tf.ones([8], tf.float64)
    np.testing.assert_allclose(own.sparse_hessian(f, x).toarray(), own.hessian(f, x), 1e-14)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Small entries beside large ones lose .* mode='symmetric'"):
        own.sparse_hessian(f, x, own.hessian_sparsity(f, x, mode="substitution"))


def test_examples_of_a_batch():
    """A pattern for one example serves all of them; that of the batch is as quick to colour, and takes as few products."""

    def f(x):
        return tf.concat([[tf.reduce_sum(x)], x[0] * x[1:]], 0)

    rows = tf.constant(np.random.default_rng(0).normal(size=(6, 5)))
    pattern = own.jacobian_sparsity(f, rows[0])
    found = tf.vectorized_map(lambda row: own.sparse_jacobian(f, row, pattern, "tensor"), rows)
    expected = np.stack([own.jacrev(f, row) for row in rows])
    np.testing.assert_allclose(tf.sparse.to_dense(found), expected)
    whole = own.sparse_jacobian(lambda x: tf.vectorized_map(f, x), rows)
    np.testing.assert_allclose(whole.toarray(), diagonal(expected).toarray())
    assert own.jacobian_sparsity(lambda x: tf.vectorized_map(f, x), rows).products == pattern.products == 3


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: Sparsity([[1, 0]]), TypeError, r"matrix of SciPy, or of NumPy .* received \[\[1, 0\]\]"),
        (lambda: Sparsity(np.ones(3)), TypeError, "A pattern is a matrix of SciPy"),
        (lambda: Sparsity(np.ones((2, 3)), "symmetric"), ValueError, r"'symmetric' pattern is square, .* \(2, 3\)"),
        (lambda: Sparsity(np.ones((2, 2)), "two"), ValueError, "mode must be one of .* or None, received 'two'"),
        (lambda: own.jacobian_sparsity(tf.sin, tf.ones([2]), "substitution"), ValueError, "hessian_sparsity"),
        (lambda: own.hessian_sparsity(tf.reduce_sum, tf.ones([2]), mode="both"), ValueError, "'symmetric' or 'substitution'"),
        (
            lambda: own.sparse_jacobian(lambda x: x[0] * x, tf.ones([9]), Sparsity(np.eye(9), "both")),
            tf.errors.InvalidArgumentError,
            "pattern misses entries of this Jacobian: in",
        ),
        (
            lambda: own.sparse_hessian(lambda x: tf.reduce_sum(x) ** 2, tf.ones([9]), Sparsity(np.eye(9), "substitution")),
            tf.errors.InvalidArgumentError,
            "pattern misses entries of this Hessian",
        ),
        (lambda: own.sparse_jacobian(tf.sin, tf.ones([3]), Sparsity(np.eye(4))), ValueError, "this one has shape"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_matrix_that_was_given_stays_as_it_is():
    for given in (arrow(5), arrow(5).tocoo(), arrow(5).toarray(), arrow(5).tocsc().astype(float)):
        assert Sparsity(given).products == 3
    unsorted = sparse.csr_matrix((np.array([1.0, 2.0, 0.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), (2, 2))
    found = Sparsity(unsorted)
    assert (found.rows.tolist(), found.columns.tolist()) == ([0, 0], [0, 1]) and unsorted.indices.tolist() == [1, 0, 1]


@pytest.mark.parametrize("mode", MODES)
def test_files(mode, tmp_path):
    found = Sparsity(elements(40), mode)
    found.save(tmp_path / "pattern.npz")
    again = Sparsity.load(tmp_path / "pattern.npz")
    assert again.mode == mode and all(np.array_equal(a, b) for a, b in zip(found.terms, again.terms, strict=True))
    found.colours = np.zeros_like(found.colours)
    found.save(tmp_path / "pattern.npz")
    with pytest.raises(ValueError, match=r"holds no sparsity pattern that Sparsity.save wrote"):
        Sparsity.load(tmp_path / "pattern.npz")
