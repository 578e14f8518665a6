"""`dir()` shows public names only: TensorFlow's, and those that gradtape adds for users.

`attributes.json` has the public names of the same objects on TensorFlow 2.21.
"""

import json
from pathlib import Path

import pytest

import gradtape as tf
from docs.site import reference

TENSORFLOW = json.loads(Path(__file__).with_name("attributes.json").read_text("utf-8"))
ASSIGNING = """
    assign assign_add assign_sub batch_scatter_update read_value scatter_add scatter_div scatter_max scatter_min scatter_mul
    scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update
"""  # of the tensors that variables of TensorFlow 1 give
ADDED = {
    "Tensor": f"register_gradient_hook {ASSIGNING}",
    "Variable": "ndim",
    "Dataset": "make_initializable_iterator make_one_shot_iterator",  # once TensorFlow 1's names are loaded
    "GradientTape": "draw get_tensor_by_name residuals summary",
    "Function": "variables",
    "IndexedSlices": "to_dense",
    "Graph": "variables",
}


def made():
    assert tf.compat.v1.Session  # loads TensorFlow 1's names
    x = tf.constant([1.0])
    function = tf.function(lambda x: x)
    return {
        "Tensor": x,
        "Variable": tf.Variable(1.0),
        "GradientTape": tf.GradientTape(),
        "Dataset": tf.data.Dataset.range(3),
        "iterator": iter(tf.data.Dataset.range(3)),
        "Function": function,
        "ConcreteFunction": function.get_concrete_function(x),
        "IndexedSlices": tf.IndexedSlices(x, tf.constant([0])),
        "TensorArray": tf.TensorArray(tf.float32, 2),
        "TensorShape": tf.TensorShape([1]),
        "DType": tf.float32,
        "Checkpoint": tf.train.Checkpoint(),
        "Graph": tf.Graph(),
        "StaticHashTable": tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [2]), 0),
        "SparseTensor": tf.sparse.from_dense([1.0]),
        "RaggedTensor": tf.ragged.constant([[1.0]]),
        "Module": tf.Module(),
        "Generator": tf.random.Generator.from_seed(1),
    }


@pytest.fixture(scope="module")
def objects():
    return made()


@pytest.mark.parametrize("kind", TENSORFLOW)
def test_only_public_names_are_shown(objects, kind):
    shown = {name for name in dir(objects[kind]) if not name.startswith("_")}
    assert shown - set(TENSORFLOW[kind].split()) == set(ADDED.get(kind, "").split())


def test_hidden_names_are_there_all_the_same(objects):
    assert "node" not in dir(objects["Tensor"])
    assert objects["Tensor"].node is not None
    assert "astype" not in dir(objects["Tensor"])  # hidden by a base


def test_the_reference_has_them_neither():
    assert {"gradient", "watch"} <= reference.methods(tf.GradientTape).keys()
    assert not {"go_on", "moved", "open_quietly"} & reference.methods(tf.GradientTape).keys()
