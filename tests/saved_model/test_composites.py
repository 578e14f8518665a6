"""Saved functions of ragged and sparse tensors. The numbers are TensorFlow's 2.21."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.train.saved_model import encoding

Ragged, Sparse = tf.RaggedTensorSpec, tf.SparseTensorSpec
rows, more = tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.ragged.constant([[1.0, 4.0], [2.0, 3.0], []])
matrix, other = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]), tf.sparse.from_dense([[1.0, 0.0, 3.0]])
deep = tf.ragged.constant([[[1.0], []], [[2.0, 3.0]]])
pairs = tf.ragged.constant([[[1.0, 2.0]], []], ragged_rank=1, inner_shape=(2,))


def loaded(tmp_path, function, specs, **options):
    """The module as it was saved and loaded; its function `f` takes the variable `v`, which is 2, and tensors of these specs."""
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(lambda *args: function(module.v, *args), input_signature=specs)
    tf.saved_model.save(module, tmp_path, signatures=module.f if options.get("signed") else None)
    return tf.saved_model.load(tmp_path)


def parts(value):
    return [part.numpy().tolist() for part in tf.nest.flatten(value, expand_composites=True)]


# The function, its specs, and each call with its result; the gradient of the first result's sum by `v`.
CASES = {
    "ragged": (
        lambda v, x: x * v,
        [Ragged([None, None], tf.float32)],
        [((rows,), [[2.0, 4.0, 6.0], [0, 1, 3]]), ((more,), [[2.0, 8.0, 4.0, 6.0], [0, 2, 4, 4]])],
        6.0,
    ),
    "ragged twice": (
        lambda v, x: x * v,
        [Ragged([None, None, None], tf.float32)],
        [((deep,), [[2.0, 4.0, 6.0], [0, 2, 3], [0, 1, 1, 3]])],
        6.0,
    ),
    "with an inner axis": (
        lambda v, x: x * v,
        [Ragged([None, None, 2], tf.float32, ragged_rank=1)],
        [((pairs,), [[[2.0, 4.0]], [0, 1, 1]])],
        3.0,
    ),
    "splits in int32": (
        lambda v, x: x * v,
        [Ragged([None, None], tf.float32, row_splits_dtype=tf.int32)],
        [((rows.with_row_splits_dtype(tf.int32),), [[2.0, 4.0, 6.0], [0, 1, 3]])],
        6.0,
    ),
    "parts": (
        lambda v, x: (x.values * v, x.row_splits),
        [Ragged([None, None], tf.float32)],
        [((rows,), [[2.0, 4.0, 6.0], [0, 1, 3]])],
        6.0,
    ),
    "sparse": (lambda v, x: tf.sparse.reduce_sum(x, 1) * v, [Sparse([2, 2], tf.float32)], [((matrix,), [[2.0, 4.0]])], 3.0),
    "sparse of unknown rank": (
        lambda v, x: x.values * v,
        [Sparse(None, tf.float32)],
        [((matrix,), [[2.0, 4.0]]), ((other,), [[2.0, 6.0]])],
        3.0,
    ),
    "a nest": (
        lambda v, x: {"a": x["r"] * v * x["s"][1], "b": x["s"][0]},
        [{"r": Ragged([None, None], tf.float32), "s": (Sparse([None, None], tf.float32), tf.TensorSpec([]))}],
        [
            (
                ({"r": rows, "s": (matrix, tf.constant(3.0))},),
                [[6.0, 12.0, 18.0], [0, 1, 3], [[0, 0], [1, 1]], [1.0, 2.0], [2, 2]],
            )
        ],
        18.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_function_computes_what_was_saved(name, tmp_path):
    function, specs, calls, slope = CASES[name]
    module = loaded(tmp_path, function, specs)
    for args, expected in calls:
        assert parts(module.f(*args)) == expected
    (traced,) = module.f.concrete_functions
    assert repr(traced.structured_input_signature[0][0]) == repr(specs[0]).replace("name=None", "name='args_0_s_1'")
    with tf.GradientTape() as tape:
        total = sum(tf.reduce_sum(x) for x in tf.nest.flatten(module.f(*calls[0][0]), expand_composites=True)[:1])
    assert float(tape.gradient(total, module.v)) == slope


def test_a_call_with_something_else(tmp_path):
    module = loaded(tmp_path, lambda v, x: x * v, [Ragged([None, None], tf.float32)])
    for given in (deep, matrix, tf.ones([2, 2]), rows.with_row_splits_dtype(tf.int32)):
        with pytest.raises((ValueError, TypeError), match=r"RaggedTensorSpec|row_splits"):
            module.f(given)


def test_a_signature_takes_the_parts_and_gives_the_ragged_tensor(tmp_path):
    signature = loaded(tmp_path, lambda v, x: {"y": x * v}, [Ragged([None, None], tf.float32)], signed=True).signatures[
        "serving_default"
    ]
    names = [*signature.structured_input_signature[1]]
    result = signature(**dict(zip(names, [more.values, more.row_splits], strict=True)))
    assert parts(result) == [[2.0, 8.0, 4.0, 6.0], [0, 2, 4, 4]] and isinstance(result["y"], tf.RaggedTensor)


def test_a_trace_without_a_signature(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x * 2.0)
    module.f(rows), module.f(tf.ones([2]))
    tf.saved_model.save(module, tmp_path)
    f = tf.saved_model.load(tmp_path).f
    assert parts(f(rows)) == [[2.0, 4.0, 6.0], [0, 1, 3]] and parts(f(np.ones(2, np.float32))) == [[2.0, 2.0]]


def test_slices_of_an_earlier_release_are_read():
    """They had a kind of their own; now they are written as all composite tensors are."""
    leaves = [{"leaf": "a"}, {"leaf": "b"}, {"leaf": None}]
    for given in ({"indexed_slices": leaves}, {"composite": ["IndexedSlices", [], leaves[:2]]}):
        found = encoding.restored_nest(given, lambda leaf: leaf)
        assert (found.values, found.indices, found.dense_shape) == ("a", "b", None)
